"""Move documents to their buckets: tokenize each batch once, write it by bucket to a spill file, read a bucket from all of them.

Every bucket is a uniform sample of the corpus: ``bucket = hash(seed, document id) mod B``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bertdata import keys, shards, vocab
from bertdata.errors import VerificationError
from bertdata.output import STATE
from bertdata.records import Report, Task
from bertdata.tokens import Encoder

from . import corpus

__all__ = ["Spill", "Spills", "Tokenize", "Tokens", "gather"]


class Spill(NamedTuple):
    """A bucket's documents in one spill file: `rows` documents in record batch `batch`; -1 where there are none."""

    path: str
    batch: int
    rows: int


class Tokens(NamedTuple):
    """A document as ids: `tokens` and the ends of its sentences, as bytes; `task` and `row` are its place in the corpus."""

    id: str
    tokens: bytes
    ends: bytes
    task: int
    row: int


@dataclass
class Tokenize:
    """Tokenize a batch of documents, and write them to a spill file by bucket."""

    root: str
    vocabulary: vocab.Vocabulary
    reader: corpus.Reader
    seed: int
    buckets: int

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.vocabulary.tokenizer(), len(self.vocabulary.pieces))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_encoder"}

    def documents(self, task: Task) -> Iterator[tuple[int, Tokens]]:
        """Yield every document under its bucket; the first task also yields an empty one for each, so that each exists."""
        if task.number == 0:
            yield from ((bucket, Tokens("", b"", b"", 0, -1)) for bucket in range(self.buckets))
        row = 0
        for ids, documents in self.reader.sentences(task):
            tokens, ends = self._encoder.encode([sentence for document in documents for sentence in document])
            first = start = 0
            for doc_id, document in zip(ids, documents, strict=True):
                own = ends[first : first + len(document)]
                first += len(document)
                end = int(own[-1]) if len(own) else start
                bucket = int(keys.key(self.seed, "bucket", doc_id) * self.buckets >> 64)
                yield bucket, Tokens(doc_id, tokens[start:end].tobytes(), (own - start).tobytes(), task.number, row)
                start, row = end, row + 1

    def __call__(self, task: Task) -> dict[str, Any]:
        by_bucket: dict[int, list[Tokens]] = {}
        for bucket, document in self.documents(task):
            by_bucket.setdefault(bucket, [])
            if document.row >= 0:
                by_bucket[bucket].append(document)
        full = [bucket for bucket in sorted(by_bucket) if by_bucket[bucket]]
        name = f"{STATE}/work/tokens-{task.number:05d}.arrow"
        batches = (pa.RecordBatch.from_pylist([d._asdict() for d in by_bucket[bucket]], _SPILL) for bucket in full)
        file = shards.write(Path(self.root), name, _SPILL, batches, "arrow-file")
        places = {bucket: place for place, bucket in enumerate(full)}
        spills = [[bucket, places.get(bucket, -1), len(by_bucket[bucket])] for bucket in sorted(by_bucket)]
        return {"files": [file], "spills": spills}


_SPILL = pa.schema(
    [("id", pa.string()), ("tokens", pa.binary()), ("ends", pa.binary()), ("task", pa.int64()), ("row", pa.int64())]
)


@dataclass(frozen=True)
class Spills:
    """Turn what `Tokenize` reported into a reference for each bucket."""

    root: str

    def __call__(self, report: Report) -> Iterator[tuple[int, Spill]]:
        body = json.loads(report.body)
        for bucket, batch, rows in body["spills"]:
            yield bucket, Spill(f"{self.root}/{body['files'][0]['name']}", batch, rows)


def gather(members: Iterable[Spill | Tokens]) -> Iterator[Tokens]:
    """Read a bucket's documents, each once: an engine may have moved a reference twice."""
    seen: set[Any] = set()
    for member in members:
        place = (member.path, member.batch) if isinstance(member, Spill) else (member.task, member.row)
        if place in seen or place[1] < 0:
            continue
        seen.add(place)
        if isinstance(member, Tokens):
            yield member
            continue
        rows = 0
        for batch in shards.read_batches(Path(member.path), "arrow-file", member.batch, member.batch + 1):
            columns = [column.to_pylist() for column in batch.columns]
            yield from (Tokens(*values) for values in zip(*columns, strict=True))
            rows += batch.num_rows
        if rows != member.rows:
            raise VerificationError(f"{member.path} holds {rows} of {member.rows} documents: run again with --resume")
