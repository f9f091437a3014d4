"""Configure `export`: the format and the split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .base import Config, option


@dataclass(frozen=True, kw_only=True)
class ExportConfig(Config):
    """Format and split for another trainer."""

    to: Literal["jsonl", "parquet", "mds", "megatron", "tfrecord"] = option("jsonl", "Output format.", first=True)
    split: Literal["train", "validation"] = option("train", "Split to export, for rows.", first=True)
