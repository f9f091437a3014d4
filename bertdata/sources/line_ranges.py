"""Read lines of any length in bounded memory, and cut files into ranges of whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

from ..records import FileRange, Reject
from ..storage.files import open_file

_BLOCK_BYTES = 1 << 20  # bytes per read while skipping an overlong line


def read_lines(file: IO[bytes], size: int | None, max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    r"""Read the lines of the next `size` bytes (None: to the end), each with its offset from the current position.

    If a line is longer than `max_bytes`, not counting its newline, yield None for it. Only one block of it is in memory.

    >>> import io
    >>> list(read_lines(io.BytesIO(b"one\ntwo two\n3"), None, 4))
    [(0, b'one'), (4, None), (12, b'3')]
    """
    offset = 0
    while size is None or offset < size:
        start, line = offset, file.readline(max_bytes + 1)
        if not line:
            return
        offset += len(line)
        if len(line) <= max_bytes or line.endswith(b"\n"):
            yield start, line.removesuffix(b"\n")
            continue
        offset += skip_line(file)
        yield start, None


def check_end(file: IO[bytes], part: FileRange, source: str) -> Iterator[Reject]:
    """Yield a ``truncated`` reject if the file has become shorter since it was cut into ranges.

    Call this after the last line of the range was read.
    """
    if (missing := part.end - file.tell()) > 0:
        where = f"{part.name}: the file ends {missing} bytes too early"
        yield Reject(f"{source}:{part.name}:{part.end - missing}", "truncated", where)


def skip_line(file: IO[bytes]) -> int:
    """Skip to the end of a line, a block at a time. Return the number of bytes skipped."""
    skipped = 0
    while part := file.readline(_BLOCK_BYTES):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


Extend = Callable[[IO[bytes], int], int]  # (file, max bytes) -> bytes to add to a range after a line's end


def split_lines(path: str, size: int, target: int, *, extend: Extend | None = None) -> list[tuple[int, int]]:
    """Cut the first `size` bytes of a file into ranges of about `target` bytes, each with complete lines.

    `extend` returns how far a range extends past the end of a line, such as `to_blank_line`. Only the bytes between a cut and the
    end of its line, or of the extension, are read, a block at a time. The ranges are consecutive and cover the file. A range with
    a line longer than `target` is longer.

    Raise ValueError if `target` is below 1.

    A file of three lines of 10 bytes and a target of 12 returns ``[(0, 20), (20, 30)]``.
    """
    if target < 1:
        raise ValueError(f"target must be at least 1 byte, not {target}")
    ranges: list[tuple[int, int]] = []
    start = 0
    with open_file(path) as file:
        while start < size:
            end = min(size, start + target)
            if end < size:
                # Go to the last byte of the range and read to the end of that line. From `end - 1`
                # and not from `end`: if a line ends exactly there, the range is already complete,
                # and one more line would be too much.
                file.seek(end - 1)
                end += skip_line(file) - 1
                if extend is not None:
                    end += extend(file, size - end)
            ranges.append((start, min(end, size)))
            start = ranges[-1][1]
    return ranges


def to_blank_line(file: IO[bytes], max_bytes: int) -> int:
    """Read to the end of the next blank line, or about `max_bytes`. Return the number of bytes read."""
    passed, blank = 0, True
    while passed < max_bytes and (part := file.readline(_BLOCK_BYTES)):
        passed += len(part)
        blank = blank and part.isspace()
        if part.endswith(b"\n"):
            if blank:
                break
            blank = True
    return passed
