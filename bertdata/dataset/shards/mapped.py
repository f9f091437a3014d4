"""Read training rows: memory-map shards, check them against their manifest, and gather rows into arrays.

    shards = bertdata.Shards("pairs-128")
    shards[0]["input_ids"]                                       # [tokens]
    shards.gather(np.array([7, 0]), width=128)["input_ids"]      # [2, 128]

Opening reads manifests and shard headers but no rows. A mapped shard keeps no file open.  Shards in a store, and Parquet shards,
are fetched into a cache when needed.
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ...config.input_kinds import paths_of
from ...errors import UsageError, VerificationError
from ...labels import IGNORED
from ...pieces import join
from ...storage.files import to_path
from ..notebook import html_table
from ..staging import steady
from .directories import Directory, agree, read_directory, shard_files
from .origins import Origin, Origins
from .views import VERIFY
from .windows import MappedShards, Window

__all__ = ["Shards"]

Array = npt.NDArray[Any]
_MAX_ROWS_SHOWN = 5  # in a notebook


class Shards:
    """The rows of one split of one or several `make_pairs` outputs, numbered consecutively: a sequence of dicts.

    ``shards[i]`` has the stored columns, with lists of numbers as arrays. A slice is a list of rows.

    Args:
        paths: Directories, or addresses in a store.
        split: ``train`` or ``validation``.
        weights: How many times an epoch serves the rows of each directory. Default 1. With 0.25, each epoch serves a different
            quarter of them.
        verify: Hash every shard, which reads them all. Fetched shards (in a store, or Parquet) are always hashed.
        cache_bytes: Local disk space in TMPDIR for fetched shards. Default: the size of the data. If the data are larger, in any
            location, an epoch goes through windows of a third of this size.

    A pickled object contains only its paths and options.

    Raises:
        VerificationError: A file differs from its manifest, or the directories do not belong together. The message names the
            file.
        UsageError: The data cannot be read this way.
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        split: str = "train",
        weights: Sequence[float] | None = None,
        verify: bool = False,
        cache_bytes: int | None = None,
        _directory: str = "",
    ) -> None:
        self.paths = [to_path(path) for path in paths_of(paths)]
        self.split, self.cache_bytes = split, cache_bytes
        self.weights = [1.0] * len(self.paths) if weights is None else [float(weight) for weight in weights]
        if not self.paths or len(self.weights) != len(self.paths):
            raise UsageError(f"{len(self.weights)} weights for {len(self.paths)} directories of pairs: pass one for each")
        if not all(0 < weight <= 1000 for weight in self.weights):
            raise UsageError(f"the weights are {self.weights}: each must be over 0, and 1000 at most")
        # A run may replace the dataset while it is being opened. `steady` raises if the manifest
        # changed.
        with steady(*self.paths):
            data = [read_directory(path, split) for path in self.paths]
            self._take_common(data)
            files = [file for index, one in enumerate(data) for file in shard_files(index, one, split)]
            self._mapped = MappedShards(files, self.max_seq_length, cache_bytes, _directory)
        self.window, self.windows = self._mapped.window, self._mapped.windows
        self.columns = self._mapped.columns
        if verify:
            self._mapped.verify()

    def _take_common(self, data: list[Directory]) -> None:
        """Take the settings common to all rows from the manifests. Raise VerificationError if they differ."""
        agree(data, "vocabulary", [one.pieces for one in data])
        agree(data, "special tokens", [one.special for one in data])
        self.special, self._files = data[0].special, tuple(file.name for file in data[0].manifest.files)
        agree(data, "objective", objectives := [one.manifest.settings.objective for one in data])
        agree(data, "packing", packs := [one.manifest.settings.pack for one in data])
        agree(data, "masking", maskings := [one.manifest.settings.masking for one in data])
        self.pieces, self.objective, self.masking, self.packed = data[0].pieces, objectives[0], maskings[0], packs[0]
        self.max_seq_length = max(one.manifest.settings.max_seq_length for one in data)
        self.max_predictions = max(one.manifest.statistics.max_predictions or 0 for one in data)
        self.rows = [sum(shard.rows for shard in one.shards) for one in data]
        self.manifests = [one.manifest for one in data]
        self._origins = Origins(self.manifests)

    def __reduce__(self) -> tuple[Callable[..., Shards], tuple[Any, ...]]:
        return _reopen, (self.paths, self.split, self.weights, self.cache_bytes, self._mapped.directory)

    def __len__(self) -> int:
        return int(self._mapped.firsts[-1])

    def __repr__(self) -> str:
        paths = ", ".join(map(str, self.paths))
        kind = f"{self.objective}{', packed' if self.packed else ''}, max_seq_length {self.max_seq_length}"
        return f"Shards({paths!r}, {self.split}: {len(self):,} rows, {kind})"

    def _repr_html_(self) -> str:
        """Show the first rows as text, for notebooks."""
        rows = [[row, len(self[row]["input_ids"]), self.decode(row)] for row in range(min(_MAX_ROWS_SHOWN, len(self)))]
        return html_table(repr(self), ["row", "tokens", "text"], rows)

    def decode(self, row: int) -> str:
        """Return the text of a row, with its special tokens."""
        special = [self.pieces[i] for i in self.special.never]
        return join([self.pieces[i] for i in self[row]["input_ids"]], self.special.mark, special)

    @overload
    def __getitem__(self, number: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, number: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, number: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(number, slice):
            return [self[row] for row in range(*number.indices(len(self)))]
        row = operator.index(number)
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row}: there are {len(self)}")
        (shard,) = self._mapped.shards_of(np.array([row % len(self)]))
        inside = row % len(self) - int(self._mapped.firsts[shard])
        for view in self._mapped.views([shard]):
            if inside < view.batch.num_rows:
                return view.row(inside)
            inside -= view.batch.num_rows
        raise AssertionError("a shard has the rows of its manifest")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for shard in range(len(self._mapped.files)):
            for view in self._mapped.views([shard], [shard + 1]):
                yield from map(view.row, range(view.batch.num_rows))

    @property
    def vocab_size(self) -> int:
        """The number of tokens in the vocabulary."""
        return len(self.pieces)

    @property
    def origins(self) -> list[Origin]:
        """The sources and languages of the rows, sorted."""
        return self._origins.names

    @property
    def vocabulary_files(self) -> tuple[str, ...]:
        """The names of the vocabulary's files, which each directory contains."""
        return self._files

    @cached_property
    def lengths(self) -> Array:
        """The number of tokens of each row [N]. Raise VerificationError for an impossible one. In a store, this reads all
        rows."""
        if len(self.windows) == 1:
            return self.window(0).lengths
        lengths = np.zeros(len(self), np.uint16 if self.max_seq_length < 1 << 16 else np.uint32)
        for number in range(len(self.windows)):
            window = self.window(number)
            lengths[window.numbers(np.arange(len(window)))] = window.lengths
        return lengths

    @cached_property
    def most_parts(self) -> int:
        """The maximum number of segments in a packed row, or 1 without packing."""
        return max(self.window(number).most_parts for number in range(len(self.windows))) if self.packed else 1

    @cached_property
    def identity(self) -> str:
        """A digest of the rows, their weights and their windows. It does not depend on the location of the data."""
        files = self._mapped.files
        digests = [[file.entry.sha256 for file in files if file.directory == index] for index in range(len(self.paths))]
        parts = [self.split, self.weights, digests, self.pieces, *([self.windows] if len(self.windows) > 1 else [])]
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def rows_of(self, window: int) -> list[int]:
        """Return how many rows of each directory a window has."""
        of_window = [self._mapped.files[number] for number in self.windows[window]]
        return [sum(file.entry.rows for file in of_window if file.directory == index) for index in range(len(self.paths))]

    def origins_of(self, rows: Array) -> Array:
        """Return the origins of rows [B] by number, as indices of `origins`."""
        window = self._mapped.window_with(rows := np.asarray(rows, np.int64))
        stored, directories = window.origins_of(*window.batches_of(rows)), np.searchsorted(np.cumsum(self.rows), rows, "right")
        try:
            return self._origins.of(stored, directories)
        except IndexError:
            raise VerificationError(f"{self.paths[0]}: a row has an origin that is not in the manifest: {VERIFY}") from None

    def gather(self, rows: Array, width: int) -> dict[str, Array]:
        """Return rows [B] by number, as arrays of their stored types.

        ``input_ids``, ``token_type_ids``, ``attention_mask`` and, if stored, ``continues_word`` [B, width]. Pairs have
        ``next_sentence_label`` [B]. Static masks have ``masked_lm_positions`` and ``masked_lm_labels`` [B, `max_predictions`],
        where an unused position has label -100. Packed rows have ``document_starts`` [B, D], padded with 0, where D is the
        maximum number of segments of a row in the window, and a label per segment, padded with -100.

        Raises:
            ValueError: A row is longer than `width`.
        """
        rows = np.asarray(rows, np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"rows {rows.min()} to {rows.max()}: there are {len(self)}")
        # From row numbers to addresses: row -> record batch -> row in the batch. Columns are
        # mapped, so this copies exactly the bytes of these rows from the page cache.
        window = self._mapped.window_with(rows)
        batches, inside = window.batches_of(rows)
        lengths = window.lengths_of(batches, inside)
        if lengths.max(initial=0) > width:
            raise ValueError(f"row {rows[lengths.argmax()]} has {lengths.max()} tokens, more than a width of {width}")
        addresses = list(zip(batches.tolist(), inside.tolist(), strict=True))
        arrays = {"attention_mask": np.arange(width) < lengths[:, None]}
        pad = max(self.special.pad, 0)
        for name in self.columns:
            if name == "next_sentence_label" and not self.packed:
                arrays[name] = np.array([window.batches[batch][name].values[row] for batch, row in addresses], np.int8)
            elif name == "masked_lm_labels":
                arrays[name] = self._lists(window, name, addresses, self.max_predictions, IGNORED, np.dtype(np.int32))
            else:
                parts = window.most_parts if self.packed else 1
                most = {
                    "masked_lm_positions": self.max_predictions,
                    **dict.fromkeys(("document_starts", "next_sentence_label"), parts),
                }.get(name, width)
                fill = {"input_ids": pad, "next_sentence_label": IGNORED}.get(name, 0)
                arrays[name] = self._lists(window, name, addresses, most, fill)
        if self.packed and (arrays["document_starts"] >= np.maximum(lengths, 1)[:, None]).any():
            where = ", ".join(map(str, self.paths))
            raise VerificationError(f"{where}: a part begins after its row: {VERIFY}")
        return arrays

    def _lists(
        self,
        window: Window,
        name: str,
        addresses: list[tuple[int, int]],
        width: int,
        fill: int,
        kind: np.dtype[Any] | None = None,
    ) -> Array:
        """Gather a list column into [B, width], padded with `fill`. `addresses` are (record batch, row in it)."""
        gathered = np.full((len(addresses), width), fill, kind or window.batches[0][name].values.dtype)
        bits = name == "continues_word"  # Arrow stores eight flags per byte
        for row, (batch, number) in zip(gathered, addresses, strict=True):
            values, ends = window.batches[batch][name]
            start, end = int(ends[number]), int(ends[number + 1])
            if bits:
                # Unpack only the bytes that have bits of this row. For bits 13 to 18, these are the
                # bytes 1 and 2, and the row is at bits 5 to 10 of them.
                values = np.unpackbits(values[start >> 3 : (end + 7) >> 3], bitorder="little")
                start, end = start & 7, (start & 7) + end - start
            try:
                row[: end - start] = values[start:end]
            except ValueError as error:
                where = f"{', '.join(map(str, self.paths))}: {name} of a row can't be ({error})"
                raise VerificationError(f"{where}: {VERIFY}") from error
        return gathered.view(bool) if bits else gathered


def _reopen(paths: list[Path], split: str, weights: list[float], cache_bytes: int | None, directory: str) -> Shards:
    return Shards(paths, split=split, weights=weights, cache_bytes=cache_bytes, _directory=directory)
