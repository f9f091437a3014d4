"""Tests leave the user's home alone."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

PYTEST = "import huggingface_hub.constants, sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"  # imported first, as other tests do
PUSH = "tests/commands/test_push.py::test_what_is_there_is_what_is_here_and_is_not_sent_again"


def test_home_is_temporary() -> None:
    assert Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir)


@pytest.mark.long
def test_a_test_of_the_hub_writes_nothing_into_the_home(tmp_path: Path) -> None:
    """huggingface_hub 2.4 asks the Hub for a list of agents at its first request, and caches the answer."""
    pytest.importorskip("huggingface_hub")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTEST_"))}
    command = [sys.executable, "-c", PYTEST, "-q", "-p", "no:cacheprovider", PUSH]
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**environment, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert [*tmp_path.rglob("*")] == []
