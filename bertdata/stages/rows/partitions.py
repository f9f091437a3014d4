"""Move documents to their partitions: tokenize each batch once, and write each document's ids to the piece of its partition.

Every partition is a uniform sample of its split of the corpus: ``partition = hash(seed, document id) mod B``.  For pairs,
documents of a rare language are spread over fewer partitions (partners.py).  The split depends only on a hash of the id, so a
document stays in ``validation`` for any seed, length and number of partitions.
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ... import keys
from ...config import PairsConfig
from ...dataset import shards
from ...dataset.tasks import StoredValue
from ...records import Task
from ...tokens import vocab
from ...tokens.encode import Encoder
from ...tokens.segment import encode_words
from ...tokens.vocab import Vocabulary
from ..corpus_reader import DocumentReader
from .partners import MIN_DOCUMENTS_PER_PARTITION, DocumentOrigin, Partners, origins

_SEGMENTED_BYTES = 1 << 17  # text per call of jieba, which keeps all words of a call in memory
_encoding = threading.Lock()  # an encoder is used by one thread at a time: Dask runs several tasks of a process at once


def shard_count(config: PairsConfig, text_bytes: int, documents: int, most: int | None = None) -> int:
    """Return the number of partitions, one shard each, from the size of all copies of a partition, which are in memory together.

    The number is limited so that each partition has enough documents to exchange text: to `most`, or by the number of documents.
    """
    # Enough partitions that each fits in memory, and not so many that a partition has too few documents
    # to find partners.
    by_size = math.ceil(text_bytes * config.dupe_factor / config.bucket_bytes)
    return config.shards or max(1, min(99999, by_size, documents // MIN_DOCUMENTS_PER_PARTITION if most is None else most))


class Layout(NamedTuple):
    """The partitions of a run: first ``train``, then ``validation``, which contains `fraction` of the documents."""

    seed: int
    train: int
    fraction: float
    partners: Partners = Partners()

    @property
    def validation(self) -> int:
        """Number of ``validation`` partitions, about as large as the others."""
        return max(1, round(self.train * self.fraction / (1 - self.fraction))) if self.fraction else 0

    @property
    def total(self) -> int:
        """Number of partitions in both splits."""
        return self.train + self.validation

    def of_documents(self, ids: Sequence[str], origins: Sequence[DocumentOrigin]) -> list[int]:
        """Return the partition of each document."""
        held_out = [False] * len(ids)
        if self.fraction > 0:
            # A hash of the id is a uniform number of 64 bits: it is below f * 2^64 with probability f.
            # Seed 0 and not the run's seed, so that a document held out once is held out in every run.
            held_out = [key < self.fraction * 2.0**64 for key in keys.many(0, "split", last=zip(ids)).tolist()]
        kinds = [*zip(origins, held_out, strict=True)]
        windows = {kind: self.partners.window(*kind) if any(self.partners.windows) else None for kind in {*kinds}}
        found = []
        for key, kind in zip(keys.many(self.seed, "bucket", last=zip(ids)).tolist(), kinds, strict=True):
            first, count = (self.train, self.validation) if kind[1] else (0, self.train)
            start, size = windows[kind] or (0, count)
            # key * size >> 64 maps the key to 0 .. size - 1. A group of a rare language uses `size` partitions from `start` on,
            # around the ring.
            found.append(first + (start + (key * size >> 64)) % count)
        return found

    def split_of(self, partition: int) -> tuple[str, int, int]:
        """Return a partition's split, its index in the split, and the number of partitions of the split.

        >>> Layout(1, 9, 0.1).split_of(2), Layout(1, 9, 0.1).split_of(9)
        (('train', 2, 9), ('validation', 0, 1))
        """
        if partition < self.train:
            return "train", partition, self.train
        return "validation", partition - self.train, self.validation


def schema(vocabulary: Vocabulary) -> pa.Schema:
    """Return the schema of tokenized documents: names, ids, tokens of each sentence, and whether a token continues a word.

    The last column has empty lists if the vocabulary marks such tokens with ``##``.
    """
    ids = pa.uint16() if len(vocabulary.pieces) <= 1 << 16 else pa.uint32()
    names = [(name, pa.string()) for name in ("id", "source", "language", "script")]
    return pa.schema([*names, ("ids", pa.list_(ids)), ("sizes", pa.list_(pa.uint32())), ("continues", pa.list_(pa.bool_()))])


def joined(pieces: Iterable[bytes], schema: pa.Schema) -> pa.RecordBatch:
    """Return the documents of pieces as one record batch."""
    batches = [pa.ipc.read_record_batch(pa.py_buffer(piece), schema) for piece in pieces]
    return shards.joined(batches)[0] if batches else pa.RecordBatch.from_pylist([], schema)


@lru_cache(maxsize=2)  # a cluster worker may alternate between two runs
def _encoder(stored: StoredValue) -> Encoder:
    return Encoder(vocab.of_run(stored))


def tokenize(
    task: Task, reader: DocumentReader, stored: StoredValue, layout: Layout, chinese_words: str
) -> list[tuple[int, bytes]]:
    """Return the serialized documents of each non-empty partition, in order of partitions, as token ids."""
    parts = defaultdict[int, list[pa.RecordBatch]](list)
    for documents in _tokenized(task, reader, stored, layout, chinese_words):
        found = np.array(layout.of_documents(documents.column("id").to_pylist(), origins_in(documents)))
        for number in np.unique(found).tolist():
            parts[number].append(documents.take(pa.array(np.flatnonzero(found == number))))
    return [(number, shards.joined(parts.pop(number))[0].serialize().to_pybytes()) for number in sorted(parts)]


def _tokenized(
    task: Task, reader: DocumentReader, stored: StoredValue, layout: Layout, chinese_words: str
) -> Iterator[pa.RecordBatch]:
    """Yield the documents of a task, some at a time."""
    form = schema(vocab.of_run(stored))
    names = ("id", "source", "language", "sentences", "paragraph_starts")
    most = 0 if chinese_words == "none" else _SEGMENTED_BYTES
    for ids, sources, languages, documents, paragraphs in reader.columns(task, *names, most=most):
        with _encoding:
            if chinese_words == "none":
                (tokens, ends), continues = _encoder(stored).encode_documents(documents, paragraphs), np.zeros(0, bool)
            else:
                tokens, ends, continues = encode_words(_encoder(stored), languages.to_pylist(), documents.to_pylist())
        found = origins(sources, languages, documents, layout.partners.scripts)
        sentences = np.append(0, np.cumsum(documents.value_lengths().to_numpy()))
        edges, sizes = np.append(0, ends)[sentences], np.diff(ends, prepend=0)
        marked = edges if len(continues) else np.zeros_like(edges)
        lists = [(edges, tokens), (sentences, sizes), (marked, continues)]
        columns = [
            pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, form.field(name).type.value_type))
            for name, (offsets, values) in zip(form.names[4:], lists, strict=True)
        ]
        scripts = pa.array([origin.script for origin in found], pa.string())
        yield pa.RecordBatch.from_arrays([ids, sources, languages, scripts, *columns], schema=form)


def origins_in(documents: pa.RecordBatch) -> list[DocumentOrigin]:
    """Return the source, language and script of tokenized documents."""
    columns = (documents.column(name).to_pylist() for name in ("source", "language", "script"))
    return [*map(DocumentOrigin, *columns)]
