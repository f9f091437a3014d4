"""Bounds on what a table unpacks to: a small file must neither fill the memory nor keep a worker busy for hours.

A format that packs may declare a gigabyte in some bytes, or name one long value a million times.  Text packs to a third or a
tenth of its bytes; what claims to unpack to many times more, and to more than some megabytes, is refused before it is unpacked.
"""

from __future__ import annotations

__all__ = ["PARAGRAPHS", "Allowance", "TooLarge", "check_unpacked"]

_RATIO = 16  # bytes that a packed byte may unpack to, up to twice a stated number; of text, Zstandard at its best has 10
_LARGE_RATIO = 4  # and beyond that; of many megabytes of text, Zstandard has 3
_LARGEST = 512 << 20  # bytes that are unpacked at once at the most: pyarrow writes 1,000 books to a page of 430 MB
_ROW = 256  # bytes that a row counts for, beside its text
_TEXT, _TEXT_RATIO = 32 << 20, 32  # bytes of text and rows that a part may give: so many, and so many for each of its bytes
PARAGRAPHS = 250_000  # of a document, at the most; the Bible has 31,000 verses


class TooLarge(ValueError):
    """Refuse what would unpack to more than the bytes allowed."""


def check_unpacked(unpacked: int, packed: int, most: int, what: str) -> None:
    """Raise `TooLarge` for what declares to unpack to more than `most` bytes, and to many times its own or to 512 MB.

    >>> check_unpacked(62 << 20, 27 << 20, 16 << 20, "a page")
    >>> check_unpacked(200, 10, 100, "a page")
    Traceback (most recent call last):
        ...
    bertdata.sources.tables.limits.TooLarge: a page of 10 bytes would unpack to 200, more than the 160 allowed
    """
    allowed = max(most, min(_RATIO * packed, 2 * most), min(_LARGE_RATIO * packed, _LARGEST))
    if unpacked > allowed:
        raise TooLarge(f"{what} of {packed} bytes would unpack to {unpacked}, more than the {allowed} allowed")


class Allowance:
    """Count the rows and the text that a part of a table gives: rows may name one value again and again."""

    def __init__(self, part_bytes: int) -> None:
        self._most = self._left = _TEXT + _TEXT_RATIO * part_bytes

    def take(self, text_bytes: int) -> None:
        """Count a row; raise `TooLarge` when there are too many."""
        self._left -= _ROW + text_bytes
        if self._left < 0:
            raise TooLarge(f"more rows and text than {self._most} bytes, which is all that so small a part may give")
