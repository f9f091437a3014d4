"""Read files packed by bzip2, gzip, xz or zstd, or not at all, as blocks or as one stream, past damage where that is possible."""

from .bzip2 import CHUNK, Damage, DecompressedBlock, block_starts, next_block_start
from .members import UNCUT, blocks
from .stream import Stream

__all__ = ["CHUNK", "UNCUT", "DecompressedBlock", "Damage", "Stream", "block_starts", "blocks", "next_block_start"]
