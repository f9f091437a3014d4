"""Configure `export`: the format, and of rows the split."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Config, option

__all__ = ["ExportConfig"]


@dataclass(frozen=True, kw_only=True)
class ExportConfig(Config):
    """The format that another trainer reads, and of rows which split."""

    to: str = option("jsonl", "The format to write.", choices=("jsonl", "parquet", "mds", "megatron", "hdf5", "tfrecord", "lddl"))
    split: str = option("train", "The split of the rows that is written.", choices=("train", "validation"))
