"""A run on an engine counts its tasks, documents, drops and rejects in Beam's counters, which the engine's UI shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from conftest import SAMPLE

import bertdata


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list that receives the result of each pipeline."""
    found: list[Any] = []
    run = beam.Pipeline.run
    monkeypatch.setattr(beam.Pipeline, "run", lambda self: found.append(run(self)) or found[-1])
    return found


def added(results: list[Any]) -> dict[str, int]:
    """Add up the counters of the first pipeline by name."""
    counters: dict[str, int] = {}
    for counter in results[0].metrics().query()["counters"]:
        counters[counter.key.metric.name] = counters.get(counter.key.metric.name, 0) + counter.committed
    return counters


@pytest.mark.slow
def test_tokenizing_is_counted(tmp_path: Path, results: list[Any], sample_corpus: Path, sample_vocab: Path) -> None:
    beam_args = ("--runner=FnApiRunner",)
    bertdata.make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "pairs", beam_args=beam_args, shards=1)
    corpus = bertdata.DataSet.read(sample_corpus)
    counters = added(results)
    assert counters["tokenize documents"] == corpus.rows and counters["tokenize tasks"] and counters["tokenize bytes"]


@pytest.mark.slow
def test_documents_drops_and_rejects_are_counted_by_reason(tmp_path: Path, results: list[Any]) -> None:
    (tmp_path / "letter.txt").write_text("A letter. It is short.\n", encoding="utf-8")
    (tmp_path / "copy.txt").write_text("A letter. It is short.\n", encoding="utf-8")
    (tmp_path / "broken.txt").write_bytes(b"\x00\x01\x02" * 99)
    corpus = bertdata.build_corpus(
        wikipedia=SAMPLE,
        text=tmp_path,
        output=tmp_path / "corpus",
        config=bertdata.CorpusConfig(choice=bertdata.ChoiceConfig(dedup="exact")),
        beam_args=("--runner=FnApiRunner",),
    )
    counters = added(results)
    dropped: dict[str, int] = {}
    for stage in corpus.counts:
        for reason, number in stage.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + number
    assert dropped["redirect"] and dropped["duplicate"] == 1
    in_task = {name.removeprefix("extract drops: "): n for name, n in counters.items() if name.startswith("extract drops: ")}
    chosen = {name.removeprefix("choose drops: "): n for name, n in counters.items() if name.startswith("choose drops: ")}
    assert {**in_task, **chosen} == dropped
    assert counters["extract rejects: binary"] == counters["extract rejects"] == 1
    assert counters["extract documents"] == corpus.rows + 1
