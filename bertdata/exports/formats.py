"""The table of formats, by the names that `--to` takes."""

from __future__ import annotations

from . import mds, megatron, text
from .base import Format

__all__ = ["FORMATS"]

FORMATS: dict[str, Format] = {
    "jsonl": text.JSON_LINES,
    "parquet": text.PARQUET,
    "mds": mds.MDS,
    "megatron": megatron.MEGATRON,
}
