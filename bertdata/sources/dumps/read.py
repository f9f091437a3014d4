"""Read MediaWiki dumps: cut them into file ranges, and turn a range into pages and rejects, even if it is damaged.

A range begins where a bzip2 block (plain XML: a ``<page>``) begins.  A page belongs to the range in which its ``<page>`` tag
begins, so no page is lost or repeated when a border cuts through it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from ...records import FileRange, Page, Reject
from ...storage import files
from ..compressed import CHUNK_BYTES, UNCUT, Damage, DecompressedBlock, block_starts, blocks
from .header import Site
from .page_xml import BrokenPage, guess_name, read_fields, split_joined
from .pages import BEGIN, OPEN, PageCutter, RawPage

__all__ = ["LOSSES", "how_cut", "read_pages", "split"]

_MAX_ID_DIGITS = 18  # digits that fit in 63 bits
_MAX_TITLE_CHARACTERS = 255  # MediaWiki limits a title to 255 bytes
LOSSES = frozenset(  # reject reasons that do not refer to a specific page
    ("damaged-stream", "truncated-stream", "truncated-dump", "decompression-bomb", "too-many-rejects")
)


def split(path: str, target: int) -> list[tuple[int, int]]:
    """Cut a dump into byte ranges of about `target` compressed bytes (plain XML: four times that)."""
    size = files.size(path)
    suffix = Path(path).suffix.lower()
    if suffix == ".bz2":
        starts = block_starts(path, target)
    elif suffix in UNCUT:
        starts = [0]
    else:
        starts = _page_starts(path, 4 * target, size)
    return list(zip(starts, [*starts[1:], size], strict=True))


def how_cut(path: str, starts: list[int]) -> str:
    """Return what a dump's ranges begin with: ``streams``, ``blocks`` or ``pages``, or ``whole`` for a single range."""
    if len(starts) < 2:
        return "whole"
    if Path(path).suffix.lower() != ".bz2":
        return "pages"
    with files.open_file(path, ahead=3) as file:
        return "streams" if all(file.seek(start) == start and file.read(3) == b"BZh" for start in starts) else "blocks"


def _page_starts(path: str, target: int, size: int) -> list[int]:
    starts, at = [0], target
    with files.open_file(path) as file:
        while at < size:
            file.seek(at)
            data = file.read(CHUNK_BYTES)
            if match := BEGIN.search(data):
                starts.append(at + match.start())
                at += match.start() + target
            elif len(data) < CHUNK_BYTES:
                break
            else:
                at += len(data) - len(OPEN) + 1  # including one byte after the tag's name
    return starts


def read_pages(part: FileRange, site: Site, max_page_bytes: int) -> Iterator[Page | Reject]:
    """Read the pages that begin in a range of a dump, in order; yield a Reject for a broken one."""
    read = partial(_read, part, site, max_page_bytes)
    end = min(part.end, files.size(part.path))
    cutter = PageCutter(max_page_bytes, at_start=part.start == 0)
    for block in blocks(part.path, part.start, part.end):
        if _first(block) >= part.end:
            cutter.border()
        if cutter.past:
            return
        if isinstance(block, Damage):
            where = f"bytes {block.start}-{block.end} of {part.name}"
            lost = block.end - block.start if block.start < part.end else 0  # the next range counts its own damage
            yield _reject(part, site, guess_name(cutter.lose()), block.reason, where)._replace(lost=lost)
            if block.end >= end:
                return
        else:
            yield from chain.from_iterable(map(read, cutter.feed(block.data)))
    yield from chain.from_iterable(map(read, cutter.finish()))


def _first(block: DecompressedBlock | Damage) -> int:
    return block.at if isinstance(block, DecompressedBlock) else block.start


_WHERE_TEXTS = {
    "unended-page": "a page without </page> in {name}",
    "too-large": "a page of more than {most} bytes (--max-page-bytes) in {name}",
    "truncated-page": "end of {name}",
    "truncated-dump": "end of {name}: no </mediawiki>; pages may be missing",
}


def _read(part: FileRange, site: Site, most: int, cut: RawPage) -> Iterator[Page | Reject]:
    """Turn a cut into a page, or into one reject for each page that damage has joined in it."""
    reason, where = cut.reason, _WHERE_TEXTS.get(cut.reason, "").format(name=part.name, most=most)
    if not reason:
        try:
            yield _page(part, site, read_fields(cut.text))
            return
        except BrokenPage as broken:
            reason, where = broken.reason, f"{part.name}: {broken.detail}"
    for page in [cut.text] if reason == "too-large" else split_joined(cut.text):
        yield _reject(part, site, guess_name(page), reason, where)


def _page(part: FileRange, site: Site, fields: dict[str, str]) -> Page | Reject:
    title, number = fields.get("title", ""), fields.get("id", "")
    if not number.isascii() or not number.isdigit() or len(number) > _MAX_ID_DIGITS:
        return _reject(part, site, title, "no-id", part.name)
    if not title or "text" not in fields:
        return _reject(part, site, number, "no-text" if title else "no-title", part.name)
    ns = fields.get("ns", "")
    namespace = int(ns) if re.fullmatch(r"-?[0-9]{1,9}", ns) else site.namespace(title)
    model = fields.get("model") or "wikitext"
    revised, revision = fields.get("revised", ""), fields.get("revision", "")
    return Page(f"{site.dbname}:{number}", title, namespace, model, "redirect" in fields, fields["text"], revised, revision)


def _reject(part: FileRange, site: Site, name: str, reason: str, where: str) -> Reject:
    """Return a reject for a page, named by its id or title if known, otherwise by its file."""
    return Reject(f"{site.dbname}:{name[:_MAX_TITLE_CHARACTERS]}" if name else part.name, reason, where)
