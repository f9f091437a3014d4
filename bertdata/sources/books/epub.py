"""Read an EPUB: a zip file whose package lists pages in reading order. The pages of the book become paragraphs."""

from __future__ import annotations

import errno
import posixpath
import re
import urllib.parse
import zipfile
from collections.abc import Iterable
from typing import IO, NamedTuple

from ..archives import BROKEN_ZIP, TooLarge, open_zip
from ..encodings import decode
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


class _Package(NamedTuple):
    title: str
    language: str
    pages: list[str]
    styles: list[str]


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
    # The order of files in the zip means nothing. META-INF/container.xml names the package file, and the "spine" of the package
    # lists the pages in reading order.
    package = _package(archive, max_bytes)
    if hidden := _encrypted(archive, max_bytes) & set(package.pages):
        raise Unreadable("encrypted", f"{sorted(hidden)[0]} is encrypted: a book with copy protection can't be read")
    # Budgets for the whole book. A small zip can unpack to gigabytes of tags.
    left, tags = max_bytes, _FREE_TAGS
    markup: dict[str, str] = {}
    for page in package.pages:
        data = _member(archive, page, left)
        left, tags = left - len(data), tags - data.count(b"<")
        if tags < 0:
            tags += len(_TAG.sub(b"", data))
        if tags < 0:
            raise Unreadable("too-large", f"its pages have more than {_FREE_TAGS} tags with almost no text, up to {page}")
        markup[page] = _decoded(data)
    styles = _styles(archive, package, markup, left)
    kept = [passage for page, text in markup.items() for passage in _without_imprint(passages(text, page, styles))]
    return Epub(package.title, package.language, kept)


def _styles(archive: zipfile.ZipFile, package: _Package, markup: dict[str, str], left: int) -> Styles:
    """Return the places that links of the book lead to, except those of contents, and the classes of raised and floating text."""
    targets: set[str] = set()
    for page, text in markup.items():
        links = _LINK.findall(text)
        if links and len(text) - sum(map(len, re.findall("<[^<>]*>", text))) > _MIN_LINK_TEXT_CHARACTERS * len(links):
            for href in links:
                name, _, place = urllib.parse.unquote(href).partition("#")
                targets.add(f"{posixpath.normpath(posixpath.join(posixpath.dirname(page), name)) if name else page}#{place}")
    classes: dict[str, set[str]] = {"super": set(), "float": set()}
    for name in package.styles:
        try:
            data = _member(archive, name, min(left, _MAX_LIST_BYTES))
        except (Unreadable, RuntimeError, *BROKEN_ZIP):  # the book is readable without it
            continue
        left -= len(data)
        for rule in data.decode("utf-8", "replace").lower().split("}"):
            selector, _, body = rule.rpartition("{")
            for word, names in classes.items():
                if word in body:
                    names.update(re.findall(r"\.([\w-]+)", selector[-_MAX_SELECTOR_CHARACTERS:]))
    return Styles(frozenset(targets), frozenset(classes["super"]), frozenset(classes["float"]))


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise Unreadable("damaged", f"{name} is not in it") from None
    if info.compress_type not in _ZIP_METHODS:
        raise Unreadable("damaged", f"{name} is packed in a way that EPUB does not allow")
    with archive.open(info) as member:
        data = member.read(most + 1)
    if len(data) > most:
        raise Unreadable("too-large", f"its pages take more than the bytes allowed, up to {name}")
    return data


def _package(archive: zipfile.ZipFile, max_bytes: int) -> _Package:
    """Find the package through the container; return its title, language, style sheets, and pages in reading order."""
    path = next((tag.get("full-path") for tag in _tags(archive, _CONTAINER, max_bytes) if tag.name == "rootfile"), "")
    if not path:
        raise Unreadable("damaged", f"{_CONTAINER} names no package")
    parts = parse(_decoded(_member(archive, path, min(max_bytes, _MAX_LIST_BYTES))))
    items: dict[str, Tag] = {}
    spine: list[str] = []
    skipped: set[str] = set()
    texts: dict[str, str] = {}
    for tag, text in zip(parts, [*parts[1:], ""], strict=True):
        #   <dc:title>Emma</dc:title>
        #   <item id="c1" href="ch1.xhtml" media-type=.../>      a file of the book
        #   <itemref idref="c1"/>                                its place in the reading order
        #   <reference type="toc" href="toc.xhtml"/>             what a page is for (EPUB 2)
        if isinstance(tag, str) or tag.attributes is None:
            continue
        if tag.name in ("title", "language") and isinstance(text, str) and text.strip():
            texts.setdefault(tag.name, " ".join(text.split()))
        elif tag.name == "item" and tag.get("id"):
            items.setdefault(tag.get("id"), tag)
        elif tag.name == "itemref" and tag.get("linear").lower() != "no":
            spine.append(tag.get("idref"))
        elif tag.name == "reference" and tag.get("type").lower() in SKIPPED_PAGES:
            skipped.add(_resolved(path, tag.get("href"), archive))
    if not spine:
        raise Unreadable("damaged", f"{path} lists no pages")
    read = [items[id] for id in dict.fromkeys(spine) if id in items and _is_page(items[id])]
    pages = dict.fromkeys(_resolved(path, item.get("href"), archive) for item in read)  # a spine may name a page many times
    styles = [
        _resolved(path, item.get("href"), archive) for item in items.values() if item.get("media-type").lower() == "text/css"
    ]
    return _Package(texts.get("title", ""), texts.get("language", ""), [page for page in pages if page not in skipped], styles)


def _tags(archive: zipfile.ZipFile, name: str, max_bytes: int) -> Iterable[Tag]:
    markup = _decoded(_member(archive, name, min(max_bytes, _MAX_LIST_BYTES)))
    return (part for part in parse(markup) if isinstance(part, Tag) and part.attributes)


def _is_page(item: Tag) -> bool:
    return item.get("media-type").lower() in _PAGES and "nav" not in item.get("properties").split()


def _resolved(base: str, href: str, archive: zipfile.ZipFile) -> str:
    """Return the name in the zip file that a reference points to."""
    href = href.partition("#")[0]
    for name in (urllib.parse.unquote(href), href):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(base), name))
        if path in archive.NameToInfo:
            return path
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), href))


def _encrypted(archive: zipfile.ZipFile, max_bytes: int) -> set[str]:
    """Return the names of encrypted files, except fonts, which are often encrypted and not needed."""
    if _ENCRYPTION not in archive.NameToInfo:
        return set()
    tags = _tags(archive, _ENCRYPTION, max_bytes)
    return {_resolved("", tag.get("uri"), archive) for tag in tags if tag.name == "cipherreference"}


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
