"""Two levels of buckets: fewer and larger pieces, and the same rows to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import apache_beam as beam
import pytest
from bertdata.pipelines.engines.on_beam import on_beam
from bertdata.pipelines.make_pairs import MakePairs
from conftest import Build, digests
from test_graph import Lint

from bertdata.build import documents as corpus
from bertdata.build import levels
from bertdata.build.levels import Levels
from bertdata.build.rows.bucket import Output
from bertdata.config import PairsConfig
from bertdata.dataset import shards
from bertdata.tokens.vocab import read


@pytest.mark.parametrize(("tasks", "buckets"), [(3, 2_000_000), (1_000_000, 9), (625_000, 99_999), (2100, 2000)])
def test_each_bucket_has_a_group_and_each_task_a_block(tasks: int, buckets: int) -> None:
    found = Levels.of(tasks, buckets)
    ends = [found.group(bucket) for bucket in (0, 1, buckets // 2, buckets - 1)]
    assert ends == sorted(ends) and ends[0] == 0 and ends[-1] < found.groups
    numbers = {found.merged(task, group) for group in (0, found.groups - 1) for task in (0, tasks - 1)}
    assert len(numbers) == len({0, found.groups - 1}) * len({0, (tasks - 1) // found.together})
    pieces = tasks * found.groups + (tasks // found.together + 1) * buckets
    assert pieces < tasks * buckets
    assert found.are_two and not Levels.of(10_000_000, 2).are_two


def test_two_levels_give_the_same_rows(build: Build, sample_vocab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        lines = [
            json.dumps({"text": f"Boat {number} came in {line}. It had herring for {line * number} days. The quay was full."})
            for line in range(30)
        ]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    text = ("--text", tmp_path / "*.jsonl", "--task-bytes", 1 << 16, "--dedup", "none")
    monkeypatch.setattr(shards.schema, "BATCH_BYTES", 1 << 10)
    monkeypatch.setattr(corpus, "BATCHES", 2)
    source = build("build-corpus", tmp_path / "corpus", *text)
    words = ("--vocab", sample_vocab, "--shards", 9, "--max-seq-length", 64, "--validation-fraction", 0.2)
    one = build("make-pairs", tmp_path / "one", source, *words)
    monkeypatch.setattr(levels, "_ONE_LEVEL", 1)
    assert len(corpus.read(source).tasks) > 4 and Levels.of(5, 9).groups == 2
    two = build("make-pairs", tmp_path / "two", source, *words)
    assert digests(two) == digests(one)
    lint, pipeline = Lint(), beam.Pipeline()
    _ = pipeline | on_beam(MakePairs(corpus.read(source), read(sample_vocab), [Output(str(two), PairsConfig())], 9))
    pipeline.visit(lint)
    assert lint.problems == [] and any("/Merge" in label for label in lint.labels)
    assert sum(not labels for labels in lint.consumers.values()) == 1
