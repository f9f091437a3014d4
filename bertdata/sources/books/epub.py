"""Read an EPUB: a zip file whose package lists pages in reading order. The pages of the book become paragraphs."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import IO, Any, NamedTuple
from urllib.parse import unquote

from ..archives import BROKEN_ZIP, TooLarge, open_zip
from ..encodings import decode
from ..lines import one_line
from .xhtml import MAX_PROSE_CHARACTERS, RAISED, SECTIONS, Pages, Passage, is_link_list, parse

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/x-dtbook+xml")
_ENCODING = re.compile(rb"""(?:encoding|charset)\s*=\s*(?:["']\s*)?([\w.-]+)""")
_HEAD_BYTES = 1024  # first bytes of a page, which declare its encoding
_IMPRINT = re.compile(r"\bISBN\b|all rights reserved|copyright\s*(?:©|\(c\)|\d)|©\s*\d|smashwords edition", re.IGNORECASE)
_MAX_IMPRINT_CHARACTERS = 6000  # of a copyright page
_MAX_LIST_BYTES = 4 << 20  # of the zip directory, the package or all style sheets; a book has a few hundred entries
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
    except BROKEN_ZIP as error:
        raise Unreadable("too-large" if isinstance(error, TooLarge) else "damaged", f"{type(error).__name__}: {error}") from None


def _read(archive: zipfile.ZipFile, max_bytes: int) -> Epub:
    files = {unquote(info.filename): info for info in archive.filelist}

    def parsed(path: str) -> Any:
        infos = [files[path]] if path in files else []
        return parse(_decoded(next(_unpacked(archive, infos, min(max_bytes, _MAX_LIST_BYTES)), b"")))

    path = next((unquote(root.get("full-path", "")) for root in _elements(parsed(_CONTAINER), "rootfile")), "")
    package = parsed(path)
    skipped = {_resolved(path, part) for part in _elements(package, "reference") if part.get("type", "").lower() in SECTIONS}
    items = {item.get("id"): item for item in reversed(_elements(package, "item"))}
    spine = [ref.get("idref") for ref in _elements(package, "itemref") if ref.get("linear", "").lower() != "no"]
    read = [items[id] for id in spine if id in items and items[id].get("media-type", "").lower() in _PAGES]
    pages = [page for page in dict.fromkeys(_resolved(path, item) for item in read) if page not in skipped]  # each once
    missing = [page for page in pages if page not in files]
    if not spine or (missing and len(missing) == len(pages)):
        raise Unreadable("damaged", "its package is missing or lists no pages that are in it")
    encrypted = {unquote(part.get("uri", "")) for part in _elements(parsed(_ENCRYPTION), "cipherreference")}  # often only fonts
    if hidden := encrypted.intersection(pages):
        raise Unreadable("encrypted", f"{min(hidden)} is encrypted: a book with copy protection can't be read")
    reader = Pages(_raised_classes(archive, [info for name, info in files.items() if name.endswith(".css")]))
    passages, bare_tags = list[Passage](), 0
    for data in _unpacked(archive, [files[page] for page in pages if page in files], max_bytes):
        bare_tags += max(0, data.count(b"<") - len(_TAG.sub(b"", data)))
        if bare_tags > _MAX_BARE_TAGS:  # a small zip can unpack to gigabytes of tags
            raise Unreadable("too-large", f"its pages have {_MAX_BARE_TAGS} tags more than bytes of text")
        root = parse(_decoded(data))
        passages += [] if is_link_list(root) else _without_imprint(reader.read(root))
    title, language = (
        next(filter(None, (one_line("".join(node.itertext())) for node in _elements(package, name))), "")
        for name in ("title", "language")
    )
    return Epub(title, language, passages, missing)


def _elements(root: Any, name: str) -> list[Any]:
    return [node for node in root.iter() if node.tag.rpartition(":")[2] == name]


def _resolved(package: str, item: Any) -> str:
    """Return the name in the zip file to which an item of the package refers, without escapes."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(item.get("href", "").partition("#")[0])))


def _unpacked(archive: zipfile.ZipFile, infos: Iterable[zipfile.ZipInfo], left: int) -> Iterator[bytes]:
    """Yield the bytes of files that have at most `left` bytes together."""
    for info in infos:
        if info.flag_bits & 0x1:
            raise Unreadable("encrypted", f"{info.filename} has a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unreadable("damaged", f"{info.filename} is packed in a way that EPUB does not allow")
        with archive.open(info) as member:
            data = member.read(left + 1)
        left -= len(data)
        if left < 0:
            raise Unreadable("too-large", f"its pages take more than the bytes allowed, up to {info.filename}")
        yield data


def _raised_classes(archive: zipfile.ZipFile, sheets: list[zipfile.ZipInfo]) -> set[str]:
    """Return the classes of raised text in style sheets, because converters number their classes."""
    raised = set[str]()
    with suppress(Unreadable, *BROKEN_ZIP):  # the book is readable without it
        for data in _unpacked(archive, sheets, _MAX_LIST_BYTES):
            for rule in data.decode("utf-8", "replace").lower().split("}"):
                selector, _, body = rule.rpartition("{")
                raised.update(re.findall(r"\.([\w-]+)", selector) if RAISED.search(body) else ())
    return raised


def _decoded(data: bytes) -> str:
    """Decode a page in UTF-8, in the encoding that it names, or in the detected one."""
    named = _ENCODING.search(data[:_HEAD_BYTES])
    with suppress(UnicodeDecodeError):
        data.decode()
        named = None
    with suppress(LookupError, ValueError):
        return decode(data, named[1].decode() if named else "")
    return decode(data)


def _without_imprint(passages: list[Passage]) -> list[Passage]:
    """Drop a copyright page: a short page with words that only such a notice contains. A story on the same page is kept."""
    size = sum(len(line) for passage in passages for line in passage.lines)
    if size > _MAX_IMPRINT_CHARACTERS:
        return passages
    kept = [passage for passage in passages if not any(map(_IMPRINT.search, passage.lines))]
    prose = sum(len(line) for passage in kept for line in passage.lines)
    return kept if len(kept) == len(passages) or prose > MAX_PROSE_CHARACTERS else []
