"""Write Megatron-LM's indexed datasets of sentences, from which its BERT loader makes pairs and masks: two files per shard.

    data/train-00000-of-00016_text_sentence.bin     the ids of all sentences, without [CLS] and [SEP]
    data/train-00000-of-00016_text_sentence.idx     MMIDIDX\\0\\0, uint64 1, the ids' type, sentences S, documents + 1,
                                                    int32 lengths [S], int64 offsets in bytes [S], int64 first sentences [D + 1]

Sentences without pieces and documents without sentences are dropped.  Megatron skips documents with one sentence.
Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
"""

from __future__ import annotations

import struct

import numpy as np

from ..storage.files import replacing
from ..tokens.encode import Encoder
from .base import Format, Shard

_TWO_BYTES = 65500  # maximum vocabulary size for two-byte ids in Megatron
_DTYPE_CODES = {2: 8, 4: 4}  # bytes per id -> Megatron's code of uint16 and int32


def _write(shard: Shard) -> list[str]:
    assert shard.vocabulary is not None
    kind = np.dtype("<u2" if len(shard.vocabulary.pieces) < _TWO_BYTES else "<i4")
    encoder = Encoder(shard.vocabulary)
    lengths, counts = [np.zeros(0, "<i4")], [np.zeros(1, "<i8")]  # tokens of sentences, and sentences of documents after a 0
    names = [f"{shard.stem}_text_sentence.{ending}" for ending in ("bin", "idx")]
    with replacing(shard.root / names[0]) as file:
        for batch in shard.batches:
            sentences = batch.column("sentences")
            ids, ends = encoder.encode_documents(sentences, batch.column("paragraph_starts"))
            file.write(ids.astype(kind).tobytes())
            sizes = np.diff(ends, prepend=0)
            documents = np.repeat(np.arange(len(sentences)), sentences.value_lengths().to_numpy())  # of each sentence
            kept = np.bincount(documents[sizes > 0], minlength=len(sentences))
            lengths.append(sizes[sizes > 0].astype("<i4"))
            counts.append(kept[kept > 0])
            shard.tally.dropped["no pieces"] += int((kept == 0).sum())
    sizes, bounds = np.concatenate(lengths), np.cumsum(np.concatenate(counts), dtype="<i8")
    with replacing(shard.root / names[1]) as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, _DTYPE_CODES[kind.itemsize], len(sizes), len(bounds)))
        offsets = kind.itemsize * (np.cumsum(sizes, dtype="<i8") - sizes)
        file.write(sizes.tobytes() + offsets.tobytes() + bounds.tobytes())
    return names


MEGATRON = Format(("documents",), _write, needs_vocabulary=True, packages=("tokenizers",))
