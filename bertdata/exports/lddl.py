"""Write Parquet files for LDDL, NVIDIA's loader: A and B of each pair as space-separated pieces, and static masks.

    data/shard-0.parquet      A, B, is_random_next, num_tokens; masked_lm_positions (by `numpy.save`), masked_lm_labels
    data/.num_samples.json    {"shard-0.parquet": rows, …}

Special tokens are not in A and B, but are included in ``num_tokens``.  LDDL's loader requires a number of files that is a
multiple of the ranks, with row counts that differ by at most one: run its `balance_shards`.
Source: NVIDIA/LDDL, lddl/dask/bert/pretrain.py.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..dataset.manifest_types import PairsManifest
from ..storage.files import json_text, write_text
from .base import ExportFile, ExportReport, Format, Shard, column, write_parquet
from .bert import only_nsp

__all__ = ["LDDL"]

_SIZES_FILE = "data/.num_samples.json"
_COLUMNS = [("A", pa.string()), ("B", pa.string()), ("is_random_next", pa.bool_()), ("num_tokens", pa.uint16())]
_MASK_COLUMNS = [("masked_lm_positions", pa.binary()), ("masked_lm_labels", pa.string())]
_ROW_GROUP_ROWS = 4096  # rows per row group


def _refusal(contents: PairsManifest) -> str:
    """Return why rows cannot be written, or "". LDDL's loader looks up the space-separated pieces in a vocab.txt."""
    is_bert = contents.special_tokens is None
    other = "" if is_bert else "it has pieces of a BERT's vocab.txt, and these rows are of another tokenizer"
    return only_nsp(contents) or other


def _saved(positions: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, positions.astype("<u2"))
    return file.getvalue()


def _batches(shard: Shard, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    pieces, separator = np.array(shard.pieces, object), shard.special.sep
    for record_batch in shard.batches:
        for start in range(0, record_batch.num_rows, _ROW_GROUP_ROWS):
            batch = record_batch.slice(start, _ROW_GROUP_ROWS)
            ids = list(column(batch, "input_ids").rows())
            segments = column(batch, "token_type_ids").rows()
            # [CLS] a a [SEP] b b [SEP] has segment ids 0 0 0 0 1 1 1: the first 1 is where B
            # starts, and the [SEP] of A is just before it.
            middles = [int(np.argmax(segment_ids)) for segment_ids in segments]  # start of B
            values: dict[str, list[str] | list[bool] | list[int] | list[bytes]] = {
                "A": [" ".join(pieces[row[1 : middle - 1]]) for row, middle in zip(ids, middles, strict=True)],
                "B": [" ".join(pieces[row[middle:-1]]) for row, middle in zip(ids, middles, strict=True)],
                "is_random_next": [label == 1 for label in batch.column("next_sentence_label").to_pylist()],
                "num_tokens": [len(row) for row in ids],
            }
            assert all(row[middle - 1] == row[-1] == separator for row, middle in zip(ids, middles, strict=True))
            if len(schema) > len(_COLUMNS):
                values["masked_lm_positions"] = [_saved(row) for row in column(batch, "masked_lm_positions").rows()]
                values["masked_lm_labels"] = [" ".join(pieces[row]) for row in column(batch, "masked_lm_labels").rows()]
            yield pa.RecordBatch.from_arrays([pa.array(values[field.name], field.type) for field in schema], schema=schema)


def _write(shard: Shard) -> list[ExportFile]:
    schema = pa.schema(_COLUMNS + (_MASK_COLUMNS if shard.rows_manifest.settings.masking == "static" else []))
    return [write_parquet(shard.root, f"data/shard-{shard.number}.parquet", schema, _batches(shard, schema))]


def _finish(root: Path, reports: Sequence[ExportReport]) -> list[str]:
    rows = {Path(report.files[0].name).name: report.tally.left for report in reports}
    write_text(root / _SIZES_FILE, json_text(rows))
    return [_SIZES_FILE]


LDDL = Format("pairs", _write, _finish, refusal=_refusal, packages=("pyarrow", "tokenizers"))
