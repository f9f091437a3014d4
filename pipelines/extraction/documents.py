"""Records of every source become documents: read, drop what is no document, take the prose, split it, filter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from bertdata import language
from bertdata.config import CorpusConfig
from bertdata.records import Document, Drop, Page, Piece, Reject
from bertdata.sentences import splitter
from bertdata.sources import books, dumps, text
from bertdata.sources.tables import Columns
from bertdata.wikitext import Templates, extract_paragraphs, is_disambiguation, is_redirect, load_templates

from .filtering import reason_to_drop

__all__ = ["STAGES", "Record", "read"]

Record = Document | Drop | Reject
_LISTED = ("empty page", "disambiguation")  # of what is dropped unread; redirects and other namespaces are half of a dump
_CODE = re.compile(r"[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{1,8}){0,3}")  # of a language, with script, region and variant
STAGES = {"wikipedia": "wikipedia pages", "books": "books", "text": "texts"}  # what is counted, by kind of source


def read(kind: str, pieces: list[Piece], config: CorpusConfig, templates: Counter[str]) -> Iterator[Record]:
    """Read the records of pieces of one kind, in order: each is a document, a drop or a reject.

    The calls of templates that gave no words are counted in `templates`, by name.
    """
    for record in _READERS[kind](pieces, config, templates):
        yield (reason_to_drop(record, config) or record) if isinstance(record, Document) else record


def _wikipedia_documents(pieces: list[Piece], config: CorpusConfig, dropped: Counter[str]) -> Iterator[Record]:
    for piece in pieces:
        site = dumps.read_site(piece.path)
        table = load_templates(site.language, dict(config.templates)) if config.inline_templates else None
        for page in dumps.read_pages(piece, site, config.max_page_bytes):
            yield page if isinstance(page, Reject) else _page_document(page, site, piece, config, table, dropped)


def _page_document(
    page: Page, site: dumps.Site, piece: Piece, config: CorpusConfig, table: Templates | None, dropped: Counter[str]
) -> Record:
    """Keep the prose of pages in the main namespace that are wikitext and no redirects."""
    if reason := _reason_to_drop(page, site, config):
        return Drop(reason, page.id if reason in _LISTED else "")
    try:
        paragraphs = extract_paragraphs(
            page.text,
            title=page.title,
            language=site.language,
            namespaces=site.namespaces,
            definition_lists=config.definition_lists,
            variant=config.variant,
            templates=table,
            dropped=dropped,
        )
    except Exception as error:  # a page must never end a run; it is named, and the rest goes on
        return Reject(page.id, "extraction-failed", f"{type(error).__name__}: {error} in {piece.name}")
    tongue = config.language or site.language
    return _document(page.id, "wikipedia", tongue, page.title, site.url(page.title), paragraphs, config)


def _reason_to_drop(page: Page, site: dumps.Site, config: CorpusConfig) -> str:
    if page.namespace != 0:
        return "namespace"
    if page.model != "wikitext":
        return "content model"
    if page.redirect or is_redirect(page.text, site.language):
        return "redirect"
    if not page.text.strip():
        return "empty page"
    if config.drop_disambiguation and is_disambiguation(page.text, site.language):
        return "disambiguation"
    return ""


def _book_documents(pieces: list[Piece], config: CorpusConfig, _: Counter[str]) -> Iterator[Record]:
    columns = Columns(config.text_column, config.title_column, config.id_column)
    reading = books.Reading(config.verse, config.encoding)
    found = books.read_books(
        pieces, columns=columns, sentences=config.book_sentences, reading=reading, max_bytes=config.max_page_bytes
    )
    for book in found:
        if isinstance(book, Drop | Reject):
            yield book
        else:
            tongue = config.language or book.language
            yield _document(book.id, "books", tongue, book.title, book.url, book.paragraphs, config, split=not book.sentences)


def _text_documents(pieces: list[Piece], config: CorpusConfig, _: Counter[str]) -> Iterator[Record]:
    columns = Columns(config.text_column, config.title_column, config.id_column)
    found = text.read_text(
        pieces, columns=columns, documents=config.text_documents, encoding=config.encoding, max_bytes=config.max_page_bytes
    )
    for item in found:
        if isinstance(item, Reject):
            yield item
        else:
            tongue = config.language or item.language
            yield _document(item.id, "text", tongue, item.title, item.url, item.paragraphs, config)


def _document(
    id: str, source: str, tongue: str, title: str, url: str, paragraphs: list[str], config: CorpusConfig, *, split: bool = True
) -> Document | Drop:
    """Split paragraphs into sentences; what is not to be split comes as the sentences of one paragraph.

    The language is told from the text where none is given, or something that is no code of one.
    """
    if not _CODE.fullmatch(tongue):
        tongue = language.guess("\n".join(paragraphs))
    if not split:
        return Document(id, source, tongue, title, url, paragraphs, [0])
    sentences: list[str] = []
    starts: list[int] = []
    for paragraph in paragraphs:
        if found := split_sentences(paragraph, tongue, config.sentence_splitter):
            starts.append(len(sentences))
            sentences += found
    return Document(id, source, tongue, title, url, sentences, starts) if sentences else Drop("no prose", id)


def split_sentences(paragraph: str, tongue: str, names: str) -> list[str]:
    """Split a paragraph by the splitter of these names."""
    return splitter(names)(paragraph, tongue)


_READERS: dict[str, Callable[[list[Piece], CorpusConfig, Counter[str]], Iterator[Record]]] = {
    "wikipedia": _wikipedia_documents,
    "books": _book_documents,
    "text": _text_documents,
}
