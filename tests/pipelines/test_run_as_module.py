"""Pipelines run as modules: ``python -m bertdata.pipelines.build_corpus --runner=…``."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest
from bertdata.pipelines import command
from conftest import SAMPLE, SECONDS, read_manifest


def run(module: str, *arguments: object, cwd: Path) -> str:
    words = [sys.executable, "-m", f"bertdata.pipelines.{module}", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, timeout=SECONDS, check=True).stdout


def test_options_of_beam_are_separated() -> None:
    assert doctest.testmod(command).failed == 0
    assert command.command_line("export", ["a", "--", "--runner=X"]) == ["export", "a", "--", "--runner=X"]


@pytest.mark.slow
@pytest.mark.parametrize("module", ["build_corpus", "train_vocab", "make_pairs"])
def test_help_is_that_of_the_command(module: str, tmp_path: Path) -> None:
    assert f"bertdata {module.replace('_', '-')} [OPTIONS]" in run(module, "--help", cwd=tmp_path)


@pytest.mark.long
def test_a_corpus_is_built_with_a_runner(tmp_path: Path) -> None:
    run("build_corpus", "--books", SAMPLE / "books", "--output", "corpus", "--runner=FnApiRunner", cwd=tmp_path)
    assert read_manifest(tmp_path / "corpus")["rows"] == 3
