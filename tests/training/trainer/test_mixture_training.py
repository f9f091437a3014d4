"""A run with a mixture resumes to the bit, with workers, and its metrics and report count the rows by source and language."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conftest import Build
from small import differ, small
from test_training import After, metrics

from bertdata.config.mixture import Mixture
from bertdata.config.train import Phase
from bertdata.errors import ResumeError
from bertdata.training.trainer import train


@pytest.mark.parametrize("algorithm", ["bert", "adamw", "muon"])
@pytest.mark.slow
def test_a_mixture_resumes_to_the_bit(
    build: Build, tmp_path: Path, sample_corpus: Path, sample_vocab: Path, algorithm: str
) -> None:
    options = ["--vocab", sample_vocab, "--objective", "documents", "--max-seq-length", 64]
    shards = (str(build("make-pairs", tmp_path / "rows", sample_corpus, *options)),)
    phases = (
        Phase(shards=shards, steps=7, mixture=Mixture(by="language", temperature=0.0)),
        Phase(shards=shards, steps=6, mixture=Mixture(by="source", weights={"books": 1.0, "wikipedia": 0.0})),
    )
    config = small(tmp_path, phases=phases, model={"vocab_size": 0}, optimizer={"algorithm": algorithm}, log_every=3)
    through = train(config, tmp_path / "whole").checkpoint
    for stop in (2, 6):
        train(config, tmp_path / "parts", stop=After(stop))
    done = train(dataclasses.replace(config, workers=2), tmp_path / "parts")
    assert done.complete and differ(through, done.checkpoint) == 0
    assert (records := metrics(tmp_path / "whole")) == metrics(tmp_path / "parts")
    drawn = [(record["step"], record["rows_by_source"]) for record in records if record["kind"] == "train"]
    assert [step for step, _ in drawn] == [3, 6, 7, 9, 12, 13]
    assert [rows for _, rows in drawn[3:]] == [
        {"books": 16, "wikipedia": 0},
        {"books": 24, "wikipedia": 0},
        {"books": 8, "wikipedia": 0},
    ]
    languages = [record["rows_by_language"] for record in records if record["kind"] == "train" and record["step"] <= 7]
    assert {code: sum(each[code] for each in languages) for code in ("en", "zh")} == {"en": 28, "zh": 28}
    assert "Rows by source and language" in (tmp_path / "whole" / "report.html").read_text(encoding="utf-8")
    longer = dataclasses.replace(config, phases=(phases[0], dataclasses.replace(phases[1], steps=9)))
    with pytest.raises(ResumeError, match="steps"):
        train(longer, tmp_path / "whole")
