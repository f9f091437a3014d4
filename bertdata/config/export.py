"""Configure `export`: the format and the split."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Config, option

__all__ = ["ExportConfig"]


@dataclass(frozen=True, kw_only=True)
class ExportConfig(Config):
    """Format and split for another trainer."""

    to: str = option("jsonl", "Output format.", choices=("jsonl", "parquet", "mds", "megatron", "hdf5", "tfrecord", "lddl"))
    split: str = option("train", "Split to export, for rows.", choices=("train", "validation"))
