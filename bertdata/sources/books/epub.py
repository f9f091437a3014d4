"""Read an EPUB: a zip file whose package lists pages in reading order. The pages of the book become paragraphs."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, NamedTuple
from urllib.parse import unquote

from ..archives import BROKEN_ZIP, TooLarge, open_zip
from ..encodings import decode
from .blocks import Block, is_paragraph
from .marks import RAISED, Notes
from .xhtml import MAX_PROSE_CHARACTERS, SKIPPED_PAGES, Page, Passage, is_link_list, parse

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/x-dtbook+xml")
_ENCODING = re.compile(rb"""(?:encoding|charset)\s*=\s*(?:["']\s*)?([\w.-]+)""")
_HEAD_BYTES = 1024  # first bytes of a page, which declare its encoding
_IMPRINT = re.compile(r"\bISBN\b|all rights reserved|copyright\s*(?:©|\(c\)|\d)|©\s*\d|smashwords edition", re.IGNORECASE)
_MAX_IMPRINT_CHARACTERS = 6000  # of a copyright page
_MAX_LIST_BYTES = 4 << 20  # of the zip directory or the package; a book has a few hundred entries of about 100 bytes
_MAX_BARE_TAGS = 500_000  # tags of a book in addition to one for each byte of text
_TAG = re.compile(rb"<[^<>]*>")


class Unreadable(Exception):
    """An EPUB that cannot be read; `reason` is the name under which the reject is counted."""

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason


class Epub(NamedTuple):
    """A book: its title and language from the package, its passages in order, and listed pages that the file does not contain."""

    title: str
    language: str
    passages: list[Passage]
    missing: list[str]


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


def _read(archive: zipfile.ZipFile, max_bytes: int) -> Epub:
    files = {unquote(info.filename): info for info in archive.filelist}
    list_bytes = min(max_bytes, _MAX_LIST_BYTES)
    container = parse(_decoded(_member(archive, files.get(_CONTAINER), list_bytes)))
    path = next((root.get("full-path", "") for root in _elements(container, "rootfile")), "")
    package = parse(_decoded(_member(archive, files.get(unquote(path)), list_bytes)))
    spine = [ref.get("idref") for ref in _elements(package, "itemref") if ref.get("linear", "").lower() != "no"]
    if not spine:
        raise Unreadable("damaged", f"{path} lists no pages")
    guide = [part for part in _elements(package, "reference") if part.get("type", "").lower() in SKIPPED_PAGES]
    skipped = {_resolved(path, part.get("href", "")) for part in guide}
    items = {item.get("id"): item for item in reversed(_elements(package, "item"))}
    read = [items[id] for id in spine if id in items and items[id].get("media-type", "").lower() in _PAGES]
    pages = [_resolved(path, item.get("href", "")) for item in read if "nav" not in item.get("properties", "").split()]
    pages = [page for page in dict.fromkeys(pages) if page not in skipped]  # a spine may name a page many times
    if _ENCRYPTION in files:  # fonts are often encrypted and not needed
        parts = _elements(parse(_decoded(_member(archive, files[_ENCRYPTION], list_bytes))), "cipherreference")
        if hidden := {_resolved("", part.get("uri", "")) for part in parts}.intersection(pages):
            raise Unreadable("encrypted", f"{min(hidden)} is encrypted: a book with copy protection can't be read")
    missing = [page for page in pages if page not in files]
    if missing and len(missing) == len(pages):
        raise Unreadable("damaged", f"{missing[0]} is not in it")
    roots = _roots(archive, [files[page] for page in pages if page in files], max_bytes)
    notes = Notes(set(), set(), _raised_classes(archive, [info for name, info in files.items() if name.endswith(".css")]))
    passages = [passage for root in roots for passage in _without_imprint(Page(root, notes).passages)]
    return Epub(_text_of(package, "title"), _text_of(package, "language"), passages, missing)


def _elements(root: Any, name: str) -> list[Any]:
    return [node for node in root.iter() if node.tag.rpartition(":")[2] == name]


def _text_of(package: Any, name: str) -> str:
    """Return the text of the first element with this name that has one."""
    texts = (" ".join("".join(node.itertext()).split()) for node in _elements(package, name))
    return next(filter(None, texts), "")


def _roots(archive: zipfile.ZipFile, pages: list[zipfile.ZipInfo], left: int) -> Iterator[Any]:
    """Yield the body of each page that is not a contents page. A small zip can unpack to gigabytes of tags."""
    bare_tags = 0
    for page in pages:
        data = _member(archive, page, left)
        left -= len(data)
        bare_tags += max(0, data.count(b"<") - len(_TAG.sub(b"", data)))
        if bare_tags > _MAX_BARE_TAGS:
            raise Unreadable("too-large", f"its pages have {_MAX_BARE_TAGS} tags more than bytes of text, up to {page.filename}")
        root = parse(_decoded(data))
        if not is_link_list(root):
            yield root


def _raised_classes(archive: zipfile.ZipFile, sheets: list[zipfile.ZipInfo]) -> set[str]:
    """Return the classes of raised text in style sheets, because converters number their classes."""
    raised, left = set[str](), _MAX_LIST_BYTES
    for sheet in sheets:
        with suppress(Unreadable, *BROKEN_ZIP):  # the book is readable without it
            data = _member(archive, sheet, left)
            left -= len(data)
            for rule in data.decode("utf-8", "replace").lower().split("}"):
                selector, _, body = rule.rpartition("{")
                if RAISED.search(body):
                    raised.update(re.findall(r"\.([\w-]+)", selector))
    return raised


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None, most: int) -> bytes:
    if info is None:
        raise Unreadable("damaged", f"{_CONTAINER} or the package that it names is not in it")
    if info.flag_bits & 0x1:
        raise Unreadable("encrypted", f"{info.filename} has a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Unreadable("damaged", f"{info.filename} is packed in a way that EPUB does not allow")
    with archive.open(info) as member:
        data = member.read(most + 1)
    if len(data) > most:
        raise Unreadable("too-large", f"its pages take more than the bytes allowed, up to {info.filename}")
    return data


def _resolved(base: str, href: str) -> str:
    """Return the name in the zip file that a reference points to, without escapes."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(href.partition("#")[0])))


def _decoded(data: bytes) -> str:
    """Decode a page in the encoding that it names, unless it is in UTF-8, or in the detected one."""
    named = _ENCODING.search(data[:_HEAD_BYTES])
    encoding = named[1].decode("ascii", "replace") if named else ""
    with suppress(UnicodeDecodeError):
        data.decode()
        encoding = ""
    with suppress(LookupError, ValueError):
        return decode(data, encoding)
    return decode(data)


def _without_imprint(passages: list[Passage]) -> list[Passage]:
    """Drop a copyright page: a short page with words that only such a notice contains. A story on the same page is kept."""
    kept = [passage for passage in passages if not any(map(_IMPRINT.search, passage.lines))]
    size = sum(len(line) for passage in passages for line in passage.lines)
    if len(kept) == len(passages) or size > _MAX_IMPRINT_CHARACTERS:
        return passages
    prose = sum(sum(map(len, passage.lines)) for passage in kept if is_paragraph(Block(passage.lines, 1, 1)))
    return kept if prose > MAX_PROSE_CHARACTERS else []
