"""Write and read shards: Arrow schemas (`schema`), files of record batches (`write`), and rows gathered from them (`mapped`)."""

from .mapped import Shards
from .origins import Origin
from .schema import BATCH_BYTES, DOCUMENT, Columns, DocumentBatch, as_written, pair_batch, pair_schema
from .views import padded
from .write import joined, name, read_batches, write

__all__ = [
    "BATCH_BYTES",
    "DOCUMENT",
    "Columns",
    "DocumentBatch",
    "Origin",
    "Shards",
    "joined",
    "name",
    "as_written",
    "padded",
    "pair_batch",
    "pair_schema",
    "read_batches",
    "write",
]
