"""Map the rows of shards: all at once, or in windows (groups of shards) if the data exceed the limit of the cache.

windows([5, 5, 5, 5], positions, 30)      # a third of 30 bytes at a time: [(0, 1), (2, 3)]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...config import PairsConfig
from ...errors import UsageError, VerificationError
from ...storage.files import digest
from ..manifest_records import ShardEntry, Statistics
from .cache import Cache, RemoteShard
from .views import CHANGED, DIFFER, VERIFY, ColumnView, View, columns_of, map_rows

__all__ = ["MappedShards", "ShardFile", "Window", "windows"]

Array = npt.NDArray[Any]
_CACHED_WINDOWS = 3  # windows in the cache: current, next, and previous, which a slower process may still read
_STRING_BYTES = 64  # estimated bytes of a string in a Parquet row: a document id


class ShardFile(NamedTuple):
    """A shard: its path, its entry in the manifest, and the manifest's configuration and statistics of its split.

    position: its place among the shards of its directory, from 0 to 1.  is_here: whether its own path can be mapped.
    """

    directory: int
    position: float
    path: Path
    is_here: bool
    entry: ShardEntry
    config: PairsConfig
    statistics: Statistics
    vocab_size: int

    @property
    def bytes(self) -> int:
        """Its bytes when it is mapped; for Parquet, an estimate from the mean length of the split's rows."""
        if self.config.format != "parquet":
            return self.entry.bytes
        a_token = (2 if self.vocab_size <= 1 << 16 else 4) + 1.2
        masked = 8.0 * (self.statistics.max_predictions or 0)
        a_row = self.statistics.mean_length * a_token + masked + 20 + 2 * _STRING_BYTES * self.config.provenance
        return int(self.entry.rows * a_row) + 1024

    @property
    def remote(self) -> RemoteShard:
        """The facts that a cache needs to fetch it."""
        return RemoteShard(self.path, self.entry.bytes, self.entry.sha256, self.config.format)


def windows(sizes: Sequence[int], positions: Sequence[float], limit: int | None) -> list[tuple[int, ...]]:
    """Group shards into windows: one window if all fit the limit, otherwise windows of at most a third of it.

    Args:
        sizes: Bytes of each shard.
        positions: Place of each shard in its directory, from 0 to 1.  Each window gets an equal share of every directory.
        limit: Bytes of the cache, or None.

    Returns:
        The numbers of each window's shards.  Windows are as equal in size as their number allows.

    Raises:
        UsageError: A shard is larger than a third of the limit.
    """
    if limit is None or sum(sizes) <= limit:
        return [tuple(range(len(sizes)))]
    low, most = max(sizes), limit // _CACHED_WINDOWS
    if low > most:
        problem = f"a shard has {low:,} bytes: use {_CACHED_WINDOWS * low:,} or more, or make rows with more `shards`"
        raise UsageError(
            f"`cache_bytes` {limit:,}: a third of it, a window of shards, is too small: {problem}",
            field="cache_bytes",
            value=limit,
        )
    # By position in the directory, so that two directories with a weight each are both in every
    # window:
    #
    #   wiki   0.12 0.37 0.62 0.87       order: wiki 0, books 0, wiki 1, wiki 2, books 1, wiki 3
    #   books      0.25      0.75
    order = sorted(range(len(sizes)), key=lambda number: (positions[number], number))
    count = len(_filled(sizes, order, most))
    # Filling greedily leaves a small last window: 4, 4, 1. Search for the smallest limit that still
    # needs three windows: 3, 3, 3.
    while low < most:  # the smallest size that needs no more windows makes them equal
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
    """The mapped rows of some shards.

    Args:
        files: Number of the first row, and the record batches, of each shard in order.
        longest: Maximum number of tokens of a row, from the manifest.
        where: Directories that an error about a damaged row names.

    Attributes:
        views: All record batches.
        starts: Number of each record batch's first row.
    """

    def __init__(self, files: Sequence[tuple[int, list[View]]], longest: int, where: str) -> None:
        self.views = [view for _, views in files for view in views]
        self.batches: list[dict[str, ColumnView]] = [view.columns for view in self.views]
        self._longest, self._where = longest, where
        sizes = [view.batch.num_rows for view in self.views]
        self._firsts = np.cumsum([0, *sizes])  # position of each batch's first row in this window
        begins = [first + np.cumsum([0, *(view.batch.num_rows for view in views[:-1])]) for first, views in files if views]
        self.starts = np.concatenate(begins) if begins else np.zeros(0, np.int64)

    def __len__(self) -> int:
        return int(self._firsts[-1])

    @cached_property
    def lengths(self) -> Array:
        """The number of tokens of each row [N]; raise VerificationError for an impossible one."""
        kind = np.uint16 if self._longest < 1 << 16 else np.uint32
        lengths = np.concatenate([np.diff(batch["input_ids"].ends).astype(kind) for batch in self.batches])
        if (
            len(lengths) and (longest := int(lengths.max())) > self._longest
        ):  # a damaged length below 0 becomes a large unsigned one
            problem = f"tokens, over the maximum of {self._longest} in the manifest"
            raise VerificationError(f"{self._where}: a row has {longest} {problem}: {VERIFY}")
        return lengths

    @cached_property
    def most_parts(self) -> int:
        """The maximum number of segments in a packed row."""
        most = int(max(np.diff(batch["document_starts"].ends).max(initial=1) for batch in self.batches))
        if not 0 < most <= self._longest:
            raise VerificationError(f"{self._where}: a row has {most} parts: {VERIFY}")
        return most

    def numbers(self, positions: Array) -> Array:
        """Return the row numbers of positions in this window."""
        batches = np.searchsorted(self._firsts, positions, "right") - 1
        return np.asarray(self.starts[batches] + positions - self._firsts[batches])

    def batches_of(self, rows: Array) -> tuple[Array, Array]:
        """Return the record batch of each row, and the row's place in it."""
        batches = np.searchsorted(self.starts, rows, "right") - 1
        return batches, rows - self.starts[batches]

    def lengths_of(self, batches: Array, inside: Array) -> Array:
        """Return the number of tokens of rows, which are places in record batches."""
        return np.asarray(self.lengths[self._firsts[batches] + inside])

    def origins_of(self, batches: Array, inside: Array) -> Array:
        """Return the stored origin number of rows, which are places in record batches."""
        return np.asarray(self._origins[self._firsts[batches] + inside])

    @cached_property
    def _origins(self) -> Array:
        return np.concatenate([view.origin for view in self.views])


class MappedShards:
    """All shards; a shard is fetched and mapped when its rows are needed.

    Attributes:
        files: The shards.
        firsts: Number of each shard's first row, then the number of all rows [S + 1].
        windows: The numbers of each window's shards.
    """

    def __init__(self, files: list[ShardFile], longest: int, cache_bytes: int | None, directory: str = "") -> None:
        self.files, self._longest = files, longest
        self.firsts = np.cumsum([0] + [file.entry.rows for file in files])
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
        """The directory of the cache, or an empty text if there is none."""
        return str(self._cache.directory) if self._cache else ""

    def verify(self) -> None:
        """Hash all local shards and fetch the others, which hashes them too."""
        for file in self.files:
            if file.is_here and digest(file.path) != file.entry.sha256:
                raise VerificationError(f"{file.path} {CHANGED}")
        for number in range(len(self.windows)):
            self.window(number)

    def shards_of(self, rows: Array) -> list[int]:
        """Return the numbers of the shards that contain these rows, each once."""
        return list(map(int, np.unique(np.searchsorted(self.firsts, rows, "right") - 1)))

    def views(self, shards: Sequence[int], then: Sequence[int] = ()) -> list[View]:
        """Return the record batches of shards, and start to fetch the ones that follow."""
        self._load(shards, then)
        return [view for number in shards for view in self._mapped[number]]

    def window(self, number: int, then: int | None = None) -> Window:
        """Fetch and map the shards of a window, and start to fetch those of the next one."""
        if self._window is None or self._window[0] != number:
            self._load(self.windows[number], () if then is None else self.windows[then])
            self._window = number, self._of(self.windows[number])
        return self._window[1]

    def window_with(self, rows: Array) -> Window:
        """Return the window that contains these rows; for rows of several windows, one made of their shards."""
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
        """Fetch and map shards, and start to fetch the next ones.

        If the cache cannot hold all shards, it keeps these and the previous ones, which another process may still read.
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
        """Map a shard or its fetched copy; raise VerificationError if its columns differ from the other shards'."""
        format = "arrow-stream" if file.config.format == "parquet" else file.config.format
        path = file.path if file.is_here or fetched is None else fetched
        views = map_rows(path, file.entry, file.config, file.vocab_size, format)
        for view in views:
            self.columns = self.columns or tuple(view.columns)
            if tuple(view.columns) != self.columns:
                roots = [one.path.parent.parent for one in (file, self.files[0])]
                raise VerificationError(f"{roots[0]} and {roots[1]} {DIFFER.format('columns')}")
        return views
