"""The workflow of docs/how-to/ci.md: its commands run on the sample, and again as from a cache; other settings are refused."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import SAMPLE
from pages import DOCS, blocks, commands

from bertdata.cli import cli
from bertdata.errors import ResumeError

pytestmark = pytest.mark.long

BLOCKS = {block.language: block.text for block in blocks(DOCS / "how-to" / "ci.md")}


def run(line: str) -> Result:
    words = shlex.split(line)[1:]
    return CliRunner().invoke(cli, [*words, *(["--workers", "1"] if words[0] != "verify" else [])])


def test_the_workflow_is_yaml_and_keeps_what_it_builds() -> None:
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(BLOCKS["yaml"])["jobs"]["corpus"]["steps"]
    (cache,) = (step["with"] for step in steps if step.get("uses", "").startswith("actions/cache"))
    assert all(f"--output {cache['path']}/" in line for line in commands(BLOCKS["yaml"]) if " verify " not in line)
    assert all(name in cache["key"] for name in ("requirements.txt", "corpus.toml", "sample/**"))


@pytest.mark.slow
def test_its_commands_build_and_a_second_time_have_nothing_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sample").mkdir()
    for dump in SAMPLE.glob("*.bz2"):
        shutil.copy(dump, "sample")
    Path("corpus.toml").write_text(BLOCKS["toml"], encoding="utf-8")
    lines = list(commands(BLOCKS["yaml"]))
    assert [line.split()[1] for line in lines] == ["build-corpus", "train-vocab", "make-pairs", "verify"]
    for again in (False, True):
        for line in lines:
            done = run(line)
            assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
            assert ("nothing to do" in done.output) == (again and "verify" not in line)
        exec(compile(BLOCKS["python"], "check.py", "exec"), {})  # noqa: S102
    assert Path("digests.json").exists()
    Path("corpus.toml").write_text(BLOCKS["toml"].replace("min-characters = 50", "min-characters = 60"), encoding="utf-8")
    refused = run(lines[0]).exception
    assert refused is not None and getattr(refused, "exit_code", 0) == 5 and not isinstance(refused, ResumeError)
    assert "min_characters: 50 then, 60 now" in str(refused)
