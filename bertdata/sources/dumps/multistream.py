"""Read the index of a multistream dump, which lists the stream offset of each page, to check that the dump is complete.

Each line is ``offset:page id:title``; the pages of a stream are consecutive.

    598:10:AccessibleComputing
    598:12:Anarchism
    91022:25:Autism
"""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import VerificationError
from ...storage.files import open_file, size, to_path
from ..compressed import Damage, blocks

__all__ = ["Index", "Offsets", "find_index", "find_stream", "is_index", "read_index", "template_offsets"]

_DUMP = re.compile(r"(.*-multistream)(\d*)\.xml((?:-p\d+p\d+)?)\.bz2", re.IGNORECASE)
_INDEX = re.compile(r".*-multistream-index\d*\.txt(?:-p\d+p\d+)?(?:\.bz2)?", re.IGNORECASE)
_LINE = re.compile(rb"^(\d{1,18}):\d+:[^\n]*\n", re.MULTILINE)
_TITLED = re.compile(rb"^(\d{1,18}):\d{1,18}:([^:\n]{1,255}:[^\n]{1,255})$", re.MULTILINE)
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")  # a stream's header and the mark of its first block
_STREAM_START_BYTES = 10  # bytes of that header and mark
_MAX_LINE_BYTES = 1 << 16  # bytes; a title has 255


class Index(NamedTuple):
    """Counts from an index: its pages, those in streams that begin past the dump's end, and those at a wrong offset."""

    pages: int
    beyond: int
    first_beyond: int
    astray: int


def is_index(name: str) -> bool:
    """Return True if a file is named like the index of a multistream dump."""
    return _INDEX.fullmatch(name) is not None


def find_index(path: str) -> str:
    """Return the index of a dump, compressed or not, by the Foundation's file names; "" if there is none.

    ``…-multistream1.xml-p1p41242.bz2`` has ``…-multistream-index1.txt-p1p41242.bz2``.
    """
    name = _DUMP.fullmatch(Path(path).name)
    if not name:
        return ""
    plain = f"{name[1]}-index{name[2]}.txt{name[3]}"
    candidates = (to_path(path).with_name(name) for name in (f"{plain}.bz2", plain))
    return next((str(candidate) for candidate in candidates if candidate.is_file()), "")


class Offsets:
    """Offsets of the streams with given titles: an array instead of a dict, because a wiki has a million templates."""

    def __init__(self, found: Iterable[tuple[int, int, int]]) -> None:
        # Each row is (hash of the title, number of the index, offset), sorted by hash, so a look-up
        # is a binary search. That takes 24 bytes per template, much less than a dict of strings.
        rows = np.fromiter(chain.from_iterable(found), np.int64).reshape(-1, 3)
        self._rows = rows[np.lexsort(rows.T[::-1])]

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, name: str) -> tuple[int, int] | None:
        """Return the number of the index and the offset of the stream with this page, or None."""
        key = _key(name)
        row = int(np.searchsorted(self._rows[:, 0], key))
        if row == len(self._rows) or self._rows[row, 0] != key:
            return None
        return int(self._rows[row, 1]), int(self._rows[row, 2])


def _key(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)


def template_offsets(indexes: Sequence[str], prefixes: Collection[str]) -> Offsets:
    """Return the offsets of all pages whose title has one of the prefixes, by the rest of the title in lower case."""
    return Offsets(
        (_key(" ".join(rest.replace("_", " ").lower().split())), number, offset)
        for number, index in enumerate(indexes)
        for offset, title in _titles(index)
        for prefix, _, rest in [title.partition(":")]
        if rest and prefix.lower() in prefixes
    )


def _lines(index: str) -> Iterator[tuple[bytes, bytes, Damage | None]]:
    """Yield complete lines of an index, the bytes after them, and the damage at which the index ends, if it is damaged."""
    rest = b""
    for block in blocks(index):
        if isinstance(block, Damage):
            yield b"", rest, block
            return
        # Blocks end anywhere, so the last line of a block may be incomplete: keep it for the next
        # block.
        text = rest + block.data
        end = text.rfind(b"\n") + 1
        lines, rest = text[:end], text[end:]
        yield lines, rest, None


def _titles(index: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and title of each page with a colon in its title, up to damage of the index."""
    for lines, _, _ in _lines(index):
        for offset, title in _TITLED.findall(lines):
            yield int(offset), html.unescape(title.decode("utf-8", "replace"))


def read_index(index: str, dump: str) -> Index:
    """Count an index's pages, and check each of its stream offsets in the dump.

    Raise VerificationError if the index is damaged or not an index.
    """
    end = size(dump)
    pages = beyond = astray = first_beyond = 0
    with open_file(dump) as file:
        for offset, count in _offsets(index):
            pages += count
            if offset + _STREAM_START_BYTES > end:
                beyond += count
                first_beyond = min(first_beyond or offset, offset)
            # A stream must begin exactly there. Otherwise the index belongs to another dump.
            elif file.seek(offset) != offset or not _STREAM.match(file.read(_STREAM_START_BYTES)):
                astray += count
    return Index(pages, beyond, first_beyond, astray)


def find_stream(index: str, number: str, title: str) -> int | None:
    """Return the offset of the stream with the page of this number or title; None if the index does not list it."""
    # Search the whole block for bytes instead of splitting it into lines, then check the line
    # around each hit: ":12:" may also occur in a title.
    wanted = f":{number}:".encode() if number else f":{title}\n".encode()
    for text, _, _ in _lines(index):
        at = text.find(wanted)
        while at >= 0:
            start = text.rfind(b"\n", 0, at) + 1
            offset, *fields = text[start : text.find(b"\n", at + 1)].split(b":", 2)
            if fields == ([number.encode(), *fields[1:]] if number else [fields[0], title.encode()]):
                return int(offset)
            at = text.find(wanted, at + 1)
    return None


def _offsets(index: str) -> Iterator[tuple[int, int]]:
    """Yield the offset of each stream and its number of pages; a stream may be yielded in several parts."""
    rest = b""
    for lines, rest, damage in _lines(index):
        if damage:
            raise VerificationError(
                f"{index} is damaged ({damage.reason}): fetch this index again, or move it away to do without"
            )
        offsets = _LINE.findall(lines)
        if len(offsets) != lines.count(b"\n") or len(rest) > _MAX_LINE_BYTES:
            raise VerificationError(f"{index} is not the index of a dump (offset:id:title): fetch it again, or move it away")
        yield from ((int(offset), count) for offset, count in Counter(offsets).items())
    if rest:
        raise VerificationError(f"{index} ends in the middle of a line: fetch this index again, or move it away to do without")
