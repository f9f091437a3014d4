"""Where a dataset is built, and how it is put in place: trusted, whole at every moment, done once, each run apart."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from conftest import REPOSITORY, Build, Run, build_of, command_line, digests, leftovers
from processes import start
from test_output import AT_REST, IDENTITY, OTHER, WHOLE, _begin, _content, _finish, _state
from tiny import write_pairs

from bertdata import Shards
from bertdata.chains import transforms
from bertdata.chains.transforms import Gather, TaskRunner
from bertdata.dataset import manifest, staging
from bertdata.dataset.manifest import NAME
from bertdata.dataset.reports import TaskReport
from bertdata.dataset.run import STATE, building, is_complete
from bertdata.dataset.shards import windows
from bertdata.dataset.staging import commit, finish_commit, steady
from bertdata.errors import NoInputError, OutputExistsError, OutputLockedError, StorageError, VerificationError
from bertdata.records import Task
from bertdata.storage.files import read_json, write_json, write_text
from bertdata.storage.lock import Job, lock, reserve
from bertdata.storage.progress import Work

TASK = Task(0, "text", ())
NOBODY = 65534


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "corpus"


def _whole(directory: Path, text: str = "first", **how: Any) -> Path:
    """Build a dataset to its manifest, as a run that is killed then; return where it stands."""

    class Killed(Exception):
        pass

    with pytest.raises(Killed), building(directory, IDENTITY, overwrite=True) as root:
        write_text(root / "data" / "train-00000-of-00001.arrow", text)
        write_text(root / STATE / "tasks" / "extract" / "00000.json", "{}")
        write_json(root / NAME, {"text": text})
        raise Killed
    return root


@pytest.mark.long
@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.slow
def test_a_commit_that_is_killed_at_any_change_is_finished_by_whoever_comes_next(tmp_path: Path, replaces: bool) -> None:
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path  # hundreds of copies of a directory
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        command = [
            sys.executable,
            REPOSITORY / "tests" / "crashes" / "every_commit.py",
            f"{directory}/work",
            json.dumps(replaces),
        ]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["changes"] > 15
    moments = [state.pop(0) for state in found["states"]]
    assert list(dict.fromkeys(moments)) == [*(["old"] if replaces else []), "none", "new"], "and never a mix"
    assert all(state == ["new", "new", "new"] for state in found["states"]), "read, built again, and built with other settings"


def test_a_commit_whose_new_data_set_is_lost_is_undone(directory: Path) -> None:
    """No kill does it; a disk that lost the new directory in a power cut could."""
    _finish(directory)
    old = directory / STATE / "old"
    old.mkdir(mode=0o700)
    os.rename(directory / NAME, old / NAME)
    os.rename(directory / "data", old / "data")
    finish_commit(directory, reading=True)
    assert _content(directory) == WHOLE and _state(directory) == AT_REST


@pytest.mark.slow
def test_a_reader_waits_for_a_commit_at_work_and_reads_the_old_while_that_stands(directory: Path) -> None:
    _finish(directory, "old")
    _whole(directory)
    with lock(directory / STATE / "commit"):
        finish_commit(directory, reading=True)
        assert '"old"' in (directory / NAME).read_text()
        os.rename(directory / NAME, directory / STATE / "run-away")
        waiting = threading.Thread(target=finish_commit, args=(directory,), kwargs={"reading": True})
        waiting.start()
        time.sleep(0.3)
        assert waiting.is_alive()
    waiting.join(20)
    assert _content(directory) == WHOLE


def test_shards_that_are_replaced_while_they_are_opened_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both datasets have the same sizes, so that nothing else would tell."""
    root = write_pairs(tmp_path / "pairs", {"train": [[9, 12], [10, 11]]})
    other = write_pairs(tmp_path / "other", {"train": [[9, 12], [10, 11]]}, salt=1)
    real, calls = windows.map_rows, []

    def replaced(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            os.rename(root, tmp_path / "gone")
            os.rename(other, root)
        return real(*arguments)

    monkeypatch.setattr(windows, "map_rows", replaced)
    with pytest.raises(VerificationError, match="pairs was replaced while it was read: read it again"):
        Shards(root)
    assert len(Shards(root)) == 4


@pytest.mark.parametrize("command", ["inspect", "verify"])
def test_a_command_that_reads_finishes_a_commit(run: Run, build: Build, tmp_path: Path, text: Path, command: str) -> None:
    build("build-corpus", tmp_path / "new", "--text", text)
    build("build-corpus", tmp_path / "out", "--text", text, "--dedup", "none")
    identity = read_json(tmp_path / "new" / STATE / "run.json")
    root = staging.begin(tmp_path / "out", identity)
    for name in ("README.md", "croissant.json", "data", NAME):
        os.rename(tmp_path / "new" / name, root / name)
    run(command, tmp_path / "out")
    assert leftovers(tmp_path / "out") == [] and read_json(tmp_path / "out" / STATE / "run.json") == identity
    assert "nothing to do" in run("build-corpus", "--text", text, "--output", tmp_path / "out").stdout


def test_a_late_task_writes_into_its_own_directory_only(directory: Path) -> None:
    """An engine may work on at tasks of a command that was killed, when the next one has begun with other settings."""

    def work(_task: Task, _work: Work) -> TaskReport:
        with building(directory, OTHER, overwrite=True) as later:
            write_text(later / "data" / "a", "later")
            write_text(root / "data" / "a", "late")
            write_json(later / NAME, {})
        return TaskReport()

    root = _begin(directory)
    with pytest.raises(StorageError, match="not found. All workers must see"):
        (
            TaskRunner(root, "extract", work, TaskReport)(Task(1, "text", ())),
            TaskRunner(root, "extract", work, TaskReport)(TASK),
        )
    assert _content(directory) == {"data/a": "later", NAME: "{}\n"}
    with building(directory, OTHER) as done:
        assert done == directory


class Late:
    """What commits a run whose directory is `root`."""

    kind: ClassVar = dict

    def __init__(self, root: Path, text: str = "first") -> None:
        self.root, self.text, self.calls = root, text, 0

    def roots(self) -> list[Path]:
        return [self.root]

    def __call__(self, _reports: Iterable[list[Any]]) -> None:
        self.calls += 1
        write_text(self.root / "data" / "train-00000-of-00001.arrow", self.text)
        time.sleep(0.2)
        write_json(self.root / NAME, {"text": self.text})


def _commit(late: Late) -> None:
    transforms.CommitOnce(late, Gather(late, 0)._runs, 0)([])


def test_a_commit_of_two_outputs_names_the_one_that_is_complete(tmp_path: Path) -> None:
    """A worker ended after it wrote the first manifest, and a reader has put that dataset in place."""
    both = [_whole(tmp_path / "one"), _begin(tmp_path / "two")]
    finish_commit(tmp_path / "one")
    late = Late(both[1])
    late.roots = lambda: both  # type: ignore[method-assign]
    with pytest.raises(StorageError, match="one is complete, the others are not: run the same command again"):
        _commit(late)
    assert late.calls == 0 and is_complete(tmp_path / "one") and both[1].exists()


def test_a_late_commit_is_refused(directory: Path) -> None:
    late = Late(_begin(directory))
    other = _begin(directory, identity=OTHER, overwrite=True)
    with pytest.raises(StorageError, match="not found. All workers must see"):
        _commit(late)
    assert late.calls == 0 and other.exists() and not (directory / "data").exists()


@pytest.mark.slow
def test_two_commits_of_one_run_at_a_time_are_one(directory: Path) -> None:
    """An engine may call twice, on two hosts: the second waits, and finds it done."""
    late = Late(_begin(directory, "data/train-00000-of-00001.arrow"))
    reserve(directory / STATE, Job("7", "PortableRunner", "localhost:8099"))
    threads = [threading.Thread(target=_commit, args=(late,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert late.calls == 1 and _content(directory) == WHOLE and _state(directory) == AT_REST, "job.json goes as well"
    _commit(late)
    assert late.calls == 1


def test_a_commit_that_fails_is_done_again(directory: Path) -> None:
    root = _begin(directory, "data/train-00000-of-00001.arrow")
    with pytest.raises(RuntimeError), commit(root) as to_do:
        assert to_do
        raise RuntimeError
    assert root.exists() and not is_complete(directory)
    _commit(Late(root))
    assert _content(directory) == WHOLE


@pytest.mark.long
def test_two_commands_at_once(parts: Path, text: Path, tmp_path: Path) -> None:
    """One of them builds; the others are told so, or find it done."""
    output, arguments = tmp_path / "out", command_line("build-corpus", text, parts)
    processes = [start("build-corpus", *arguments, "--output", output, "--workers", 1) for _ in range(3)]
    said = [process.communicate(timeout=120) for process in processes]
    codes = [process.returncode for process in processes]
    assert 0 in codes and {*codes} <= {0, 5}, said
    assert all(b"is being written by " in err for code, (_, err) in zip(codes, said, strict=True) if code)
    assert digests(output) == digests(parts / "build-corpus") and leftovers(output) == []


def test_a_build_is_closed_to_others(directory: Path) -> None:
    old = os.umask(0o002)  # as many systems have it, where a group is that of one user
    try:
        root = _begin(directory)
        assert root.stat().st_mode & 0o777 == 0o700 and (directory / STATE).stat().st_mode & 0o777 == 0o755
        _finish(directory)
        assert (directory / "data").stat().st_mode & 0o777 == 0o775
    finally:
        os.umask(old)


def test_a_server_that_gives_files_an_owner_and_a_mode_of_its_own_is_taken_as_it_is(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As NFS does with root's files, and a disk of Windows with all."""

    def lstat(path: Any, **how: Any) -> os.stat_result:
        about = list(real(path, **how))
        return os.stat_result([about[0] | 0o777, *about[1:4], NOBODY, *about[5:]])

    real = os.lstat
    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", lstat)
        _begin(directory, "data/train-00000-of-00001.arrow")
        _finish(directory)
    assert _content(directory) == WHOLE


@pytest.mark.slow
def test_root_may_build_in_the_directory_of_another(directory: Path) -> None:
    directory.mkdir()
    _chown(directory)
    _commit(Late(_begin(directory, "data/train-00000-of-00001.arrow")))
    assert _content(directory) == WHOLE
    root = _begin(directory, identity=OTHER, overwrite=True)
    for path in (directory / STATE, root):
        _chown(path)
    _commit(Late(root, "of a worker in a container"))
    assert "container" in (directory / NAME).read_text()


def _chown(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a file away")
    os.chown(path, NOBODY, NOBODY)


def _link(path: Path) -> None:
    elsewhere = next(above for above in path.parents if above.name == "corpus").with_name("elsewhere")
    os.rename(path, elsewhere)
    path.symlink_to(elsewhere)


def _fifo(path: Path) -> None:
    shutil.rmtree(path)
    os.mkfifo(path)


PLANTED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "another's": (_chown, "belongs to another user"),
    "open to the group": (lambda path: path.chmod(0o770), "may be written by other users"),
    "open to all": (lambda path: path.chmod(0o707), "may be written by other users"),
    "a link": (_link, "is a link or file, not a directory"),
    "a pipe": (_fifo, "is a link or file, not a directory"),
}


@pytest.mark.parametrize("how", PLANTED)
@pytest.mark.parametrize("where", ["state", "begun", "whole", "old", "new"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_directory_that_another_may_have_planted_is_refused_and_stays(
    directory: Path, where: str, how: str, overwrite: bool
) -> None:
    """A stranger knows the name of a build: it is a digest of what anybody can know."""
    (plant, says), path = PLANTED[how], directory / STATE
    root = _whole(directory) if where in ("whole", "new") else _begin(directory)
    if where == "old":
        (directory / STATE / "old" / "data").mkdir(parents=True, mode=0o700)
    if where == "new":
        os.rename(root, root.with_name("new"))
    path = {"begun": root, "whole": root}.get(where, directory / STATE / where)
    path = directory / STATE if where == "state" else path
    plant(path)
    if where == "state" and how == "a pipe":
        says = "not a bertdata dataset"
    locks = {directory / STATE / name for name in ("lock", "commit")}
    before = {*directory.rglob("*")} - locks
    with (
        pytest.raises(OutputExistsError, match=f"{says}.*choose another `output`") as caught,
        building(directory, IDENTITY, overwrite=overwrite),
    ):
        raise AssertionError("it was adopted")
    assert caught.value.exit_code == 5
    assert {*directory.rglob("*")} - locks == before
    with pytest.raises(NoInputError):
        manifest.read(directory)  # nobody's reader puts it in place either
    assert not (directory / NAME).exists() and not (directory / "data").exists()


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_no_run_writes_inside_of_a_build_is_refused(directory: Path, tmp_path: Path, kind: str) -> None:
    root = _begin(directory)
    (tmp_path / "mine").mkdir()
    path = root / "data" / "strange"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "mine" if kind == "folder" else root / "data" / "part")
    with (
        pytest.raises(OutputExistsError, match=r"data/strange is a link or special file\. .* remove it"),
        building(directory, IDENTITY),
    ):
        raise AssertionError("it was adopted")
    assert os.path.lexists(path) and (tmp_path / "mine").is_dir()


def test_a_data_directory_that_is_a_link_is_refused_and_not_followed(directory: Path, tmp_path: Path) -> None:
    _finish(directory, "old")
    os.rename(directory / "data", tmp_path / "elsewhere")
    (directory / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputExistsError, match="data is a link to another directory"):
        _finish(directory, overwrite=True)
    assert (directory / "data").is_symlink()
    assert (tmp_path / "elsewhere" / "train-00000-of-00001.arrow").read_text() == "old"


def test_a_build_that_is_swapped_while_its_run_goes_is_neither_written_nor_put_in_place(directory: Path, tmp_path: Path) -> None:
    root = _begin(directory)
    perform, late = TaskRunner(root, "extract", lambda *_: TaskReport(), TaskReport), Late(root)
    os.rename(root, tmp_path / "stolen")
    root.symlink_to(tmp_path / "stolen")
    for call in (lambda: perform(TASK), lambda: _commit(late)):
        with pytest.raises(StorageError, match="not found. All workers must see"):
            call()
    root.unlink()
    (tmp_path / "stolen").rename(root)
    root.chmod(0o777)
    with pytest.raises(OutputExistsError, match="may be written by other users"):
        _commit(late)
    assert not (directory / "data").exists()


def test_pipes_in_the_place_of_state_files_make_nobody_wait(directory: Path) -> None:
    (directory / STATE).mkdir(parents=True)
    for name in (NAME, f"{STATE}/run.json", f"{STATE}/job.json"):
        os.mkfifo(directory / name)
    with pytest.raises(NoInputError):
        manifest.read(directory)
    with pytest.raises((OutputExistsError, OutputLockedError)), building(directory, IDENTITY):
        raise AssertionError("it was adopted")


def test_what_is_steady_is_not_complained_of(directory: Path) -> None:
    _finish(directory)
    with steady(directory), pytest.raises(RuntimeError), steady(directory, directory.with_name("none")):
        raise RuntimeError
    assert build_of(_begin(directory, identity=OTHER, overwrite=True).parent.parent).exists()
