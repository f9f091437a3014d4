"""What grows with the number of tasks, files and buckets: references and their size, the cut of tasks, digests of many inputs."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tiny import corpus_manifest

from bertdata.build import documents as corpus
from bertdata.build.rows import buckets
from bertdata.build.selection import round_files
from bertdata.build.selection.duplicates import Claims
from bertdata.dataset import manifest, shards
from bertdata.dataset.plan_files import StoredValue
from bertdata.records import Task
from bertdata.tokens import vocab


def stored(root: Path, directory: Path) -> StoredValue:
    """Leave a vocabulary where workers look for it."""
    return StoredValue.written(root, "vocabulary", vocab.read(directory)._asdict())


@pytest.mark.parametrize("count", [2, 500])
def test_references_are_as_many_as_buckets_or_documents_at_the_most(
    sample_corpus: Path, sample_vocab: Path, tmp_path: Path, count: int
) -> None:
    """A task names only the buckets that it has documents for; the first one names all, so that each exists."""
    source, layout = corpus.read(sample_corpus), buckets.Layout(1, count, 0.0)
    tokenize = buckets.Tokenize(str(tmp_path), stored(tmp_path, sample_vocab), source.reader, layout)
    (part,) = source.tasks[0].parts
    documents = sum(len(ids) for (ids,) in source.reader.columns(source.tasks[0], "id"))
    assert 2 < documents < 500
    for number in (0, 7):
        report = tokenize(Task(number, "documents", (part,)))
        found = list(buckets.references(number, report))
        full = [(bucket, ref) for bucket, ref in found if ref[1] >= 0]
        assert len(full) <= min(count, documents)
        assert len(found) == (count if number == 0 else len(full))
        seen = 0
        for bucket, ref in full:
            read = list(buckets.gather(str(tmp_path), [ref, ref]))  # an engine may move one twice
            seen += len(read)
            assert {layout.bucket(document.id) for document in read} == {bucket}
        assert seen == documents


def test_references_are_plain_numbers(sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    """An engine holds or moves millions of them: nothing in one is as long as a path."""
    source = corpus.read(sample_corpus)
    layout = buckets.Layout(1, 3, 0.0)
    report = buckets.Tokenize(str(tmp_path), stored(tmp_path, sample_vocab), source.reader, layout)(source.tasks[0])
    for bucket, ref in buckets.references(0, report):
        assert type(ref) is tuple
        assert [type(value) for value in (bucket, *ref)] == [int] * 5


@pytest.mark.slow
def test_a_task_is_read_in_slices_of_bounded_size(tmp_path: Path) -> None:
    """Small batches are put together, a large one is cut, and a document that is larger comes alone; none is lost."""
    most, schema = 5 << 20, pa.schema([("id", pa.string()), ("sentences", pa.list_(pa.string()))])
    sizes = [[2 << 20], [3 << 19], [4 << 20, 300, 7 << 20, *[1 << 20] * 9], [400, 500], [1], [600, 6 << 20]]  # by batch
    made = [[{"id": str(size), "sentences": ["tea"] * 5 + ["a" * size]} for size in batch] for batch in sizes]
    batches = [pa.RecordBatch.from_pylist(rows, schema) for rows in made]
    shard = shards.write(tmp_path, "data/train-00000-of-00001.arrow", schema, batches, "arrow-file") | {"text_bytes": 1}
    manifest.store(tmp_path, corpus_manifest([shard], format="arrow-file"), "# Corpus\n")
    source = corpus.read(tmp_path)
    slices = [pa.table(columns, schema) for task in source.tasks for columns in source.reader.columns(task, *schema.names)]
    assert [row for part in slices for row in part.to_pylist()] == [row for rows in made for row in rows]
    assert all(part.nbytes <= most or len(part) == 1 for part in slices)
    assert [len(part) for part in slices] == [2, 2, 1, 3, 3, 7, 1]


def test_a_shard_is_cut_into_tasks_of_equal_size(tmp_path: Path) -> None:
    """Workers take tasks in turn, so one that gets every second shard's short end would have the least to do."""
    shards: list[dict[str, Any]] = []
    for number, batches in enumerate([1, 8, 9, 11, 16, 17, 0]):
        name = f"data/{number}.arrow"
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(5000))
        shards.append({"name": name, "rows": 1, "batches": batches, "bytes": 5000, "sha256": "", "text_bytes": 1})
    manifest.store(tmp_path, corpus_manifest(shards), "# Corpus\n")
    found: dict[str, list[tuple[int, int]]] = {}
    for task in corpus.read(tmp_path).tasks:
        (part,) = task.parts
        found.setdefault(part.name, []).append((part.start, part.end))
    assert list(found.values()) == [
        [(0, 1)],
        [(0, 8)],
        [(0, 4), (4, 9)],
        [(0, 5), (5, 11)],
        [(0, 8), (8, 16)],
        [(0, 5), (5, 11), (11, 17)],
    ]


@pytest.mark.slow
def test_claims_of_many_tasks_take_little_memory(tmp_path: Path) -> None:
    """Some claims each: what a record batch takes beside them is not held for all tasks of a bucket at a time."""
    (tmp_path / ".bertdata" / "work").mkdir(parents=True)
    hashes, rows = np.arange(16_000, dtype=np.uint64), np.arange(16_000, dtype=np.uint32)
    claims = Claims(hashes, hashes, rows, rows, rows)
    columns = ("high", "low", "row")
    keyed = round_files.write_claims(str(tmp_path), "texts", columns, 0, [claims], lambda each: each.high // 4, False)
    refs = [ref for _, ref in keyed]
    tracemalloc.start(1)
    try:
        found = round_files.join_claims(round_files.read_claims(str(tmp_path), "texts", columns, refs))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.high.tolist() == hashes.tolist() and found.row.tolist() == rows.tolist()
    assert len(refs) == 4000 and peak / len(refs) < 1600  # 2,600 without
