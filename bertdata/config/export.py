"""Configure `export`: the format and the split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .base import Config, option

__all__ = ["ExportConfig"]


@dataclass(frozen=True, kw_only=True)
class ExportConfig(Config):
    """Format and split for another trainer."""

    to: Literal["jsonl", "parquet", "mds", "megatron", "hdf5", "tfrecord", "lddl"] = option("jsonl", "Output format.")
    split: Literal["train", "validation"] = option("train", "Split to export, for rows.")
