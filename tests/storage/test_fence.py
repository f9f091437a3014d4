"""What an engine still does for a run that is over writes nothing into the run that has taken its place in a store."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from conftest import SAMPLE, Build

from bertdata.chains import transforms
from bertdata.chains.transforms import GuardedCall, TaskRunner
from bertdata.dataset import run as output
from bertdata.dataset.reports import TaskReport
from bertdata.dataset.run import STATE, building
from bertdata.errors import OutputLockedError
from bertdata.records import Task
from bertdata.storage import files, moves
from bertdata.storage.fence import TOKEN_FILE, RunPath, admit, token
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
        assert str(begin(directory, 2, overwrite=True)) == str(root)  # as another process would
        files.write_text(root / "data" / "b", "of the earlier run")
        raise AssertionError("it went on")

    root = begin(directory, 1)
    perform = TaskRunner(root, "extract", work, TaskReport)
    for _ in range(2):
        with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
            perform(TASK)
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
    again = begin(directory, 1)
    with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
        earlier(TASK)
    later = TaskRunner(again, "extract", lambda *_: TaskReport(), TaskReport)
    assert later(TASK).number == 0


def test_a_command_that_was_replaced_before_its_steps_are_made_stops(directory: Path) -> None:
    with building(directory, {"command": "x", "seed": 1}) as root:
        begin(directory, 2, overwrite=True)
        with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
            files.write_text(root / STATE / "work" / "plan-tasks.jsonl", "")


def test_a_step_that_writes_to_several_outputs_needs_all_of_them(directory: Path) -> None:
    one, two = begin(directory / "one", 1), begin(directory / "two", 1)
    begin(directory / "one", 2, overwrite=True)
    with pytest.raises(OutputLockedError, match="one: a newer run"):
        GuardedCall(lambda _: files.write_text(two / "a", ""), two, one)(1)
    with pytest.raises(OutputLockedError, match="one: a newer run"):
        files.write_text(one / "a", "")
    assert not (two / "a").exists()


def test_between_the_runs_nothing_is_written(directory: Path) -> None:
    """The token of the earlier run goes before its files do: what comes in between is of no run."""
    root = begin(directory, 1)
    moves.remove(root / TOKEN_FILE)
    with pytest.raises(OutputLockedError):
        admit(root)


def test_the_token_goes_before_the_files(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = begin(directory, 1)
    files.write_text(root / "data" / "a", "of the earlier run")
    removed, real = list[str](), output.remove

    def remove(path: Path) -> None:
        if removed:
            with pytest.raises(OutputLockedError):
                admit(root)
        removed.append(path.relative_to(directory).as_posix())
        real(path)

    monkeypatch.setattr(output, "remove", remove)
    begin(directory, 2, overwrite=True)
    assert removed[0] == TOKEN_FILE and "data" in removed


def test_a_run_that_is_only_looked_at_has_no_token(directory: Path) -> None:
    assert token(directory) == ""
    transforms.RunDirectories(directory).check(begun=False)
    files.write_text(directory / "a", "written")
    assert (directory / "a").read_text() == "written" and not (directory / STATE).exists()


def test_a_path_keeps_its_run(directory: Path) -> None:
    root = begin(directory, 1)
    copied = pickle.loads(pickle.dumps(root))
    assert copied == root and hash(copied) == hash(root) and str(root) == str(directory) and not files.is_local(root)
    begin(directory, 2, overwrite=True)
    for path in (copied / "data" / "a", root / "a", (root / "a").with_name("b")):
        with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
            files.write_text(path, "of a run that is over")
    files.write_text(directory / "d", "")
    assert sorted(path.name for path in directory.iterdir() if path.name != STATE) == ["d"]


@pytest.mark.slow
def test_every_file_of_a_run_is_written_with_its_token(
    directory: Path, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unchecked = set[str]()

    def check(path: Path | RunPath) -> None:
        if not isinstance(path, RunPath):
            unchecked.add(path.name)
        admit(path)

    monkeypatch.setattr(files, "admit", check)
    corpus, vocab = directory / "corpus", directory / "vocab"
    choices = ("--dedup", "near", "--dedup-paragraphs", "--sample-documents", 20)
    build("build-corpus", corpus, "--wikipedia", SAMPLE, "--books", SAMPLE / "books", *choices)
    build("train-vocab", vocab, corpus, "--size", 2000)
    for length in (32, 64):
        build("make-pairs", directory / f"rows-{length}", corpus, "--vocab", vocab, "--max-seq-length", length)
    build("export", directory / "megatron", corpus, "--to", "megatron", "--vocab", vocab)
    assert unchecked == {"run.json", "run.sha256"}, "the files that begin a run"
