"""Read lines of any length in bounded memory, and cut files into ranges of whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

from ..io.files import open_file
from ..records import FileRange, Reject

__all__ = ["check_end", "read_lines", "skip_line", "split_lines", "to_blank"]

_BLOCK = 1 << 20  # bytes of an over-long line read at a time, while it is skipped


def read_lines(file: IO[bytes], size: int | None, max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    r"""Read the lines of the next `size` bytes (None: to the end) with the offset where each starts, from 0.

    A line longer than `max_bytes`, its newline not counted, comes as None, and no more than a block of it is held.

    >>> import io
    >>> list(read_lines(io.BytesIO(b"one\ntwo two\n3"), None, 4))
    [(0, b'one'), (4, None), (12, b'3')]
    """
    at = 0
    while size is None or at < size:
        start, line = at, file.readline(max_bytes + 1)
        if not line:
            return
        at += len(line)
        if len(line) <= max_bytes or line.endswith(b"\n"):
            yield start, line.removesuffix(b"\n")
            continue
        at += skip_line(file)
        yield start, None


def check_end(file: IO[bytes], part: FileRange, source: str) -> Iterator[Reject]:
    """Yield a reject, ``truncated``, where a file that was read to its end is shorter than when it was cut into parts."""
    if (missing := part.end - file.tell()) > 0:
        where = f"{part.name}: the file ends {missing} bytes too early"
        yield Reject(f"{source}:{part.name}:{part.end - missing}", "truncated", where)


def skip_line(file: IO[bytes]) -> int:
    """Read on to the end of a line, a block at a time; return how many bytes that were."""
    skipped = 0
    while part := file.readline(_BLOCK):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


Onward = Callable[[IO[bytes], int], int]  # reads on from a line's end, so many bytes at the most; returns how many a range takes


def split_lines(path: str, size: int, target: int, *, onward: Onward | None = None) -> list[tuple[int, int]]:
    """Cut the first `size` bytes of a file into ranges of about `target` bytes, each a whole number of lines.

    `onward` tells how far beyond the end of a line a range goes: `to_blank` to the end of a blank one.  Only the bytes from each
    cut to the next border are read, a block at a time.  The ranges follow one another and cover the file; a line longer than
    `target` makes a range longer.
    ValueError: `target` is below 1.

    A file of three lines of 10 bytes and a target of 12 gives ``[(0, 20), (20, 30)]``.
    """
    if target < 1:
        raise ValueError(f"target must be at least 1 byte, not {target}")
    ranges: list[tuple[int, int]] = []
    start = 0
    with open_file(path) as file:
        while start < size:
            end = min(size, start + target)
            if end < size:
                file.seek(end - 1)
                end += skip_line(file) - 1
                if onward is not None:
                    end += onward(file, size - end)
            ranges.append((start, min(end, size)))
            start = ranges[-1][1]
    return ranges


def to_blank(file: IO[bytes], most: int) -> int:
    """Read on to the end of the next blank line, `most` bytes at the most; return how many bytes that were."""
    passed, blank = 0, True
    while passed < most and (part := file.readline(_BLOCK)):
        passed += len(part)
        blank = blank and part.isspace()
        if part.endswith(b"\n"):
            if blank:
                break
            blank = True
    return passed
