"""Map shards by windows: those that are mapped at a time, of data that a bounded cache does not hold whole.

windows([5, 5, 5, 5], positions, 30)      # a third of 30 bytes at a time: [(0, 1), (2, 3)]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import UsageError, VerificationError
from ...io.files import digest
from .cache import Cache, RemoteShard
from .views import CHANGED, DIFFER, VERIFY, ColumnView, View, columns_of, map_rows

__all__ = ["MappedShards", "ShardFile", "Window", "windows"]

Array = npt.NDArray[Any]
_PARTS = 3  # of the cache: the window that rows come from, the next one, and that before, which a slower process may still read
_TEXT = 64  # bytes that are reckoned for each text of a row of Parquet: an id of a document


class ShardFile(NamedTuple):
    """A shard: where it lies, its entry in the manifest, and the manifest's configuration and statistics of its split.

    position: where it stands in its directory, from 0 to 1.  is_here: whether it can be mapped where it lies.
    """

    directory: int
    position: float
    path: Path
    is_here: bool
    entry: dict[str, Any]
    config: dict[str, Any]
    statistics: dict[str, Any]
    vocab_size: int

    @property
    def bytes(self) -> int:
        """The bytes that it has when it is mapped; of Parquet about, by the mean length of the split's rows."""
        if self.config["format"] != "parquet":
            return int(self.entry["bytes"])
        a_token = (2 if self.vocab_size <= 1 << 16 else 4) + 1.2
        masked = 8.0 * self.statistics.get("max_predictions", 0)
        a_row = self.statistics["mean_length"] * a_token + masked + 20 + 2 * _TEXT * self.config["provenance"]
        return int(self.entry["rows"] * a_row) + 1024

    @property
    def remote(self) -> RemoteShard:
        """What a cache needs to fetch it."""
        return RemoteShard(self.path, self.entry["bytes"], self.entry["sha256"], self.config["format"])


def windows(sizes: Sequence[int], positions: Sequence[float], limit: int | None) -> list[tuple[int, ...]]:
    """Return which shards an epoch goes through together: all, where the limit holds them, else windows of a third of it.

    sizes: bytes of each shard.  positions: where each is in its directory, from 0 to 1, so that each window has an equal share of
    every directory.  Windows are as equal as their number allows.  Raise UsageError for a shard of more than a third.
    """
    if limit is None or sum(sizes) <= limit:
        return [tuple(range(len(sizes)))]
    low, most = max(sizes), limit // _PARTS
    if low > most:
        problem = f"a shard has {low:,} bytes: give {_PARTS * low:,} or more, or make rows with more `shards`"
        raise UsageError(f"`cache_bytes` {limit:,}: a third of it, a window of shards, must hold the largest, but {problem}")
    order = sorted(range(len(sizes)), key=lambda number: (positions[number], number))
    count = len(_filled(sizes, order, most))
    while low < most:  # the least that gives as many windows makes them equal
        middle = (low + most) // 2
        low, most = (low, middle) if len(_filled(sizes, order, middle)) <= count else (middle + 1, most)
    return [tuple(sorted(window)) for window in _filled(sizes, order, most)]


def _filled(sizes: Sequence[int], order: Sequence[int], most: int) -> list[list[int]]:
    """Fill windows with shards in order, each up to `most` bytes."""
    windows: list[list[int]] = []
    filled = most
    for number in order:
        if filled + sizes[number] > most:
            windows.append([])
            filled = 0
        windows[-1].append(number)
        filled += sizes[number]
    return windows


class Window:
    """The rows of some shards, which are mapped: `files` are (number of the first row, record batches), in order.

    starts: number of each record batch's first row.  views: these batches.  longest: the most tokens of a row by the manifest;
    where: the directories that the message of a damaged row names.
    """

    def __init__(self, files: Sequence[tuple[int, list[View]]], longest: int, where: str) -> None:
        self.views = [view for _, views in files for view in views]
        self.batches: list[dict[str, ColumnView]] = [view.columns for view in self.views]
        self._longest, self._where = longest, where
        sizes = [view.batch.num_rows for view in self.views]
        self._firsts = np.cumsum([0, *sizes])  # where a batch's rows begin in this window
        begins = [first + np.cumsum([0, *(view.batch.num_rows for view in views[:-1])]) for first, views in files if views]
        self.starts = np.concatenate(begins) if begins else np.zeros(0, np.int64)

    def __len__(self) -> int:
        return int(self._firsts[-1])

    @cached_property
    def lengths(self) -> Array:
        """The number of tokens of each row [N]; raise VerificationError where it can't be."""
        kind = np.uint16 if self._longest < 1 << 16 else np.uint32
        lengths = np.concatenate([np.diff(batch["input_ids"].ends).astype(kind) for batch in self.batches])
        if len(lengths) and (longest := int(lengths.max())) > self._longest:  # a damaged length below 0 is a large one here
            problem = f"tokens, but {self._longest} are the most by the manifest"
            raise VerificationError(f"{self._where}: a row has {longest} {problem}: {VERIFY}")
        return lengths

    @cached_property
    def most_parts(self) -> int:
        """The most parts that a row has, where rows are packed."""
        most = int(max(np.diff(batch["document_starts"].ends).max(initial=1) for batch in self.batches))
        if not 0 < most <= self._longest:
            raise VerificationError(f"{self._where}: a row has {most} parts: {VERIFY}")
        return most

    def numbers(self, positions: Array) -> Array:
        """Return the numbers of the rows at these positions in the window."""
        batches = np.searchsorted(self._firsts, positions, "right") - 1
        return np.asarray(self.starts[batches] + positions - self._firsts[batches])

    def batches_of(self, rows: Array) -> tuple[Array, Array]:
        """Return the record batch of each of these rows, and which row of it each is."""
        batches = np.searchsorted(self.starts, rows, "right") - 1
        return batches, rows - self.starts[batches]

    def lengths_of(self, batches: Array, inside: Array) -> Array:
        """Return the number of tokens of rows, given by record batch and row in it."""
        return np.asarray(self.lengths[self._firsts[batches] + inside])


class MappedShards:
    """All shards, of which those that hold the rows asked for are mapped; `directory` is that of another process's cache.

    files: the shards.  firsts: the number of each one's first row, and of all rows [S + 1].  windows: the shards of each.
    """

    def __init__(self, files: list[ShardFile], longest: int, cache_bytes: int | None, directory: str = "") -> None:
        self.files, self._longest = files, longest
        self.firsts = np.cumsum([0] + [file.entry["rows"] for file in files])
        self.windows = windows([file.bytes for file in files], [file.position for file in files], cache_bytes)
        self._window_of = np.zeros(len(files), np.int64)
        for number, window in enumerate(self.windows):
            self._window_of[list(window)] = number
        self.columns: tuple[str, ...] = ()
        self._window: tuple[int, Window] | None = None
        self._mapped: dict[int, list[View]] = {}
        self._before: set[int] = set()
        self._now: set[int] = set()
        far = {number: file.remote for number, file in enumerate(files) if not file.is_here}
        limit = sum(files[number].bytes for number in far)
        self._cache = Cache(far, min(limit, cache_bytes or limit), directory) if far else None
        self._load([number for number in range(len(files)) if number not in far])
        self.columns = self.columns or columns_of(files[0].config)

    @property
    def directory(self) -> str:
        """The cache's directory; nothing where there is no cache."""
        return str(self._cache.directory) if self._cache else ""

    def verify(self) -> None:
        """Hash every shard that lies here, and fetch all others, which are hashed then."""
        for file in self.files:
            if file.is_here and digest(file.path) != file.entry["sha256"]:
                raise VerificationError(f"{file.path} {CHANGED}")
        for number in range(len(self.windows)):
            self.window(number)

    def shards_of(self, rows: Array) -> list[int]:
        """Return the numbers of the shards that have these rows, each once."""
        return list(map(int, np.unique(np.searchsorted(self.firsts, rows, "right") - 1)))

    def views(self, shards: Sequence[int], then: Sequence[int] = ()) -> list[View]:
        """Return the record batches of shards, and begin to fetch those that come then."""
        self._load(shards, then)
        return [view for number in shards for view in self._mapped[number]]

    def window(self, number: int, then: int | None = None) -> Window:
        """Map a window's shards, which are fetched where they are not here, and begin to fetch those of the next."""
        if self._window is None or self._window[0] != number:
            self._load(self.windows[number], () if then is None else self.windows[then])
            self._window = number, self._of(self.windows[number])
        return self._window[1]

    def window_with(self, rows: Array) -> Window:
        """Return a window that has these rows; of rows of several, their shards."""
        if len(self.windows) == 1 or not len(rows):
            return self.window(self._window[0] if self._window else 0)
        shards = self.shards_of(rows)
        numbers = np.unique(self._window_of[shards])
        if len(numbers) == 1:
            return self.window(int(numbers[0]))
        self._load(shards)
        return self._of(shards)

    def _of(self, shards: Sequence[int]) -> Window:
        where = ", ".join(dict.fromkeys(str(self.files[number].path.parent.parent) for number in shards))
        return Window([(int(self.firsts[number]), self._mapped[number]) for number in shards], self._longest, where)

    def _load(self, shards: Sequence[int], then: Sequence[int] = ()) -> None:
        """Map shards, and begin to fetch those that come then.

        Where the cache does not hold all, nothing else stays in it but what was mapped before: another process may read that.
        """
        far = [number for number in shards if not self.files[number].is_here]
        ahead = [number for number in then if number < len(self.files) and not self.files[number].is_here]
        if far and self._cache:
            if len(self.windows) > 1 and {*far} != self._now:
                self._before, self._now = self._now, {*far}
                self._mapped = {n: views for n, views in self._mapped.items() if n in self._now or self.files[n].is_here}
                self._cache.retain(self._now.union(self._before, ahead))
            self._cache.fetch(number for number in far if number not in self._mapped)
            self._cache.fetch_ahead(ahead)
        for number in shards:
            if number not in self._mapped:
                self._mapped[number] = self._map(self.files[number], self._cache.path(number) if self._cache and far else None)

    def _map(self, file: ShardFile, fetched: Path | None) -> list[View]:
        """Map a shard where it lies, or was fetched to; raise VerificationError where it has other columns than the others."""
        format = "arrow-stream" if file.config["format"] == "parquet" else file.config["format"]
        path = file.path if file.is_here or fetched is None else fetched
        views = map_rows(path, file.entry, file.config, file.vocab_size, format)
        for view in views:
            self.columns = self.columns or tuple(view.columns)
            if tuple(view.columns) != self.columns:
                roots = [one.path.parent.parent for one in (file, self.files[0])]
                raise VerificationError(f"{roots[0]} and {roots[1]} {DIFFER.format('columns')}")
        return views
