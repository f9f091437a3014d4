"""Learn the templates of a wiki from its own dump before a run.

Articles from evenly spaced places show which unknown templates prose uses. Their definitions come from the same dump,
through the index of a multistream dump; a small dump without an index is read once. The result depends only on the dumps and
the template tables, so a repeated run learns the same templates.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from ..config import CorpusConfig
from ..records import FileRange, Page
from ..reports.summary import count
from ..sources import dumps, multistream
from ..storage import files
from ..text.wikitext import Templates, is_redirect, load_templates, namespaces
from ..text.wikitext.templates.braces import normalize
from ..text.wikitext.templates.learn import Definition, compile_definition, link
from ..text.wikitext.templates.survey import Survey, survey
from ..text.wikitext.templates.table import UNKNOWN

__all__ = ["Learned", "is_article", "learn", "restore"]

_MIN_PLACES, _MAX_PLACES, _PLACE_BYTES = 4, 64, 8 << 20  # places of the sample: one in 8 MB, within these limits
_SAMPLE_SHARE, _MIN_SAMPLE = 0.05, 1 << 20  # characters of articles per compressed byte (about 1 % of the text), and at least
_STREAMS_SHARE, _MIN_STREAMS = 1e-7, 200  # streams of 100 pages per compressed byte (about 2 % of the dump), and at least
_MAX_UNINDEXED = 16 << 20  # bytes of dumps without an index that are read once more for their templates
_MAX_TEXT = 200 << 20  # bytes of template pages in memory
_MAX_NAMES, _MAX_ROUNDS = 1000, 8  # unknown templates of the sample; redirects and templates within templates
_MISSING = "not in the dump"


class Learned(NamedTuple):
    """The templates learned from a wiki's dumps.

    Attributes:
        wiki: Database name of the wiki.
        bodies: Wikitext by template name.
        revisions: For each template page used, its last change and the SHA-256 of its text.
        unknown: For each other unknown template in prose, the reason.
        skipped: Why no template was looked up, or "".
    """

    wiki: str
    bodies: dict[str, str]
    revisions: dict[str, tuple[str, str]]
    unknown: dict[str, str]
    skipped: str = ""

    def to_json(self) -> str:
        """Return the text that `CorpusConfig.learned` stores."""
        found = {"wiki": self.wiki, "bodies": self.bodies, "revisions": self.revisions, "unknown": self.unknown}
        return json.dumps(found, ensure_ascii=False, sort_keys=True)

    @property
    def found_any(self) -> bool:
        """Whether the sample of articles has unknown templates."""
        return bool(self.bodies or self.unknown)

    @property
    def summary(self) -> str:
        """Describe the result in a line."""
        if self.skipped:
            return f"{self.wiki}: no templates learned: {self.skipped}"
        reasons = sorted(Counter(self.unknown.values()).items(), key=lambda item: (-item[1], item[0]))
        rest = ", ".join(f"{number} {reason}" for reason, number in reasons[:4])
        learned = f"{self.wiki}: {count(len(self.bodies), 'template')} learned from the dump"
        return learned + (f"; not learned: {rest}" if rest else "")


def learn(parts: Sequence[FileRange], config: CorpusConfig) -> list[Learned]:
    """Learn the templates of each wiki in these ranges of dumps; wikis without template pages are left out."""
    wikis: dict[str, list[tuple[FileRange, dumps.Site]]] = {}
    sites = {path: dumps.read_site(path) for path in sorted({part.path for part in parts})}
    for part in parts:
        wikis.setdefault(sites[part.path].dbname, []).append((part, sites[part.path]))
    found = (_learn(wiki, ranges, config) for wiki, ranges in sorted(wikis.items()))
    return [learned for learned in found if learned is not None]


def restore(digests: Mapping[str, str], paths: Sequence[str], config: CorpusConfig) -> dict[str, str]:
    """Return the bodies that an earlier run learned, from the dumps of one wiki.

    `digests` maps names to the SHA-256 of the template pages. Templates whose page differs or is missing are left out.
    """
    find = _finder(paths, dumps.read_site(paths[0]), config) if paths and not _needs_index(paths) else None
    pages = find(sorted(digests)) if find else {}
    return {
        name: compile_definition(page.text).body
        for name, page in pages.items()
        if digests.get(name) == hashlib.sha256(page.text.encode()).hexdigest()
    }


def _needs_index(paths: Sequence[str]) -> bool:
    """Return True for large dumps without an index, in which it takes long to find template pages."""
    return sum(map(files.size, paths)) > _MAX_UNINDEXED and not all(map(multistream.find_index, paths))


def _learn(wiki: str, ranges: list[tuple[FileRange, dumps.Site]], config: CorpusConfig) -> Learned | None:
    site = ranges[0][1]
    paths = sorted({part.path for part, _ in ranges})
    if _needs_index(paths):
        needs = "a dump of more than 16 MB needs its multistream index in the same directory"
        return Learned(wiki, {}, {}, {}, skipped=needs)
    find = _finder(paths, site, config)
    if find is None:
        return None
    table = load_templates(site.language, dict(config.templates))
    names = _unknown(_sample(ranges, config), table)
    definitions: dict[str, Definition] = {}
    revisions: dict[str, tuple[str, str]] = {}
    wanted = names
    for _ in range(_MAX_ROUNDS):
        pages = find(wanted)
        for name in wanted:
            page = pages.get(name)
            definitions[name] = compile_definition(page.text) if page else Definition(reason=_MISSING)
            if page:
                revisions[name] = page.revised, hashlib.sha256(page.text.encode()).hexdigest()
        called = {name for done in wanted for name in definitions[done].calls}
        wanted = sorted(name for name in called - definitions.keys() if table.kind(name) == UNKNOWN)
        if not wanted:
            break
    definitions |= dict.fromkeys(wanted, Definition(reason=_MISSING))
    bodies, unknown = link(definitions, names)
    return Learned(wiki, bodies, {name: revisions[name] for name in bodies}, unknown)


def _unknown(articles: Iterable[str], table: Templates) -> list[str]:
    """Return the templates in prose that the table lacks, the most frequent first.

    A template that is more often alone on its line shows a note or a box.
    """
    counts = Survey()
    for text in articles:
        survey(text, table, counts)
    names = sorted(counts.unknown, key=lambda name: (-counts.unknown[name], name))
    return [name for name in names if counts.unknown[name] >= counts.alone[name] and name and not name.endswith(":")][:_MAX_NAMES]


def _sample(ranges: list[tuple[FileRange, dumps.Site]], config: CorpusConfig) -> Iterator[str]:
    """Yield articles from the beginnings of evenly spaced ranges."""
    size = sum(part.end - part.start for part, _ in ranges)
    count = max(_MIN_PLACES, min(_MAX_PLACES, size // _PLACE_BYTES))
    places = ranges[:: -(-len(ranges) // count)]
    most = max(_MIN_SAMPLE, int(_SAMPLE_SHARE * size)) // len(places)
    for part, site in places:
        left = most
        for page in dumps.read_pages(part, site, config.max_page_bytes):
            if isinstance(page, Page):
                left -= len(page.text)
                if is_article(page, site.language):
                    yield page.text
            if left < 0:
                break


def is_article(page: Page, language: str) -> bool:
    """Return True for a page of wikitext in the main namespace, unless it is a redirect."""
    return page.namespace == 0 and page.model == "wikitext" and not (page.redirect or is_redirect(page.text))


Find = Callable[[Sequence[str]], Mapping[str, Page]]


def _finder(paths: Sequence[str], site: dumps.Site, config: CorpusConfig) -> Find | None:
    """Return a function that finds template pages by name, or None if the dump has none."""
    prefixes = frozenset(name for name, number in site.namespaces.items() if number == namespaces.TEMPLATE) | {"template"}
    indexes = [multistream.find_index(path) for path in paths]
    if all(indexes):
        offsets = multistream.TemplateOffsets(indexes, prefixes)
        most = max(_MIN_STREAMS, int(_STREAMS_SHARE * sum(map(files.size, paths))))
        return _Streams(paths, site, config.max_page_bytes, offsets, most).find if len(offsets) else None
    pages: dict[str, Page] = {}
    held = 0
    ranges = (FileRange(path, path, 0, files.size(path)) for path in paths)
    for page in chain.from_iterable(dumps.read_pages(part, site, config.max_page_bytes) for part in ranges):
        if isinstance(page, Page) and page.namespace == namespaces.TEMPLATE and held < _MAX_TEXT:
            pages.setdefault(_name(page), page)
            held += len(page.text)
    return (lambda names: pages) if pages else None


def _name(page: Page) -> str:
    return normalize(page.title.partition(":")[2])


class _Streams:
    """Read template pages from the streams that an index names, up to a number of streams."""

    def __init__(
        self, paths: Sequence[str], site: dumps.Site, largest: int, offsets: multistream.TemplateOffsets, most: int
    ) -> None:
        self.paths, self.site, self.largest, self.offsets, self.left = paths, site, largest, offsets, most

    def find(self, names: Sequence[str]) -> dict[str, Page]:
        """Return the pages of the templates. If the streams run out, the last names get none."""
        streams: dict[tuple[int, int], set[str]] = {}
        for name in names:
            place = self.offsets.find(name)
            if place is not None and (place in streams or len(streams) < self.left):
                streams.setdefault(place, set()).add(name)
        self.left -= len(streams)
        found: dict[str, Page] = {}
        for (number, offset), wanted in sorted(streams.items()):
            path = self.paths[number]
            part = FileRange(path, path, offset, files.size(path))
            for page in islice(dumps.read_pages(part, self.site, self.largest), multistream.PAGES_PER_STREAM):
                if isinstance(page, Page) and page.namespace == namespaces.TEMPLATE and (name := _name(page)) in wanted:
                    found[name] = page
                    wanted.remove(name)
                if not wanted:
                    break
        return found
