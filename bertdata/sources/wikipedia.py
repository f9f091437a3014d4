"""Read MediaWiki dumps: cut them into pieces, and turn a piece into pages and named rejects that no damage can stop.

A piece is a byte range that begins where a bzip2 block (plain XML: a ``<page>``) begins.  A page belongs to the piece in which
its ``<page>`` tag begins, so pieces that cut through a page, as those of one stream do, lose and repeat nothing.
"""

from __future__ import annotations

import os
import re
import urllib.parse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..errors import UsageError
from ..records import Page, Piece, Reject
from .bzip2 import CHUNK, block_starts
from .compressed import UNCUT, Block, Damage, blocks
from .page_xml import BrokenPage, guess_name, read_fields
from .pages import OPEN, Cut, PageCutter

__all__ = ["LOSSES", "Site", "how_cut", "read_pages", "read_site", "split"]

_HEAD = 1 << 20  # the header of a dump is a few kilobytes; what has none in a megabyte is no dump
_LONGEST_NAME = 64  # MySQL's for a database, which a dbname is
_LONGEST_ID = 18  # digits that 63 bits hold
LOSSES = frozenset(("damaged-stream", "truncated-stream", "truncated-dump"))  # reasons of rejects that stand for no certain page


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
    suffix = Path(path).suffix.lower()
    if suffix == ".bz2":
        starts = block_starts(path, target)
    elif suffix in UNCUT:
        starts = [0]
    else:
        starts = _page_starts(path, 4 * target, size)
    return list(zip(starts, [*starts[1:], size], strict=True))


def how_cut(path: str, starts: list[int]) -> str:
    """Tell what a dump's pieces begin with: ``streams``, ``blocks`` or ``pages``, or ``whole`` where there is one piece."""
    if len(starts) < 2:
        return "whole"
    if Path(path).suffix.lower() != ".bz2":
        return "pages"
    with open(path, "rb") as file:
        return "streams" if all(os.pread(file.fileno(), 3, start) == b"BZh" for start in starts) else "blocks"


def _page_starts(path: str, target: int, size: int) -> list[int]:
    starts, at = [0], target
    with open(path, "rb") as file:
        while at < size:
            file.seek(at)
            data = file.read(CHUNK)
            found = data.find(OPEN)
            if found >= 0:
                starts.append(at + found)
                at += found + target
            elif len(data) < CHUNK:
                break
            else:
                at += len(data) - len(OPEN) + 1
    return starts


def read_site(path: str) -> Site:
    """Read a dump's header; raise UsageError for a file that is no MediaWiki export or declares entities."""
    head = b""
    for block in blocks(path):
        if isinstance(block, Damage):
            raise UsageError(f"{path} is damaged at its beginning, where its header should be ({block.reason}): fetch it again")
        head += block.data
        if b"</siteinfo>" in head or OPEN in head or len(head) > _HEAD:
            break
    head = head.partition(OPEN)[0]
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise UsageError(f"{path} declares a document type or entities, which no MediaWiki export does: it is not read")
    text = head.decode("utf-8", "replace")
    if "<mediawiki" not in text:
        raise UsageError(f"{path} is no MediaWiki export (no <mediawiki> in its first megabyte): give a pages-articles dump")
    names = re.findall(r'<namespace key="(-?\d+)"[^>]*>([^<]*)</namespace>', text)
    namespaces = {_unescape(name).strip().lower(): int(number) for number, name in names if name.strip()}
    base = _element(text, "base")
    language = next(iter(re.findall(r'<mediawiki[^>]*\sxml:lang="([^"]+)"', text)), "") or _host_language(base)
    return Site(_dbname(text, base, path), language, base[: base.rfind("/") + 1], namespaces)


def _element(text: str, name: str) -> str:
    match = re.search(f"<{name}>([^<]*)</{name}>", text)
    return _unescape(match.group(1)).strip() if match else ""


def _unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def _host_language(base: str) -> str:
    """Return ``de`` of ``https://de.wikipedia.org/…``; nothing for what is no such address."""
    try:
        name, dot, _ = (urllib.parse.urlsplit(base).hostname or "").partition(".")
    except ValueError:  # such as ``http://[``
        return ""
    return name if dot else ""


def _dbname(text: str, base: str, path: str) -> str:
    """Name the wiki by its header, else by the file: in letters that an id may have, for this name begins every page's."""
    file = re.split(r"[-.]", Path(path).name, maxsplit=1)[0]
    language = _host_language(base)
    return _plain(_element(text, "dbname") or (f"{language}wiki" if language else file)) or _plain(file) or "wiki"


def _plain(name: str) -> str:
    """Keep the ASCII letters, digits and ``_.-`` of a name; return nothing if that is no name or a long one."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "", name)
    return name if len(name) <= _LONGEST_NAME and re.search("[A-Za-z0-9]", name) else ""


def read_pages(piece: Piece, site: Site, max_page_bytes: int) -> Iterator[Page | Reject]:
    """Read the pages that begin in a piece, in order; what is broken comes as a Reject in its place."""
    read = partial(_read, piece, site, max_page_bytes)
    end = min(piece.end, Path(piece.path).stat().st_size)
    cutter = PageCutter(max_page_bytes, at_start=piece.start == 0)
    for block in blocks(piece.path, piece.start, piece.end):
        if _first(block) >= piece.end:
            cutter.border()
        if cutter.past:
            return
        if isinstance(block, Damage):
            where = f"bytes {block.start}-{block.end} of {piece.name}"
            elsewhere = block.reason == "truncated-stream" or block.start >= piece.end  # bytes not there, or the next piece's
            lost = 0 if elsewhere else block.end - block.start
            yield _reject(piece, site, guess_name(cutter.lose()), block.reason, where)._replace(lost=lost)
            if block.end >= end:
                return
        else:
            yield from map(read, cutter.feed(block.data))
    yield from map(read, cutter.finish())


def _first(block: Block | Damage) -> int:
    return block.at if isinstance(block, Block) else block.start


_WHERE = {
    "unended-page": "a page without </page> in {name}",
    "too-large": "a page of more than {most} bytes (--max-page-bytes) in {name}",
    "truncated-page": "end of {name}",
    "truncated-dump": "end of {name}: no </mediawiki>; pages may be missing",
}


def _read(piece: Piece, site: Site, most: int, cut: Cut) -> Page | Reject:
    """Turn a cut into the page that it is, or into a reject that names it."""
    if cut.reason:
        return _reject(piece, site, guess_name(cut.text), cut.reason, _WHERE[cut.reason].format(name=piece.name, most=most))
    try:
        fields = read_fields(cut.text)
    except BrokenPage as broken:
        return _reject(piece, site, guess_name(cut.text), broken.reason, f"{piece.name}: {broken.detail}")
    title, number = fields.get("title", ""), fields.get("id", "")
    if not number.isascii() or not number.isdigit() or len(number) > _LONGEST_ID:
        return _reject(piece, site, title, "no-id", piece.name)
    if not title or "text" not in fields:
        return _reject(piece, site, number, "no-text" if title else "no-title", piece.name)
    ns = fields.get("ns", "")
    namespace = int(ns) if re.fullmatch(r"-?[0-9]{1,9}", ns) else site.namespace(title)
    model = fields.get("model") or "wikitext"
    return Page(f"{site.dbname}:{number}", title, namespace, model, "redirect" in fields, fields["text"])


def _reject(piece: Piece, site: Site, name: str, reason: str, where: str) -> Reject:
    """Refuse a page, which is called by its id or title where those are known and by its file else."""
    return Reject(f"{site.dbname}:{name}" if name else piece.name, reason, where)
