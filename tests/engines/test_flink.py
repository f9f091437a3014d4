"""Flink by Beam's own runner, whose server is a jar of Maven's: it runs where the environment names the jar."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import SAMPLE, Run, digests, leftovers

JAR = "BERTDATA_FLINK_JAR"
pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def flink() -> tuple[str, ...]:
    """The words after ``--``: a Flink of its own, in the server's process, or the one that ``BERTDATA_FLINK_MASTER`` names."""
    if not (jar := os.environ.get(JAR)):
        pytest.skip(f"give Beam's job server for Flink: {JAR}=…/beam-runners-flink-2.2-job-server-2.77.0.jar")
    master = os.environ.get("BERTDATA_FLINK_MASTER", "[local]")
    own = ("--parallelism=2", "--environment_type=LOOPBACK")
    return ("--", "--runner=FlinkRunner", f"--flink_job_server_jar={jar}", f"--flink_master={master}", *own)


def test_all_three_on_flink(run: Run, flink: tuple[str, ...], sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    corpus, vocab = tmp_path / "corpus", tmp_path / "vocab"
    run("build-corpus", "--wikipedia", SAMPLE, "--books", SAMPLE / "books", "--output", corpus, *flink)
    assert digests(corpus) == digests(sample_corpus)
    run("train-vocab", corpus, "--size", 4000, "--output", vocab, *flink)
    assert digests(vocab) == digests(sample_vocab)
    words = ("make-pairs", corpus, "--vocab", vocab, "--shards", 6, "--max-seq-length", 64)
    run(*words, "--output", tmp_path / "here", "--workers", 1)
    run(*words, "--output", tmp_path / "there", *flink)
    assert digests(tmp_path / "there") == digests(tmp_path / "here")
    assert leftovers(tmp_path / "there") == []
