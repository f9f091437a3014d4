"""Shards: the Arrow schemas (`schema`), files of record batches (`store`) and rows gathered from them (`mapped`)."""

from .mapped import Shards, padded
from .pieces import Piece, read_pieces, write_pieces
from .schema import BATCH_BYTES, DOCUMENT, DocumentBatch, pair_batch, pair_schema
from .write import joined, name, read_batches, write

__all__ = [
    "BATCH_BYTES",
    "DOCUMENT",
    "DocumentBatch",
    "Piece",
    "Shards",
    "joined",
    "name",
    "padded",
    "pair_batch",
    "pair_schema",
    "read_batches",
    "read_pieces",
    "write",
    "write_pieces",
]
