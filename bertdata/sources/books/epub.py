"""Read an EPUB: a zip file whose package lists pages in reading order. The pages of the book become paragraphs."""

from __future__ import annotations

import errno
import posixpath
import re
import urllib.parse
import zipfile
from collections import Counter
from typing import IO, NamedTuple

from ..archives import BROKEN_ZIP, TooLarge, open_zip
from ..encodings import decode
from .account import size
from .back import is_imprint
from .blocks import Block
from .put_back import put_back
from .xhtml import SKIPPED_PAGES, Passage, counted_as, passages, text_size
from .xml_tags import Tag, attributes, tags_and_text

__all__ = ["Epub", "Unreadable", "read_epub"]

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the only methods that EPUB allows
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/x-dtbook+xml")
_ENCODING = re.compile(rb"""(?:encoding|charset)\s*=\s*(?:["']\s*)?([\w.-]+)""")
_TRUSTED = re.compile(r"(?:iso-?8859|windows-?125|cp125|koi8|shift.?jis|euc|gb|big5)[\w-]*$", re.IGNORECASE)
_HEAD_BYTES = 1024  # first bytes of a page, which declare its encoding
_MAX_IMPRINT_CHARACTERS = 6000  # characters of a copyright page
_MAX_LIST_BYTES = 4 << 20  # bytes of the zip directory or the package; a book has a few hundred entries of about 100 bytes
_MAX_TAGS = 500_000  # per book; a Bible with a tag for each verse and word has fewer


class Unreadable(Exception):
    """An EPUB that cannot be read; `reason` is the name under which the reject is counted."""

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason


class Epub(NamedTuple):
    """A book: its title and language from the package, and its passages in order.

    Characters without whitespace are counted by kind: `left_out` of the removed text, `put_back` of text that was kept after all.
    """

    title: str
    language: str
    passages: list[Passage]
    left_out: Counter[str]
    put_back: Counter[str]


class _Package(NamedTuple):
    title: str
    language: str
    pages: list[str]
    others: dict[str, str]  # skipped pages and their kinds


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
    # The order of files in the zip means nothing. META-INF/container.xml names the package file,
    # and the "spine" of the package lists the pages in reading order.
    package = _package(archive, max_bytes)
    if hidden := _encrypted(archive, max_bytes) & set(package.pages):
        raise Unreadable("encrypted", f"{sorted(hidden)[0]} is encrypted: a book with copy protection can't be read")
    kept: list[Passage] = []
    returned = Counter[str]()
    # Two budgets for the whole book. A small zip can unpack to gigabytes of tags.
    left, tags, left_out = max_bytes, _MAX_TAGS, Counter[str]()
    for page in package.pages:
        data = _member(archive, page, left)
        left, tags = left - len(data), tags - data.count(b"<")
        if tags < 0:
            raise Unreadable("too-large", f"its pages have more than {_MAX_TAGS} tags, up to {page}")
        kept += _without_imprint(passages(_decoded(data), left_out), left_out, returned)
    for page, kind in package.others.items():
        try:
            data = _member(archive, page, left)
        except (Unreadable, RuntimeError, *BROKEN_ZIP):  # a skipped page; the book is unaffected
            continue
        left, tags = left - len(data), tags - data.count(b"<")
        left_out[kind] += text_size(_decoded(data)) if tags >= 0 else 0
    return Epub(package.title, package.language, kept, +left_out, +returned)


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
    """Find the package through the container; return its title, language and pages in reading order."""
    roots = [attributes(tag.attributes) for tag in _tags(archive, _CONTAINER, max_bytes) if tag.name == "rootfile"]
    path = next((root["full-path"] for root in roots if root.get("full-path")), "")
    if not path:
        raise Unreadable("damaged", f"{_CONTAINER} names no package")
    markup = _decoded(_member(archive, path, min(max_bytes, _MAX_LIST_BYTES)))
    items: dict[str, dict[str, str]] = {}
    spine: list[str] = []
    skipped: dict[str, str] = {}
    texts: dict[str, str] = {}
    inside = ""
    for part in tags_and_text(markup):
        if isinstance(part, str):
            if inside and part.strip():
                texts.setdefault(inside, " ".join(part.split()))
            continue
        inside = "" if part.end or part.empty else part.name
        #   <item id="c1" href="ch1.xhtml" media-type=.../>      a file of the book
        #   <itemref idref="c1"/>                                its place in the reading order
        #   <reference type="toc" href="toc.xhtml"/>             what a page is for (EPUB 2)
        known = {} if part.end else attributes(part.attributes)
        if part.name == "item" and "id" in known:
            items.setdefault(known["id"], known)
        elif part.name == "itemref" and known.get("linear", "yes").lower() != "no":
            spine.append(known.get("idref", ""))
        elif part.name == "reference" and known.get("type", "").lower() in SKIPPED_PAGES:
            skipped[_resolved(path, known.get("href", ""), archive)] = counted_as(known["type"].lower())
    if not spine:
        raise Unreadable("damaged", f"{path} lists no pages")
    read = [items[id] for id in dict.fromkeys(spine) if id in items and _is_page(items[id])]
    pages = dict.fromkeys(_resolved(path, item.get("href", ""), archive) for item in read)  # a spine may name a page many times
    pages = {page: None for page in pages if page not in skipped}
    markup_items = {_resolved(path, item.get("href", ""), archive): item for item in items.values() if _is_markup(item)}
    left_out = {
        page: "navigation"
        if "nav" in item.get("properties", "").split()
        else skipped.get(page, "pages outside the reading order")
        for page, item in markup_items.items()
        if page not in pages
    }
    return _Package(texts.get("title", ""), texts.get("language", ""), list(pages), left_out)


def _tags(archive: zipfile.ZipFile, name: str, max_bytes: int) -> list[Tag]:
    markup = _decoded(_member(archive, name, min(max_bytes, _MAX_LIST_BYTES)))
    return [part for part in tags_and_text(markup) if isinstance(part, Tag) and not part.end]


def _is_markup(item: dict[str, str]) -> bool:
    return item.get("media-type", "").lower() in _PAGES


def _is_page(item: dict[str, str]) -> bool:
    return _is_markup(item) and "nav" not in item.get("properties", "").split()


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
    names = [attributes(tag.attributes).get("uri", "") for tag in tags if tag.name == "cipherreference"]
    return {_resolved("", name, archive) for name in names}


def _decoded(data: bytes) -> str:
    """Decode a page by its declared encoding if that is a legacy one and decodes, otherwise by its bytes."""
    named = _ENCODING.search(data[:_HEAD_BYTES])
    if named and _TRUSTED.match(encoding := named.group(1).decode("ascii", "replace")):
        try:
            return data.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            pass
    return decode(data)


def _without_imprint(passed: list[Passage], left_out: Counter[str], returned: Counter[str]) -> list[Passage]:
    """Drop the passages of a copyright page: a short page with words that only such a notice contains.

    Some short stories have one page, which also contains the notice. `put_back` returns the story.
    """
    lines = [line for passage in passed for line in passage.lines]
    if sum(map(len, lines)) > _MAX_IMPRINT_CHARACTERS or not any(map(is_imprint, lines)):
        return passed
    blocks = [Block(passage.lines, 1, 1, at) for at, passage in enumerate(passed)]
    kept, characters = put_back("imprint", blocks, [], sum(map(size, lines)))
    left_out["imprint"] += sum(map(size, lines)) - characters
    returned["imprint"] += characters
    return [passed[block.at] for block in kept]
