"""One encoder in a process for a run's vocabulary, whatever an engine unpickles, and the same rows from threads."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bertdata.dataset.tasks import StoredValue
from bertdata.records import Task
from bertdata.stages import corpus_reader as corpus
from bertdata.stages.rows import encoding, partitions
from bertdata.tokens import vocab

PIECES = [*vocab.SPECIAL, *"abcdefghijklmnopqrstuvwxyz.,", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]


def given(root: Path, pieces: list[str] = PIECES) -> StoredValue:
    """Leave a vocabulary where the workers of a run look for it."""
    return StoredValue.written(root, "vocabulary", vocab.from_tokens(pieces, True, True).stored())


def test_a_step_made_anew_for_each_task_makes_no_encoder(
    sample_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Dask, where each task unpickles its step; two threads of a worker at a time give what one gives."""
    made: list[str] = []
    whole = encoding.DocumentsEncoder.__init__

    def count(self: encoding.DocumentsEncoder, vocabulary: vocab.Vocabulary, words: str) -> None:
        made.append(words)
        whole(self, vocabulary, words)

    monkeypatch.setattr(encoding.DocumentsEncoder, "__init__", count)
    monkeypatch.setattr(encoding, "_encoders", {})
    source, layout = corpus.read(sample_corpus), partitions.Layout(1, 3, 0.0)
    packed = pickle.dumps(partitions.Tokenize(given(tmp_path), source.reader, layout))
    tasks = [source.tasks[0]._replace(number=number) for number in range(1, 9)]

    def tokenize(task: Task) -> list[list[bytes]]:
        step: partitions.Tokenize = pickle.loads(packed)
        return [found.columns for found in step.documents(task)]

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(tokenize, tasks))
    assert made == ["none"]
    assert results[0] and results == [results[0]] * len(tasks)
