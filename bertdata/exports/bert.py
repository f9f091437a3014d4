"""Make the arrays of BERT examples for TFRecord and HDF5 files: pairs with static masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dataset.manifest_types import PairsManifest
from ..dataset.shards import padded
from .base import Shard, column

__all__ = ["examples", "not_static", "only_nsp"]

_BATCH_ROWS = 2048  # rows per batch of arrays


def only_nsp(contents: PairsManifest) -> str:
    """Return why rows are not unpacked pairs for next sentence prediction, or ""."""
    config = contents.settings
    if config.objective != "nsp":
        return f"it has pairs with a label of next sentence prediction, and these are of objective {config.objective}"
    return "it has one pair a row, and these are packed: make them without `pack`" if config.pack else ""


def not_static(contents: PairsManifest) -> str:
    """Return why rows are not valid BERT examples, or ""."""
    masked = contents.settings.masking == "static"
    return only_nsp(contents) or ("" if masked else "it has masks, and these are without: make them with `masking` static")


def examples(shard: Shard) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield arrays per batch: ``input_ids``, ``input_mask``, ``segment_ids`` [N, L]; masked positions [N, P]; labels [N]."""
    length, predictions = shard.rows_manifest.settings.max_seq_length, shard.rows_manifest.statistics.max_predictions or 0
    pad = shard.special.pad
    for batch in shard.batches:
        names = ("input_ids", "token_type_ids", "masked_lm_positions", "masked_lm_labels")
        columns = {name: column(batch, name) for name in names}
        labels = batch.column("next_sentence_label").to_numpy()
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            rows = np.arange(start, min(start + _BATCH_ROWS, batch.num_rows))

            def filled(name: str, width: int, fill: int = 0, rows: Any = rows, columns: Any = columns) -> npt.NDArray[Any]:
                return padded(columns[name].values, columns[name].ends, rows, width, fill)

            # A mask of 1 for tokens and 0 for padding: compare each column number with the length
            # of the row.
            widths = {name: np.diff(columns[name].ends)[rows][:, None] for name in ("input_ids", "masked_lm_positions")}
            yield {
                "input_ids": filled("input_ids", length, pad),
                "input_mask": np.arange(length) < widths["input_ids"],
                "segment_ids": filled("token_type_ids", length),
                "masked_lm_positions": filled("masked_lm_positions", predictions),
                "masked_lm_ids": filled("masked_lm_labels", predictions),
                "masked_lm_weights": np.arange(predictions) < widths["masked_lm_positions"],
                "next_sentence_labels": labels[rows],
            }
