"""A mixture resumes to the bit, also after kills, and its metrics and report count the rows by source and language."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conftest import Build
from small import TOML, differ, small, started
from test_training import After, metrics
from test_training_processes import ended, wait_for

from bertdata.config.mixture import Mixture
from bertdata.config.train import ALGORITHMS, Phase, read_training
from bertdata.errors import ResumeError
from bertdata.training.trainer import train


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.long
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


PHASES = (  # by weight of a directory, temperature and weight of a group; each is killed once
    "weights = [0.5]",
    'mixture = { by = "language", temperature = 0.5 }',
    'mixture = { by = "source", weights = { books = 3, wikipedia = 1 } }',
)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_killed_in_each_phase_ends_as_one_that_was_not(
    build: Build, tmp_path: Path, sample_corpus: Path, sample_vocab: Path, algorithm: str
) -> None:
    options = ["--vocab", sample_vocab, "--objective", "documents", "--max-seq-length", 64]
    rows, run, steps = build("make-pairs", tmp_path / "rows", sample_corpus, *options), tmp_path / "run.toml", 80
    first = (
        TOML.format(shards=rows, steps=steps, dropout=0.1, batch_size=8)
        .replace("keep = 9", "keep = 99\nworkers = 1")
        .replace("workers = 0\n", "")
    )
    phases = f'\n[[phases]]\nshards = "{rows}"\nsteps = {steps}\n'.join(f"{phase}\n" for phase in PHASES)
    run.write_text(first.replace("[optimizer]", f'[optimizer]\nalgorithm = "{algorithm}"') + phases, encoding="utf-8")
    whole = train(read_training(run), tmp_path / "whole")
    output = tmp_path / "killed"
    for number in range(len(PHASES)):
        (process,) = started(str(run), "--output", str(output))
        wait_for(output / f"checkpoint-{number * steps + 20}", process)
        process.kill()
        process.communicate()
        assert not (output / f"checkpoint-{(number + 1) * steps}").exists()
    ended(started(str(run), "--output", str(output)), 0)
    assert whole.step == 3 * steps and differ(whole.checkpoint, output / whole.checkpoint.name) == 0
    assert metrics(tmp_path / "whole") == metrics(output)
