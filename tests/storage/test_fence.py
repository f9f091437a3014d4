"""What an engine still does for a run that is over writes nothing into the run that has taken its place in a store."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import Context
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bertdata.chains import transforms
from bertdata.chains.transforms import GuardedCall, TaskRunner
from bertdata.dataset import run as output
from bertdata.dataset.reports import TaskReport
from bertdata.dataset.run import STATE, building
from bertdata.errors import OutputLockedError
from bertdata.records import Task
from bertdata.storage import files, moves
from bertdata.storage.fence import TOKEN_FILE, admit, fenced, token
from bertdata.storage.progress import Work

pytest.importorskip("upath")
TASK = Task(0, "text", ())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return files.to_path(f"memory://late-{tmp_path.name}/out")


def begin(directory: Path, seed: int, **how: bool) -> Path:
    """Begin a run, as a command does that is killed later; return where it builds."""
    with building(directory, {"command": "x", "seed": seed}, **how) as root:
        return root


def test_a_late_task_writes_nothing_into_a_later_run(directory: Path) -> None:
    begun: list[int] = []

    def work(_task: Task, _work: Work) -> TaskReport:
        begun.append(1)
        files.write_text(root / "data" / "a", "of the earlier run")
        assert Context().run(begin, directory, 2, overwrite=True) == root  # as another process would
        files.write_text(root / "data" / "b", "of the earlier run")
        raise AssertionError("it went on")

    root = begin(directory, 1)
    perform = TaskRunner(root, "extract", work, TaskReport)
    for _ in range(2):
        with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
            list(perform(TASK))
    assert begun == [1], "the second attempt was not begun at all"
    assert not (root / "data").exists()


def test_a_late_step_between_the_tasks_writes_nothing(directory: Path) -> None:
    root = begin(directory, 1)
    step = GuardedCall(lambda number: files.write_text(root / "data" / str(number), "text"), root)
    step(1)
    begin(directory, 2, overwrite=True)
    with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
        step(2)
    assert not (root / "data").exists()


def test_a_late_commit_is_refused(directory: Path) -> None:
    class Commit:
        kind: ClassVar = dict

        def roots(self) -> list[Path]:
            return [root]

        def __call__(self, _reports: Iterable[list[Any]]) -> None:
            raise AssertionError("it went on")

    root = begin(directory, 1)
    gather = transforms.Gather(Commit(), 1)
    begin(directory, 2, overwrite=True)
    with pytest.raises(OutputLockedError):
        transforms.CommitOnce(gather._commit, gather._runs, 0)([])


def test_a_command_that_continues_a_run_stops_the_earlier_command(directory: Path) -> None:
    """An engine that was lost may still work on the earlier command, which has the same settings."""
    root = begin(directory, 1)
    earlier = TaskRunner(root, "extract", lambda *_: TaskReport(), TaskReport)
    assert begin(directory, 1) == root
    with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
        list(earlier(TASK))
    later = TaskRunner(root, "extract", lambda *_: TaskReport(), TaskReport)
    assert [report.number for report in later(TASK)] == [0]


def test_a_command_that_was_replaced_before_its_steps_are_made_stops(directory: Path) -> None:
    """Its steps would read the token of the newer command; its own writes do not."""
    with building(directory, {"command": "x", "seed": 1}) as root:
        Context().run(begin, directory, 2, overwrite=True)
        with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
            files.write_text(root / STATE / "work" / "plan-tasks.jsonl", "")


def test_several_outputs_are_fenced_together(directory: Path) -> None:
    one, two = directory / "one", directory / "two"
    with building(one, {"command": "x", "seed": 1}), building(two, {"command": "x", "seed": 1}):
        Context().run(begin, one, 2, overwrite=True)
        with pytest.raises(OutputLockedError, match="one: a newer run"):
            files.write_text(two / "a", "")


def test_between_the_runs_nothing_is_written(directory: Path) -> None:
    """The token of the earlier run goes before its files do: what comes in between is of no run."""
    root = begin(directory, 1)
    own = token(root)
    moves.remove(root / TOKEN_FILE)
    with pytest.raises(OutputLockedError), fenced((root, own)):
        admit()


def test_the_token_goes_before_the_files(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = begin(directory, 1)
    files.write_text(root / "data" / "a", "of the earlier run")
    own, removed, real = token(root), list[str](), output.remove

    def remove(path: Path) -> None:
        if path != root / TOKEN_FILE and removed:
            with pytest.raises(OutputLockedError), fenced((root, own)):
                admit()
        removed.append(path.relative_to(root).as_posix())
        real(path)

    monkeypatch.setattr(output, "remove", remove)
    begin(directory, 2, overwrite=True)
    assert removed[0] == TOKEN_FILE and "data" in removed


def test_a_run_that_is_only_looked_at_has_no_token(directory: Path) -> None:
    assert token(directory) == ""
    with transforms.RunDirectories(directory).entered(begun=False):
        files.write_text(directory / "a", "written")
    assert (directory / "a").read_text() == "written" and not (directory / STATE).exists()


def test_the_fence_is_for_its_block_and_for_stores_only(directory: Path, tmp_path: Path) -> None:
    root = begin(directory, 1)
    with fenced((root, token(root))):
        Context().run(begin, directory, 2, overwrite=True)
        with pytest.raises(OutputLockedError):
            files.write_text(directory.parent / "elsewhere", "of a run that is over")
        files.write_text(tmp_path / "a", "")
        with pytest.raises(OutputLockedError):
            admit()
    files.write_text(directory / "d", "")
    assert sorted(path.name for path in directory.iterdir() if path.name != STATE) == ["d"]
