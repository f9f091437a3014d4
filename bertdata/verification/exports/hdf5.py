"""Check the laws of HDF5: the six arrays of NVIDIA's BERT and no other, of their types, all of one length, filled up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from ..files import CheckFailed
from .rows import ROWS, Read, examples

__all__ = ["read"]

_TYPES = {
    "input_ids": ("int32", 2),
    "input_mask": ("int8", 2),
    "segment_ids": ("int8", 2),
    "masked_lm_positions": ("int32", 2),
    "masked_lm_ids": ("int32", 2),
    "next_sentence_labels": ("int8", 1),
}


def read(path: Path, needed: Read) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a shard."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            types = {name: (str(file[name].dtype), file[name].ndim) for name in file}
            if types != _TYPES:
                raise CheckFailed(
                    f"has the arrays {', '.join(sorted(map(str, types)))}, or other types or shapes than it is to have"
                )
            counts = {len(file[name]) for name in file}
            if len(counts) > 1:
                raise CheckFailed(f"has arrays of {', '.join(map(str, sorted(counts)))} rows")
            for start in range(0, counts.pop(), ROWS):
                yield examples({name: file[name][start : start + ROWS] for name in _TYPES}, start, needed)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise CheckFailed(f"can't be read as HDF5: {' '.join(str(error).split())}") from error
