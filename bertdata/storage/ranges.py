"""Read byte ranges of files, one request per range, and verify them with a digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ..errors import VerificationError
from .files import is_local, is_private
from .storage import storage_errors

__all__ = ["range_digest", "read_range"]


def range_digest(data: Any) -> int:
    """Return a 62-bit digest that detects accidental damage. Some engines have no integers of more than 63 bits."""
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big") >> 2


def read_range(path: Path, start: int, length: int, digest: int) -> bytes:
    """Read `length` bytes of a file from `start`, with a single GET in a store.

    Raise VerificationError if the digest does not match, and StorageError if a disk or a store fails.
    """
    with storage_errors(f"cannot read {path}"):
        try:
            data = _read(path, start, length)
        except FileNotFoundError:
            data = b""
    if len(data) != length or range_digest(data) != digest:
        raise VerificationError(
            f"{path} is missing or damaged: its bytes from {start} to {start + length} are not those that were written: run the "
            "same command again"
        )
    return data


def _read(path: Any, start: int, length: int) -> bytes:
    if is_local(path):
        with open(path, "rb") as file:
            file.seek(start)
            return file.read(length)
    if is_private(path):
        return bytes(path.read_bytes()[start : start + length])
    return bytes(path.fs.cat_file(path.path, start=start, end=start + length))
