"""Find template pages in a multistream dump through its index, which lists the stream offset of each page.

Each line is ``offset:page id:title``; a stream has 100 consecutive pages.

    598:10:AccessibleComputing
    91022:25:Template:Autism
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from ..storage.files import to_path
from .bzip2 import Damage
from .packed import blocks

PAGES_PER_STREAM = 100
_DUMP = re.compile(r"(.*-multistream)(\d*)\.xml((?:-p\d+p\d+)?)\.bz2", re.IGNORECASE)
_INDEX = re.compile(r".*-multistream-index\d*\.txt(?:-p\d+p\d+)?(?:\.bz2)?", re.IGNORECASE)
_TITLED = re.compile(rb"^(\d{1,18}):\d{1,18}:([^:\n]{1,255}):([^\n]{1,255})$", re.MULTILINE)


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


class TemplateOffsets:
    """Stream offsets of all pages whose title has one of the prefixes, by the rest of the title in lower case.

    A wiki has a million templates, so the offsets are an array with a row (hash of the title, number of the index, offset) per
    template, sorted by hash: 24 bytes each, much less than a dict of strings.
    """

    def __init__(self, indexes: Sequence[str], prefixes: Collection[str]) -> None:
        found = (row for number, index in enumerate(indexes) for row in _rows(index, number, prefixes))
        rows = np.fromiter(chain.from_iterable(found), np.int64).reshape(-1, 3)
        self._rows = rows[np.lexsort(rows.T[::-1])]

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, name: str) -> tuple[int, int] | None:
        """Return the number of the index and the offset of the stream with this page, or None."""
        row = int(np.searchsorted(self._rows[:, 0], _key(name)))
        if row == len(self._rows) or self._rows[row, 0] != _key(name):
            return None
        return int(self._rows[row, 1]), int(self._rows[row, 2])


def _rows(index: str, number: int, prefixes: Collection[str]) -> Iterator[tuple[int, int, int]]:
    """Yield a row for each template in an index, up to damage of the index."""
    rest = b""
    for block in blocks(index):
        if isinstance(block, Damage):
            return
        lines, newline, rest = (rest + block.data).rpartition(b"\n")  # the last line of a block may be incomplete
        for offset, prefix, title in _TITLED.findall(lines + newline):
            if html.unescape(prefix.decode("utf-8", "replace")).lower() in prefixes:
                name = html.unescape(title.decode("utf-8", "replace")).replace("_", " ").lower()
                yield _key(" ".join(name.split())), number, int(offset)


def _key(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)
