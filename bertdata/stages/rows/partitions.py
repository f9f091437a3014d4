"""Move documents to their partitions: tokenize each batch once, and write each document's ids to the piece of its partition.

Every partition is a uniform sample of its split of the corpus: ``partition = hash(seed, document id) mod B``.  For pairs,
documents of a rare language are spread over fewer partitions (partners.py).  The split depends only on a hash of the id, so a
document stays in ``validation`` for any seed, length and number of partitions.
"""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import keys
from ...config import PairsConfig
from ...dataset import manifest
from ...dataset.manifest_records import DifferentIds
from ...dataset.plan_files import StoredValue
from ...dataset.reports import FilesReport
from ...dataset.run import STATE
from ...records import Task
from ...storage.files import read_json, to_path, write_json
from ...storage.progress import NO_WORK, Work
from ...tokens.encoder import DifferentIdsError
from ..corpus_reader import DocumentReader
from ..shuffle import FileShuffle, Moved, Shuffle
from .encoding import encoder_of_run
from .partners import MIN_DOCUMENTS_PER_PARTITION, Partners, origins

__all__ = ["Layout", "PutTokens", "Tokenize", "Tokens", "WriteTokens", "different_ids", "from_pieces", "shard_count", "to_bytes"]

_AT_ONCE = 256  # documents whose partitions are computed together
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

    def of_documents(self, ids: Sequence[str], origins: Sequence[str]) -> list[int]:
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

    def _window(self, origin: str, held_out: bool) -> tuple[int, int, int, int]:
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


class Tokens(NamedTuple):
    """A document as ids: `tokens` and the ends of its sentences, as bytes. `task` and `row` are its address in the corpus.

    `continues`: a mask of the tokens that continue a word, as bytes; empty if the vocabulary marks them with ``##``.
    `origin`: the document's source, language and script, separated by spaces.
    """

    id: str
    tokens: bytes
    ends: bytes
    continues: bytes
    task: int
    row: int
    origin: str


_LENGTHS = struct.Struct("<6Q")  # header of a document in a piece: its row, and the byte length of each field


def to_bytes(document: Tokens) -> bytes:
    """Serialize a document without its task. A piece is a concatenation of these."""
    fields = (document.id.encode(), document.origin.encode(), document.tokens, document.ends, document.continues)
    return b"".join((_LENGTHS.pack(document.row, *map(len, fields)), *fields))


def from_pieces(pieces: Iterable[tuple[int, bytes]]) -> Iterator[Tokens]:
    """Read the documents of all pieces of a partition.

    >>> written = [Tokens("a", b"12", b"", b"", 3, 7, "books en "), Tokens("b", b"", b"8", b"1", 3, 8, "text  ")]
    >>> list(from_pieces([(3, b"".join(map(to_bytes, written)))])) == written
    True
    """
    for task, data in pieces:
        at = 0
        while at < len(data):
            row, *lengths = _LENGTHS.unpack_from(data, at)
            id_at, origin_at, tokens_at, ends_at, continues_at, end = accumulate(lengths, initial=at + _LENGTHS.size)
            doc_id, origin = data[id_at:origin_at].decode(), data[origin_at:tokens_at].decode()
            ends, continues = data[ends_at:continues_at], data[continues_at:end]
            yield Tokens(doc_id, data[tokens_at:ends_at], ends, continues, task, row, origin)
            at = end


@dataclass
class Tokenize:
    """Tokenize the documents of a task. Under `root`, a file records text for which the fast library returned wrong ids."""

    root: str
    vocabulary: StoredValue
    reader: DocumentReader
    layout: Layout
    chinese_words: str = "none"

    def __call__(self, task: Task, work: Work = NO_WORK) -> list[tuple[int, bytes | bytearray]]:
        """Return the serialized documents of each non-empty partition, in order of partitions.

        `tokenizers` encodes a sample of each task as a check. If the fast library's ids differ, `tokenizers` encodes the complete
        task, and a file records the text.
        """
        try:
            return self._by_partition(task, work, exact=False)
        except DifferentIdsError as error:
            write_json(to_path(self.root) / different_ids_name(task.number), {"task": task.number, "text": error.text[:200]})
            return self._by_partition(task, work, exact=True)

    def _by_partition(self, task: Task, work: Work, exact: bool) -> list[tuple[int, bytes | bytearray]]:
        by_partition = defaultdict[int, bytearray](bytearray)
        documents = self.documents(task, work, exact)
        while some := [*islice(documents, _AT_ONCE)]:
            partitions = self.layout.of_documents([d.id for d in some], [d.origin for d in some])
            for document, partition in zip(some, partitions, strict=True):
                by_partition[partition] += to_bytes(document)
        return sorted(by_partition.items())

    def documents(self, task: Task, work: Work = NO_WORK, exact: bool = False) -> Iterator[Tokens]:
        """Yield the documents of a task."""
        row, encode = 0, encoder_of_run(self.vocabulary, self.chinese_words)
        names = ("id", "source", "language", "sentences", "paragraph_starts")
        most = 0 if self.chinese_words == "none" else _SEGMENTED_BYTES
        for ids, sources, languages, documents, paragraphs in self.reader.columns(task, *names, most=most, work=work):
            tokens, ends, continues = encode(languages, documents, paragraphs, exact)
            found = origins(sources, languages, documents, self.layout.partners.scripts)
            # Where each document begins in `ends` and in `tokens`. Slices of bytes take less time than those of arrays.
            counts = documents.value_lengths().to_numpy()
            firsts = np.append(0, np.cumsum(counts))
            starts = np.append(0, ends)[firsts]
            own_ends, words, width = (ends - np.repeat(starts[:-1], counts)).tobytes(), continues.tobytes(), tokens.itemsize
            data, token_edges, end_edges = tokens.tobytes(), pairwise(starts.tolist()), pairwise((8 * firsts).tolist())
            for doc_id, origin, (start, end), edges in zip(ids.to_pylist(), found, token_edges, end_edges, strict=True):
                ids_of = data[width * start : width * end]
                yield Tokens(doc_id, ids_of, own_ends[slice(*edges)], words[start:end], task.number, row, origin)
                row += 1


@dataclass(frozen=True)
class WriteTokens:
    """Tokenize a task's documents, write them to its shuffle file, and return the report of the task."""

    tokenize: Tokenize
    shuffle: FileShuffle

    def __call__(self, task: Task, work: Work) -> FilesReport:
        root, names = self.shuffle.root, [self.shuffle.file(task.number)]
        self.shuffle.write(task.number, self.tokenize(task, work))
        if (root / (different := different_ids_name(task.number))).exists():
            names.append(different)
        return FilesReport(files=[manifest.entry(root, name) for name in names])


@dataclass(frozen=True)
class PutTokens:
    """Tokenize a task's documents, send them to the engine's shuffle, and yield its elements."""

    tokenize: Tokenize
    shuffle: Shuffle

    def __call__(self, task: Task) -> Iterator[tuple[int, Moved]]:
        return self.shuffle.put(task.number, self.tokenize(task))


def different_ids_name(number: int) -> str:
    """Return the name of the file that records text with different ids from the fast library and `tokenizers`."""
    return f"{STATE}/work/different-ids-{number:05d}.json"


def different_ids(root: Path) -> DifferentIds | None:
    """Return the manifest record of tasks re-encoded by `tokenizers` because the fast library's ids differed, or None."""
    work = root / STATE / "work"
    found = sorted(path for path in work.iterdir() if path.name.startswith("different-ids-")) if work.is_dir() else []
    return DifferentIds(tasks=len(found), text=read_json(found[0])["text"]) if found else None
