"""Move documents to their buckets: tokenize each batch once, write it by bucket to a spill file, read a bucket from all of them.

Every bucket is a uniform sample of its split of the corpus: ``bucket = hash(seed, document id) mod B``.  For pairs, documents of
a rare language are spread over fewer buckets (partners.py).  The split goes by a hash of the id alone, so that a document stays
in ``validation`` whatever the seed, the length and the number of buckets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ... import keys
from ...config import PairsConfig
from ...dataset import shards
from ...dataset.manifest_records import DifferentIds
from ...dataset.plan_files import StoredValue
from ...dataset.run import STATE
from ...io.files import file_entry, read_json, to_path, write_json
from ...records import Task
from ...tokens.encoder import DifferentIdsError
from ..documents import DocumentReader
from .encoding import encoder_of_run
from .partners import FEWEST, Partners, origins

__all__ = [
    "Layout",
    "Ref",
    "Tokenize",
    "Tokens",
    "different_ids",
    "gather",
    "references",
    "shard_count",
    "spill_name",
    "write_spill",
]

# A bucket's documents in a spill file: the task that wrote it, where they begin in it (-1: none), bytes and digest.  There may be
# millions, which a run here holds in memory: a plain tuple of numbers takes a fifth of a named one with a path.
Ref = tuple[int, int, int, int]


_SEGMENTED_BYTES = 1 << 17  # of text, between two looks at how far a task is: jieba takes a quarter of a second


def shard_count(config: PairsConfig, text_bytes: int, documents: int, most: int | None = None) -> int:
    """Return the number of buckets, one shard each: by the size of all copies, which are in memory together.

    But so few that each gets enough documents to exchange text: `most`, or by the number of documents.
    """
    by_size = math.ceil(text_bytes * config.dupe_factor / config.bucket_bytes)
    return config.shards or max(1, min(99999, by_size, documents // FEWEST if most is None else most))


class Layout(NamedTuple):
    """The buckets of a run: first those of ``train``, then those of ``validation``, which takes `fraction` of the documents."""

    seed: int
    train: int
    fraction: float
    partners: Partners = Partners()

    @property
    def validation(self) -> int:
        """The buckets of ``validation``, about as large as the others."""
        return max(1, round(self.train * self.fraction / (1 - self.fraction))) if self.fraction else 0

    @property
    def total(self) -> int:
        """The buckets of both."""
        return self.train + self.validation

    def bucket(self, doc_id: str, origin: str = "") -> int:
        """Return the bucket of a document."""
        held_out = self.fraction > 0 and keys.key(0, "split", doc_id) < self.fraction * 2.0**64
        first, count = (self.train, self.validation) if held_out else (0, self.train)
        window = self.partners.window(origin, held_out) if any(self.partners.windows) else None
        start, size = window or (0, count)
        return first + (start + (keys.key(self.seed, "bucket", doc_id) * size >> 64)) % count

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

    `continues`: of each token, whether it continues a word, as bytes; empty where the mark ``##`` says it.  `origin` is the
    document's source, language and script, with spaces between them.
    """

    id: str
    tokens: bytes
    ends: bytes
    continues: bytes
    task: int
    row: int
    origin: str


@dataclass
class Tokenize:
    """Tokenize a batch of documents, and write them to a spill file by bucket."""

    root: str
    vocabulary: StoredValue
    reader: DocumentReader
    layout: Layout
    chinese_words: str = "none"
    group: Callable[[int], int] = int  # of a bucket: what its documents are written under

    def documents(self, task: Task) -> list[tuple[int, Tokens]]:
        """Return every document under its bucket; the first task also returns an empty one for each, so that each exists.

        If the fast library differs from `tokenizers`, which encodes a sample of each task, `tokenizers` encodes the whole task,
        and a file records the text.
        """
        try:
            return list(self._documents(task, exact=False))
        except DifferentIdsError as error:
            write_json(to_path(self.root) / different_ids_name(task.number), {"task": task.number, "text": error.text[:200]})
            return list(self._documents(task, exact=True))

    def _documents(self, task: Task, exact: bool) -> Iterator[tuple[int, Tokens]]:
        if task.number == 0:
            yield from ((n, Tokens("", b"", b"", b"", 0, -1, "")) for n in range(self.layout.total))
        row, encode = 0, encoder_of_run(self.vocabulary, self.chinese_words)
        names = ("id", "source", "language", "sentences", "paragraph_starts")
        most = 0 if self.chinese_words == "none" else _SEGMENTED_BYTES
        for ids, sources, languages, documents, paragraphs in self.reader.columns(task, *names, most=most):
            tokens, ends, continues = encode(languages, documents, paragraphs, exact)
            first = start = 0
            found = origins(sources, languages, documents, self.layout.partners.scripts)
            for doc_id, origin, sentences in zip(ids.to_pylist(), found, documents.value_lengths().to_pylist(), strict=True):
                sentence_ends = ends[first : first + sentences]
                first += sentences
                end = int(sentence_ends[-1]) if len(sentence_ends) else start
                ids_of, words = tokens[start:end].tobytes(), continues[start:end].tobytes()
                document = Tokens(doc_id, ids_of, (sentence_ends - start).tobytes(), words, task.number, row, origin)
                yield self.layout.bucket(doc_id, origin), document
                start, row = end, row + 1

    def __call__(self, task: Task) -> dict[str, Any]:
        by_bucket: dict[int, list[Tokens]] = {}
        for bucket, document in self.documents(task):
            bucket = self.group(bucket)
            by_bucket.setdefault(bucket, [])
            if document.row >= 0:
                by_bucket[bucket].append(document)
        report = write_spill(self.root, spill_name(task.number), by_bucket)
        name = different_ids_name(task.number)
        if (to_path(self.root) / name).exists():
            report["files"].append(file_entry(to_path(self.root), name))
        return report


_SPILL = pa.schema(
    [
        ("id", pa.string()),
        ("tokens", pa.binary()),
        ("ends", pa.binary()),
        ("continues", pa.binary()),
        ("task", pa.int64()),
        ("row", pa.int64()),
        ("origin", pa.string()),
    ]
)


def different_ids_name(number: int) -> str:
    """Name the file that records a text for which a fast library gave other ids than `tokenizers`."""
    return f"{STATE}/work/different-ids-{number:05d}.json"


def different_ids(root: Path) -> DifferentIds | None:
    """Return what the manifest records of tasks that `tokenizers` encoded, because another library differed; nothing of none."""
    work = root / STATE / "work"
    found = sorted(path for path in work.iterdir() if path.name.startswith("different-ids-")) if work.is_dir() else []
    return DifferentIds(tasks=len(found), text=read_json(found[0])["text"]) if found else None


def spill_name(number: int, merged: bool = False) -> str:
    """Name the spill file of a task, or a merged one."""
    return f"{STATE}/work/{'merged' if merged else 'tokens'}-{number:05d}.arrow"


def write_spill(root: str, name: str, by_bucket: dict[int, list[Tokens]]) -> dict[str, Any]:
    """Write documents to a spill file, a record batch a bucket; report it, and where in it each bucket is (-1: without any)."""
    full = [bucket for bucket in sorted(by_bucket) if by_bucket[bucket]]
    batches = (pa.RecordBatch.from_pylist([d._asdict() for d in by_bucket[bucket]], _SPILL) for bucket in full)
    file, ranges = shards.write_ranges(to_path(root), name, batches)
    range_of = dict(zip(full, ranges, strict=True))
    return {"files": [file], "spills": [[bucket, *range_of.get(bucket, (-1, 0, 0))] for bucket in sorted(by_bucket)]}


def references(number: int, report: dict[str, Any]) -> Iterator[tuple[int, Ref]]:
    """Turn what `write_spill` reported of file `number` into a reference for each bucket: a first file has all buckets."""
    for bucket, start, length, digest in report["spills"]:
        yield bucket, (number, start, length, digest)


def gather(root: str, members: Iterable[Ref | Tokens], merged: bool = False) -> Iterator[Tokens]:
    """Read a bucket's documents, each once, from spill files or merged ones: an engine may deliver a reference twice."""
    seen: set[tuple[int, int]] = set()
    refs: list[Ref] = []
    for member in members:
        source = (member.task, member.row) if isinstance(member, Tokens) else member[:2]
        if source in seen or source[1] < 0:
            continue
        seen.add(source)
        if isinstance(member, Tokens):
            yield member
        else:
            refs.append(member)
    directory = to_path(root)
    for batch in shards.read_ranges(
        _SPILL, ((directory / spill_name(task, merged), shards.BatchRange(*range_)) for task, *range_ in refs)
    ):
        columns = [column.to_pylist() for column in batch.columns]
        yield from (Tokens(*values) for values in zip(*columns, strict=True))
