"""`bertdata run`: the commands of one TOML file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bertdata.cli.run_file import EXAMPLE
from bertdata.sample import sample

Run = Any


def pipeline(folder: Path, **tables: str) -> Path:
    """Write the example with the sample as its input, small sizes and its outputs in `folder`; `tables` replace tables."""
    text = EXAMPLE.replace('"dumps"', f'"{sample()}"').replace('"books"', f'"{sample() / "books"}"', 1)
    text = text.replace("size = 30000", "size = 8000").replace("steps = 100", "steps = 2").replace("0.01", "0.2")
    text = re.sub(r'"(corpus|vocab|pairs|run)"', lambda name: f'"{folder / name[1]}"', text)
    (folder / "pipeline.toml").write_text(text, encoding="utf-8")
    return folder / "pipeline.toml"


@pytest.mark.slow
def test_one_file_runs_all_commands_and_skips_complete_ones(run: Run, tmp_path: Path) -> None:
    file = pipeline(tmp_path)
    planned = run("run", file, "--dry-run")
    assert "[build-corpus]" in planned.stderr and "planned when the commands before it have run" in planned.stderr
    assert not (tmp_path / "corpus").exists()
    done = run("run", file)
    assert re.findall(r"^\[([a-z-]+)\]$", done.stderr, re.M) == ["build-corpus", "train-vocab", "make-pairs", "verify", "train"]
    assert (tmp_path / "run" / "checkpoint-2" / "model.safetensors").exists()
    again = run("run", file)
    assert again.stdout.count("complete already") == 4


def test_a_file_with_mistakes_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    for text, problem in (
        ("[train-vocb]", "did you mean 'train-vocab'"),
        ("", "there is no table"),
        ('[verify]\ndirectory = "corpus"', "did you mean 'directories'"),
        ('[build-corpus]\noutput = "corpus"\ndedup = "nears"', "dedup"),
    ):
        file.write_text(text, encoding="utf-8")
        assert problem in run("run", file, code=2).stderr
    assert "--example" in run("run", code=2).stderr
    assert run("run", "--example").stdout == EXAMPLE
