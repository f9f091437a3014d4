"""Versions that decide bytes: other code never continues a run, and a finished dataset stays complete."""

from __future__ import annotations

import doctest
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY, read_manifest, read_rows

from bertdata.config import PairsConfig
from bertdata.dataset import versions

pytestmark = pytest.mark.long


def test_doctests() -> None:
    assert doctest.testmod(versions).failed == 0


def test_what_decides_no_byte_is_not_listed() -> None:
    named = versions.versions(PairsConfig().packages).keys()
    assert named == {"bertdata", "code", "unicode", "tokenizers"}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package, as a wheel would install it."""
    site = tmp_path / "site"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "bertdata", site / "bertdata", ignore=ignored)
    shutil.copytree(REPOSITORY / "pipelines", site / "bertdata" / "pipelines", ignore=ignored)
    return site


def _run_copy(site: Path, *arguments: object, code: int = 0, cwd: Path | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "bertdata", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd or site, check=False, timeout=300)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def _change_code(site: Path) -> None:
    """Change one line: titles of JSON lines get a sign in front of them."""
    path = site / "bertdata" / "stages" / "corpus" / "sources" / "base.py"
    source = path.read_text()
    old = "return Document(id, source, code, title, url, sentences, starts, as_of, licence)"
    assert source.count(old) == 1
    path.write_text(source.replace(old, old.replace("title", "'#' + title")))


def _code_of(site: Path) -> str:
    program = "from bertdata.dataset.versions import code_digest; print(code_digest())"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=site, check=True
    ).stdout


def _append(path: Path) -> None:
    with path.open("a") as file:
        file.write("\n# a comment\n")


@pytest.mark.slow
def test_the_digest_is_of_the_code_that_writes_bytes(copied: Path) -> None:
    """A wheel has the digest of its clone. Comments in `cli` and `pipelines` change nothing, a table of templates does."""
    before = _code_of(copied)
    assert before.strip() == versions.code_digest()
    _append(copied / "bertdata" / "cli" / "build.py")
    _append(copied / "bertdata" / "pipelines" / "engine.py")
    assert _code_of(copied) == before
    _append(copied / "bertdata" / "text" / "wikitext" / "templates" / "tables" / "en.toml")
    changed = _code_of(copied)
    assert changed != before
    _append(copied / "bertdata" / "run" / "job.py")
    assert _code_of(copied) not in (before, changed)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Two files, of a task each: the second one is broken, so that a run with few rejects stops half done."""
    folder = tmp_path / "in"
    folder.mkdir()
    rows = [
        json.dumps({"id": str(n), "title": f"Tea {n}", "text": f"The tea of day {n} is ready. It is hot."}) for n in range(2000)
    ]
    (folder / "a.jsonl").write_text("\n".join(rows))
    (folder / "b.jsonl").write_text("\n".join([*rows[:500], *["{broken"] * 1500]))
    return folder


@pytest.mark.slow
def test_changed_code_does_not_continue_a_run(copied: Path, lines: Path, tmp_path: Path) -> None:
    """It would mix documents of both codes; the dataset that the old code finishes stays complete for the new one."""
    arguments = ("build-corpus", "--text", lines, "--task-bytes", 1 << 16, "--workers", 1, "--output", tmp_path / "corpus")
    _run_copy(copied, *arguments, code=3)
    old = tmp_path / "old"
    shutil.copytree(copied, old)
    _change_code(copied)
    refused = _run_copy(copied, *arguments, "--max-rejects", 1, code=5)
    assert "versions.code: " in refused and "unfinished run with other settings" in refused
    _run_copy(old, *arguments, "--max-rejects", 1)
    assert {row["title"][0] for row in read_rows(tmp_path / "corpus")} == {"T"}
    made = read_manifest(tmp_path / "corpus")["versions"]
    assert made["code"] == _code_of(old).strip()
    for again in ((), ("--dry-run",)):
        said = _run_copy(copied, *arguments, "--max-rejects", 1, *again)
        assert "is complete already: nothing to do" in said
    _run_copy(copied, *arguments, "--max-rejects", 1, "--overwrite")
    assert {row["title"][0] for row in read_rows(tmp_path / "corpus")} == {"#"}
