"""Read an EPUB: a zip file whose package lists pages in reading order. The pages of the book become paragraphs."""

from __future__ import annotations

import posixpath
import re
import urllib.parse
import zipfile
from typing import IO, NamedTuple

from ..archives import BROKEN_ZIP, TooLarge, open_zip
from ..encodings import decode
from .blocks import Block, is_paragraph
from .marks import Styles, Tag
from .xhtml import MAX_PROSE_CHARACTERS, SKIPPED_PAGES, Page, Passage, is_link_list, parse

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the only methods that EPUB allows
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/x-dtbook+xml")
_ENCODING = re.compile(rb"""(?:encoding|charset)\s*=\s*(?:["']\s*)?([\w.-]+)""")
_TRUSTED = re.compile(r"(?:iso-?8859|windows-?125|cp125|koi8|shift.?jis|euc|gb|big5)[\w-]*$", re.IGNORECASE)
_HEAD_BYTES = 1024  # first bytes of a page, which declare its encoding
_IMPRINT = re.compile(r"\bISBN\b|all rights reserved|copyright\s*(?:©|\(c\)|\d)|©\s*\d|smashwords edition", re.IGNORECASE)
_MAX_IMPRINT_CHARACTERS = 6000  # of a copyright page
_MAX_LIST_BYTES = 4 << 20  # of the zip directory or the package; a book has a few hundred entries of about 100 bytes
_FREE_TAGS = 500_000  # tags of a book at any size, and one more for each byte of text; a tag takes 5 us
_TAG = re.compile(rb"<[^<>]*>")
_MAX_SELECTOR_CHARACTERS = 500


class Unreadable(Exception):
    """An EPUB that cannot be read; `reason` is the name under which the reject is counted."""

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason


class Epub(NamedTuple):
    """A book: its title and language from the package, and its passages in order."""

    title: str
    language: str
    passages: list[Passage]


def read_epub(file: IO[bytes], max_bytes: int) -> Epub:
    """Read a book with at most `max_bytes` of unpacked pages; raise `Unreadable`.

    Reasons: ``damaged`` (zip, package or a page), ``encrypted``, ``too-large``.
    """
    try:
        with open_zip(file, _MAX_LIST_BYTES) as archive:
            return _read(archive, max_bytes)
    except TooLarge as error:
        raise Unreadable("too-large", str(error)) from None
    except BROKEN_ZIP as error:
        raise Unreadable("damaged", f"{type(error).__name__}: {error}") from None
    except RuntimeError as error:  # zipfile raises this for a password
        raise Unreadable("encrypted", str(error)) from None


def _read(archive: zipfile.ZipFile, max_bytes: int) -> Epub:
    # META-INF/container.xml names the package file:
    #
    #   <dc:title>Emma</dc:title>
    #   <item id="c1" href="ch1.xhtml" media-type=.../>      a file of the book
    #   <itemref idref="c1"/>                                its place in the reading order
    #   <reference type="toc" href="toc.xhtml"/>             what a page is for (EPUB 2)
    list_bytes = min(max_bytes, _MAX_LIST_BYTES)
    container = parse(_decoded(_member(archive, _CONTAINER, list_bytes)))
    path = next((root.get("full-path") for root in _elements(container, "rootfile")), "")
    if not path:
        raise Unreadable("damaged", f"{_CONTAINER} names no package")
    package = parse(_decoded(_member(archive, path, list_bytes)))
    spine = [item.get("idref") for item in _elements(package, "itemref") if item.get("linear").lower() != "no"]
    if not spine:
        raise Unreadable("damaged", f"{path} lists no pages")
    items = {item.get("id"): item for item in reversed(_elements(package, "item"))}
    guide = [part for part in _elements(package, "reference") if part.get("type").lower() in SKIPPED_PAGES]
    skipped = {_resolved(path, part.get("href"), archive) for part in guide}
    read = [items[id] for id in spine if id in items and items[id].get("media-type").lower() in _PAGES]
    pages = [_resolved(path, item.get("href"), archive) for item in read if "nav" not in item.get("properties").split()]
    pages = [page for page in dict.fromkeys(pages) if page not in skipped]  # a spine may name a page many times
    if _ENCRYPTION in archive.NameToInfo:  # fonts are often encrypted and not needed
        parts = _elements(parse(_decoded(_member(archive, _ENCRYPTION, list_bytes))), "cipherreference")
        if hidden := {_resolved("", part.get("uri"), archive) for part in parts}.intersection(pages):
            raise Unreadable("encrypted", f"{min(hidden)} is encrypted: a book with copy protection can't be read")
    markup = _markup(archive, pages, max_bytes)
    sheets = [item.get("href") for item in items.values() if item.get("media-type").lower() == "text/css"]
    styles = _styles(markup, archive, [_resolved(path, href, archive) for href in sheets])
    passages = [passage for page, parts in markup.items() for passage in _without_imprint(Page(parts, page, styles).passages)]
    return Epub(_text_of(package, "title"), _text_of(package, "language"), passages)


def _elements(parts: list[Tag | str], name: str) -> list[Tag]:
    return [part for part in parts if isinstance(part, Tag) and part.name == name and part.attributes is not None]


def _text_of(parts: list[Tag | str], name: str) -> str:
    """Return the text of the first element with this name that has one."""
    texts = (after for tag, after in zip(parts, parts[1:], strict=False) if tag[0] == name and isinstance(after, str))
    return next((" ".join(text.split()) for text in texts if text.strip()), "")


def _markup(archive: zipfile.ZipFile, pages: list[str], left: int) -> dict[str, list[Tag | str]]:
    """Return the tags and text of the pages, except contents, by name. A small zip can unpack to gigabytes of tags."""
    markup: dict[str, list[Tag | str]] = {}
    tags = _FREE_TAGS
    for page in pages:
        data = _member(archive, page, left)
        left, tags = left - len(data), tags - data.count(b"<")
        if tags < 0:
            tags += len(_TAG.sub(b"", data))
        if tags < 0:
            raise Unreadable("too-large", f"its pages have more than {_FREE_TAGS} tags with almost no text, up to {page}")
        parts = parse(_decoded(data))
        if not is_link_list(parts):
            markup[page] = parts
    return markup


def _styles(markup: dict[str, list[Tag | str]], archive: zipfile.ZipFile, sheets: list[str]) -> Styles:
    """Return the places that links of the book lead to, and the classes of raised and of floating text."""
    targets, raised, floating = set[str](), set[str](), set[str]()
    for page, parts in markup.items():
        for link in _elements(parts, "a"):
            name, _, place = urllib.parse.unquote(link.get("href")).partition("#")
            if place:
                targets.add(f"{_joined(page, name) if name else page}#{place}")
    left = _MAX_LIST_BYTES
    for sheet in sheets:
        try:
            data = _member(archive, sheet, left)
        except (Unreadable, RuntimeError, *BROKEN_ZIP):  # the book is readable without it
            continue
        left -= len(data)
        for rule in data.decode("utf-8", "replace").lower().split("}"):
            selector, _, body = rule.rpartition("{")
            for names in [raised] * ("super" in body) + [floating] * ("float" in body):
                names.update(re.findall(r"\.([\w-]+)", selector[-_MAX_SELECTOR_CHARACTERS:]))
    return Styles(frozenset(targets), frozenset(raised), frozenset(floating))


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    info = archive.NameToInfo.get(name)
    if info is None:
        raise Unreadable("damaged", f"{name} is not in it")
    if info.compress_type not in _ZIP_METHODS:
        raise Unreadable("damaged", f"{name} is packed in a way that EPUB does not allow")
    with archive.open(info) as member:
        data = member.read(most + 1)
    if len(data) > most:
        raise Unreadable("too-large", f"its pages take more than the bytes allowed, up to {name}")
    return data


def _resolved(base: str, href: str, archive: zipfile.ZipFile) -> str:
    """Return the name in the zip file that a reference points to."""
    plain = href.partition("#")[0]
    unquoted = _joined(base, urllib.parse.unquote(plain))
    return unquoted if unquoted in archive.NameToInfo else _joined(base, plain)


def _joined(base: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), name))


def _decoded(data: bytes) -> str:
    """Decode a page by its declared encoding if that is a legacy one and decodes, otherwise by its bytes."""
    named = _ENCODING.search(data[:_HEAD_BYTES])
    if named and _TRUSTED.match(encoding := named.group(1).decode("ascii", "replace")):
        try:
            return data.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            pass
    return decode(data)


def _without_imprint(passages: list[Passage]) -> list[Passage]:
    """Drop a copyright page: a short page with words that only such a notice contains. A story on the same page is kept."""
    kept = [passage for passage in passages if not any(map(_IMPRINT.search, passage.lines))]
    size = sum(len(line) for passage in passages for line in passage.lines)
    if len(kept) == len(passages) or size > _MAX_IMPRINT_CHARACTERS:
        return passages
    prose = sum(sum(map(len, passage.lines)) for passage in kept if is_paragraph(Block(passage.lines, 1, 1)))
    return kept if prose > MAX_PROSE_CHARACTERS else []
