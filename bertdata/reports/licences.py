"""Write the licence section of a data card: the licence of each source, its attribution, and how to cite the dataset."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ..config.input_kinds import PROJECTS, WIKI_LICENCE
from ..dataset.manifest_records import Input
from ..dataset.manifest_types import CorpusManifest, Manifest, PairsManifest, ReadableManifest
from ..errors import few
from .summary import cell, count

__all__ = ["citation", "licence_lines", "source_names"]

_DUMP_NAME = re.compile(r"([a-z0-9_]{1,60})-([0-9]{4})(0[1-9]|1[0-2])([0-3][0-9])-")  # wiki, year, month and day
_MAX_NAMED_DUMPS = 20  # maximum number of dumps to name
_WIKI = (
    "The text of wikis is by the contributors of their pages.  CC BY-SA (4.0 for Wikipedia, "
    "https://creativecommons.org/licenses/by-sa/4.0/) requires you to name them, link to the licence, state your changes, and "
    "share adapted text under the same licence.  {named}{where}  Changes: markup, tables, lists, notes and headings were "
    "removed, templates and formulas were expanded, and paragraphs were split into sentences."
)

_TABLES_NOTE = "  Text from a table may also have been changed before. Its publisher has to state these changes."


def licence_lines(manifest: ReadableManifest) -> Iterator[str]:
    """Yield lines with the licence of each source and its requirements."""
    inputs = _inputs(manifest)
    licences = Counter((entry.source, entry.licence) for entry in inputs)
    if not licences:
        return
    yield from ("", "## Licences", "", "| source | licence | inputs |", "|---|---|---|")
    yield from (f"| {cell(source)} | {cell(licence)} | {number:,} |" for (source, licence), number in licences.items())
    if further := manifest.corpus.further_inputs if isinstance(manifest, PairsManifest) and manifest.corpus else 0:
        yield from ("", f"These are of {len(inputs):,} inputs; {further:,} more are in the manifest of the corpus.")
    if any(WIKI_LICENCE in licence for _, licence in licences):
        dumps = _dumps(inputs)
        named = f"Dumps: {few(dumps, _MAX_NAMED_DUMPS)}.  " if dumps else ""
        where = "Each document's `url` leads to the revision of its page, whose history names its authors."
        if manifest.kind == "pairs":
            where = "The corpus has the address of each page's revision, whose history names its authors."
        from_tables = any(WIKI_LICENCE in licence and source not in PROJECTS for source, licence in licences)
        yield from ("", _WIKI.format(named=named, where=where) + (_TABLES_NOTE if from_tables else ""))
    if "books" in (source for source, _ in licences):
        yield from (
            "",
            "Each book states its own rights, which may differ by country.",
        )


def _inputs(manifest: Manifest) -> Sequence[Input]:
    """Return the inputs of a corpus, or of that of rows."""
    return manifest.corpus.inputs if isinstance(manifest, PairsManifest) and manifest.corpus else manifest.inputs


def citation(manifest: ReadableManifest, digest: str) -> Iterator[str]:
    """Yield how to cite a dataset, which the digest of its shards identifies."""
    inputs = _inputs(manifest)
    dumps = few(_dumps(inputs), _MAX_NAMED_DUMPS)
    sources = [*filter(None, [dumps]), *dict.fromkeys(entry.source for entry in inputs if entry.source not in PROJECTS)]
    kind = {"documents": "Documents", "pairs": "Rows"}[manifest.kind]
    title = f"{kind} for pretraining from {', '.join(sources) or 'text'}".replace("_", r"\_")  # LaTeX
    yield from ("", "## How to cite it", "", "```bibtex", f"@misc{{bertdata-{digest[:12]},", f"  title = {{{title}}},")
    origin = f"made with bertdata {manifest.versions['bertdata']}, {count(manifest.rows, 'row')}"
    yield from (f"  note = {{{origin}; SHA-256 of the shards: {digest}}}", "}", "```")


def source_names(manifest: Manifest) -> list[str]:
    """Name the sources of a corpus, or of the corpus of rows: dumps with their dates, then others. Empty if unknown."""
    sources = manifest.sources if isinstance(manifest, CorpusManifest) else {}
    if isinstance(manifest, PairsManifest) and manifest.corpus:
        sources = manifest.corpus.sources
    dumps = _dumps(_inputs(manifest))
    return dumps + [source for source in sources if source not in PROJECTS or not dumps]


def _dumps(inputs: Sequence[Input]) -> list[str]:
    """Name the wikis of dumps with their dates, and add "other dumps" if some names have no date.

    >>> from bertdata.dataset.manifest_records import Input
    >>> _dumps([Input(name="enwiki-20261101-pages-articles.xml.bz2", source="wikipedia", licence="")])
    ['enwiki 2026-11-01']
    >>> _dumps([Input(name=name, source="wikipedia", licence="") for name in ("zhwiki.xml", "enwiki-20261101-pages.xml")])
    ['enwiki 2026-11-01', 'other dumps']
    """
    matches = [_DUMP_NAME.match(entry.name.split("/")[-1]) for entry in inputs if entry.source in PROJECTS]
    dated = dict.fromkeys(f"{match[1]} {match[2]}-{match[3]}-{match[4]}" for match in matches if match)
    return [*dated, *(["other dumps"] if dated and None in matches else [])]
