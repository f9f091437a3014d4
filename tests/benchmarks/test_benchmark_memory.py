"""benchmarks/memory.py: every command, choice, objective and format has a case; its table and verdict; a small run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import memory  # noqa: E402

from bertdata.config.base import FORMATS as SHARDS  # noqa: E402
from bertdata.config.objectives import OBJECTIVES  # noqa: E402
from bertdata.exports import FORMATS  # noqa: E402


def test_every_command_choice_objective_and_format_has_a_case() -> None:
    every = memory.cases(2)
    told = " | ".join(case.arguments for case in every)
    for words in (
        *("build-corpus", "train-vocab", "make-pairs", "export"),
        *("--dedup near", "--dedup-paragraphs", "--mix", "--sample-documents", "--max-words", "--exclude"),
        *(f"--objective {objective}" for objective in OBJECTIVES),
        *(f"--format {kind}" for kind in SHARDS if kind != "arrow-stream"),
        *(f"--to {name}" for name in FORMATS),
        *("--pack", "--masking static", "--shuffle engine", "--model bpe", "--model unigram"),
    ):
        assert words in told, words
    known = {"wiki", "excluded", "pieces"}
    for case in every:
        assert set(re.findall(r"{([^}]*)}", case.arguments)) <= known, "what a case reads is there before"
        known.add(case.name)
    assert len(known) == len(every) + 3


def test_what_holds_too_much_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A vocabulary counts where it has more than 32,000 pieces."""
    rows = [memory.Row("corpus", 1, 2.0, 230_000_000, 250_000_000), memory.Row("vocab", 1, 2.0, 230_000_000, 430_000_000)]
    monkeypatch.setattr(memory, "_grow", lambda *_: None)
    monkeypatch.setattr(memory, "_measure", lambda directory, *_: [directory.mkdir(parents=True), *rows][1:])
    monkeypatch.setattr(memory, "_size", lambda _: 50_000_000)
    assert memory.main(["--sizes", "1", "--work", str(tmp_path)]) == 1
    assert "FAIL: vocab at 1x: 430 MB\n" in capsys.readouterr().out
    assert memory.main(["--sizes", "1", "--work", str(tmp_path), "--vocab-size", "128000"]) == 0
    assert "A vocabulary of 128,000 pieces takes 50 MB.  Allowed: 450 MB a worker.\nPASS" in capsys.readouterr().out


@pytest.mark.slow
def test_a_small_run_of_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--base-mb", "0.2", "--sizes", "1", "--only", "pairs nsp packed", "--workers", "1", "--work", str(tmp_path)]
    code = memory.main(words)
    said = capsys.readouterr().out
    assert code == 0, said
    held = {name: int(peak) for name, peak in re.findall(r"^\| ([a-z ]+) \| (\d+) \|", said, re.MULTILINE)}
    assert list(held) == ["corpus", "vocab", "pairs nsp packed"]
    assert all(50 < peak < 400 for peak in held.values())
    assert 0 < float(re.findall(r"32,000 pieces takes (\d+) MB", said)[0]) < 100
    assert list(tmp_path.iterdir()) == []
