"""A file, compressed or not, as one byte stream. The stream ends at damage, and can continue after it."""

from __future__ import annotations

import io
from typing import Any

from .members import Damage, blocks

__all__ = ["Stream"]


class Stream(io.RawIOBase):
    """Read a file through `blocks`; at its end, `damage` is set if the file is damaged there."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._blocks = blocks(path)
        self._left = memoryview(b"")
        self._given = 0
        self.damage: Damage | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes read."""
        return self._given

    def readinto(self, buffer: Any) -> int:
        """Fill part of `buffer`; return 0 from damage on, until `go_on` is called."""
        while not self._left:
            if self.damage is not None or (block := next(self._blocks, None)) is None:
                return 0
            if isinstance(block, Damage):
                self.damage = block
                return 0
            self._left = memoryview(block.data)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        self._given += size
        return size

    def go_on(self) -> None:
        """Continue after the damage, if the format allows it."""
        self.damage = None
