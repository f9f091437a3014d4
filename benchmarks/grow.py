"""Grow a dump to several times its size: new pages, made of the sentences of real ones.

A new page is a real one with a new id and title, with all its markup, in which every sentence of running prose is
replaced by one from anywhere in the dump.  So no page with a few sentences is a duplicate of another, page lengths are
realistic, and each copy of the dump has the same words.  The output is deterministic.
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
_ID = re.compile(rb"<id>(\d+)</id>")  # the first id is the page's; the ids of its revision and contributor follow
_TITLE = re.compile(rb"</title>")
_BASE = re.compile(rb"<base>([^<]*)/")
_PROSE = re.compile(r"^(?:''+|\[\[(?!\w+:))?[^\W\d_].{60,}$", re.MULTILINE)  # a line that starts with a letter, a link or a mark
_END = re.compile(r"(?<=[.!?]) (?=(?:''+|\[\[)?[^\W\d_])|(?<=[。！？])(?=.)")  # a possible sentence end
_PAIRS = (("[", "]"), ("{", "}"), ("(", ")"), ("&lt;", "&gt;"))  # a moved sentence must be balanced to be valid anywhere
_AT_ONCE = 64  # streams packed in parallel, on all cores


class Dump(NamedTuple):
    """A dump in memory: the XML before its first page, its pages, and the number of pages per stream (0: all)."""

    head: bytes
    pages: list[bytes]
    per_stream: int


def read_dump(path: Path) -> Dump:
    """Read a dump. Raise ValueError for a file without a complete page."""
    data = path.read_bytes()
    streams = list(_bzip2_streams(data)) if path.suffix == ".bz2" else [gzip.decompress(data) if path.suffix == ".gz" else data]
    data = b"".join(streams)
    found = _PAGE.findall(data)
    if not found:
        raise ValueError(f"{path} contains no complete page. Pass a MediaWiki dump")
    per_stream = len(_PAGE.findall(streams[1])) if len(streams) > 1 else 0
    return Dump(data[: data.index(found[0])], found, per_stream)


def _bzip2_streams(data: bytes) -> Iterator[bytes]:
    while data:
        decompressor = bz2.BZ2Decompressor()
        yield decompressor.decompress(data)
        data = decompressor.unused_data


def wiki(dump: Dump) -> str:
    """Return the host name of a dump's wiki.

    >>> wiki(Dump(b"<mediawiki><siteinfo><base>https://en.wikipedia.org/wiki/Main_Page</base>", [], 0))
    'en.wikipedia.org'
    """
    found = _BASE.search(dump.head)
    return found[1].decode().partition("://")[2].partition("/")[0] if found else ""


def pages(dump: Dump, copies: int) -> Iterator[bytes]:
    """Yield the original pages, then copies with new ids and titles and other sentences.

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
    """Split a page so that every second part is a movable sentence.

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
    """Return True if all markup in a sentence is balanced."""
    paired = all(sentence.count(opening) == sentence.count(closing) for opening, closing in _PAIRS)
    return (
        "<" not in sentence and paired and sentence.count("&lt;") == 2 * sentence.count("&lt;/") and sentence.count("''") % 2 == 0
    )


def join_dumps(dumps: Iterable[Dump], per_stream: int) -> Dump:
    """Join dumps of one wiki under the first one's head. Pages of later dumps get higher ids.

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
    """Return a page with its id increased by `step`."""
    return _ID.sub(b"<id>%d</id>" % (_number(page) + step), page, count=1)


def write_dump(dump: Dump, target: Path, copies: int) -> int:
    """Write a dump with its pages `copies` times, in the format of the file name. Return its bytes before compression."""
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
