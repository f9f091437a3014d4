"""Append to a list of rejects or drops on disk, because a few megabytes of input may unpack to any number of them."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from ..codec import encode
from ..dataset import manifest
from ..dataset.manifest_records import RowFile
from ..storage.files import open_file, replacing


class Listing(contextlib.ExitStack):
    """A JSON Lines file that appears when the block ends without an error. An empty list creates no file."""

    def __init__(self, root: Path, name: str) -> None:
        super().__init__()
        self.rows = 0
        self._root, self._name = root, name
        self._file: IO[bytes] | None = None

    def append(self, entry: Mapping[str, object]) -> None:
        """Write one line."""
        self._open_list().write((json.dumps(entry, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
        self.rows += 1

    def copy(self, root: Path, entry: RowFile) -> None:
        """Append the lines of another list."""
        self.rows += entry.rows
        with open_file(root / entry.name) as source:
            shutil.copyfileobj(source, self._open_list())

    def entries(self) -> Iterator[RowFile]:
        """Yield the manifest entry of the file if it exists."""
        if self.rows:
            yield RowFile(rows=self.rows, **encode(manifest.entry(self._root, self._name)))

    def _open_list(self) -> IO[bytes]:
        if self._file is None:
            self._file = self.enter_context(replacing(self._root / self._name))
        return self._file
