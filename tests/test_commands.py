"""Each command runs once, in a new process, on the sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

pytestmark = pytest.mark.smoke
TRAIN = """
batch_size = 4
phases = [{{ shards = "{pairs}", steps = 2 }}]
[model]
hidden_size = 16
num_hidden_layers = 1
num_attention_heads = 2
intermediate_size = 16
"""


def test_a_corpus_a_vocabulary_and_rows(run: Run, text: Path, tmp_path: Path) -> None:
    run("build-corpus", "--text", text, "--task-bytes", 65536, "--output", tmp_path / "corpus", "--workers", 2)
    run("train-vocab", tmp_path / "corpus", "--size", 300, "--output", tmp_path / "vocab", "--workers", 1)
    options = ["--vocab", tmp_path / "vocab", "--max-seq-length", 64, "--workers", 1]
    run("make-pairs", tmp_path / "corpus", *options, "--output", tmp_path / "pairs")
    run("export", tmp_path / "corpus", "--to", "jsonl", "--output", tmp_path / "jsonl", "--workers", 1)
    run("verify", tmp_path / "corpus", tmp_path / "vocab", tmp_path / "pairs")


def test_commands_that_read(run: Run, sample_corpus: Path, sample_pairs: Path, tmp_path: Path) -> None:
    assert "documents" in run("inspect", sample_corpus).stdout
    assert run("doctor").stdout
    run("report", sample_pairs, "--output", tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1000


@pytest.mark.long
def test_train(run: Run, sample_pairs: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "run.toml").write_text(TRAIN.format(pairs=sample_pairs), encoding="utf-8")
    run("train", tmp_path / "run.toml", "--output", tmp_path / "run", OMP_NUM_THREADS="1")
    assert list((tmp_path / "run").glob("checkpoint-*"))
