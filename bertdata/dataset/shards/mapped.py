"""Rows of pairs where they lie: shards mapped into memory, checked against their manifest, gathered into arrays.

    shards = bertdata.Shards("pairs-128")
    shards.gather(np.array([7, 0]), width=128)["input_ids"]      # [2, 128]

Opening reads manifests and the shards' headers, no rows; a mapped shard keeps no file open.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...config import LABEL_1
from ...errors import UsageError, VerificationError
from ...io.files import digest, is_local, to_path
from ...io.storage import storage_errors
from ...pieces import ROLES, Special, of_bert, of_tokenizer
from ...wordpiece import IGNORED
from .. import manifest
from ..form import VOCABULARIES
from ..staging import steady
from .schema import pair_schema
from .write import check_end, raise_for

__all__ = ["Shards", "padded"]

_READ = (
    *("input_ids", "token_type_ids", "document_starts", "next_sentence_label", "continues_word"),
    *("masked_lm_positions", "masked_lm_labels"),
)

_REMAKE = "build it again with `overwrite`"
Array = npt.NDArray[Any]


def padded(values: Array, ends: Array, rows: Array, width: int, fill: int) -> Array:
    """Take rows [B] out of ragged ones, row i being ``values[ends[i]:ends[i + 1]]``: [B, width], filled up with `fill`.

    >>> padded(np.array([5, 6, 7]), np.array([0, 1, 3]), np.array([1, 0]), 3, 0).tolist()
    [[6, 7, 0], [5, 0, 0]]
    """
    indices = ends[rows][:, None] + np.arange(width)
    inside = indices < ends[rows + 1][:, None]
    return np.asarray(np.where(inside, values[np.minimum(indices, len(values) - 1)], fill), values.dtype)


class _Column(NamedTuple):
    """A column of a record batch, as views of the mapped file: values, and of lists where their rows end [N + 1]."""

    values: Array
    ends: Array


class _Data(NamedTuple):
    """A directory of pairs: its manifest, the shards of one split, and its vocabulary."""

    path: Path
    manifest: dict[str, Any]
    shards: list[dict[str, Any]]
    pieces: list[str]
    special: Special


class Shards:
    """The rows of one split of one or several directories that make-pairs wrote, numbered through.

    weights: how many times an epoch serves the rows of each directory, 1 if not given; of 0.25, it serves a quarter of them, each
    epoch another one.  verify: hash every shard, which reads them all.  Pickled, it is its paths and options.

    Raise VerificationError, which names the file, where one is not what its manifest says or where directories do not belong
    together, and UsageError for what can't be read this way.
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        split: str = "train",
        weights: Sequence[float] | None = None,
        verify: bool = False,
    ) -> None:
        self.paths = [to_path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        self.split = split
        self.weights = [1.0] * len(self.paths) if weights is None else [float(weight) for weight in weights]
        if not self.paths or len(self.weights) != len(self.paths):
            raise UsageError(f"{len(self.weights)} weights for {len(self.paths)} directories of pairs: give one for each")
        if not all(0 < weight <= 1000 for weight in self.weights):
            raise UsageError(f"the weights are {self.weights}: each must be over 0, and 1000 at most")
        with steady(*self.paths):
            self._open(split, verify)

    def _open(self, split: str, verify: bool) -> None:
        """Read the manifests, and map all shards."""
        data = [_read(path, split) for path in self.paths]
        _agree(data, "vocabulary", [one.pieces for one in data])
        _agree(data, "special tokens", [one.special for one in data])
        self.special, self._files = data[0].special, tuple(file["name"] for file in data[0].manifest["files"])
        _agree(data, "objective", objectives := [one.manifest["config"]["objective"] for one in data])
        _agree(data, "packing", packs := [one.manifest["config"].get("pack", False) for one in data])
        _agree(data, "masking", maskings := [one.manifest["config"]["masking"] for one in data])
        mapped = [[batch for shard in one.shards for batch in _map(one, shard, verify)] for one in data]
        for one, batches in zip(data, mapped, strict=True):
            if not batches:
                raise VerificationError(f"{one.path} has no record batch of split {split}: {_REMAKE}")
        self._batches = [batch for batches in mapped for batch in batches]
        self.columns = tuple(self._batches[0])
        for one, batches in zip(data, mapped, strict=True):
            _agree([data[0], *[one] * len(batches)], "columns", [self.columns, *map(tuple, batches)])
        self._starts = np.cumsum([0] + [len(batch["input_ids"].ends) - 1 for batch in self._batches])
        self._digests = [[shard["sha256"] for shard in one.shards] for one in data]
        self.rows = [sum(shard["rows"] for shard in one.shards) for one in data]
        self.pieces, self.objective, self.masking, self.packed = data[0].pieces, objectives[0], maskings[0], packs[0]
        self.max_seq_length = max(one.manifest["config"]["max_seq_length"] for one in data)
        self.max_predictions = max(one.manifest["statistics"].get("max_predictions", 0) for one in data)

    def __reduce__(self) -> tuple[Callable[..., Shards], tuple[Any, ...]]:
        return _reopen, (self.paths, self.split, self.weights)

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def vocab_size(self) -> int:
        """The number of pieces of the vocabulary."""
        return len(self.pieces)

    @property
    def vocabulary_files(self) -> tuple[str, ...]:
        """The names of the vocabulary's files, which each directory has."""
        return self._files

    @cached_property
    def lengths(self) -> Array:
        """The number of tokens of each row [N]; raise VerificationError where it can't be."""
        kind = np.uint16 if self.max_seq_length < 1 << 16 else np.uint32
        found = np.concatenate([np.diff(batch["input_ids"].ends).astype(kind) for batch in self._batches])
        if len(found) and (longest := int(found.max())) > self.max_seq_length:  # a damaged length below 0 is a large one here
            where, told = ", ".join(map(str, self.paths)), f"tokens, but {self.max_seq_length} are the most by the manifest"
            raise VerificationError(f"{where}: a row has {longest} {told}: Shards(…, verify=True) names the damaged file")
        return found

    @cached_property
    def most_parts(self) -> int:
        """The most parts that a packed row has; 1 of rows that are not packed."""
        if not self.packed:
            return 1
        found = int(max(np.diff(batch["document_starts"].ends).max(initial=1) for batch in self._batches))
        if not 0 < found <= self.max_seq_length:
            raise VerificationError(f"{self.paths[0]}: a row has {found} parts: Shards(…, verify=True) names the damaged file")
        return found

    @cached_property
    def identity(self) -> str:
        """A digest of the rows and of how often each is served: the same for the same data, wherever they lie."""
        told = json.dumps([self.split, self.weights, self._digests, self.pieces])
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()

    def gather(self, rows: Array, width: int) -> dict[str, Array]:
        """Return rows [B], numbered through, as arrays of the types they are stored in.

        ``input_ids``, ``token_type_ids``, ``attention_mask`` and, where words are told, ``continues_word`` [B, width];
        ``next_sentence_label`` [B] of pairs; of static masks ``masked_lm_positions`` and ``masked_lm_labels``
        [B, `max_predictions`], -100 being the label of an unused one.  Of packed rows ``document_starts`` [B, `most_parts`], 0
        after the last, and a label for each part, -100 after the last.  Raise ValueError for a row longer than `width`.
        """
        rows = np.asarray(rows, np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"rows {rows.min()} to {rows.max()}: there are {len(self)}")
        lengths = self.lengths[rows]
        if lengths.max(initial=0) > width:
            raise ValueError(f"row {rows[lengths.argmax()]} has {lengths.max()} tokens, more than a width of {width}")
        batches = np.searchsorted(self._starts, rows, "right") - 1
        addresses = list(zip(batches.tolist(), (rows - self._starts[batches]).tolist(), strict=True))
        found = {"attention_mask": np.arange(width) < lengths[:, None]}
        pad = max(self.special.pad, 0)
        for name in self.columns:
            if name == "next_sentence_label" and not self.packed:
                found[name] = np.array([self._batches[batch][name].values[row] for batch, row in addresses], np.int8)
            elif name == "masked_lm_labels":
                found[name] = self._lists(name, addresses, self.max_predictions, IGNORED, np.dtype(np.int32))
            else:
                most = {
                    "masked_lm_positions": self.max_predictions,
                    **dict.fromkeys(("document_starts", "next_sentence_label"), self.most_parts),
                }.get(name, width)
                fill = {"input_ids": pad, "next_sentence_label": IGNORED}.get(name, 0)
                found[name] = self._lists(name, addresses, most, fill)
        if self.packed and (found["document_starts"] >= np.maximum(lengths, 1)[:, None]).any():
            where = ", ".join(map(str, self.paths))
            raise VerificationError(f"{where}: a part begins after its row: Shards(…, verify=True) names the damaged file")
        return found

    def _lists(
        self, name: str, addresses: list[tuple[int, int]], width: int, fill: int, kind: np.dtype[Any] | None = None
    ) -> Array:
        """Gather a column of lists, addresses being (record batch, row in it): [B, width], filled up with `fill`."""
        found = np.full((len(addresses), width), fill, kind or self._batches[0][name].values.dtype)
        bits = name == "continues_word"  # Arrow has eight flags in a byte
        for row, (batch, number) in zip(found, addresses, strict=True):
            values, ends = self._batches[batch][name]
            start, end = int(ends[number]), int(ends[number + 1])
            if bits:
                values = np.unpackbits(values[start >> 3 : (end + 7) >> 3], bitorder="little")
                start, end = start & 7, (start & 7) + end - start
            try:
                row[: end - start] = values[start:end]
            except ValueError as error:
                where = f"{', '.join(map(str, self.paths))}: {name} of a row can't be ({error})"
                raise VerificationError(f"{where}: Shards(…, verify=True) names the damaged file") from error
        return found.view(bool) if bits else found


def _reopen(paths: list[Path], split: str, weights: list[float]) -> Shards:
    return Shards(paths, split=split, weights=weights)


def _read(path: Path, split: str) -> _Data:
    """Read a directory's manifest and vocabulary, and check the sizes of its files."""
    if not is_local(path):
        raise UsageError(f"{path} can't be mapped into memory: copy it to a disk of this machine, and give that")
    made = manifest.read(path, "pairs")
    if made["config"]["format"] == "parquet":
        raise UsageError(f"{path} holds Parquet files, which can't be mapped: make these pairs with `format` arrow-stream")
    if split not in made["splits"]:
        told = ", ".join(made["splits"])
        raise UsageError(f"{path} has no split {split!r}, but {told}: make-pairs `validation_fraction` makes one")
    own = [shard for shard in made["shards"] if shard["name"].startswith(f"data/{split}-")]
    manifest.check_files(path, {**made, "shards": own})
    if any(file["name"] == VOCABULARIES[0][0] for file in made["files"]):
        pieces = _read_pieces(path / VOCABULARIES[0][0], made)
        return _Data(path, made, own, pieces, of_bert(pieces))
    return _Data(path, made, own, *_read_tokenizer(path, made))


def _read_tokenizer(path: Path, made: dict[str, Any]) -> tuple[list[str], Special]:
    """Read a vocabulary that is not BERT's; raise VerificationError unless it is the manifest's."""
    tokenizer, settings = (json.loads(_told(path / name, made)) for name in VOCABULARIES[1])
    pieces, special = of_tokenizer(tokenizer, settings)
    if len(pieces) != made["vocab_size"]:
        raise VerificationError(f"{path / VOCABULARIES[1][0]} has {len(pieces)} pieces, not those of the manifest: {_REMAKE}")
    return pieces, special


def _told(path: Path, made: dict[str, Any]) -> bytes:
    """Return the bytes of a file of the vocabulary; raise VerificationError unless they are those of the manifest."""
    with storage_errors(f"cannot read {path}"):
        told = path.read_bytes()
    digests = {file["name"]: file["sha256"] for file in made["files"]}
    if hashlib.sha256(told).hexdigest() != digests[path.name]:
        raise VerificationError(f"{path} is not the vocabulary these pairs were made with: {_REMAKE}")
    return told


def _read_pieces(path: Path, made: dict[str, Any]) -> list[str]:
    """Read a vocabulary; raise VerificationError unless it is the manifest's, and one that rows can be read with."""
    with storage_errors(f"cannot read {path}"):
        told = path.read_bytes()
    digests = {file["name"]: file["sha256"] for file in made["files"]}
    try:
        pieces = told.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise VerificationError(f"{path} is damaged ({error}): {_REMAKE}") from error
    if hashlib.sha256(told).hexdigest() != digests["vocab.txt"] or len(pieces) != made["vocab_size"]:
        raise VerificationError(f"{path} is not the vocabulary these pairs were made with: {_REMAKE}")
    if missing := [f"[{role.upper()}]" for role in ROLES if f"[{role.upper()}]" not in pieces]:
        raise VerificationError(f"{path} lacks {', '.join(missing)}: {_REMAKE}")
    return pieces


def _agree(data: list[_Data], what: str, values: list[Any]) -> None:
    """Raise VerificationError unless all directories have one value."""
    for one, value in zip(data, values, strict=True):
        if value != values[0]:
            raise VerificationError(f"{one.path} and {data[0].path} differ in their {what}: read them apart, or make them alike")


def _map(data: _Data, shard: dict[str, Any], verify: bool) -> list[dict[str, _Column]]:
    """Map a shard's record batches; raise VerificationError unless it is whole and holds the rows its manifest says."""
    path = data.path / shard["name"]
    try:
        with pa.memory_map(str(path)) as source:
            if data.manifest["config"]["format"] == "arrow-file":
                file = pa.ipc.open_file(source)
                batches = [file.get_batch(index) for index in range(file.num_record_batches)]
            else:
                check_end(path)
                batches = list(pa.ipc.open_stream(source))
        for batch in batches:
            batch.validate()
            _check_columns(path, batch.schema, data)
        names = [name for name in _READ if name in batches[0].schema.names] if batches else []
        views = [{name: _column(batch.column(name)) for name in names} for batch in batches]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise_for(path, error, "damaged", _REMAKE)
    rows = sum(batch.num_rows for batch in batches)
    if rows != shard["rows"]:
        raise VerificationError(f"{path} holds {rows} rows, but {shard['rows']} by its manifest: {_REMAKE}")
    if verify and digest(path) != shard["sha256"]:
        raise VerificationError(f"{path} is not the file its manifest tells of (SHA-256): {_REMAKE}")
    return views


def _check_columns(path: Path, schema: pa.Schema, data: _Data) -> None:
    """Raise VerificationError unless the columns that are read have the types of rows, and none of those is missing."""
    config = data.manifest["config"]
    needed = ["input_ids", "token_type_ids", *(["next_sentence_label"] if config["objective"] in LABEL_1 else [])]
    needed += ["document_starts"] if (packed := config.get("pack", False)) else []
    needed += ["masked_lm_positions", "masked_lm_labels"] if config["masking"] == "static" else []
    for field in pair_schema(len(data.pieces), [name for name in _READ if packed or name != "document_starts"]):
        found = [own.type for own in schema if own.name == field.name]
        if (found or field.name in needed) and found != [field.type]:
            told = f"has no one column {field.name}" if len(found) != 1 else f"has a column {field.name} of {found[0]}"
            raise VerificationError(f"{path} {told}, not of {field.type}: {_REMAKE}")


def _column(column: pa.Array) -> _Column:
    """View a column without a copy."""
    if not pa.types.is_list(column.type):
        return _Column(column.to_numpy(), np.zeros(0, np.int32))
    ends = column.offsets.to_numpy()
    if pa.types.is_boolean(column.type.value_type):
        return _Column(np.frombuffer(column.values.buffers()[1] or b"", np.uint8), ends)
    return _Column(column.values.to_numpy(), ends)
