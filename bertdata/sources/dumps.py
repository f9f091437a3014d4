"""Read MediaWiki dumps: cut them into file ranges, and turn a range into pages and rejects, even if it is damaged.

A range begins where a bzip2 block (plain XML: a ``<page>``) begins.  A page belongs to the range in which its ``<page>`` tag
begins, so no page is lost or repeated when a border cuts through it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from ..records import FileRange, Page, Reject
from ..storage import files
from .bzip2 import CHUNK_BYTES, Damage, block_starts
from .packed import UNCUT, blocks
from .wikis import Site as Site
from .wikis import as_of as as_of
from .wikis import dump_date as dump_date
from .wikis import read_site as read_site

_OPEN, _CLOSE, _END = b"<page>", b"</page>", b"</mediawiki>"
_TAG = re.compile(rb"</?page>")
_UNFINISHED = re.compile(rb"<(?:p(?:a(?:ge?)?)?)?\Z")  # possible start of a <page>
_TITLE = re.compile(rb"(?=<title>)")
_LONG_TAG = re.compile(rb"<[^<>]{65536}")
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")  # Unicode's category Cc
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ID = "[0-9]{1,18}"  # fits in 63 bits
_MAX_TAGS = 200_000
_MAX_TAIL_BYTES = 4096  # kept of the text between pages, to find </mediawiki> and tags that two blocks share
_MAX_TITLE_CHARACTERS = 255  # MediaWiki limits a title to 255 bytes
_TOO_LARGE = "a page of more than {most} bytes (--max-page-bytes) in {name}"


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
    """Return what a dump's ranges begin with: ``blocks`` or ``pages``, or ``whole`` for a single range."""
    if len(starts) < 2:
        return "whole"
    return "blocks" if path.lower().endswith(".bz2") else "pages"


def _page_starts(path: str, target: int, size: int) -> list[int]:
    starts, at = [0], target
    with files.open_file(path) as file:
        while at < size:
            file.seek(at)
            data = file.read(CHUNK_BYTES)
            begin = data.find(_OPEN)
            if begin >= 0:
                starts.append(at + begin)
                at += begin + target
            elif len(data) < CHUNK_BYTES:
                break
            else:
                at += len(data) - len(_OPEN) + 1
    return starts


def read_pages(part: FileRange, site: Site, max_page_bytes: int) -> Iterator[Page | Reject]:
    """Read the pages that begin in a range of a dump, in order; yield a Reject for a broken one.

    Reasons: ``malformed-xml``, ``no-id``, ``no-title``, ``no-text``, ``too-large``, ``unended-page``, ``truncated-page``, and for
    bytes that are lost ``truncated-dump``, ``truncated-stream``, ``damaged-stream``, ``decompression-bomb``.
    """
    for xml, reason, where, lost in _cut(part, max_page_bytes):
        page = _Broken(reason, where) if reason else _parse(xml, site, part.name)
        if isinstance(page, Page):
            yield page
            continue
        # Damage can join pages, when the tags between them are missing. Each has a title.
        first, *others = _TITLE.split(xml) if page.reason in ("malformed-xml", "unended-page", "truncated-page") else [xml]
        for each in [first + others[0], *others[1:]] if others else [first]:
            name = page.name or _guess_name(each)
            yield Reject(f"{site.dbname}:{name[:_MAX_TITLE_CHARACTERS]}" if name else part.name, page.reason, page.where, lost)


class _Broken(NamedTuple):
    """Why a page is rejected, where it is, and its id or title if it is known."""

    reason: str
    where: str
    name: str = ""


def _cut(part: FileRange, most: int) -> Iterator[tuple[bytes, str, str, int]]:
    """Cut a range into pages. Yield the XML after ``<page>``, and the reason, place and lost bytes if the page is broken.

    MediaWiki escapes ``<`` in all text, so ``<page>`` and ``</page>`` always are tags. A page belongs to the range in which its
    ``<page>`` begins, and is read from beyond the end of the range if necessary.
    """
    # The states, and what the next tag does. "foreign" is the text at the start of a range, which the range before reads, and the
    # text after lost bytes. "named" is the rest of a page that was too large.
    #
    #   state             <page>                          </page>
    #   between           -> page                         reject the text: its <page> is lost
    #   page              reject the open page; -> page   yield the page; -> between
    #   foreign, named    -> page                         -> between
    state = "foreign" if part.start else "between"
    text = bytearray()  # the text after the last tag; it grows in place, so that a long page is not copied for each block
    seen = 0  # bytes of `text` that contain no tag
    border = sys.maxsize  # offset in `text` where the next range begins
    for block in blocks(part.path, part.start, part.end):
        if block.at >= part.end:
            border = min(border, len(text))
            # Stop at the border, unless a page is open or a tag may begin before it and end behind it.
            tail = _UNFINISHED.search(text, max(0, len(text) - len(_OPEN)))
            if state != "page" and (tail is None or tail.start() >= border):
                return
        if isinstance(block, Damage):
            lost = block.end - block.at if block.at < part.end else 0  # the next range counts its own damage
            where = f"bytes {block.at}-{block.end} of {part.name}"
            yield bytes(text) if state in ("page", "between") else b"", block.reason, where, lost
            if block.end >= min(part.end, files.size(part.path)):
                return
            state, seen, border = "foreign", 0, border - len(text)
            text.clear()
            continue
        text += block.data
        begin = 0
        while tag := _TAG.search(text, seen):
            opens, seen = tag[0] == _OPEN, tag.end()
            if state == "page" and opens:
                yield bytes(text[begin : tag.start()]), "unended-page", f"a page without </page> in {part.name}", 0
            elif state in ("page", "between") and not opens:
                reason = "too-large" if seen - begin > most else ""
                yield bytes(text[begin:seen]), reason, _TOO_LARGE.format(most=most, name=part.name), 0
            if tag.start() >= border:
                return
            state, begin = "page" if opens else "between", seen
        if state == "page" and len(text) - begin > most:
            yield bytes(text[begin:]), "too-large", _TOO_LARGE.format(most=most, name=part.name), 0
            state = "named"
        begin = begin if state == "page" else max(begin, len(text) - _MAX_TAIL_BYTES)
        del text[:begin]
        border -= begin
        seen = max(0, len(text) - len(_CLOSE) + 1)
    if state == "page":
        yield bytes(text), "truncated-page", f"end of {part.name}", 0
    elif state != "foreign" and _END not in text:
        yield b"", "truncated-dump", f"end of {part.name}: no </mediawiki>; pages may be missing", 0


def _parse(xml: bytes, site: Site, name: str) -> Page | _Broken:
    """Parse the XML after a ``<page>``. Of several revisions, use the newest: an import appends old revisions to new ones."""
    # A tag with thousands of attributes or a million empty elements would fill the memory. A revision has about 20 elements.
    if _LONG_TAG.search(xml) or xml.count(b"<") > _MAX_TAGS:
        return _Broken("malformed-xml", f"{name}: a tag of more than 64 kB or more than {_MAX_TAGS} tags")
    try:
        page = ElementTree.fromstring(_OPEN + xml)
    except ElementTree.ParseError as error:
        return _Broken("malformed-xml", f"{name}: {error}")
    # Timestamps such as 2022-07-20T00:00:01Z sort as text. Of revisions of the same time, the last one in the file is the newest.
    newest_first = page.findall("revision")[::-1]
    times = [_one_line(revision.findtext("timestamp")) for revision in newest_first]
    times = [time if _TIME.fullmatch(time) else "" for time in times]
    revision = newest_first[times.index(max(times))] if times else page
    title, number, text = _one_line(page.findtext("title")), _one_line(page.findtext("id")), revision.find("text")
    if repeated := [tag for tag in ("title", "id") if len(page.findall(tag)) > 1]:
        return _Broken("malformed-xml", f"{name}: two elements <{repeated[0]}> in one page")
    if not re.fullmatch(_ID, number):
        return _Broken("no-id", name, title)
    if not title or text is None:
        return _Broken("no-text" if title else "no-title", name, number)
    ns = _one_line(page.findtext("ns"))
    return Page(
        f"{site.dbname}:{number}",
        title,
        int(ns) if re.fullmatch(r"-?[0-9]{1,9}", ns) else site.namespace(title),
        _one_line(revision.findtext("model")) or "wikitext",
        page.find("redirect") is not None,
        text.text or "",
        _one_line(revision.findtext("timestamp")),
        _one_line(revision.findtext("id")),
    )


def _guess_name(xml: bytes) -> str:
    """Return the id or title of a page that cannot be parsed, if they can be found; otherwise ""."""
    head = xml.partition(b"<revision>")[0]  # a revision has an id too
    if match := re.search(rb"<id>(\d{1,18})</id>", head):
        return match[1].decode()
    match = re.search(rb"<title>([^<]{1,255})</title>", xml)
    return _one_line(match[1].decode("utf-8", "replace")) if match else ""


def _one_line(value: str | None) -> str:
    """Replace control characters by spaces."""
    return _CONTROL.sub(" ", value or "").strip()
