"""Check the laws of LDDL: A and B are pieces of vocab.txt, of the size stated; masks as NumPy saves them; the list of sizes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...config import read_small
from ...errors import UsageError
from .. import batches
from ..files import CheckFailed
from .rows import ROWS, Read, lists

__all__ = ["read", "sizes"]

_SIZES = "data/.num_samples.json"
_MOST = 1 << 28  # bytes of the list, and of vocab.txt
_PAIR = [("A", pa.string()), ("B", pa.string()), ("is_random_next", pa.bool_()), ("num_tokens", pa.uint16())]
_MASKS = [("masked_lm_positions", pa.binary()), ("masked_lm_labels", pa.string())]
Ids = npt.NDArray[np.int64]


def sizes(directory: Path, contents: dict[str, Any]) -> tuple[str, str]:
    """Return the name of the list of sizes, and what in it is not what the manifest says."""
    try:
        listed = json.loads(read_small(directory / _SIZES, _MOST).decode("utf-8"))
    except (OSError, UsageError, ValueError, RecursionError) as error:
        return _SIZES, f"is no JSON: {' '.join(str(error).split())}"
    wanted = {shard["name"].removeprefix("data/"): shard["rows"] for shard in contents["shards"]}
    return _SIZES, "" if listed == wanted else "has other files or numbers of rows than the manifest"


def read(path: Path, needed: Read) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a shard."""
    pieces = read_small(needed.directory / "vocab.txt", _MOST).decode("utf-8").split("\n")[:-1]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    schema = pa.schema(_PAIR + (_MASKS if needed.config.masking == "static" else []))
    first = 0
    for whole in batches.read(path, "parquet", schema, needed.entry):
        for start in range(0, whole.num_rows, ROWS):
            batch = whole.slice(start, ROWS)
            yield _batch(batch, first, numbers, needed)
            first += batch.num_rows


def _batch(batch: pa.RecordBatch, first: int, numbers: dict[str, int], needed: Read) -> pa.RecordBatch:
    special, ids, segments = needed.special, [], []
    masks: dict[str, list[Ids]] = {name: [] for name, _ in _MASKS}
    for row, record in enumerate(batch.to_pylist(), first):
        a, b = (_ids(record[name], numbers, f"row {row}") for name in "AB")
        ids.append(np.concatenate([[special.cls_id], a, [special.sep_id], b, [special.sep_id]]))
        segments.append(np.repeat([0, 1], [len(a) + 2, len(b) + 1]))
        if record["num_tokens"] != len(ids[-1]):
            raise CheckFailed(f"row {row} has {len(ids[-1])} tokens, but a num_tokens of {record['num_tokens']}")
        if "masked_lm_labels" in record:
            masks["masked_lm_labels"].append(_ids(record["masked_lm_labels"], numbers, f"row {row}"))
            masks["masked_lm_positions"].append(_saved(record["masked_lm_positions"], f"row {row}"))
    columns = {"input_ids": ids, "token_type_ids": segments, **{name: record for name, record in masks.items() if record}}
    joined = {name: lists(np.concatenate(record), np.array([len(each) for each in record])) for name, record in columns.items()}
    label = batch.column("is_random_next").cast(pa.int8())
    return pa.RecordBatch.from_pydict({**joined, "next_sentence_label": label})


def _ids(text: str, numbers: dict[str, int], where: str) -> Ids:
    try:
        return np.array([numbers[piece] for piece in text.split(" ")], np.int64)
    except KeyError as error:
        raise CheckFailed(f"{where} has a piece that is not in vocab.txt: {ascii(error.args[0])[:100]}") from error


def _saved(data: bytes, where: str) -> Ids:
    """Read what `numpy.save` wrote: uint16, one dimension, and nothing after it."""
    file = io.BytesIO(data)
    try:
        array = np.load(file, allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError) as error:
        raise CheckFailed(f"{where} has masked_lm_positions that NumPy can't read") from error
    if not isinstance(array, np.ndarray) or array.dtype != np.uint16 or array.ndim != 1 or file.tell() != len(data):
        raise CheckFailed(f"{where} has masked_lm_positions that are no list of uint16")
    return array.astype(np.int64)
