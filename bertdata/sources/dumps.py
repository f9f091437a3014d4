"""Read MediaWiki dumps: cut them into file ranges, and turn a range into pages and rejects, even if it is damaged.

A range begins where a bzip2 block begins, or anywhere in plain XML.  A page belongs to the range in which its ``<page>`` tag
begins, so no page is lost or repeated when a border cuts through it.
"""

from __future__ import annotations

import html
import re
import sys
import urllib.parse
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from ..config.input_kinds import PROJECTS
from ..credentials import hide
from ..errors import UsageError, did_you_mean
from ..records import FileRange, Page, Reject
from ..storage import files
from ..storage.stamp import stamp
from .bzip2 import Damage, block_starts
from .packed import UNCUT, blocks

_OPEN, _CLOSE, _END = b"<page>", b"</page>", b"</mediawiki>"
_TAG = re.compile(rb"</?page>")
_UNFINISHED = re.compile(rb"<(?:p(?:a(?:ge?)?)?)?\Z")  # possible start of a <page>
_LONG_TAG = re.compile(rb"<[^<>]{65536}")
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")  # Unicode's category Cc
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MAX_TIME_S = (1 << 32) - 2  # maximum of the 32-bit field in a run's files, in seconds: year 2106
_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)")
_ID = "[0-9]{1,18}"  # fits in 63 bits
_MAX_TAGS = 200_000
_MAX_TAIL_BYTES = 4096  # kept of the text between pages, to find </mediawiki> and tags that two blocks share
_MAX_HEADER_BYTES = 1 << 20  # a header has a few kilobytes: a file without one in its first megabyte is not a dump
_PROJECT = re.compile(rf"({'|'.join(PROJECTS)})\.org")
_DOCUMENTS = {"wikibooks": ("cookbook", "wikijunior")}  # namespaces with documents besides the main one


# --- the header ---


class Site(NamedTuple):
    """A wiki as described in a dump's header."""

    dbname: str  # name of its database, such as ``enwiki``, with which every page id begins
    language: str
    base: str  # address of its pages, to which a title is appended
    namespaces: dict[str, int]  # number of each, by its name in lower case
    project: str = "wikipedia"  # Wikimedia project, such as ``wikisource``, from the host of `base`

    def namespace_numbers(self, names: Sequence[str]) -> frozenset[int]:
        """Return the numbers of namespaces, which are given by name or number. Raise UsageError if the wiki lacks one.

        By default, return the main namespace and, for Wikibooks, Cookbook and Wikijunior.
        """
        if not names:
            documents = _DOCUMENTS.get(self.project, ())
            return frozenset([0, *(self.namespaces[name] for name in documents if name in self.namespaces)])
        known = {**{str(number): number for number in self.namespaces.values()}, **self.namespaces, "0": 0, "main": 0}
        for name in names:
            if name.strip().lower() not in known:
                problem = f"{self.dbname} has no such namespace{did_you_mean(name.lower(), known)}"
                raise UsageError(f"`namespaces` {name}: {problem}", field="namespaces", value=name)
        return frozenset(known[name.strip().lower()] for name in names)

    def url(self, title: str, revision: str) -> str:
        """Return the permanent address of a page's revision, or the address of the page if `revision` is not a number."""
        suffix = f"?oldid={revision}" if re.fullmatch(_ID, revision) else ""
        return self.base and self.base + urllib.parse.quote(title.replace(" ", "_"), safe="/:,()'!*") + suffix

    def namespace(self, title: str) -> int:
        """Return a page's namespace from its title, for dumps before export-0.6."""
        prefix, colon, _ = title.partition(":")
        return self.namespaces.get(prefix.replace("_", " ").strip().lower(), 0) if colon else 0


def read_site(path: str) -> Site:
    """Read a dump's header, once per process and version of the file: it takes a block, as much as a tenth of a small task.

    Raise UsageError if the file is not a MediaWiki export.
    """
    return _read_site(str(path), stamp(path))


@lru_cache(maxsize=64)
def _read_site(path: str, version: tuple[Any, ...]) -> Site:
    head = b""
    for block in blocks(path):
        if isinstance(block, Damage):
            raise UsageError(f"{path} is damaged at its beginning, where its header should be ({block.reason}): fetch it again")
        head += block.data
        if b"</siteinfo>" in head or _OPEN in head or len(head) > _MAX_HEADER_BYTES:
            break
    text = head.partition(_OPEN)[0].decode("utf-8", "replace")
    if "<mediawiki" not in text:
        raise UsageError(f"{path} is not a MediaWiki export (no <mediawiki> in its first megabyte): use a pages-articles dump")
    keys = re.findall(r'<namespace key="(-?\d{1,9})"[^<>]*>([^<]*)</namespace>', text)
    namespaces = {html.unescape(name).strip().lower(): int(number) for number, name in keys if name.strip()}
    elements = dict(re.findall("<(base|dbname)>([^<]*)</", text)[::-1])  # the first of each
    base = hide(html.unescape(elements.get("base", "")).strip())  # part of every document's url
    language = re.search(r'<mediawiki[^<>]*\sxml:lang="([^"<>]{1,35})"', text)
    project = _PROJECT.search(base)
    # Every page id begins with the database's name. Old headers have none, but files are named after it.
    stated = html.unescape(elements.get("dbname", "")), re.split(r"[-.]", Path(path).name)[0]
    names = (re.sub(r"[^A-Za-z0-9_.-]", "", name) for name in stated)
    dbname = next((name for name in names if re.fullmatch("(?=.{1,64}$).*[A-Za-z0-9].*", name)), "wiki")
    base = base[: base.rfind("/") + 1]
    return Site(dbname, language[1] if language else "", base, namespaces, project[1] if project else PROJECTS[0])


def dump_date(name: str) -> str:
    """Return the first date in a file's name, or "".

    >>> dump_date("enwiki-20220720-pages-articles.xml.bz2"), dump_date("20221399.xml"), dump_date("dump.xml")
    ('20220720', '', '')
    """
    return "".join(_DATE.findall(name)[:1])


def as_of(name: str, revised: str) -> int:
    """Return the date of a page in seconds since 1970, from its dump's name or its revision's time; 0 if neither has a date.

    >>> as_of("enwiki-20220720.xml", "2001-01-01T00:00:00Z"), as_of("dump.xml", "2022-07-20T00:00:01Z"), as_of("dump.xml", "")
    (1658275200, 1658275201, 0)
    """
    date = dump_date(name)
    try:
        time = datetime.strptime(date or revised, "%Y%m%d" if date else "%Y-%m-%dT%H:%M:%SZ")
        return min(_MAX_TIME_S, max(0, int(time.replace(tzinfo=timezone.utc).timestamp())))
    except ValueError:
        return 0


# --- ranges ---


def split(path: str, target: int) -> list[tuple[int, int]]:
    """Cut a dump into byte ranges of about `target` compressed bytes (plain XML: four times that)."""
    size, suffix = files.size(path), Path(path).suffix.lower()
    starts = block_starts(path, target) if suffix == ".bz2" else [0] if suffix in UNCUT else list(range(0, size, 4 * target))
    return list(pairwise([*starts, size]))


def how_cut(path: str, starts: list[int]) -> str:
    """Return what a dump's ranges begin with: ``blocks`` or ``pages``, or ``whole`` for a single range."""
    return "whole" if len(starts) < 2 else "blocks" if path.lower().endswith(".bz2") else "pages"


# --- pages ---


def read_pages(part: FileRange, site: Site, max_page_bytes: int) -> Iterator[Page | Reject]:
    """Read the pages that begin in a range of a dump, in order; yield a Reject for a broken one.

    Reasons: ``malformed-xml``, ``no-id``, ``no-title``, ``no-text``, ``too-large``, ``unended-page``, ``truncated-page``, and for
    bytes that are lost ``truncated-dump``, ``truncated-stream``, ``damaged-stream``, ``decompression-bomb``.
    """
    for xml, reason, where, lost in _cut(part, max_page_bytes):
        page = reason or _parse(xml, site)
        if isinstance(page, Page):
            yield page
        else:
            name = _guess_name(xml)
            yield Reject(f"{site.dbname}:{name}" if name else part.name, page, where, lost)


def _cut(part: FileRange, most: int) -> Iterator[tuple[bytes, str, str, int]]:
    """Cut a range into pages. Yield the XML in a ``<page>``, the reason if it is broken, the place, and the number of lost bytes.

    MediaWiki escapes ``<`` in all text, so ``<page>`` and ``</page>`` always are tags. A page belongs to the range in which its
    ``<page>`` begins, and is read from beyond the end of the range if necessary.
    """
    # The state is "page" in a page; "between" after one, where </page> means that a <page> is lost; and "foreign" in text at the
    # start of a range, which the range before reads, after lost bytes, and in the rest of a page that was too large.
    state = "foreign" if part.start else "between"
    text = bytearray()  # the text after the last tag; it grows in place, so that a long page is not copied for each block
    seen = 0  # bytes of `text` that contain no tag
    border = sys.maxsize  # offset in `text` where the next range begins
    for block in blocks(part.path, part.start, part.end):
        if block.at >= part.end:
            border = min(border, len(text))
            # Stop at the border, unless a page is open or a tag may begin before it and end behind it.
            if state != "page" and not _UNFINISHED.search(text, max(0, border - len(_OPEN)), max(0, border)):
                return
        if isinstance(block, Damage):
            lost = block.end - block.at if block.at < part.end else 0  # the next range counts its own damage
            where = f"bytes {block.at}-{block.end} of {part.name}"
            yield bytes(text) if state == "page" else b"", block.reason, where, lost
            if block.end >= min(part.end, files.size(part.path)):
                return
            state, seen, border = "foreign", 0, border - len(text)
            text.clear()
            continue
        text += block.data
        begin = 0
        while tag := _TAG.search(text, seen):
            opens, seen = tag[0] == _OPEN, tag.end()
            if state == "page" or (state == "between" and not opens):
                page = bytes(text[begin : tag.start()])
                yield page, "unended-page" if opens else "too-large" if len(page) > most else "", part.name, 0
            if tag.start() >= border:
                return
            state, begin = "page" if opens else "between", seen
        if state == "page" and len(text) - begin > most + len(_CLOSE):
            yield bytes(text[begin:]), "too-large", part.name, 0
            state = "foreign"
        begin = begin if state == "page" else max(begin, len(text) - _MAX_TAIL_BYTES)
        del text[:begin]
        border -= begin
        seen = max(0, len(text) - len(_CLOSE) + 1)
    if state == "page":
        yield bytes(text), "truncated-page", part.name, 0
    elif state == "between" and _END not in text:
        yield b"", "truncated-dump", part.name, 0


def _parse(xml: bytes, site: Site) -> Page | str:
    """Parse the XML in a ``<page>``, or return the reason why it is rejected.

    Of several revisions, use the newest: an import appends old revisions to new ones.
    """
    # A tag with thousands of attributes or a million empty elements would fill the memory. A revision has about 20 elements.
    if _LONG_TAG.search(xml) or xml.count(b"<") > _MAX_TAGS:
        return "malformed-xml"
    try:
        page = ElementTree.fromstring(_OPEN + xml + _CLOSE)
    except ElementTree.ParseError:
        return "malformed-xml"

    def value(element: ElementTree.Element, tag: str) -> str:
        return _one_line(element.findtext(tag) or "")

    # Timestamps such as 2022-07-20T00:00:01Z sort as text. Of revisions of the same time, the last in the file is the newest.
    revision = max(page.findall("revision")[::-1], key=lambda each: _TIME.findall(value(each, "timestamp")), default=page)
    title, number, text = value(page, "title"), value(page, "id"), revision.find("text")
    if len(page.findall("title")) > 1 or len(page.findall("id")) > 1:
        return "malformed-xml"
    if not re.fullmatch(_ID, number):
        return "no-id"
    if not title or text is None:
        return "no-text" if title else "no-title"
    ns = value(page, "ns")
    return Page(
        f"{site.dbname}:{number}",
        title,
        int(ns) if re.fullmatch(r"-?[0-9]{1,9}", ns) else site.namespace(title),
        value(revision, "model") or "wikitext",
        page.find("redirect") is not None,
        text.text or "",
        value(revision, "timestamp"),
        value(revision, "id"),
    )


def _guess_name(xml: bytes) -> str:
    """Return the id or title of a page that cannot be parsed, if they can be found; otherwise ""."""
    head = xml.partition(b"<revision>")[0]  # a revision has an id too
    match = re.search(rb"<id>(\d{1,18})</id>", head) or re.search(rb"<title>([^<]{1,255})</title>", head)
    return _one_line(html.unescape(match[1].decode("utf-8", "replace"))) if match else ""


def _one_line(value: str) -> str:
    """Replace control characters by spaces."""
    return _CONTROL.sub(" ", value).strip()
