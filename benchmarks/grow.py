"""Grow a dump to several times its size: new pages, made of the sentences of real ones.

A new page is a real one under a new id and title, with all its markup, in which every sentence of running prose has been
exchanged for one from anywhere in the dump.  So no page with a few sentences is a duplicate of another, pages are as long as
pages are, and each copy of the dump holds the same words.  The same input gives the same bytes.
"""

from __future__ import annotations

import bz2
import gzip
import random
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

__all__ = ["Dump", "join_dumps", "pages", "read_dump", "wiki", "write_dump"]

_PAGE = re.compile(rb"[ \t]*<page>.*?</page>[ \t]*\n?", re.DOTALL)
_ID = re.compile(rb"<id>(\d+)</id>")  # a page's own is the first: those of its revision and contributor follow
_TITLE = re.compile(rb"</title>")
_BASE = re.compile(rb"<base>([^<]*)/")
_PROSE = re.compile(r"^(?:''+|\[\[(?!\w+:))?[^\W\d_].{60,}$", re.MULTILINE)  # a line that begins with a letter, a link or a mark
_END = re.compile(r"(?<=[.!?]) (?=(?:''+|\[\[)?[^\W\d_])|(?<=[。！？])(?=.)")  # where a sentence may end
_PAIRS = (("[", "]"), ("{", "}"), ("(", ")"), ("&lt;", "&gt;"))  # a sentence that moves is whole: it stays valid anywhere
_AT_ONCE = 64  # streams that are packed together, on all cores


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


def wiki(dump: Dump) -> str:
    """Name the wiki that a dump is of, by its address.

    >>> wiki(Dump(b"<mediawiki><siteinfo><base>https://en.wikipedia.org/wiki/Main_Page</base>", [], 0))
    'en.wikipedia.org'
    """
    found = _BASE.search(dump.head)
    return found[1].decode().partition("://")[2].partition("/")[0] if found else ""


def pages(dump: Dump, copies: int) -> Iterator[bytes]:
    """Yield the pages as they are, then again and again under fresh ids and titles, and with other sentences.

    >>> dump = Dump(b"", [b"<page><title>Tea</title><id>7</id></page>"], 0)
    >>> [page.decode() for page in pages(dump, 2)]
    ['<page><title>Tea</title><id>7</id></page>', '<page><title>Tea (copy 1)</title><id>15</id></page>']
    """
    yield from dump.pages
    if copies < 2:
        return
    step = max(map(_number, dump.pages)) + 1
    parts = [_parts(page.decode("utf-8", "surrogateescape")) for page in dump.pages]
    pool = [sentence for page in parts for sentence in page[1::2]]
    for copy in range(1, copies):
        drawn = iter(random.Random(copy).sample(pool, len(pool)))
        for part in parts:
            mixed = "".join(next(drawn) if place % 2 else text for place, text in enumerate(part))
            page = _TITLE.sub(b" (copy %d)</title>" % copy, mixed.encode("utf-8", "surrogateescape"), count=1)
            yield _moved(page, copy * step)


def _parts(page: str) -> list[str]:
    """Cut a page so that every second part is a sentence that may stand elsewhere.

    >>> page = "<text>\\nTea is a drink that is made of leaves; it is hot. It is often drunk with milk. It is (as most.\\n"
    >>> _parts(page)[1::2]
    ['Tea is a drink that is made of leaves; it is hot.', 'It is often drunk with milk.']
    """
    parts, last = [], 0
    for line in _PROSE.finditer(page):
        start = line.start()
        for sentence in _END.split(line[0]):
            start = page.index(sentence, start)
            if _is_free(sentence):
                parts += [page[last:start], sentence]
                last = start + len(sentence)
            start += len(sentence)
    return [*parts, page[last:]]


def _is_free(sentence: str) -> bool:
    """Return True if a sentence has both ends of all markup in it."""
    paired = all(sentence.count(opening) == sentence.count(closing) for opening, closing in _PAIRS)
    return (
        "<" not in sentence and paired and sentence.count("&lt;") == 2 * sentence.count("&lt;/") and sentence.count("''") % 2 == 0
    )


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


def write_dump(dump: Dump, target: Path, copies: int) -> int:
    """Write a dump, its pages `copies` times, in the form that the name asks for; return its bytes before compression."""
    size, streams = 0, _streams(dump, copies)
    with open(target, "wb") as file, ThreadPoolExecutor() as pool:
        while together := list(islice(streams, _AT_ONCE)):
            size += sum(map(len, together))
            file.writelines(pool.map(_compress, together, [target.suffix] * len(together)))
    return size


def _streams(dump: Dump, copies: int) -> Iterator[bytes]:
    end = b"</mediawiki>\n"
    if not dump.per_stream:
        yield b"".join([dump.head, *pages(dump, copies), end])
        return
    yield dump.head
    found = pages(dump, copies)
    while group := list(islice(found, dump.per_stream)):
        yield b"".join(group)
    yield end


def _compress(data: bytes, suffix: str) -> bytes:
    if suffix == ".bz2":
        return bz2.compress(data)
    return gzip.compress(data, mtime=0) if suffix == ".gz" else data
