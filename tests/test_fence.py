"""What an engine still does for a run that is over writes nothing into the run that has taken its place."""

from __future__ import annotations

from contextvars import Context
from pathlib import Path
from typing import Any

import pytest
from bertdata.pipelines import transforms
from bertdata.pipelines.transforms import Perform

from bertdata import files, output
from bertdata.errors import OutputLockedError, StorageError
from bertdata.fence import TOKEN, fence
from bertdata.output import STATE, opened
from bertdata.records import Task

TASK = Task(0, "text", "[]")


def begin(directory: Path, seed: int, **how: bool) -> Path:
    """Begin a run, as a command does that is killed later; return where it builds."""
    with opened(directory, {"command": "x", "seed": seed}, **how) as root:
        return root


def replaced(directory: Path) -> Path:
    """Begin two runs, of which the second replaces the first: on a disk another directory, beside, where both would build."""
    begin(directory, 0)
    return begin(directory, 1, overwrite=True)


def names(directory: Path) -> list[str]:
    state = {"lock", "run.json", TOKEN}
    return sorted(p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file() and p.name not in state)


@pytest.mark.parametrize("where", ["disk", "store"])
def test_a_late_task_writes_nothing_into_a_later_run(where: str, tmp_path: Path) -> None:
    directory = tmp_path / "out" if where == "disk" else files.place(f"memory://late-{tmp_path.name}/out")
    begun: list[int] = []

    def work(_task: Task) -> dict[str, Any]:
        begun.append(1)
        files.write_text(root / "data" / "a", "of the earlier run")
        assert Context().run(begin, directory, 2, overwrite=True) == root  # as another process would
        files.write_text(root / "data" / "b", "of the earlier run")
        raise AssertionError("it went on")

    root = replaced(directory)
    perform = Perform(root, "extract", work)
    with pytest.raises(OutputLockedError, match="is of a later run"):
        list(perform.process(TASK))
    if where == "disk":
        assert names(root) == []
    with pytest.raises(OutputLockedError):
        list(perform.process(TASK))
    assert begun == [1], "the second attempt was not begun at all"


def test_a_late_commit_is_refused(tmp_path: Path) -> None:
    class Commit:
        def roots(self) -> list[Path]:
            return [root]

        def __call__(self, _reports: list[Any]) -> None:
            raise AssertionError("it went on")

    root = replaced(tmp_path / "out")
    gather = transforms.Gather(Commit(), 1)
    begin(tmp_path / "out", 2, overwrite=True)
    with pytest.raises(OutputLockedError):
        transforms._commit_once([], gather._commit, gather._fence)


def test_the_same_run_resumed_goes_on(tmp_path: Path) -> None:
    """What an engine still does for the killed command writes the same bytes as the one that resumes it."""
    begin(tmp_path / "out", 1)
    perform = Perform(tmp_path / "out", "extract", lambda _: {"files": []})
    begin(tmp_path / "out", 1, resume=True)
    assert [report.number for report in perform.process(TASK)] == [0]


def test_between_the_runs_nothing_is_written(tmp_path: Path) -> None:
    """The token of the earlier run goes before its files do: what comes in between is of no run."""
    begin(tmp_path / "out", 1)
    own = fence(tmp_path / "out" / STATE)
    (tmp_path / "out" / STATE / TOKEN).unlink()
    with pytest.raises(StorageError, match="is not there for a worker on"), own.closed():
        raise AssertionError("it went on")


def test_the_token_goes_before_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = replaced(tmp_path / "out")
    files.write_text(root / "data" / "a", "of the earlier run")
    own, removed, real = fence(root / STATE), list[str](), output.remove

    def remove(path: Path) -> None:
        if path.name != TOKEN:
            with pytest.raises(StorageError, match="is not there for a worker on"), own.closed():
                raise AssertionError("it went on")
        removed.append(path.name)
        real(path)

    monkeypatch.setattr(output, "remove", remove)
    begin(tmp_path / "out", 2, overwrite=True)
    assert removed[0] == TOKEN and "data" in removed


def test_a_directory_without_a_token_is_not_looked_at(tmp_path: Path) -> None:
    """It is one that a job which is only looked at would write."""
    with fence(tmp_path / "none" / STATE).closed():
        files.write_text(tmp_path / "a", "written")
    assert (tmp_path / "a").read_text() == "written"


def test_the_check_is_for_its_block_only(tmp_path: Path) -> None:
    def refuse() -> None:
        raise OutputLockedError("no")

    with files.checked_first(refuse):
        with pytest.raises(OutputLockedError):
            files.write_text(tmp_path / "a", "")
        with files.checked_first(lambda: None):
            files.write_text(tmp_path / "b", "")
        with pytest.raises(OutputLockedError):
            files.write_text(tmp_path / "c", "")
    files.write_text(tmp_path / "d", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "d"]
