"""Make record batches of the rows of other formats, so that the laws of rows check them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...config import LABEL_1, PairsConfig
from ...rows.masking import max_predictions_of
from ..files import CheckFailed, require
from ..rows import SpecialPieces

__all__ = ["ROWS", "Read", "counted", "examples", "lists", "static_config"]

ROWS = 1024  # looked at, at a time
Array = npt.NDArray[Any]
_PADDED = {  # BERT's names: ours, and which of the two lengths they are filled up to
    "input_ids": "input_ids",
    "segment_ids": "token_type_ids",
    "masked_lm_positions": "masked_lm_positions",
    "masked_lm_ids": "masked_lm_labels",
}


class Read(NamedTuple):
    """What a reader needs: the export's directory, the shard's entry, how its rows were made, and their vocabulary."""

    directory: Path
    entry: dict[str, Any]
    config: PairsConfig
    special: SpecialPieces


def static_config(config: PairsConfig) -> PairsConfig:
    """Return how rows were made, but for the documents of packed ones, whose names no format keeps apart."""
    return dataclasses.replace(config, provenance=config.provenance and not config.pack and config.objective in LABEL_1)


def counted(rows: int, entry: dict[str, Any]) -> Counter[str]:
    """Return the number of rows; raise CheckFailed where it is not the manifest's."""
    if rows != entry["rows"]:
        raise CheckFailed(f"holds {rows:,} rows, but {entry['rows']:,} by the manifest")
    return Counter(rows=rows)


def lists(values: Array, lengths: Array) -> pa.Array:
    """Return a column of lists, of their values end to end and their lengths [N]."""
    return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(lengths)), pa.int32()), pa.array(values))


def examples(arrays: dict[str, Array], first: int, read: Read) -> pa.RecordBatch:
    """Return the rows of BERT's filled-up arrays [N, L] and [N, P]; raise CheckFailed for what is no mask or no filling.

    `arrays` may have ``masked_lm_weights``; without them a position 0, which is that of [CLS], is filling.
    """
    mask, positions = arrays["input_mask"], arrays["masked_lm_positions"]
    weights = arrays.get("masked_lm_weights", (positions != 0).astype(np.int8))
    widths = {"input_ids": read.config.max_seq_length, "masked_lm_positions": max_predictions_of(read.config)}
    for name, flags in (("input_ids", mask), ("masked_lm_positions", weights)):
        if flags.shape[1] != widths[name]:
            raise CheckFailed(f"has {name} of {flags.shape[1]} numbers a row, not {widths[name]}")
        require(
            ((flags == 0) | (flags == 1)).all(1) & (np.diff(flags, axis=1) <= 0).all(1),
            first,
            f"has a mask of {name} that is not 1…1 0…0",
        )
    used = {"input_ids": mask == 1, "segment_ids": mask == 1, "masked_lm_positions": weights == 1, "masked_lm_ids": weights == 1}
    columns = {}
    for name, ours in _PADDED.items():
        values, inside = arrays[name], used[name]
        if values.shape != inside.shape:
            raise CheckFailed(f"has {name} of shape {values.shape}, not {inside.shape}")
        require(np.asarray((values >= 0).all(1)), first, f"has a {name} below 0")
        filling = values[~inside]
        if name == "input_ids" and len(filling):
            special = np.flatnonzero(read.special.never)
            require(
                np.asarray(((values == filling[0]) | inside).all(1) & np.isin(filling[0], special)),
                first,
                "is filled up with other ids than [PAD]",
            )
        else:
            require(((values == 0) | inside).all(1), first, f"has {name} filled up with other numbers than 0")
        columns[ours] = lists(values[inside], inside.sum(1))
    label = np.asarray(arrays["next_sentence_labels"]).reshape(-1)
    if len(label) != len(mask):
        raise CheckFailed(f"has {len(label)} labels in {len(mask)} rows")
    columns["next_sentence_label"] = pa.array(label)
    return pa.RecordBatch.from_pydict(columns)
