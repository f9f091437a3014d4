"""Records of every source become documents: read, drop what is no document, take the prose, split it into sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from bertdata.config import CorpusConfig
from bertdata.records import Document, Drop, Page, Piece, Reject
from bertdata.sentences import split_sentences
from bertdata.sources import books, language, text, wikipedia
from bertdata.wikitext import Templates, extract_paragraphs, is_disambiguation, is_redirect, load_templates

__all__ = ["STAGES", "Record", "read"]

Record = Document | Drop | Reject
STAGES = {"wikipedia": "wikipedia pages", "books": "books", "text": "texts"}  # what is counted, by kind of source


def read(kind: str, pieces: list[Piece], config: CorpusConfig, templates: Counter[str]) -> Iterator[Record]:
    """Read the records of pieces of one kind, in order: each is a document, a drop or a reject.

    The calls of templates that gave no words are counted in `templates`, by name.
    """
    return _READERS[kind](pieces, config, templates)


def _wikipedia_documents(pieces: list[Piece], config: CorpusConfig, dropped: Counter[str]) -> Iterator[Record]:
    for piece in pieces:
        site = wikipedia.read_site(piece.path)
        table = load_templates(site.language, dict(config.templates)) if config.inline_templates else None
        for page in wikipedia.read_pages(piece, site, config.max_page_bytes):
            yield page if isinstance(page, Reject) else _page_document(page, site, piece, config, table, dropped)


def _page_document(
    page: Page, site: wikipedia.Site, piece: Piece, config: CorpusConfig, table: Templates | None, dropped: Counter[str]
) -> Record:
    """Keep the prose of pages in the main namespace that are wikitext and no redirects."""
    if reason := _reason_to_drop(page, site, config):
        return Drop(reason)
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
    return _document(page.id, "wikipedia", tongue, page.title, site.url(page.title), paragraphs)


def _reason_to_drop(page: Page, site: wikipedia.Site, config: CorpusConfig) -> str:
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
    for book in books.read_books(pieces, max_bytes=config.max_page_bytes):
        if isinstance(book, Reject):
            yield book
        else:
            yield _document(book.id, "books", config.language or book.language, book.title, "", book.paragraphs)


def _text_documents(pieces: list[Piece], config: CorpusConfig, _: Counter[str]) -> Iterator[Record]:
    for item in text.read_text(
        pieces,
        text_column=config.text_column,
        id_column=config.id_column or None,
        title_column=config.title_column,
        max_bytes=config.max_page_bytes,
    ):
        if isinstance(item, Reject):
            yield item
        else:
            yield _document(item.id, "text", config.language or item.language, item.title, item.url, item.paragraphs)


def _document(id: str, source: str, tongue: str, title: str, url: str, paragraphs: list[str]) -> Document | Drop:
    """Split paragraphs into sentences."""
    tongue = tongue or language.guess("".join(paragraphs[:50]))
    sentences: list[str] = []
    starts: list[int] = []
    for paragraph in paragraphs:
        if found := split_sentences(paragraph, tongue):
            starts.append(len(sentences))
            sentences += found
    return Document(id, source, tongue, title, url, sentences, starts) if sentences else Drop("no prose")


_READERS: dict[str, Callable[[list[Piece], CorpusConfig, Counter[str]], Iterator[Record]]] = {
    "wikipedia": _wikipedia_documents,
    "books": _book_documents,
    "text": _text_documents,
}
