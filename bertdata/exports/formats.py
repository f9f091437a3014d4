"""The table of formats, by the names that `--to` takes."""

from __future__ import annotations

from . import lddl, mds, megatron, text, tfrecord
from .base import Format

__all__ = ["FORMATS"]

FORMATS: dict[str, Format] = {
    "jsonl": text.JSON_LINES,
    "parquet": text.PARQUET,
    "mds": mds.MDS,
    "megatron": megatron.MEGATRON,
    "tfrecord": tfrecord.TFRECORD,
    "lddl": lddl.LDDL,
}
