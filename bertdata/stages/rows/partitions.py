"""Move documents to their partitions: tokenize each batch once, and write each document's ids to the piece of its partition.

Every partition is a uniform sample of its split of the corpus: ``partition = hash(seed, document id) mod B``.  For pairs,
documents of a rare language are spread over fewer partitions (partners.py).  The split depends only on a hash of the id, so a
document stays in ``validation`` for any seed, length and number of partitions.
"""

from __future__ import annotations

import json
import math
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby, pairwise
from typing import NamedTuple

import numpy as np

from ... import keys
from ...config import PairsConfig
from ...dataset.tasks import StoredValue
from ...records import Task
from ..corpus_reader import DocumentReader
from .encoding import encoder_of_run
from .partners import MIN_DOCUMENTS_PER_PARTITION, DocumentOrigin, Partners, origins

__all__ = ["Layout", "Tokenize", "Tokens", "from_piece", "shard_count", "to_piece"]

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


@dataclass(frozen=True)
class Tokens:
    """Documents as ids.

    Attributes:
        ids: Document ids [D].
        origins: Source, language and script of each [D].
        lengths: Bytes of each document in each of `columns` [3][D].
        columns: The bytes of three arrays: ids, the tokens of each sentence in four bytes, and a mask of the tokens that continue
            a word, which is empty if the vocabulary marks them with ``##``.
    """

    ids: list[str]
    origins: list[DocumentOrigin]
    lengths: list[list[int]]
    columns: list[bytes]

    @cached_property
    def _edges(self) -> list[list[int]]:
        return [[*accumulate(lengths, initial=0)] for lengths in self.lengths]

    def take(self, numbers: Sequence[int]) -> Tokens:
        """Return some documents."""
        columns = [
            b"".join([data[edges[number] : edges[number + 1]] for number in numbers]) if data else b""
            for data, edges in zip(self.columns, self._edges, strict=True)
        ]
        ids, origins = [self.ids[number] for number in numbers], [self.origins[number] for number in numbers]
        return Tokens(ids, origins, [[lengths[number] for number in numbers] for lengths in self.lengths], columns)

    @classmethod
    def joined(cls, parts: Iterable[Tokens]) -> Tokens:
        """Return the documents of all parts."""
        found = [*parts]
        ids = [*chain.from_iterable(part.ids for part in found)]
        origins = [*chain.from_iterable(part.origins for part in found)]
        lengths = [[*chain.from_iterable(part.lengths[number] for part in found)] for number in range(3)]
        return cls(ids, origins, lengths, [b"".join([part.columns[number] for part in found]) for number in range(3)])

    def header(self) -> bytes:
        """Return all fields except the columns, as JSON."""
        kinds = {origin: number for number, origin in enumerate(dict.fromkeys(self.origins))}
        return json.dumps([self.ids, [*kinds], [*map(kinds.__getitem__, self.origins)], *self.lengths]).encode()


_HEADER_BYTES = struct.Struct("<Q")


def to_piece(documents: Tokens) -> bytes:
    """Serialize documents: the length of the header, the header, then the columns."""
    header = documents.header()
    return b"".join([_HEADER_BYTES.pack(len(header)), header, *documents.columns])


def from_piece(data: bytes) -> Tokens:
    """Read the documents of a piece.

    >>> written = Tokens(["a"], [DocumentOrigin("books", "en")], [[2], [0], [0]], [b"12", b"", b""])
    >>> from_piece(to_piece(written)) == written
    True
    """
    at = _HEADER_BYTES.size + _HEADER_BYTES.unpack_from(data)[0]
    ids, kinds, numbers, *lengths = json.loads(data[_HEADER_BYTES.size : at])
    origins = [DocumentOrigin(*kind) for kind in kinds]
    edges = [*accumulate(map(sum, lengths), initial=at)]
    columns = [data[start:end] for start, end in pairwise(edges)]
    return Tokens(ids, [origins[number] for number in numbers], lengths, columns)


@dataclass
class Tokenize:
    """Tokenize the documents of a task."""

    vocabulary: StoredValue
    reader: DocumentReader
    layout: Layout
    chinese_words: str = "none"

    def __call__(self, task: Task) -> list[tuple[int, bytes]]:
        """Return the serialized documents of each non-empty partition, in order of partitions."""
        by_partition = defaultdict[int, list[Tokens]](list)
        for documents in self.documents(task):
            partitions = self.layout.of_documents(documents.ids, documents.origins)
            order = sorted(range(len(partitions)), key=partitions.__getitem__)
            for partition, numbers in groupby(order, partitions.__getitem__):
                by_partition[partition].append(documents.take([*numbers]))
        return [(partition, to_piece(Tokens.joined(by_partition.pop(partition)))) for partition in sorted(by_partition)]

    def documents(self, task: Task) -> Iterator[Tokens]:
        """Yield the documents of a task, some at a time."""
        encode = encoder_of_run(self.vocabulary, self.chinese_words)
        names = ("id", "source", "language", "sentences", "paragraph_starts")
        most = 0 if self.chinese_words == "none" else _SEGMENTED_BYTES
        for ids, sources, languages, documents, paragraphs in self.reader.columns(task, *names, most=most):
            tokens, ends, continues = encode(languages, documents, paragraphs)
            found = origins(sources, languages, documents, self.layout.partners.scripts)
            sentences = documents.value_lengths().to_numpy()
            counts = np.diff(np.append(0, ends)[np.append(0, np.cumsum(sentences))])  # tokens of each document
            sizes = np.diff(ends, prepend=0).astype("<u4")
            lengths = [counts * tokens.itemsize, sentences * sizes.itemsize, counts * (len(continues) > 0)]
            columns = [column.tobytes() for column in (tokens, sizes, continues)]
            yield Tokens(ids.to_pylist(), found, [each.tolist() for each in lengths], columns)
