"""`bertdata demo`: the whole pipeline on the included sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import call

from bertdata.cli import demo
from bertdata.reports.metrics import read_metrics


@pytest.mark.slow
def test_it_ends_with_two_pairs_and_runs_twice(tmp_path: Path) -> None:
    for _ in range(2):
        shown = call("demo", "--output", tmp_path / "demo").out
    assert shown.count("masked (epoch 0):") == 2 and "$ bertdata make-pairs" in shown
    assert shown.count(f"{tmp_path / 'demo' / 'pairs'}: ") == 1, "one summary"


def test_it_does_not_replace_other_files(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    done = call("demo", "--output", tmp_path)
    assert done[0] == 2 and "files of your own" in done.err
    assert [*tmp_path.iterdir()] == [tmp_path / "corpus"]


@pytest.mark.nightly
def test_training_learns_words_but_no_labels_of_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It teaches words better than by frequency. No leak gives labels away: they stay near chance."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # the demo sets it: other tests of this process do not get it
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        done = call("demo", "--output", tmp_path / 'my "demo"', "--train")
    finally:
        torch.set_num_threads(threads)
    run = tmp_path / 'my "demo"' / "train-run"
    scores = [record for record in read_metrics(run / "metrics.jsonl") if record["kind"] == "evaluation"]
    assert scores[-1]["mlm_loss"] < min(scores[0]["mlm_loss"], scores[-1]["unigram_entropy"] - 0.2)
    assert 0.4 < scores[-1]["nsp_accuracy"] < 0.6
    assert "The sample is too small to learn NSP." in " ".join(done.out.split())
    assert (run / "report.html").is_file() and (run / f"checkpoint-{demo._STEPS}" / "model.safetensors").is_file()
