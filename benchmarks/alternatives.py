"""Define the loaders that a skilled user writes in an hour: a NumPy collator on rows of `datasets` or litdata.

They serve the same rows, shuffled and masked at 15 %, in the same tensors as bertdata's loader.  Their limits: the share
of masked tokens is right only on average; order and masks depend on the state of a generator and on the number of workers, so a
resumed run has others; and the ranks of another world size get other rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from bertdata.dataset.rows import Shards

__all__ = ["Make", "alternatives"]

Make = Callable[[], Iterable[Any]]
_SHARE = 0.15


class Collator:
    """Mask rows, and concatenate packed rows or pad the others."""

    def __init__(self, shards: Shards) -> None:
        self.size, self.special, self.packed = shards.vocab_size, shards.special, shards.packed
        self.never = np.zeros(shards.vocab_size, bool)
        self.never[sorted(shards.special.never)] = True
        self.random = np.random.default_rng(0)

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        return self._flat(rows) if self.packed else self._padded(rows)

    def _flat(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        ids = np.concatenate([row["input_ids"] for row in rows]).astype(np.int64)
        begins = np.cumsum([0, *(len(row["input_ids"]) for row in rows)])
        own = [row["document_starts"] + at for row, at in zip(rows, begins[:-1], strict=True)]
        starts = np.concatenate([*own, begins[-1:]])
        sizes = np.diff(starts)
        batch = {"input_ids": ids, "labels": self._mask(ids), "position_ids": np.arange(len(ids)) - np.repeat(starts[:-1], sizes)}
        batch |= {"cu_seqlens": starts.astype(np.int32), "token_type_ids": np.zeros_like(ids)}
        return {**{name: torch.from_numpy(values) for name, values in batch.items()}, "max_seqlen": int(sizes.max())}

    def _padded(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        lengths = np.array([len(row["input_ids"]) for row in rows])
        seen = np.arange(lengths.max()) < lengths[:, None]
        batch = {"attention_mask": seen.astype(np.int64)}
        for name, fill in (("input_ids", self.special.pad), ("token_type_ids", 0)):
            batch[name] = np.full(seen.shape, fill, np.int64)
            batch[name][seen] = np.concatenate([row[name] for row in rows])
        batch["labels"] = self._mask(batch["input_ids"])
        if "next_sentence_label" in rows[0]:
            batch["next_sentence_label"] = np.array([row["next_sentence_label"] for row in rows], np.int64)
        return {name: torch.from_numpy(values) for name, values in batch.items()}

    def _mask(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Mask ids in place, and return labels."""
        chosen = (self.random.random(ids.shape, np.float32) < _SHARE) & ~self.never[ids]
        labels, at = np.where(chosen, ids, -100), np.flatnonzero(chosen)
        kinds, flat = self.random.random(len(at), np.float32), ids.reshape(-1)
        flat[at[kinds < 0.8]] = self.special.mask
        words = at[kinds >= 0.9]
        flat[words] = self.random.integers(0, self.size, len(words))
        return labels


class _Rows(torch.utils.data.Dataset[Any]):
    """Rows of `datasets` as NumPy arrays, one batch at a time."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows.with_format("numpy")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitems__(self, numbers: list[int]) -> list[dict[str, Any]]:
        columns = self.rows[numbers]
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _row(shards: Shards, columns: list[str], number: int) -> dict[str, Any]:
    row = shards[number]
    return {name: np.asarray(row[name]) for name in columns}


def alternatives(shards: Shards, rows: Any, batch_size: int, workers: int, work: Path) -> dict[str, Make]:
    """Return endless loaders by name. `rows` come from `datasets`, and `work` is a directory for litdata's files."""
    collate = Collator(shards)

    def of_datasets() -> DataLoader[Any]:
        return DataLoader(_Rows(rows), batch_size, shuffle=True, drop_last=True, collate_fn=collate, num_workers=workers)

    found: dict[str, Make] = {"datasets and a NumPy collator": lambda: _again(of_datasets())}
    try:
        import litdata  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        print("litdata is left out: pip install litdata")
        return found
    path = work / "litdata"
    if not path.exists():
        columns = [name for name in shards.columns if name != "continues_word"]
        row = functools.partial(_row, shards, columns)
        litdata.optimize(row, list(range(len(shards))), output_dir=str(path), chunk_bytes="64MB", num_workers=1)

    def of_litdata() -> Any:
        streamed = litdata.StreamingDataset(str(path), shuffle=True, drop_last=True)
        return litdata.StreamingDataLoader(streamed, batch_size=batch_size, collate_fn=collate, num_workers=workers)

    return {**found, "litdata and a NumPy collator": lambda: _again(of_litdata())}


def _again(loader: Any) -> Iterator[Any]:
    while True:
        yield from loader
