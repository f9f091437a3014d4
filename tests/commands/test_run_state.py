"""`bertdata inspect` of a directory whose run is complete, running or unfinished."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run, command_line
from test_resume import kill_in_mid_run

from bertdata.dataset.build import building
from bertdata.errors import BertDataError
from bertdata.run.progress import run_state


@pytest.mark.slow
def test_a_killed_run_is_unfinished_and_then_complete(run: Run, text: Path, parts: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", output, "--workers", 1]
    kill_in_mid_run(output, "extract", 2, *arguments)
    shown = run("inspect", output).stdout
    done, total = (int(word) for word in shown.replace("(", "").split() if word.isdigit() or word.strip("(").isdigit())
    assert shown.startswith(f"{output}: unfinished (") and 2 <= done < total
    run(*arguments)
    assert run_state(output) == "complete"
    assert "complete" in run("inspect", output).stdout


def test_a_directory_that_is_being_written_names_the_process(tmp_path: Path) -> None:
    with pytest.raises(BertDataError), building(tmp_path / "out", {"command": "build-corpus", "inputs": []}):
        assert run_state(tmp_path / "out").startswith("running (0 tasks finished), by process ")
        raise BertDataError("stopped")
    assert run_state(tmp_path / "out") == "unfinished (0 tasks finished)"
    assert run_state(tmp_path / "nothing") == ""
