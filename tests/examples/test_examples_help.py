"""Each example explains itself without torch and transformers, and says what to install; a required option is in its commands."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

pytestmark = pytest.mark.nightly

SCRIPTS = [path for path in (REPOSITORY / "examples").glob("*.py") if "__main__" in path.read_text(encoding="utf-8")]
EXAMPLES = sorted(SCRIPTS)


@pytest.fixture
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with bertdata alone."""
    for name in ("torch", "transformers", "datasets", "lightning"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("_bare")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_help_needs_no_package(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(path), run_name="__main__")
    shown = capsys.readouterr().out
    assert end.value.code == 0 and shown.startswith(f"usage: {path.name}") and "options:" in shown
    required = re.findall(r"(?<!\[)(--[a-z-]+) [A-Z]", shown.partition("\n\n")[0])  # in the line of usage without brackets
    said = (path.parent / "README.md").read_text(encoding="utf-8")
    commands = [shown, *re.findall(rf"^\| `{path.name}`[^|]*\|([^|]*)\|", said, re.M)]
    assert all(option in command for option in required for command in commands), required


@pytest.mark.usefixtures("_bare")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_lacking_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    required = {"train_loop": ["--checkpoint", "x"], "hf_trainer": ["--output", "x"]}
    monkeypatch.setattr(sys, "argv", [path.name, "somewhere", *required.get(path.stem, [])])
    with pytest.raises(SystemExit, match=r"pip install torch"):
        runpy.run_path(str(path), run_name="__main__")
