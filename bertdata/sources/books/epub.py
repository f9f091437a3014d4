"""Read an EPUB: a zip file whose package lists pages in reading order. The pages of the book become paragraphs."""

from __future__ import annotations

import errno
import posixpath
import re
import urllib.parse
import zipfile
from collections import defaultdict
from typing import IO, NamedTuple

from ..encodings import decode
from ..zip_list import BROKEN_ZIP, TooLarge, open_zip
from .apparatus import guarded
from .blocks import Block
from .markup import Tag, parse
from .note_marks import Styles
from .xhtml import SKIPPED_PAGES, Passage, passages

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
_LINK = re.compile(r"""href\s*=\s*["']([^"'<>]{0,999}#[^"'<>]{1,999})["']""", re.IGNORECASE)
_MIN_LINK_TEXT_CHARACTERS = 30  # of a page, for each of its links; a page of contents has fewer
_MAX_SELECTOR_CHARACTERS = 500

_Attributes = defaultdict[str, str]  # of an element


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
    except OSError as error:
        if error.errno != errno.EINVAL:  # a position before the beginning of the file
            raise
        raise Unreadable("damaged", "its list of files leads out of it") from None
    except RuntimeError as error:  # zipfile raises this for a password
        raise Unreadable("encrypted", str(error)) from None


def _read(archive: zipfile.ZipFile, max_bytes: int) -> Epub:
    # META-INF/container.xml names the package file:
    #
    #   <dc:title>Emma</dc:title>
    #   <item id="c1" href="ch1.xhtml" media-type=.../>      a file of the book
    #   <itemref idref="c1"/>                                its place in the reading order
    #   <reference type="toc" href="toc.xhtml"/>             what a page is for (EPUB 2)
    path = next((root["full-path"] for root in _elements(archive, _CONTAINER, max_bytes)["rootfile"]), "")
    if not path:
        raise Unreadable("damaged", f"{_CONTAINER} names no package")
    package = _elements(archive, path, max_bytes)
    spine = [item["idref"] for item in package["itemref"] if item["linear"].lower() != "no"]
    if not spine:
        raise Unreadable("damaged", f"{path} lists no pages")
    items = {item["id"]: item for item in reversed(package["item"])}
    skipped = {_resolved(path, part["href"], archive) for part in package["reference"] if part["type"].lower() in SKIPPED_PAGES}
    read = [_resolved(path, items[id]["href"], archive) for id in spine if id in items and _is_page(items[id])]
    pages = [page for page in dict.fromkeys(read) if page not in skipped]  # a spine may name a page many times
    if _ENCRYPTION in archive.NameToInfo:  # fonts are often encrypted and not needed
        parts = _elements(archive, _ENCRYPTION, max_bytes)["cipherreference"]
        if hidden := {_resolved("", part["uri"], archive) for part in parts}.intersection(pages):
            raise Unreadable("encrypted", f"{min(hidden)} is encrypted: a book with copy protection can't be read")
    markup, left = _markup(archive, pages, max_bytes)
    sheets = [item for item in items.values() if item["media-type"].lower() == "text/css"]
    raised, floating = _classes(archive, [_resolved(path, item["href"], archive) for item in sheets], left)
    styles = Styles(_targets(markup), raised, floating)
    kept = [passage for page, text in markup.items() for passage in _without_imprint(passages(text, page, styles))]
    title, language = (
        next((" ".join(part["text"].split()) for part in package[name] if part["text"].strip()), "")
        for name in ("title", "language")
    )
    return Epub(title, language, kept)


def _elements(archive: zipfile.ZipFile, name: str, max_bytes: int) -> defaultdict[str, list[_Attributes]]:
    """Return the attributes of the elements of a file, by name, with the text after each start tag as ``text``."""
    parts = parse(_decoded(_member(archive, name, min(max_bytes, _MAX_LIST_BYTES))))
    found: defaultdict[str, list[_Attributes]] = defaultdict(list)
    for tag, text in zip(parts, [*parts[1:], ""], strict=True):
        if isinstance(tag, Tag) and tag.attributes is not None:
            found[tag.name].append(_Attributes(str, tag.attributes, text=text if isinstance(text, str) else ""))
    return found


def _markup(archive: zipfile.ZipFile, pages: list[str], left: int) -> tuple[dict[str, str], int]:
    """Return the pages by name, and the bytes left. A small zip can unpack to gigabytes of tags."""
    markup: dict[str, str] = {}
    tags = _FREE_TAGS
    for page in pages:
        data = _member(archive, page, left)
        left, tags = left - len(data), tags - data.count(b"<")
        if tags < 0:
            tags += len(_TAG.sub(b"", data))
        if tags < 0:
            raise Unreadable("too-large", f"its pages have more than {_FREE_TAGS} tags with almost no text, up to {page}")
        markup[page] = _decoded(data)
    return markup, left


def _targets(markup: dict[str, str]) -> frozenset[str]:
    """Return the places that links of the book lead to, except those of contents."""
    targets: set[str] = set()
    for page, text in markup.items():
        links = _LINK.findall(text)
        if links and len(text) - sum(map(len, re.findall("<[^<>]*>", text))) > _MIN_LINK_TEXT_CHARACTERS * len(links):
            for href in links:
                name, _, place = urllib.parse.unquote(href).partition("#")
                targets.add(f"{_joined(page, name) if name else page}#{place}")
    return frozenset(targets)


def _classes(archive: zipfile.ZipFile, sheets: list[str], left: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return the classes of raised and of floating text in style sheets."""
    raised, floating = set[str](), set[str]()
    for name in sheets:
        try:
            data = _member(archive, name, min(left, _MAX_LIST_BYTES))
        except (Unreadable, RuntimeError, *BROKEN_ZIP):  # the book is readable without it
            continue
        left -= len(data)
        for rule in data.decode("utf-8", "replace").lower().split("}"):
            selector, _, body = rule.rpartition("{")
            for names in [raised] * ("super" in body) + [floating] * ("float" in body):
                names.update(re.findall(r"\.([\w-]+)", selector[-_MAX_SELECTOR_CHARACTERS:]))
    return frozenset(raised), frozenset(floating)


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


def _is_page(item: _Attributes) -> bool:
    return item["media-type"].lower() in _PAGES and "nav" not in item["properties"].split()


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


def _without_imprint(passed: list[Passage]) -> list[Passage]:
    """Drop the passages of a copyright page: a short page with words that only such a notice contains.

    Some short stories have one page, which also contains the notice. `guarded` keeps the story.
    """
    lines = [line for passage in passed for line in passage.lines]
    if sum(map(len, lines)) > _MAX_IMPRINT_CHARACTERS or not any(map(_IMPRINT.search, lines)):
        return passed
    blocks = [Block(passage.lines, 1, 1) for passage in passed]
    kept = guarded(lambda blocks: [], lambda block: any(map(_IMPRINT.search, block.lines)), blocks)
    return [passed[block.at] for block in kept]
