"""Read MediaWiki dumps: cut them into pieces, and turn a piece into pages and named rejects that no damage can stop.

A piece is a byte range that begins where a bzip2 stream (plain XML: a ``<page>``) begins.  A page belongs to the piece in which
its ``<page>`` tag begins, so pieces that cut through a page, as those of parallel compressors do, lose and repeat nothing.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from ..errors import UsageError
from ..records import Page, Piece, Reject
from .compressed import CHUNK, Block, Damage, blocks, stream_starts

__all__ = ["Site", "read_pages", "read_site", "split"]

_HEAD = 1 << 20  # the header of a dump is a few kilobytes; what has none in a megabyte is no dump
_OPEN, _CLOSE = b"<page>", b"</page>"


class Site(NamedTuple):
    """What a dump's header says of its wiki; `namespaces` maps lower-case names to numbers."""

    dbname: str
    language: str
    base: str
    namespaces: dict[str, int]

    def url(self, title: str) -> str:
        """Return the address of a page."""
        return self.base + urllib.parse.quote(title.replace(" ", "_"), safe="/:,()'!*") if self.base else ""

    def namespace(self, title: str) -> int:
        """Tell a page's namespace from its title, as dumps before export-0.6 need it."""
        prefix, colon, _ = title.partition(":")
        return self.namespaces.get(prefix.replace("_", " ").strip().lower(), 0) if colon else 0


def split(path: str, target: int) -> list[tuple[int, int]]:
    """Cut a dump into byte ranges of about `target` compressed bytes (plain XML: four times that)."""
    size = Path(path).stat().st_size
    if path.endswith(".bz2"):
        starts = stream_starts(path, target)
    elif path.endswith(".gz"):
        starts = [0]
    else:
        starts = _page_starts(path, 4 * target, size)
    return list(zip(starts, [*starts[1:], size], strict=True))


def _page_starts(path: str, target: int, size: int) -> list[int]:
    starts, at = [0], target
    with open(path, "rb") as file:
        while at < size:
            file.seek(at)
            data = file.read(CHUNK)
            found = data.find(_OPEN)
            if found >= 0:
                starts.append(at + found)
                at += found + target
            elif len(data) < CHUNK:
                break
            else:
                at += len(data) - len(_OPEN) + 1
    return starts


def read_site(path: str) -> Site:
    """Read a dump's header; raise UsageError for a file that is no MediaWiki export or declares entities."""
    head = b""
    for block in blocks(path):
        if isinstance(block, Damage):
            break
        head += block.data
        if b"</siteinfo>" in head or _OPEN in head or len(head) > _HEAD:
            break
    head = head.partition(_OPEN)[0]
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise UsageError(f"{path} declares a document type or entities, which no MediaWiki export does: it is not read")
    text = head.decode("utf-8", "replace")
    if "<mediawiki" not in text:
        raise UsageError(f"{path} is no MediaWiki export (no <mediawiki> in its first megabyte): give a pages-articles dump")
    names = re.findall(r'<namespace key="(-?\d+)"[^>]*>([^<]*)</namespace>', text)
    namespaces = {_unescape(name).strip().lower(): int(number) for number, name in names if name.strip()}
    base = _element(text, "base")
    language = next(iter(re.findall(r'<mediawiki[^>]*\sxml:lang="([^"]+)"', text)), "") or _host_language(base)
    dbname = _element(text, "dbname") or (f"{_host_language(base)}wiki" if base else "") or _file_dbname(path)
    return Site(dbname, language, base[: base.rfind("/") + 1], namespaces)


def _element(text: str, name: str) -> str:
    match = re.search(f"<{name}>([^<]*)</{name}>", text)
    return _unescape(match.group(1)).strip() if match else ""


def _unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def _host_language(base: str) -> str:
    return (urllib.parse.urlsplit(base).hostname or "").partition(".")[0]


def _file_dbname(path: str) -> str:
    return re.split(r"[-.]", Path(path).name, maxsplit=1)[0]


def read_pages(piece: Piece, site: Site, max_page_bytes: int) -> Iterator[Page | Reject]:
    """Read the pages that begin in a piece, in order; what is broken comes as a Reject in its place."""
    size = Path(piece.path).stat().st_size
    buffer, skipping, closed, limit = b"", False, piece.start == 0, -1
    for block in blocks(piece.path, piece.start, piece.end):
        beyond = _first(block) >= piece.end
        if beyond and limit < 0:
            limit = len(buffer)  # a page that begins from here on is the next piece's
        if beyond and (skipping or not _page_open(buffer, limit)):
            return
        if isinstance(block, Damage):
            where = f"bytes {block.start}-{block.end} of {piece.name}"
            yield Reject(_guess_id(buffer, site) or piece.name, block.reason, where)
            if block.end >= min(piece.end, size):
                return
            buffer, skipping, closed = b"", False, False
            continue
        searched = max(0, len(buffer) - len(_CLOSE))
        buffer += block.data
        if beyond and not _page_open(buffer, limit):
            return
        begin = 0
        while (end := buffer.find(_CLOSE, max(begin, searched))) >= 0:
            end += len(_CLOSE)
            if beyond and 0 <= (following := buffer.find(_OPEN, limit)) < end:
                yield from _unended(buffer[:following].split(_OPEN)[1:], piece, site)
                return
            if not skipping and (closed or _OPEN in buffer[begin:end]):
                yield from _read_block(buffer[begin:end], piece, site, max_page_bytes)
            if beyond:
                return
            begin, skipping, closed = end, False, True
        buffer = buffer[begin:]
        if len(buffer) > max_page_bytes:
            if not skipping and _OPEN in buffer:
                yield _too_large(buffer, piece, site, max_page_bytes)
                skipping = True
            buffer = buffer[-len(_CLOSE) :]
    if not skipping and _OPEN in buffer:
        yield Reject(_guess_id(buffer, site) or piece.name, "truncated-page", f"end of {piece.name}")
    elif closed and b"</mediawiki>" not in buffer:  # where no page ended, an earlier piece tells of it
        yield Reject(piece.name, "truncated-dump", f"end of {piece.name}: no </mediawiki>; pages may be missing")


def _first(block: Block | Damage) -> int:
    return block.at if isinstance(block, Block) else block.start


def _page_open(buffer: bytes, limit: int) -> bool:
    """Tell whether a page, or a part of the tag that opens one, begins before `limit` and waits for its end."""
    if (found := buffer.find(_OPEN)) >= 0:
        return found < limit
    return any(buffer.endswith(_OPEN[:length]) and len(buffer) - length < limit for length in range(1, len(_OPEN)))


def _too_large(block: bytes, piece: Piece, site: Site, max_page_bytes: int) -> Reject:
    where = f"a page of more than {max_page_bytes} bytes (--max-page-bytes) in {piece.name}"
    return Reject(_guess_id(block, site) or piece.name, "too-large", where)


def _read_block(block: bytes, piece: Piece, site: Site, max_page_bytes: int) -> Iterator[Page | Reject]:
    """Read what ends with ``</page>``: a page, or pages that lack their end before it."""
    *unended, page = block.split(_OPEN)[1:] or [block]
    yield from _unended(unended, piece, site)
    if len(page) > max_page_bytes:
        yield _too_large(page, piece, site, max_page_bytes)
    else:
        yield _parse(page, piece, site)


def _unended(parts: list[bytes], piece: Piece, site: Site) -> Iterator[Reject]:
    for part in parts:
        yield Reject(_guess_id(part, site) or piece.name, "unended-page", f"a page without </page> in {piece.name}")


def _guess_id(text: bytes, site: Site) -> str:
    """Name a page that cannot be read by its id or its title, if those can."""
    text = text.rpartition(_OPEN)[2]
    head = text.partition(b"<revision>")[0]  # a revision has an id too
    if match := re.search(rb"<id>(\d+)</id>", head):
        return f"{site.dbname}:{match.group(1).decode()}"
    if match := re.search(rb"<title>([^<]{1,255})</title>", text):
        return f"{site.dbname}:{match.group(1).decode('utf-8', 'replace')}"
    return ""


def _parse(page: bytes, piece: Piece, site: Site) -> Page | Reject:
    """Parse one page's XML; `page` is what follows ``<page>``."""
    where = f"{piece.name}"
    fields = _Fields()
    try:
        fields.parse(_OPEN + page)
    except expat.ExpatError as error:
        return Reject(_guess_id(page, site) or piece.name, "malformed-xml", f"{where}: {error}")
    except _Declaration:
        return Reject(_guess_id(page, site) or piece.name, "declaration", f"{where}: a document type or entity is declared")
    title, number = fields.get("title"), fields.get("id")
    if not title or not number.isascii() or not number.isdigit():
        good = number.isascii() and number.isdigit()
        name = number if good else title
        return Reject(f"{site.dbname}:{name}" if name else piece.name, "no-title" if good else "no-id", where)
    if "text" not in fields.values:
        return Reject(f"{site.dbname}:{number}", "no-text", where)
    ns = fields.get("ns")
    namespace = int(ns) if re.fullmatch(r"-?\d{1,9}", ns) else site.namespace(title)
    model = fields.get("model") or "wikitext"
    return Page(f"{site.dbname}:{number}", title, namespace, model, "redirect" in fields.values, fields.get("text"))


class _Declaration(Exception):
    """A page that declares a document type, which could expand to anything."""


class _Fields:
    """Gather the elements of a page that matter; of several revisions the last one's."""

    _PATHS = {
        "page/title": "title",
        "page/ns": "ns",
        "page/id": "id",
        "page/redirect": "redirect",
        "page/revision/model": "model",
        "page/revision/text": "text",
    }

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}
        self._path: list[str] = []
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.buffer_size = CHUNK
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse

    def parse(self, data: bytes) -> None:
        """Parse a whole page; raise expat.ExpatError where it is not well-formed."""
        self._parser.Parse(data, True)

    def get(self, name: str) -> str:
        """Return an element's text, stripped unless it is the page's own."""
        value = "".join(self.values.get(name, ()))
        return value if name == "text" else value.strip()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        if field := self._PATHS.get("/".join(self._path)):
            self.values[field] = []
            self._parser.CharacterDataHandler = self.values[field].append

    def _end(self, name: str) -> None:
        self._path.pop()
        self._parser.CharacterDataHandler = None

    def _refuse(self, *declaration: object) -> None:
        raise _Declaration
