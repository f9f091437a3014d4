"""Versions that decide bytes: other code never continues a run, and a finished dataset stays complete."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY, read_manifest

from bertdata.config import PairsConfig
from bertdata.dataset import versions


def test_only_versions_that_decide_bytes_are_listed() -> None:
    assert versions.versions(PairsConfig().packages).keys() == {"bertdata", "code", "unicode", "tokenizers"}
    assert versions.versions(["tokenizers", "this"])["this"].startswith("sha256:")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package, as a wheel would install it."""
    site, ignored = tmp_path / "site", shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "bertdata", site / "bertdata", ignore=ignored, dirs_exist_ok=True)
    return site


def run_copy(site: Path, *command: object, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=site, check=False, timeout=300)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def code_of(site: Path) -> str:
    return run_copy(site, "-c", "from bertdata.dataset.versions import code_digest; print(code_digest())").strip()


@pytest.mark.slow
def test_the_digest_is_of_the_code_and_tables_that_decide_bytes(copied: Path) -> None:
    digests = [code_of(copied)]
    assert digests == [versions.code_digest()], "a wheel has the digest of its clone"
    for name in ("cli/verify.py", "text/wikitext/templates/tables/en.toml", "run/job.py", "reports/card.md"):
        with (copied / "bertdata" / name).open("a") as file:
            file.write("\n# a comment\n")
        digests.append(code_of(copied))
    assert digests[0] == digests[1] and len({*digests}) == 4


@pytest.mark.long
def test_changed_code_does_not_continue_a_run(copied: Path, tmp_path: Path) -> None:
    """It would mix documents of both; the dataset that the old code finishes stays complete for the new one."""
    rows = [json.dumps({"title": f"Tea {n}", "text": f"The tea of day {n} is ready. It is hot."}) for n in range(2000)]
    (tmp_path / "in.jsonl").write_text("\n".join([*rows, *["{broken"] * 2000]))  # stops a run with few rejects
    options = ("--text", tmp_path / "in.jsonl", "--task-bytes", 1 << 16, "--workers", 1, "--output", tmp_path / "corpus")
    arguments = ("-m", "bertdata", "build-corpus", *options)
    run_copy(copied, *arguments, code=3)
    next(tmp_path.glob("corpus/.bertdata/build-*/.bertdata/refused")).unlink()  # as if it was stopped for another reason
    shutil.copytree(copied, old := tmp_path / "old")
    with (copied / "bertdata" / "text" / "language.py").open("a") as file:
        file.write("\n# changed\n")
    assert "versions.code: " in run_copy(copied, *arguments, "--max-rejects", 1, code=5)
    run_copy(old, *arguments, "--max-rejects", 1)
    assert read_manifest(tmp_path / "corpus")["versions"]["code"] == code_of(old)
    assert "nothing to do" in run_copy(copied, *arguments, "--max-rejects", 1)
