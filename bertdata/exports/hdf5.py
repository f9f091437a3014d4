"""Write HDF5 for NVIDIA's BERT (DeepLearningExamples): one file per shard, with one compressed array per column.

input_ids int32 [N, L], input_mask and segment_ids int8 [N, L], masked_lm_positions and masked_lm_ids int32 [N, P],
next_sentence_labels int8 [N]
"""

from __future__ import annotations

from typing import IO

from .base import ExportFile, Format, Shard, write_file
from .bert import examples, not_static

__all__ = ["HDF5"]

_TYPES = {
    "input_ids": "<i4",
    "input_mask": "i1",
    "segment_ids": "i1",
    "masked_lm_positions": "<i4",
    "masked_lm_ids": "<i4",
    "next_sentence_labels": "i1",
}


def _write(shard: Shard) -> list[ExportFile]:
    import h5py

    rows = next(entry.rows for entry in shard.manifest.shards if entry.name.startswith(f"{shard.stem}."))

    def write(file: IO[bytes]) -> None:
        # HDF5 stores times in its files by default, and newer layouts differ between versions.
        # Without times and with a fixed layout, equal rows become equal bytes.
        with h5py.File(file.name, "w", libver=("earliest", "v108")) as arrays:
            start = 0
            for columns in examples(shard):
                end = start + len(columns["input_ids"])
                for name, kind in _TYPES.items():
                    if not start:
                        shape = (rows, *columns[name].shape[1:])
                        arrays.create_dataset(name, shape, kind, compression="gzip", track_times=False)
                    arrays[name][start:end] = columns[name]
                start = end

    return [write_file(shard.root, f"{shard.stem}.hdf5", write)] if rows else []


HDF5 = Format("pairs", _write, refusal=not_static, packages=("h5py", "tokenizers"))
