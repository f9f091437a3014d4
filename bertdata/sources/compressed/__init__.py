"""Read plain, bzip2, gzip, xz and zstd files as blocks or as one stream, and continue after damage where possible."""

from .bzip2 import CHUNK_BYTES, Damage, DecompressedBlock, block_starts, next_block_start
from .members import UNCUT, blocks
from .stream import Stream

__all__ = ["CHUNK_BYTES", "UNCUT", "DecompressedBlock", "Damage", "Stream", "block_starts", "blocks", "next_block_start"]
