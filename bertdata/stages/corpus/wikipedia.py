"""Read dumps of Wikipedia and its sister projects. Articles become documents. Redirects and other page types are dropped."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from ...config import CorpusConfig
from ...config.input_kinds import WIKI_LICENCE
from ...errors import UsageError
from ...records import Article, Drop, FileRange, Page, Prose, Reject
from ...sources import dumps, rendered
from ...sources.lines import MAX_LINES
from ...text.rendered import read_rendered
from ...text.sentences import splitter
from ...text.wikitext import Extraction, Extractor, Templates, check_variant, is_redirect, load_templates
from ..counts import add_under

T = TypeVar("T")
_LISTED = ("empty page", "transcluded text")  # drops listed by id; redirects and other namespaces are half of a dump
# On Wikisource: text that is in the namespace of scanned pages, which has another number and name in each language.
_TRANSCLUDED = re.compile(r"<pages\s[^<>]*\bindex\s?=", re.IGNORECASE)
_SCAN = re.compile(  # {{Page:Tea.djvu/5}}, {{#lst:Page:Tea.djvu/5|section}}
    r"\{\{\s{0,9}(?:#\w{1,20}:\s{0,9}|:)?(\w[^{}|:\n]{0,60}:)[^{}|:\n]{1,200}\.(?:djvu|pdf|tiff?|jpe?g|png)(?:/\w{1,9})?\s{0,9}[|}]",
    re.IGNORECASE,
)
_FILE_NAMESPACES = (0, 6)  # "Tea:5.pdf" is an article, "File:Tea.pdf" a picture
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|<nowiki\s{0,9}>.*?(?:</nowiki\s{0,9}>|\Z)", re.DOTALL | re.IGNORECASE)


def ranges(path: str, size: int, target: int, config: CorpusConfig) -> list[tuple[int, int]]:
    """Cut a dump into byte ranges. Fail before the run starts if it is not a dump, or an option does not fit its wiki."""
    if rendered.is_rendered(path):
        check_variant(config.variant, rendered.read_site(path).language)
        return rendered.split(path, size, target)
    site = dumps.read_site(path)
    load_templates(site.language, dict(config.templates))
    check_variant(config.variant, site.language)
    site.namespace_numbers(config.namespaces)
    return dumps.split(path, target)


def describe(parts: list[FileRange]) -> dict[str, str]:
    """Return how a dump of wikitext was cut."""
    if rendered.is_rendered(parts[0].path):
        return {}
    return {"cut": dumps.how_cut(parts[0].path, [part.start for part in parts])}


def read(part: FileRange, config: CorpusConfig, counts: Counter[str]) -> Iterator[Prose | Drop | Reject]:
    """Read the pages of a range of a dump."""
    if rendered.is_rendered(part.path):
        yield from _read_rendered(part, config, counts)
        return
    for record in read_articles(part, config):
        yield extract(record, config, counts) if isinstance(record, Article) else record


def _read_rendered(part: FileRange, config: CorpusConfig, counts: Counter[str]) -> Iterator[Prose | Drop | Reject]:
    """Read pages that MediaWiki has rendered. Their documents and drops are those of the same pages in wikitext."""
    wanted = {name.strip().lower() for name in config.namespaces} or {"0"}
    for page in rendered.read_pages(part, config.max_page_bytes, Path(config.unpacked) if config.unpacked else None):
        if isinstance(page, Reject):
            yield page
            continue
        namespace, article = page
        if str(namespace) not in wanted and not (namespace == 0 and "main" in wanted):
            yield Drop("namespace", "")
        elif not article.wikitext.strip():
            yield Drop("empty page", article.id)
        else:
            yield _extract_rendered(article, config, counts)


def _extract_rendered(article: Article, config: CorpusConfig, counts: Counter[str]) -> Prose | Drop | Reject:
    read = partial(read_rendered, article.wikitext, extractor(article.language, {}, None, config))
    found = _guarded(read, article.id, article.file)
    return Drop("redirect", "") if found is None else _prose(found, article, counts)


def read_articles(part: FileRange, config: CorpusConfig) -> Iterator[Article | Drop | Reject]:
    """Read the wikitext pages of the chosen namespaces that are not redirects. Drop the others."""
    site = dumps.read_site(part.path)
    namespaces = site.namespace_numbers(config.namespaces)
    for page in dumps.read_pages(part, site, config.max_page_bytes):
        yield page if isinstance(page, Reject) else _article(page, site, part.name, namespaces)


def _article(page: Page, site: dumps.Site, dump: str, namespaces: frozenset[int]) -> Article | Drop | Reject:
    if reason := _reason_to_drop(page, site, namespaces):
        return Drop(reason, page.id if reason in _LISTED else "")
    if page.text.count("\n") > MAX_LINES:
        return Reject(page.id, "too-large", f"{dump}: a page of more than {MAX_LINES} lines")
    as_of, url = dumps.as_of(dump, page.revised), site.url(page.title, page.revision)
    return Article(page.id, site.language, page.title, url, page.text, site.namespaces, dump, as_of, site.project)


def extract(article: Article, config: CorpusConfig, counts: Counter[str]) -> Prose | Reject:
    """Extract the paragraphs of an article."""

    def extraction() -> Extraction:
        wiki = extractor(article.language, article.namespaces, _table(article, config), config)
        return wiki(article.wikitext, article.title)

    return _prose(_guarded(extraction, article.id, article.file), article, counts)


def _prose(found: Extraction | Reject, article: Article, counts: Counter[str]) -> Prose | Reject:
    if isinstance(found, Reject):
        return found
    _count(found, counts)
    id, language, title, url, *_ = article
    return Prose(id, article.project, language, title, url, found.paragraphs, article.as_of, licence=WIKI_LICENCE)


def _guarded(extraction: Callable[[], T], id: str, where: str) -> T | Reject:
    """Call an extraction. One page must never end a run, so an error becomes a Reject, except in a user's sentence splitter."""
    try:
        return extraction()
    except UsageError:
        raise
    except Exception as error:
        return Reject(id, "extraction-failed", f"{type(error).__name__}: {error} in {where}")


def _count(found: Extraction, counts: Counter[str]) -> None:
    counts["template_calls"] += found.dropped_templates.total()
    add_under(counts, "templates", found.dropped_templates)
    add_under(counts, "marks", found.dropped_lines)
    add_under(counts, "formulas", {f"{outcome}/{name}": count for (outcome, name), count in found.formulas.items()})


def extractor(language: str, namespaces: Mapping[str, int], templates: Templates | None, config: CorpusConfig) -> Extractor:
    """Return the extractor for pages of a wiki."""
    return Extractor(
        language=language,
        namespaces=namespaces,
        templates=templates,
        variant=config.variant,
        math=config.math,
        split=splitter(config.sentence_splitter),
    )


def _table(article: Article, config: CorpusConfig) -> Templates:
    """Return the templates of the article's wiki, with those that the run has learned."""
    wiki = article.id.partition(":")[0]
    learned = next((text for name, text in config.learned if name == wiki), "")
    return _templates(article.language, config.templates, learned)


@cache
def _templates(language: str, tables: tuple[tuple[str, str], ...], learned: str) -> Templates:
    return load_templates(language, dict(tables), json.loads(learned or "{}"))


def _reason_to_drop(page: Page, site: dumps.Site, namespaces: frozenset[int]) -> str:
    if page.namespace not in namespaces:
        return "namespace"
    if page.model != "wikitext":
        return "content model"
    if page.redirect or is_redirect(page.text):
        return "redirect"
    if not page.text.strip():
        return "empty page"
    if site.project == "wikisource" and _is_transcluded(page.text, site):
        return "transcluded text"
    return ""


def _is_transcluded(text: str, site: dumps.Site) -> bool:
    """Return True if a page shows scanned pages of the wiki, which are not read."""
    text = _HIDDEN.sub("", text)
    if _TRANSCLUDED.search(text):
        return True
    return any(site.namespace(scan[1]) not in _FILE_NAMESPACES for scan in _SCAN.finditer(text))
