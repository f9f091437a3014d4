"""Grow dumps and books to several times their size: every page again under a new id and title, every book under a new name.

A dump keeps its form: multistream bzip2 with as many pages a stream, one bzip2 or gzip stream, or plain XML.  Of a cut dump the
whole pages are taken.  The same input gives the same bytes.
"""

from __future__ import annotations

import bz2
import gzip
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Dump", "grow_book", "grow_dump", "join_dumps", "pages", "read_dump", "write_dump"]

_PAGE = re.compile(rb"[ \t]*<page>.*?</page>[ \t]*\n?", re.DOTALL)
_ID = re.compile(rb"<id>(\d+)</id>")  # a page's own is the first: those of its revision and contributor follow
_TITLE = re.compile(rb"</title>")


class Dump(NamedTuple):
    """A dump in memory: what stands before its first page, its pages, and how many of them go in a stream (0: all)."""

    head: bytes
    pages: list[bytes]
    per_stream: int


def read_dump(path: Path) -> Dump:
    """Read a dump; raise ValueError for a file without a whole page."""
    data = path.read_bytes()
    streams = list(_bzip2_streams(data)) if path.suffix == ".bz2" else [gzip.decompress(data) if path.suffix == ".gz" else data]
    data = b"".join(streams)
    found = _PAGE.findall(data)
    if not found:
        raise ValueError(f"{path} holds no whole page: give a MediaWiki dump")
    per_stream = len(_PAGE.findall(streams[1])) if len(streams) > 1 else 0
    return Dump(data[: data.index(found[0])], found, per_stream)


def _bzip2_streams(data: bytes) -> Iterator[bytes]:
    while data:
        decompressor = bz2.BZ2Decompressor()
        yield decompressor.decompress(data)
        data = decompressor.unused_data


def pages(dump: Dump, copies: int) -> Iterator[bytes]:
    """Yield the pages as they are, then again and again under fresh ids and titles.

    >>> dump = Dump(b"", [b"<page><title>Tea</title><id>7</id></page>"], 0)
    >>> [page.decode() for page in pages(dump, 2)]
    ['<page><title>Tea</title><id>7</id></page>', '<page><title>Tea (copy 1)</title><id>15</id></page>']
    """
    step = max(map(_number, dump.pages)) + 1
    yield from dump.pages
    for copy in range(1, copies):
        for page in dump.pages:
            yield _moved(_TITLE.sub(b" (copy %d)</title>" % copy, page, count=1), copy * step)


def join_dumps(dumps: Iterable[Dump], per_stream: int) -> Dump:
    """Put dumps of one wiki together under the first one's head; pages of the others get ids above those before them.

    >>> tea = Dump(b"<mediawiki>", [b"<page><id>7</id></page>"], 0)
    >>> join_dumps([tea, tea], 100).pages
    [b'<page><id>7</id></page>', b'<page><id>15</id></page>']
    """
    heads, found, step = list[bytes](), list[bytes](), 0
    for dump in dumps:
        heads.append(dump.head)
        found += (_moved(page, step) for page in dump.pages)
        step = max(map(_number, found)) + 1
    return Dump(heads[0], found, per_stream)


def _number(page: bytes) -> int:
    match = _ID.search(page)
    return int(match[1]) if match else 0


def _moved(page: bytes, step: int) -> bytes:
    """Return a page under its id and `step` more."""
    return _ID.sub(b"<id>%d</id>" % (_number(page) + step), page, count=1)


def grow_dump(path: Path, directory: Path, copies: int) -> int:
    """Write the dump at `path`, its pages `copies` times, into `directory`; return its bytes before compression."""
    return write_dump(read_dump(path), directory / path.name, copies)


def write_dump(dump: Dump, target: Path, copies: int) -> int:
    """Write a dump, its pages `copies` times, in the form that the name asks for; return its bytes before compression."""
    size = 0
    with open(target, "wb") as file:
        for data in _streams(dump, copies):
            size += len(data)
            file.write(_compress(data, target.suffix))
    return size


def _streams(dump: Dump, copies: int) -> Iterator[bytes]:
    end = b"</mediawiki>\n"
    if not dump.per_stream:
        yield b"".join([dump.head, *pages(dump, copies), end])
        return
    yield dump.head
    yield from (b"".join(group) for group in _groups(pages(dump, copies), dump.per_stream))
    yield end


def _groups(items: Iterable[bytes], count: int) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    for item in items:
        group.append(item)
        if len(group) == count:
            yield group
            group = []
    if group:
        yield group


def _compress(data: bytes, suffix: str) -> bytes:
    if suffix == ".bz2":
        return bz2.compress(data)
    return gzip.compress(data, mtime=0) if suffix == ".gz" else data


def grow_book(path: Path, directory: Path, copies: int) -> int:
    """Copy a book into `directory`, under `copies` names; return their bytes."""
    names = [path.name, *(f"{path.stem}-copy-{copy}{path.suffix}" for copy in range(1, copies))]
    for name in names:
        shutil.copyfile(path, directory / name)
    return path.stat().st_size * len(names)
