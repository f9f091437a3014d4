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
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import keys
from ...config import PairsConfig
from ...dataset import shards
from ...dataset.tasks import StoredValue
from ...records import Task
from ...tokens import vocab
from ...tokens.encode import Encoder
from ...tokens.segment import WordEncoder
from ...tokens.vocab import Vocabulary
from ..corpus_reader import DocumentReader
from .partners import MIN_DOCUMENTS_PER_PARTITION, DocumentOrigin, Partners, origins

_SEGMENTED_BYTES = 1 << 17  # text per progress report: jieba needs a quarter of a second


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
        windows = {kind: self._window(*kind) for kind in {*zip(origins, held_out, strict=True)}}
        drawn = keys.many(self.seed, "bucket", last=zip(ids)).tolist()
        found = []
        for key, kind in zip(drawn, zip(origins, held_out, strict=True), strict=True):
            first, count, start, size = windows[kind]
            # key * size >> 64 maps the key to 0 .. size - 1. A group of a rare language uses `size`
            # partitions from `start` on, around the ring.
            found.append(first + (start + (key * size >> 64)) % count)
        return found

    def _window(self, origin: DocumentOrigin, held_out: bool) -> tuple[int, int, int, int]:
        """Return the first partition and number of partitions of a split, and where documents of an origin are in it."""
        first, count = (self.train, self.validation) if held_out else (0, self.train)
        window = self.partners.window(origin, held_out) if any(self.partners.windows) else None
        return first, count, *(window or (0, count))

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


class DocumentsEncoder:
    """Encode documents, by one thread at a time. A process has one encoder, because Dask unpickles a job for each task."""

    def __init__(self, vocabulary: vocab.Vocabulary, chinese_words: str) -> None:
        self._lock = threading.Lock()
        encoder = vocabulary.encoder()
        self._encoder: Encoder | WordEncoder = encoder if chinese_words == "none" else WordEncoder(encoder, vocabulary)

    def __call__(
        self, languages: pa.StringArray, documents: pa.ListArray, paragraphs: pa.ListArray
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return all ids [T] concatenated, the sentence ends [S], and a mask of tokens that continue a word.

        The mask is [T], or [0] if the vocabulary marks them with ``##``.
        """
        with self._lock:
            if isinstance(self._encoder, WordEncoder):
                return self._encoder.encode(languages.to_pylist(), documents.to_pylist())
            return *self._encoder.encode_documents(documents, paragraphs), np.zeros(0, bool)


@lru_cache(maxsize=2)  # a cluster worker may alternate between two runs
def encoder_of_run(vocabulary: StoredValue, chinese_words: str) -> DocumentsEncoder:
    """Return this process' encoder for the vocabulary that the driver stored for the workers."""
    return DocumentsEncoder(vocab.of_run(vocabulary), chinese_words)


@dataclass
class Tokenize:
    """Tokenize the documents of a task."""

    vocabulary: StoredValue
    reader: DocumentReader
    layout: Layout
    chinese_words: str = "none"

    def __call__(self, task: Task) -> list[tuple[int, bytes]]:
        """Return the serialized documents of each non-empty partition, in order of partitions."""
        parts = defaultdict[int, list[pa.RecordBatch]](list)
        for documents in self.documents(task):
            found = np.array(self.layout.of_documents(documents.column("id").to_pylist(), origins_in(documents)))
            for number in np.unique(found).tolist():
                parts[number].append(documents.take(pa.array(np.flatnonzero(found == number))))
        return [(number, shards.joined(parts.pop(number))[0].serialize().to_pybytes()) for number in sorted(parts)]

    def documents(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Yield the documents of a task, some at a time."""
        encode, form = encoder_of_run(self.vocabulary, self.chinese_words), schema(vocab.of_run(self.vocabulary))
        names = ("id", "source", "language", "sentences", "paragraph_starts")
        most = 0 if self.chinese_words == "none" else _SEGMENTED_BYTES
        for ids, sources, languages, documents, paragraphs in self.reader.columns(task, *names, most=most):
            tokens, ends, continues = encode(languages, documents, paragraphs)
            found = origins(sources, languages, documents, self.layout.partners.scripts)
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
