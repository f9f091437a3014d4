"""Limits on the unpacked size of tables, so that a small file cannot fill the memory or keep a worker busy for hours.

A compressed format can declare a gigabyte in a few bytes, or refer to one long value a million times.  Text compresses to a third
or a tenth of its size. Data that claims a much higher ratio and more than a few megabytes is rejected before it is unpacked.
"""

from __future__ import annotations

__all__ = ["MAX_PARAGRAPHS", "Allowance", "TooLarge", "check_unpacked"]

_MAX_COMPRESSION_RATIO = 16  # maximum compression ratio up to twice the caller's `most`; Zstandard reaches 10 on text
_LARGE_RATIO = 4  # maximum ratio beyond that; Zstandard reaches 3 on many megabytes of text
_MAX_UNPACKED_BYTES = 512 << 20  # maximum bytes unpacked at once: pyarrow writes 1,000 books to a page of 430 MB
_BYTES_PER_ROW = 256  # bytes counted per row in addition to its text
_TEXT, _TEXT_RATIO = 32 << 20, 32  # bytes of text and rows per range: a base, plus a multiple of its size
MAX_PARAGRAPHS = 250_000  # maximum per document; the Bible has 31,000 verses


class TooLarge(ValueError):
    """Data that would unpack to more bytes than allowed."""


def check_unpacked(unpacked: int, packed: int, most: int, what: str) -> None:
    """Raise `TooLarge` if the declared size exceeds `most` bytes and many times the packed size, or 512 MB.

    >>> check_unpacked(62 << 20, 27 << 20, 16 << 20, "a page")
    >>> check_unpacked(200, 10, 100, "a page")
    Traceback (most recent call last):
        ...
    bertdata.sources.tables.limits.TooLarge: a page of 10 bytes would unpack to 200, more than the 160 allowed
    """
    allowed = max(most, min(_MAX_COMPRESSION_RATIO * packed, 2 * most), min(_LARGE_RATIO * packed, _MAX_UNPACKED_BYTES))
    if unpacked > allowed:
        raise TooLarge(f"{what} of {packed} bytes would unpack to {unpacked}, more than the {allowed} allowed")


class Allowance:
    """Count the rows and text of a range of a table, because rows may refer to one value many times."""

    def __init__(self, part_bytes: int) -> None:
        self._most = self._left = _TEXT + _TEXT_RATIO * part_bytes

    def take(self, text_bytes: int) -> None:
        """Count a row; raise `TooLarge` when there are too many."""
        self._left -= _BYTES_PER_ROW + text_bytes
        if self._left < 0:
            raise TooLarge(f"more than {self._most} bytes of rows and text, the limit for a file range of this size")
