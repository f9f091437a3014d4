"""Configure `push`: the shard format on the Hub, and whether a new dataset is private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .base import Config, option

__all__ = ["PushConfig"]


@dataclass(frozen=True, kw_only=True)
class PushConfig(Config):
    """Settings for uploading a dataset to the Hub."""

    format: Literal["as-is", "parquet"] = option(
        "as-is", "Shard format on the Hub; parquet converts the shards during the upload."
    )
    private: bool = option(False, "Create a new dataset as private.")
