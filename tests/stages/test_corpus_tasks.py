"""A corpus is read in tasks of about equal size, and a task in slices of bounded size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tiny import corpus_manifest

from bertdata.codec import encode
from bertdata.dataset import manifest, shards
from bertdata.stages import corpus_reader as corpus


@pytest.mark.slow
def test_a_task_is_read_in_slices_of_bounded_size(tmp_path: Path) -> None:
    """Small batches are put together, a large one is cut, and a document that is larger comes alone; none is lost."""
    most, schema = 5 << 20, pa.schema([("id", pa.string()), ("sentences", pa.list_(pa.string()))])
    sizes = [[2 << 20], [3 << 19], [4 << 20, 300, 7 << 20, *[1 << 20] * 9], [400, 500], [1], [600, 6 << 20]]  # by batch
    made = [[{"id": str(size), "sentences": ["tea"] * 5 + ["a" * size]} for size in batch] for batch in sizes]
    batches = [pa.RecordBatch.from_pylist(rows, schema) for rows in made]
    shard = shards.write(tmp_path, "data/train-00000-of-00001.arrow", schema, batches)
    manifest.store(tmp_path, corpus_manifest([{**encode(shard), "text_bytes": 1}]), "# Corpus\n")
    source = corpus.read(tmp_path)
    slices = [pa.table(columns, schema) for task in source.tasks for columns in source.reader.columns(task, *schema.names)]
    assert [row for part in slices for row in part.to_pylist()] == [row for rows in made for row in rows]
    assert all(part.nbytes <= most or len(part) == 1 for part in slices)
    assert [len(part) for part in slices] == [2, 2, 1, 3, 3, 7, 1]


def corpus_of(root: Path, *batches: int) -> corpus.Corpus:
    """A corpus whose shards have these numbers of record batches."""
    (root / "data").mkdir()
    shards: list[dict[str, Any]] = []
    for number, count in enumerate(batches):
        (root / f"data/{number}.arrow").write_bytes(bytes(5000))
        shards.append({"name": f"data/{number}.arrow", "rows": 1, "batches": count, "bytes": 5000, "sha256": "", "text_bytes": 1})
    manifest.store(root, corpus_manifest(shards), "# Corpus\n")
    return corpus.read(root)


def test_a_shard_is_cut_into_tasks_of_equal_size(tmp_path: Path) -> None:
    """Workers take tasks in turn, so one that gets every second shard's short end would have the least to do."""
    found: dict[str, list[tuple[int, int]]] = {}
    for task in corpus_of(tmp_path, 1, 8, 9, 16, 17, 0).tasks:
        (part,) = task.parts
        found.setdefault(part.name, []).append((part.start, part.end))
    ranges = [[(0, 1)], [(0, 8)], [(0, 4), (4, 9)], [(0, 8), (8, 16)], [(0, 5), (5, 11), (11, 17)]]
    assert list(found.values()) == ranges


def test_tasks_of_a_large_corpus_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks times partitions are the pieces that make-pairs moves: a task then reads several shards."""
    tasks = corpus_of(tmp_path, *[9] * 7).tasks
    parts = [part for task in tasks for part in task.parts]
    assert len(tasks) == len(parts) == 14
    monkeypatch.setattr(corpus, "_USUAL_TASKS", 5)
    for together, count in ((8, 5), (2, 7)):
        monkeypatch.setattr(corpus, "_MAX_GROUP", together)
        found = corpus.read(tmp_path).tasks
        assert [task.number for task in found] == list(range(count))
        assert [part for task in found for part in task.parts] == parts
