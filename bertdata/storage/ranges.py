"""Read byte ranges of files, and verify them with a digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ..errors import VerificationError
from .files import open_file

__all__ = ["range_digest", "read_range"]


def range_digest(data: Any) -> int:
    """Return a 62-bit digest that detects accidental damage. Some engines have no integers of more than 63 bits."""
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big") >> 2


def read_range(path: Path, start: int, length: int, digest: int) -> bytes:
    """Read `length` bytes of a file from `start`.

    Raise VerificationError if the digest does not match, and StorageError if a disk or a store fails.
    """
    with open_file(path, length + 1) as file:
        file.seek(start)
        data = file.read(length)
    if len(data) != length or range_digest(data) != digest:
        raise VerificationError(
            f"{path} is missing or damaged: its bytes from {start} to {start + length} are not those that were written: run the "
            "same command again"
        )
    return data
