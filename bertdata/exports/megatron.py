"""Write Megatron-LM's indexed datasets of sentences, from which its BERT loader makes pairs and masks: two files per shard.

    data/train-00000-of-00016_text_sentence.bin     the ids of all sentences, without [CLS] and [SEP]
    data/train-00000-of-00016_text_sentence.idx     MMIDIDX\\0\\0, uint64 1, the ids' type, sentences S, documents + 1,
                                                    int32 lengths [S], int64 offsets in bytes [S], int64 first sentences [D + 1]

Sentences without pieces and documents without sentences are dropped.  Megatron skips documents with one sentence.
Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
"""

from __future__ import annotations

import struct
from array import array
from typing import IO

import numpy as np

from .base import ExportFile, Format, Shard, write_file

_TWO_BYTES = 65500  # maximum vocabulary size for two-byte ids in Megatron
_DTYPE_CODES = {2: 8, 4: 4}  # bytes per id -> Megatron's code of uint16 and int32


def _write(shard: Shard) -> list[ExportFile]:
    assert shard.vocabulary is not None
    size = len(shard.vocabulary.pieces)
    kind = np.dtype("<u2" if size < _TWO_BYTES else "<i4")
    encoder = shard.vocabulary.encoder()
    lengths, bounds = array("i"), array("q", [0])

    def write_ids(file: IO[bytes]) -> None:
        for batch in shard.batches:
            sentences = batch.column("sentences")
            ids, ends = encoder.encode_documents(sentences, batch.column("paragraph_starts"))
            file.write(ids.astype(kind).tobytes())
            # Drop empty sentences, and count the others per document, with a running sum of kept sentences:
            #
            #   tokens of sentences    3  0  5 | 0 | 4        three documents
            #   running sum         0  1  1  2   2   3
            #   starts              0        3   4   5        first sentence of each document, and the end
            #   at the starts       0        2   2   3        -> kept sentences 2, 0, 1
            counts = np.diff(ends, prepend=0)
            starts = sentences.offsets.to_numpy() - sentences.offsets[0].as_py()
            kept = np.diff(np.concatenate([[0], np.cumsum(counts > 0)])[starts])  # sentences per document
            lengths.frombytes(counts[counts > 0].astype(np.int32).tobytes())
            bounds.frombytes((bounds[-1] + np.cumsum(kept[kept > 0])).astype(np.int64).tobytes())
            shard.tally.dropped["no pieces"] += int((kept == 0).sum())

    def write_index(file: IO[bytes]) -> None:
        sizes = np.asarray(lengths, "<i4")
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, _DTYPE_CODES[kind.itemsize], len(sizes), len(bounds)))
        file.write(sizes.tobytes())
        offsets = np.cumsum(sizes, dtype=np.int64) - sizes
        file.write((offsets * kind.itemsize).astype("<i8").tobytes() + np.asarray(bounds, "<i8").tobytes())

    name = f"{shard.stem}_text_sentence"
    ids = write_file(shard.root, f"{name}.bin", write_ids)
    return [ids, write_file(shard.root, f"{name}.idx", write_index)]


MEGATRON = Format(("documents",), _write, needs_vocabulary=True, packages=("tokenizers",))
