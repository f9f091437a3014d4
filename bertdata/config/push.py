"""Configure `push`: the form of the shards on the Hub, and whether a new dataset is private."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Config, option

__all__ = ["PushConfig"]


@dataclass(frozen=True, kw_only=True)
class PushConfig(Config):
    """The form in which a dataset goes to the Hub."""

    format: str = option(
        "as-is", "Format of the shards on the Hub: parquet makes them anew on the way.", choices=("as-is", "parquet")
    )
    private: bool = option(False, "Let only yourself, or your organisation, see a dataset that is new on the Hub.")
