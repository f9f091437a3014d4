"""Move documents to their buckets: tokenize each batch once, write it by bucket to a spill file, read a bucket from all of them.

Every bucket is a uniform sample of its split of the corpus: ``bucket = hash(seed, document id) mod B``.  The split goes by a
hash of the id alone, so that a document stays in ``validation`` whatever the seed, the length and the number of buckets.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ... import keys
from ...config import PairsConfig
from ...dataset import shards
from ...dataset.run import STATE
from ...errors import VerificationError
from ...io.files import to_path
from ...records import Report, Task
from ...tokens import vocab
from ...tokens.chinese import WordEncoder
from ...tokens.documents import DocumentEncoder
from ...tokens.encoder import Encoder
from ..documents import Reader

__all__ = ["Layout", "Ref", "Tokenize", "Tokens", "gather", "references", "shard_count"]

# A bucket's documents in a spill file: the task that wrote it, the record batch (-1: none), and its rows.  There may be millions,
# which the local runner holds in memory: a plain tuple of numbers takes 130 bytes, a named one with a path five times that.
Ref = tuple[int, int, int]


def shard_count(config: PairsConfig, text_bytes: int, documents: int) -> int:
    """Return the number of buckets, one shard each: by the size of all copies, which are in memory together.

    But so few that each gets enough documents to exchange text.
    """
    by_size = math.ceil(text_bytes * config.dupe_factor / config.bucket_bytes)
    return config.shards or max(1, min(99999, by_size, documents // 16))


class Layout(NamedTuple):
    """The buckets of a run: first those of ``train``, then those of ``validation``, which takes `fraction` of the documents."""

    seed: int
    train: int
    fraction: float

    @property
    def validation(self) -> int:
        """The buckets of ``validation``, about as large as the others."""
        return max(1, round(self.train * self.fraction / (1 - self.fraction))) if self.fraction else 0

    @property
    def total(self) -> int:
        """The buckets of both."""
        return self.train + self.validation

    def bucket(self, doc_id: str) -> int:
        """Return the bucket of a document."""
        held_out = self.fraction > 0 and keys.key(0, "split", doc_id) < self.fraction * 2.0**64
        first, count = (self.train, self.validation) if held_out else (0, self.train)
        return first + int(keys.key(self.seed, "bucket", doc_id) * count >> 64)

    def split_of(self, bucket: int) -> tuple[str, int, int]:
        """Return a bucket's split, its number in it, and how many buckets that has.

        >>> Layout(1, 9, 0.1).split_of(2), Layout(1, 9, 0.1).split_of(9)
        (('train', 2, 9), ('validation', 0, 1))
        """
        if bucket < self.train:
            return "train", bucket, self.train
        return "validation", bucket - self.train, self.validation


class Tokens(NamedTuple):
    """A document as ids: `tokens` and the ends of its sentences, as bytes; `task` and `row` are its address in the corpus.

    `continues` tells of each token whether it continues a word, as bytes; it is empty where only ``##`` tells.
    """

    id: str
    tokens: bytes
    ends: bytes
    continues: bytes
    task: int
    row: int


@dataclass
class Tokenize:
    """Tokenize a batch of documents, and write them to a spill file by bucket."""

    root: str
    vocabulary: vocab.AnyVocabulary
    reader: Reader
    layout: Layout
    chinese_words: str = "none"

    @cached_property
    def _encoder(self) -> Encoder | DocumentEncoder:
        return self.vocabulary.document_encoder()

    @cached_property
    def _word_encoder(self) -> WordEncoder:
        assert isinstance(self.vocabulary, vocab.Vocabulary)
        return WordEncoder(self.vocabulary.document_encoder(), self.vocabulary)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.endswith("_encoder")}

    def documents(self, task: Task) -> Iterator[tuple[int, Tokens]]:
        """Yield every document under its bucket; the first task also yields an empty one for each, so that each exists."""
        if task.number == 0:
            yield from ((n, Tokens("", b"", b"", b"", 0, -1)) for n in range(self.layout.total))
        row = 0
        for ids, languages, documents, paragraphs in self.reader.columns(task, "id", "language", "sentences", "paragraph_starts"):
            if self.chinese_words == "none":
                tokens, ends = self._encoder.encode_documents(documents, paragraphs)
                continues = np.zeros(0, bool)
            else:
                tokens, ends, continues = self._word_encoder.encode(languages.to_pylist(), documents.to_pylist())
            first = start = 0
            for doc_id, sentences in zip(ids.to_pylist(), documents.value_lengths().to_pylist(), strict=True):
                own = ends[first : first + sentences]
                first += sentences
                end = int(own[-1]) if len(own) else start
                ids_of, words = tokens[start:end].tobytes(), continues[start:end].tobytes()
                yield self.layout.bucket(doc_id), Tokens(doc_id, ids_of, (own - start).tobytes(), words, task.number, row)
                start, row = end, row + 1

    def __call__(self, task: Task) -> dict[str, Any]:
        by_bucket: dict[int, list[Tokens]] = {}
        for bucket, document in self.documents(task):
            by_bucket.setdefault(bucket, [])
            if document.row >= 0:
                by_bucket[bucket].append(document)
        full = [bucket for bucket in sorted(by_bucket) if by_bucket[bucket]]
        name = _name(task.number)
        batches = (pa.RecordBatch.from_pylist([d._asdict() for d in by_bucket[bucket]], _SPILL) for bucket in full)
        file = shards.write(to_path(self.root), name, _SPILL, batches, "arrow-file")
        batch_of = {bucket: index for index, bucket in enumerate(full)}
        spills = [[bucket, batch_of.get(bucket, -1), len(by_bucket[bucket])] for bucket in sorted(by_bucket)]
        return {"files": [file], "spills": spills}


_SPILL = pa.schema(
    [
        ("id", pa.string()),
        ("tokens", pa.binary()),
        ("ends", pa.binary()),
        ("continues", pa.binary()),
        ("task", pa.int64()),
        ("row", pa.int64()),
    ]
)


def _name(task: int) -> str:
    return f"{STATE}/work/tokens-{task:05d}.arrow"


def references(report: Report) -> Iterator[tuple[int, Ref]]:
    """Turn what `Tokenize` reported into a reference for each bucket that the task has documents for; the first task has all."""
    for bucket, batch, rows in json.loads(report.body)["spills"]:
        yield bucket, (report.number, batch, rows)


def gather(root: str, members: Iterable[Ref | Tokens]) -> Iterator[Tokens]:
    """Read a bucket's documents, each once: an engine may deliver a reference twice."""
    seen: set[Any] = set()
    for member in members:
        source = (member.task, member.row) if isinstance(member, Tokens) else member[:2]
        if source in seen or source[1] < 0:
            continue
        seen.add(source)
        if isinstance(member, Tokens):
            yield member
            continue
        task, index, expected = member
        path, rows = to_path(root) / _name(task), 0
        for batch in shards.read_batches(path, "arrow-file", index, index + 1):
            columns = [column.to_pylist() for column in batch.columns]
            yield from (Tokens(*values) for values in zip(*columns, strict=True))
            rows += batch.num_rows
        if rows != expected:
            raise VerificationError(f"{path} holds {rows} of {expected} documents: run the same command again")
