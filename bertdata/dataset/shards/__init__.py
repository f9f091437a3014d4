"""Write and read shards: Arrow schemas (`schema`), files of record batches (`write`), rows gathered from them (`mapped`)."""

from .mapped import Shards, padded
from .ranges import BatchRange, read_ranges, write_ranges
from .schema import BATCH_BYTES, DOCUMENT, DocumentBatch, pair_batch, pair_schema
from .write import joined, name, read_batches, write

__all__ = [
    "BATCH_BYTES",
    "DOCUMENT",
    "DocumentBatch",
    "BatchRange",
    "Shards",
    "joined",
    "name",
    "padded",
    "pair_batch",
    "pair_schema",
    "read_batches",
    "read_ranges",
    "write",
    "write_ranges",
]
