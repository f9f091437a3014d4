"""Read training rows: map the shards of `make_pairs` outputs into memory, and gather rows into arrays.

    shards = bertdata.Shards("pairs-128")
    shards[0]["input_ids"]                                       # [tokens]
    shards.gather(np.array([7, 0]), width=128)["input_ids"]      # [2, 128]

Opening reads manifests and the footers of shards, but no rows. A mapped shard keeps no file open. A dataset in a store is copied
to the local disk first (see fetch.py).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import operator
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..config.input_kinds import paths_of
from ..errors import UsageError, VerificationError
from ..pieces import IGNORED, join
from ..storage.files import to_path
from . import manifest
from .fetch import local_copy
from .manifest_records import RowFile
from .manifest_types import PairsManifest
from .shards import READ, map_rows, view
from .stored_vocabulary import read_vocabulary

__all__ = ["Origin", "Shards"]

Array = npt.NDArray[Any]
_REMAKE = "build it again with `overwrite`"


class Origin(NamedTuple):
    """The source and language of rows. A row has those of its first document."""

    source: str
    language: str


class Shards:
    """The rows of one split of one or several `make_pairs` outputs, numbered consecutively: a sequence of dicts.

    ``shards[i]`` has the stored columns, with lists of numbers as arrays. A slice is a list of rows. A pickled object contains
    only its local paths and options.

    Args:
        paths: Directories, or addresses in a store.
        split: ``train`` or ``validation``.
        weights: How many times an epoch serves the rows of each directory. Default 1. With 0.25, each epoch serves a different
            quarter of them.
        verify: Hash every shard, which reads them all. Files copied from a store are always hashed.

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
    ) -> None:
        self.paths, self.split = [to_path(path) for path in paths_of(paths)], split
        self.weights = [1.0] * len(self.paths) if weights is None else [float(weight) for weight in weights]
        if not self.paths or len(self.weights) != len(self.paths):
            raise UsageError(f"{len(self.weights)} weights for {len(self.paths)} directories of pairs: pass one for each")
        if not all(0 < weight <= 1000 for weight in self.weights):
            raise UsageError(f"the weights are {self.weights}: each must be over 0, and 1000 at most")
        with manifest.steady(*self.paths):  # a run may replace a dataset while it is opened
            self._open(verify)

    def _open(self, verify: bool) -> None:
        self.manifests = [manifest.read(path, PairsManifest) for path in self.paths]
        entries = list(map(self._entries, self.paths, self.manifests))
        self.directories = [
            local_copy(path, contents, [*contents.files, *listed])
            for path, contents, listed in zip(self.paths, self.manifests, entries, strict=True)
        ]
        self._take_common([read_vocabulary(*each) for each in zip(self.directories, self.manifests, strict=True)])
        self.rows = [sum(shard.rows for shard in listed) for listed in entries]
        self._digests = [[shard.sha256 for shard in listed] for listed in entries]
        self.batches = [
            batch
            for directory, contents, listed in zip(self.directories, self.manifests, entries, strict=True)
            for shard in listed
            for batch in map_rows(directory / shard.name, shard, contents.settings, len(self.pieces), verify)
        ]
        if not any(batch.num_rows for batch in self.batches):
            raise VerificationError(f"{self.paths[0]} has no rows of split {self.split}: {_REMAKE}")
        self._check_same("columns", [[name for name in batch.schema.names if name in READ] for batch in self.batches])
        self.columns = tuple(name for name in READ if name in self.batches[0].schema.names)
        self._views = {name: [view(batch.column(name)) for batch in self.batches] for name in self.columns}
        self.firsts = np.cumsum([0, *(batch.num_rows for batch in self.batches)])  # of each record batch, then all rows

    def _entries(self, path: Path, contents: PairsManifest) -> list[RowFile]:
        """Return the shards of the split, after checking the sizes of a directory's files."""
        if self.split not in contents.splits:
            splits = ", ".join(contents.splits)
            raise UsageError(f"{path} has no split {self.split!r}, but {splits}: make-pairs `validation_fraction` makes one")
        listed = [shard for shard in contents.shards if shard.name.startswith(f"data/{self.split}-")]
        manifest.check_files(path, [*contents.files, *listed])
        return listed

    def _take_common(self, vocabularies: Sequence[tuple[list[str], Any]]) -> None:
        """Take the settings common to all rows from the manifests. Raise VerificationError if they differ."""
        self._check_same("vocabulary", [pieces for pieces, _ in vocabularies])
        self._check_same("special tokens", [special for _, special in vocabularies])
        self.pieces, self.special = vocabularies[0]
        for what, name in (("objective", "objective"), ("packing", "pack"), ("masking", "masking")):
            self._check_same(what, [getattr(contents.settings, name) for contents in self.manifests])
        config = self.manifests[0].settings
        self.objective, self.packed, self.masking = config.objective, config.pack, config.masking
        self.max_seq_length = max(contents.settings.max_seq_length for contents in self.manifests)
        self.max_predictions = max(contents.statistics.max_predictions or 0 for contents in self.manifests)

    def _check_same(self, what: str, values: Sequence[Any]) -> None:
        """Raise VerificationError unless all directories, or all record batches, have the same value."""
        if any(value != values[0] for value in values):
            where = " and ".join(map(str, reversed(self.paths)))
            raise VerificationError(f"{where} differ in their {what}: read them apart, or make them alike")

    def __reduce__(self) -> Any:
        return partial(Shards, split=self.split, weights=self.weights), (self.directories,)

    def __len__(self) -> int:
        return int(self.firsts[-1])

    def __repr__(self) -> str:
        kind = f"{self.objective}{', packed' if self.packed else ''}, max_seq_length {self.max_seq_length}"
        return f"Shards({', '.join(map(str, self.paths))!r}, {self.split}: {len(self):,} rows, {kind})"

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
        batch, inside = self._addresses(row % len(self))
        return _row(self.batches[batch], int(inside))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (_row(batch, row) for batch in self.batches for row in range(batch.num_rows))

    def decode(self, row: int) -> str:
        """Return the text of a row, with its special tokens."""
        special = [self.pieces[i] for i in self.special.never]
        return join([self.pieces[i] for i in self[row]["input_ids"]], self.special.mark, special)

    @property
    def vocab_size(self) -> int:
        """The number of tokens in the vocabulary."""
        return len(self.pieces)

    @property
    def vocabulary_files(self) -> list[Path]:
        """Local paths of the vocabulary's files."""
        return [self.directories[0] / file.name for file in self.manifests[0].files]

    @cached_property
    def lengths(self) -> Array:
        """The number of tokens of each row [N]. Raise VerificationError for an impossible one."""
        kind = np.uint16 if self.max_seq_length < 1 << 16 else np.uint32
        lengths = np.concatenate([np.diff(column.ends).astype(kind) for column in self._views["input_ids"]])
        if (longest := int(lengths.max(initial=0))) > self.max_seq_length:  # a length below 0 becomes a large one
            raise self._damaged(f"a row has {longest} tokens, over the maximum of {self.max_seq_length} in the manifest")
        return lengths

    @cached_property
    def most_parts(self) -> int:
        """The maximum number of segments in a packed row, or 1 without packing."""
        if not self.packed:
            return 1
        most = int(max(np.diff(column.ends).max(initial=1) for column in self._views["document_starts"]))
        if not 0 < most <= self.max_seq_length:
            raise self._damaged(f"a row has {most} parts")
        return most

    @cached_property
    def identity(self) -> str:
        """A digest of the rows and their weights. It does not depend on the location of the data."""
        parts = [self.split, self.weights, self._digests, self.pieces]
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def origins(self) -> list[Origin]:
        """The sources and languages of the rows, sorted."""
        return sorted({Origin(*names) for contents in self.manifests for names in contents.origins})

    @cached_property
    def _origins(self) -> Array:
        """The index in `origins` of each row [N]. Shards store a number, whose meaning is in the manifest."""
        stored = np.concatenate([batch.column("origin").to_numpy() for batch in self.batches])
        numbers, first = np.empty(len(self), np.uint16), 0
        for contents, rows in zip(self.manifests, self.rows, strict=True):
            listed = np.array([self.origins.index(Origin(*names)) for names in contents.origins], np.uint16)
            if rows and int(stored[first : first + rows].max()) >= len(listed):
                raise self._damaged("a row has an origin that is not in the manifest")
            numbers[first : first + rows] = listed[stored[first : first + rows]]
            first += rows
        return numbers

    def origins_of(self, rows: Array) -> Array:
        """Return the origins of rows [B] by number, as indices of `origins`."""
        return np.asarray(self._origins[rows])

    def gather(self, rows: Array, width: int) -> dict[str, Array]:
        """Return rows [B] by number, as arrays of their stored types.

        ``input_ids``, ``token_type_ids``, ``attention_mask`` and, if stored, ``continues_word`` [B, width]. Pairs have
        ``next_sentence_label`` [B]. Static masks have ``masked_lm_positions`` and ``masked_lm_labels`` [B, `max_predictions`],
        where an unused position has label -100. Packed rows have ``document_starts`` [B, D], padded with 0, and a label per
        segment, padded with -100, where D is `most_parts`.

        Raises:
            ValueError: A row is longer than `width`.
        """
        rows = np.asarray(rows, np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"rows {rows.min()} to {rows.max()}: there are {len(self)}")
        lengths = self.lengths[rows]
        if lengths.max(initial=0) > width:
            raise ValueError(f"row {rows[lengths.argmax()]} has {lengths.max()} tokens, more than a width of {width}")
        widths = dict.fromkeys(("document_starts", "next_sentence_label"), self.most_parts)
        widths |= dict.fromkeys(("masked_lm_positions", "masked_lm_labels"), self.max_predictions)
        fills = {"input_ids": max(self.special.pad, 0), "next_sentence_label": IGNORED, "masked_lm_labels": IGNORED}
        # Row -> record batch, row in it. Columns are mapped, so this copies exactly the bytes of these rows from the page cache.
        batches, numbers = (places.tolist() for places in self._addresses(rows))
        arrays = {"attention_mask": np.arange(width) < lengths[:, None]}
        for name in self.columns:
            if name == "next_sentence_label" and not self.packed:
                labels = self._views[name]
                arrays[name] = np.array([labels[batch].values[row] for batch, row in zip(batches, numbers, strict=True)], np.int8)
            else:
                arrays[name] = self._padded(name, batches, numbers, widths.get(name, width), fills.get(name, 0))
        if self.packed and (arrays["document_starts"] >= np.maximum(lengths, 1)[:, None]).any():
            raise self._damaged("a part begins after its row")
        return arrays

    def _padded(self, name: str, batches: list[int], numbers: list[int], width: int, fill: int) -> Array:
        """Gather a list column into [B, width], padded with `fill`, from record batches and the numbers of rows in them."""
        columns, is_flags, is_label = self._views[name], name == "continues_word", name == "masked_lm_labels"
        kind = np.dtype(np.uint8) if is_flags else np.asarray(columns[0].values).dtype
        gathered = np.full(len(batches) * width, 0 if is_label else fill, kind)  # -100 fits no id's type
        to, at, sizes = gathered.data, 0, list[int]()
        # A list of all slices would take a tenth longer: it makes Python's garbage collector run, which takes 0.2 s with torch.
        with contextlib.suppress(ValueError):  # a size that is not possible: `sizes` shows it
            for batch, number in zip(batches, numbers, strict=True):
                values, ends = columns[batch]
                start, end = ends[number], ends[number + 1]
                sizes.append(size := end - start)
                if is_flags:  # Arrow stores eight per byte: flags 13 to 18 are bits 5 to 10 of bytes 1 and 2
                    unpacked = np.unpackbits(np.asarray(values[start >> 3 : (end + 7) >> 3]), bitorder="little")
                    values, start, end = unpacked.data, start & 7, (start & 7) + size
                to[at : at + size] = values[start:end]
                at += width
        if at < len(gathered) or (sizes and (min(sizes) < 0 or max(sizes) > width)):
            raise self._damaged(f"{name} of a row is not possible")
        gathered = gathered.reshape(-1, width)
        if is_label:
            return np.where(np.arange(width) < np.array(sizes)[:, None], gathered, np.int64(fill)).astype(np.int32)
        return gathered.view(bool) if is_flags else gathered

    def _addresses(self, rows: Any) -> tuple[Any, Any]:
        """Return the record batch of each row, and its place in it."""
        batches = np.searchsorted(self.firsts, rows, "right") - 1
        return batches, rows - self.firsts[batches]

    def _damaged(self, problem: str) -> VerificationError:
        return VerificationError(f"{', '.join(map(str, self.paths))}: {problem}. Shards(…, verify=True) names the damaged file")


def _row(batch: pa.RecordBatch, number: int) -> dict[str, Any]:
    """Return a row, with lists of numbers as arrays and other values as Python objects."""
    values = {name: batch.column(name)[number] for name in batch.schema.names}
    return {
        name: value.values.to_numpy(zero_copy_only=False)
        if pa.types.is_list(value.type) and not pa.types.is_string(value.type.value_type)
        else value.as_py()
        for name, value in values.items()
    }
