"""Output directories: refused, begun, resumed, replaced; at every moment of a kill something whole is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bertdata import output
from bertdata.errors import OutputExistsError, OutputLockedError, ResumeError, StorageError
from bertdata.files import TEMPORARY, digest, place, read_json, write_json, write_text
from bertdata.lock import lock
from bertdata.manifest import NAME
from bertdata.output import STATE, is_complete, opened, perform

IDENTITY: dict[str, Any] = {
    "command": "build-corpus",
    "config": {"seed": 1, "format": "arrow-stream"},
    "inputs": [{"name": "a.xml", "bytes": 10}, {"name": "b.xml", "bytes": 20}],
}


def _finish(directory: Path, text: str = "first", identity: dict[str, Any] = IDENTITY, **how: bool) -> None:
    with opened(directory, identity, **how) as root:
        write_text(root / "data" / "train-00000-of-00001.arrow", text)
        write_json(root / NAME, {"text": text})


def _content(directory: Path) -> dict[str, str]:
    """What a reader of the directory sees: names and text, the state left out."""
    paths = (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
    return {path.as_posix(): (directory / path).read_text() for path in paths if path.parts[0] != STATE}


WHOLE = {"data/train-00000-of-00001.arrow": "first", NAME: '{\n "text": "first"\n}\n'}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "corpus"


def _beside(directory: Path) -> list[str]:
    return sorted(os.listdir(directory.parent))


def test_a_new_directory_is_begun_under_a_lock(directory: Path) -> None:
    with opened(directory, IDENTITY) as root:
        assert root == directory
        assert read_json(root / STATE / "run.json") == IDENTITY
        with pytest.raises(OutputLockedError), opened(directory, IDENTITY, resume=True):
            pass
        with pytest.raises(OutputLockedError), opened(directory, IDENTITY, overwrite=True):
            pass
    assert not is_complete(directory)
    _finish(directory, resume=True)
    assert _content(directory) == WHOLE and _beside(directory) == ["corpus"]


def test_an_empty_directory_is_used(directory: Path) -> None:
    directory.mkdir()
    _finish(directory)
    assert _content(directory) == WHOLE


@pytest.mark.parametrize("how", [{}, {"resume": True}, {"overwrite": True}, {"resume": True, "overwrite": True}])
def test_what_is_not_ours_is_refused_and_untouched(directory: Path, how: dict[str, bool]) -> None:
    directory.mkdir()
    (directory / "thesis.tex").write_text("years of work")
    with (
        pytest.raises(OutputExistsError, match=r"thesis\.tex.*choose another --output") as caught,
        opened(directory, IDENTITY, **how),
    ):
        pass
    assert caught.value.exit_code == 5
    assert _content(directory) == {"thesis.tex": "years of work"}
    assert not (directory / STATE).exists()


@pytest.mark.parametrize("how", [{}, {"overwrite": True}])
def test_a_data_directory_of_another_tool_is_refused(directory: Path, how: dict[str, bool]) -> None:
    """``data/`` and ``README.md`` are our names too, but no manifest and no state say that we wrote them."""
    write_text(directory / "data" / "measurements.csv", "1,2")
    with pytest.raises(OutputExistsError, match="no data set of bertdata"), opened(directory, IDENTITY, **how):
        pass
    assert _content(directory) == {"data/measurements.csv": "1,2"}


def test_our_finished_directory_with_a_strange_file_is_refused(directory: Path) -> None:
    _finish(directory)
    (directory / "notes.txt").write_text("mine")
    with pytest.raises(OutputExistsError, match=r"notes\.txt"), opened(directory, IDENTITY, overwrite=True):
        pass
    assert _content(directory) == {**WHOLE, "notes.txt": "mine"}


def test_a_file_in_its_place_is_refused(directory: Path) -> None:
    directory.write_text("a file")
    for how in ({}, {"overwrite": True}):
        with pytest.raises(OutputExistsError, match="is a file"), opened(directory, IDENTITY, **how):
            pass
    assert directory.read_text() == "a file"
    with pytest.raises((OutputExistsError, StorageError)), opened(directory / "below", IDENTITY):
        pass


def test_finished_and_unfinished_directories_are_refused(directory: Path) -> None:
    with opened(directory, IDENTITY):
        pass
    with pytest.raises(OutputExistsError, match="unfinished run: finish it with --resume"), opened(directory, IDENTITY):
        pass
    _finish(directory, resume=True)
    with pytest.raises(OutputExistsError, match="finished data set; replace it with --overwrite"), opened(directory, IDENTITY):
        pass
    assert _content(directory) == WHOLE


def test_resume_of_a_finished_run_finds_it_complete(directory: Path) -> None:
    _finish(directory)
    with opened(directory, IDENTITY, resume=True) as root:
        assert root == directory and is_complete(root)
    assert _content(directory) == WHOLE


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"config": {"seed": 2, "format": "arrow-stream"}}, r"config\.seed: 1 then, 2 now"),
        ({"config": {"seed": 1}}, r"config\.format: 'arrow-stream' then, None now"),
        ({"command": "make-pairs"}, "command: 'build-corpus' then, 'make-pairs' now"),
        ({"inputs": [{"name": "a.xml", "bytes": 11}, {"name": "b.xml", "bytes": 20}]}, r"inputs\.a\.xml\.bytes: 10 then, 11 now"),
        ({"inputs": [{"name": "a.xml", "bytes": 10}]}, r"inputs\.b\.xml: .* then, None now"),
    ],
)
def test_resume_with_other_settings_names_the_difference(directory: Path, changed: dict[str, Any], named: str) -> None:
    with opened(directory, IDENTITY) as root:
        write_text(root / "data" / "part", "done so far")
    with (
        pytest.raises(ResumeError, match=f"{named}.*--overwrite") as caught,
        opened(directory, {**IDENTITY, **changed}, resume=True),
    ):
        pass
    assert caught.value.exit_code == 5
    assert _content(directory) == {"data/part": "done so far"}
    assert read_json(directory / STATE / "run.json") == IDENTITY


def test_resume_does_not_mind_the_order_of_inputs(directory: Path) -> None:
    with opened(directory, IDENTITY):
        pass
    _finish(directory, identity={**IDENTITY, "inputs": IDENTITY["inputs"][::-1]}, resume=True)


def test_resume_keeps_finished_work_and_sweeps_halves(directory: Path) -> None:
    with opened(directory, IDENTITY) as root:
        write_text(root / "data" / "part", "done")
        write_text(root / "data" / f"{TEMPORARY}part-2", "ha")
        write_text(root / STATE / "tasks" / "extract" / "00000.json", "{}")
    with opened(directory, IDENTITY, resume=True) as root:
        assert _content(root) == {"data/part": "done"}
        assert output.count_done(root, "extract") == 1 and output.count_done(root, "other") == 0
        output.tidy(root)
        assert output.count_done(root, "extract") == 0


def test_resume_sweeps_a_half_written_manifest(directory: Path) -> None:
    with opened(directory, IDENTITY) as root:
        write_text(root / "data" / "part", "done")
        write_text(root / f"{TEMPORARY}{NAME}-1", "ha")
    with opened(directory, IDENTITY, resume=True) as root:
        assert _content(root) == {"data/part": "done"}


def test_resume_tidies_what_a_run_left_that_ended_at_its_manifest(directory: Path) -> None:
    _finish(directory)
    write_text(directory / STATE / "work" / "spill", "left")
    write_text(directory / STATE / "tasks" / "extract" / "00000.json", "{}")
    with opened(directory, IDENTITY, resume=True):
        pass
    assert _content(directory) == WHOLE
    assert not (directory / STATE / "work").exists() and not (directory / STATE / "tasks").exists()


def test_overwrite_builds_beside_and_swaps_when_whole(directory: Path) -> None:
    _finish(directory)
    with opened(directory, {**IDENTITY, "command": "x"}, overwrite=True) as root:
        assert root != directory and root.parent == directory.parent and root.name.startswith(".")
        write_text(root / "data" / "new", "second")
        assert _content(directory) == WHOLE
        write_json(root / NAME, {})
        assert _content(directory) == WHOLE
    assert _content(directory) == {"data/new": "second", NAME: "{}\n"}
    assert read_json(directory / STATE / "run.json")["command"] == "x"
    assert _beside(directory) == ["corpus"]


def test_overwrite_that_fails_or_ends_unfinished_keeps_the_old(directory: Path) -> None:
    _finish(directory)
    with pytest.raises(RuntimeError), opened(directory, IDENTITY, overwrite=True) as root:
        write_text(root / "data" / "new", "second")
        write_json(root / NAME, {})
        raise RuntimeError
    assert _content(directory) == WHOLE
    with opened(directory, IDENTITY, overwrite=True) as root:
        assert _content(root) == {}  # nothing of the failed attempt is left to mix in
    assert _content(directory) == WHOLE


def test_overwrite_resumes_what_was_begun_beside(directory: Path) -> None:
    _finish(directory)
    with opened(directory, IDENTITY, overwrite=True) as root:
        write_text(root / "data" / "part", "done")
    with opened(directory, IDENTITY, overwrite=True, resume=True) as root:
        assert _content(root) == {"data/part": "done"}
        write_json(root / NAME, {})
    assert _content(directory) == {"data/part": "done", NAME: "{}\n"} and _beside(directory) == ["corpus"]


def test_overwrite_of_an_unfinished_run(directory: Path) -> None:
    with opened(directory, IDENTITY) as root:
        write_text(root / "data" / "stale", "of the earlier run")
    _finish(directory, overwrite=True)
    assert _content(directory) == WHOLE and _beside(directory) == ["corpus"]


def test_overwrite_of_nothing_builds_in_place(directory: Path) -> None:
    with opened(directory, IDENTITY, overwrite=True) as root:
        assert root == directory


def test_overwrite_of_a_copy_without_state(directory: Path) -> None:
    """A data set that came by download has a manifest, and no hidden directory."""
    write_json(directory / NAME, {"bertdata": 1})
    with pytest.raises(OutputExistsError, match="finished"), opened(directory, IDENTITY):
        pass
    _finish(directory, overwrite=True)
    assert _content(directory) == WHOLE and _beside(directory) == ["corpus"]


def _kill_in_swap(directory: Path, call: str) -> None:
    """Overwrite, in a process that is killed at the first call of `call` on the old directory."""
    code = (
        "import os, pathlib, shutil, sys; from bertdata import output, files\n"
        "real_rename, real_rmtree, seen = os.rename, shutil.rmtree, []\n"
        "def rename(a, b):\n"
        "    seen.append(a)\n"
        "    if sys.argv[2] == 'rename' and len(seen) == 2: os.kill(os.getpid(), 9)\n"
        "    real_rename(a, b)\n"
        "def rmtree(path, *a, **k):\n"
        "    if sys.argv[2] == 'rmtree' and len(seen) == 2: os.kill(os.getpid(), 9)\n"
        "    real_rmtree(path, *a, **k)\n"
        "os.rename, shutil.rmtree = rename, rmtree\n"
        "with output.opened(pathlib.Path(sys.argv[1]), {'command': 'x'}, overwrite=True) as root:\n"
        "    files.write_text(root / 'data' / 'new', 'second'); files.write_json(root / 'manifest.json', {})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(directory), call])
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("call", ["rename", "rmtree"])
def test_a_kill_in_the_swap_recovers_to_the_new_whole_directory(directory: Path, call: str) -> None:
    _finish(directory)
    _kill_in_swap(directory, call)
    assert directory.exists() == (call == "rmtree")
    with opened(directory, {"command": "x"}, resume=True) as root:
        assert root == directory and is_complete(root)
    assert _content(directory) == {"data/new": "second", NAME: "{}\n"}
    assert _beside(directory) == ["corpus"]


def test_recovery_takes_the_old_directory_when_the_new_is_not_whole(directory: Path) -> None:
    """It can't happen by a kill of ours; a disk that lost the new manifest could do it."""
    _finish(directory)
    os.rename(directory, directory.with_name(".corpus.bertdata-old"))
    write_text(directory.with_name(".corpus.bertdata-new") / "data" / "part", "half")
    with pytest.raises(OutputExistsError, match="finished"), opened(directory, IDENTITY):
        pass
    assert _content(directory) == WHOLE
    assert not directory.with_name(".corpus.bertdata-old").exists()


def test_one_run_at_a_time_ends_what_a_kill_left_of_a_swap(directory: Path) -> None:
    """Two that were started at once see the same halves: the second is refused, and touches neither."""
    _finish(directory)
    _kill_in_swap(directory, "rename")
    with lock(directory.with_name(".corpus.bertdata-old") / STATE / "lock"):
        for how in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(OutputLockedError), opened(directory, IDENTITY, **how):
                pass
    assert _beside(directory) == [".corpus.bertdata-new", ".corpus.bertdata-old"]
    with opened(directory, {"command": "x"}, resume=True) as root:
        assert is_complete(root)
    assert _beside(directory) == ["corpus"]


def test_an_output_that_is_a_symlink_is_replaced_more_than_once(directory: Path) -> None:
    """``corpus -> /big/disk/corpus``, as people place large data."""
    real = directory.parent / "big" / "corpus"
    real.mkdir(parents=True)
    directory.symlink_to(real)
    _finish(directory, "zero")
    _finish(directory, "one", overwrite=True)
    _finish(directory, overwrite=True)
    assert _content(directory) == WHOLE
    assert not [name for name in _beside(directory) if name.startswith(".")]


def test_the_current_directory_as_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpus").mkdir()
    monkeypatch.chdir(tmp_path / "corpus")
    with opened(Path("."), IDENTITY) as root:
        write_json(root / NAME, {})
    assert is_complete(tmp_path / "corpus")


def test_a_locked_overwrite_keeps_out_a_second(directory: Path) -> None:
    _finish(directory)
    with lock(directory / STATE / "lock"), pytest.raises(OutputLockedError), opened(directory, IDENTITY, overwrite=True):
        pass
    assert _content(directory) == WHOLE


@pytest.mark.parametrize("alive", [False, True])
def test_a_lock_in_a_store_is_waited_for_and_the_wait_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], alive: bool
) -> None:
    pytest.importorskip("upath")
    path: Any = place(f"memory://locks/{alive}/corpus/.bertdata/lock")
    path.fs.pipe_file(path.path, b"process 7 on elsewhere, 0badcafe")
    waited = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if alive and len(waited) == 5:
            path.fs.pipe_file(path.path, b"process 7 on elsewhere, 0badcafe 1")

    monkeypatch.setattr("time.sleep", sleep)
    with pytest.raises(OutputLockedError) if alive else contextlib.nullcontext(), lock(path):
        assert path.read_bytes().startswith(b"process %d on" % os.getpid())
    assert sum(waited) == (5 if alive else 20)
    told = capsys.readouterr().err
    assert "corpus is locked by process 7 on elsewhere: waiting 20 seconds" in told and told.count("\n") == 1
    assert path.exists() == alive


class Work:
    """A task that writes one file, and counts how often it was done."""

    def __init__(self, root: Path, text: str = "text") -> None:
        self.root, self.text, self.done = root, text, 0
        write_json(root / STATE / "run.json", IDENTITY)
        self.input = root.parent / "input.txt"
        if not self.input.exists():
            self.input.write_text("the input")

    def __call__(self) -> dict[str, Any]:
        self.done += 1
        write_text(self.root / "data" / "a", self.text)
        source = {"path": str(self.input), "start": 4, "end": 9, "sha256": digest(self.input, 4, 9)}
        return {"files": [{"name": "data/a", "sha256": digest(self.root / "data" / "a")}], "inputs": [source], "n": self.done}


TASK = ["books", ["input.txt", 4, 9]]


def test_a_task_is_done_once_and_its_report_remembered(directory: Path) -> None:
    work = Work(directory)
    first = perform(directory, "extract", 3, TASK, work)
    assert perform(directory, "extract", 3, TASK, work) == first and work.done == 1
    assert output.count_done(directory, "extract") == 1
    perform(directory, "extract", 4, TASK, work)
    perform(directory, "other", 3, TASK, work)
    assert work.done == 3


@pytest.mark.parametrize("damage", ["missing", "changed", "cut", "record cut", "other task"])
def test_a_task_is_done_again_when_its_file_or_record_is_not_as_it_left_it(directory: Path, damage: str) -> None:
    work, task = Work(directory), TASK
    perform(directory, "extract", 0, TASK, work)
    record = directory / STATE / "tasks" / "extract" / "00000.json"
    if damage == "missing":
        (directory / "data" / "a").unlink()
    elif damage == "changed":
        (directory / "data" / "a").write_text("texT")
    elif damage == "cut":
        (directory / "data" / "a").write_text("tex")
    elif damage == "record cut":
        record.write_bytes(record.read_bytes()[:-9])
    else:
        task = ["books", ["input.txt", 4, 8]]
    assert perform(directory, "extract", 0, task, work)["n"] == 2
    assert (directory / "data" / "a").read_text() == "text"
    assert perform(directory, "extract", 0, task, work)["n"] == 2 and work.done == 2


def test_a_changed_input_is_refused(directory: Path) -> None:
    work = Work(directory)
    perform(directory, "extract", 0, TASK, work)
    work.input.write_text("THE input, longer")  # outside of the bytes read
    perform(directory, "extract", 0, TASK, work)
    work.input.write_text("the Input")
    with pytest.raises(ResumeError, match=r"input\.txt has changed.*--overwrite"):
        perform(directory, "extract", 0, TASK, work)
    assert work.done == 1


def test_a_removed_input_is_an_error_of_ours(directory: Path) -> None:
    work = Work(directory)
    perform(directory, "extract", 0, TASK, work)
    work.input.unlink()
    with pytest.raises((ResumeError, StorageError), match=r"input\.txt"):
        perform(directory, "extract", 0, TASK, work)


def test_a_failed_task_leaves_no_record(directory: Path) -> None:
    def fail() -> dict[str, Any]:
        raise RuntimeError("broken")

    work = Work(directory)
    with pytest.raises(RuntimeError):
        perform(directory, "extract", 0, TASK, fail)
    assert output.count_done(directory, "extract") == 0
    assert perform(directory, "extract", 0, TASK, work)["n"] == 1


def test_a_worker_that_does_not_see_the_directory_says_so_and_writes_nothing(directory: Path) -> None:
    work = Work(directory)
    with pytest.raises(StorageError, match=r"elsewhere is not there for a worker on .*: give a directory that they share"):
        perform(directory.with_name("elsewhere"), "extract", 0, TASK, work)
    assert work.done == 0 and not directory.with_name("elsewhere").exists()
