"""Write a list of rejects or drops to its file as it grows: input of a few megabytes may unpack to any number of them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ..io.files import file_entry, open_file, replacing

__all__ = ["Listing"]

_BLOCK = 1 << 20  # bytes that are copied at a time


class Listing:
    """Lines of JSON in a file that appears, whole, when the block ends well; without a line there is no file."""

    def __init__(self, root: Path, name: str) -> None:
        self.rows = 0
        self._root, self._name = root, name
        self._stack = contextlib.ExitStack()
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, trace)

    def append(self, entry: dict[str, Any]) -> None:
        """Write a line."""
        self._open_list().write((json.dumps(entry, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
        self.rows += 1

    def copy(self, path: Path) -> None:
        """Take over the lines of another list."""
        with open_file(path) as source:
            while block := source.read(_BLOCK):
                self._open_list().write(block)
                self.rows += block.count(b"\n")

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield what the manifest says of the file, once it is there; nothing where there is none."""
        if self.rows:
            yield {"name": self._name, "rows": self.rows, **file_entry(self._root, self._name)}

    def _open_list(self) -> IO[bytes]:
        if self._file is None:
            self._file = self._stack.enter_context(replacing(self._root / self._name))
        return self._file
