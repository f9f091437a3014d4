"""Output directories: what is refused, continued and replaced, and a commit that is complete at every moment and done once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY
from tiny import write_pairs

from bertdata import Shards
from bertdata.dataset import manifest, shards
from bertdata.dataset.build import MANIFEST, STATE, building, builds, is_complete, put_in_place
from bertdata.dataset.differences import differences
from bertdata.dataset.manifest import read, steady
from bertdata.dataset.tasks import FilesReport, InputRange, count_done, perform
from bertdata.errors import NoInputError, OutputExistsError, OutputLockedError, ResumeError, StorageError, VerificationError
from bertdata.run.job import Job
from bertdata.storage.files import TEMPORARY_PREFIX, digest, read_json, write_json, write_text

IDENTITY: dict[str, Any] = {
    "command": "build-corpus",
    "config": {"seed": 1, "mix": "a"},
    "inputs": [{"name": "a.xml", "bytes": 10}, {"name": "b.xml", "bytes": 20}],
}
OTHER = {**IDENTITY, "command": "x"}
SHARD = "data/train-00000-of-00001.arrow"
COMPLETE = {SHARD: "first", MANIFEST: '{\n "text": "first"\n}\n'}
AT_REST = ["commit", "lock", "run.json"]  # the state of a finished dataset


def finish(directory: Path, text: str = "first", identity: dict[str, Any] = IDENTITY, **how: bool) -> None:
    with building(directory, identity, **how) as root:
        assert root is not None
        write_text(root / SHARD, text)
        write_json(root / MANIFEST, {"text": text})


def begin(directory: Path, identity: dict[str, Any] = IDENTITY, **how: bool) -> Path:
    """Begin a run that ends when it has finished a task; return where it builds."""
    with building(directory, identity, **how) as root:
        assert root is not None
        write_text(root / "data" / "part", "done so far")
        write_text(root / STATE / "tasks" / "extract" / "00000.json", "{}")
    return root


def content(directory: Path) -> dict[str, str]:
    """What a reader of the directory sees: names and text, without the state."""
    paths = (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
    return {path.as_posix(): (directory / path).read_text() for path in paths if path.parts[0] != STATE}


def state(directory: Path) -> list[str]:
    return sorted(os.listdir(directory / STATE))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "corpus"


def test_a_run_is_built_under_a_lock_and_moved_into_place(directory: Path) -> None:
    with pytest.raises(RuntimeError), building(directory, IDENTITY) as root:
        assert root is not None and read_json(root / STATE / "run.json") == IDENTITY
        for how in ({}, {"overwrite": True}):
            with pytest.raises(OutputLockedError), building(directory, IDENTITY, **how):
                pass
        raise RuntimeError
    assert state(directory) == ["lock"] and not is_complete(directory), "a run that has done nothing leaves nothing"
    finish(directory)
    assert content(directory) == COMPLETE and state(directory) == AT_REST
    assert read_json(directory / STATE / "run.json") == IDENTITY


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_of_others_are_refused_and_untouched(directory: Path, overwrite: bool) -> None:
    write_text((thesis := directory.with_name("thesis")) / "data" / "thesis.tex", "years of work")
    finish(directory)
    write_text(directory / "notes.txt", "mine")
    for path, problem in ((directory, r"notes\.txt"), (directory / "notes.txt", "is a file"), (thesis, "are not a bertdata")):
        with pytest.raises(OutputExistsError, match=problem) as caught:
            finish(path, overwrite=overwrite)
        assert caught.value.exit_code == 5 and "choose another `output`" in str(caught.value)
    assert content(directory) == {**COMPLETE, "notes.txt": "mine"}
    assert content(thesis) == {"data/thesis.tex": "years of work"}


def test_the_same_run_continues_and_then_is_complete(directory: Path) -> None:
    root = begin(directory)
    (root / "data" / f"{TEMPORARY_PREFIX}part-2").write_text("ha")
    with building(directory, {**IDENTITY, "inputs": IDENTITY["inputs"][::-1]}) as again:  # their order does not matter
        assert again == root and content(root) == {"data/part": "done so far"}
        assert count_done(root, "extract") == 1 and count_done(root, "other") == 0
        write_json(root / MANIFEST, {})
    with building(directory, IDENTITY) as done:
        assert done is None and is_complete(directory)
    assert content(directory) == {"data/part": "done so far", MANIFEST: "{}\n"} and state(directory) == AT_REST


def test_differences_name_settings_and_inputs_and_show_no_table() -> None:
    then = [{"name": f"{name}.txt", "bytes": 1} for name in "abc"]
    now = [{"name": f"{name}.txt", "bytes": 1 + (name == "b")} for name in "bcdefghij"]
    old = {"inputs": then, "table": None, "seen": 1, "config": {"seed": 1, "mix": "a"}}
    new = {"inputs": now, "table": {"a": [{"b": 2}]}, "seen": 2, "config": {"seed": 2}}
    assert differences(old, new) == [
        "`mix`: 'a' then, None now",
        "`seed`: 1 then, 2 now",
        "7 inputs are new: d.txt, e.txt, f.txt and 4 more",
        "1 input is gone: a.txt",
        "1 input has changed: b.txt (bytes)",
        "table: None then, a now",
    ]


def test_other_settings_are_refused_with_the_difference(directory: Path) -> None:
    changed, named = {**IDENTITY, "config": {"seed": 2, "mix": "a"}}, "`seed`: 1 then, 2 now"
    root = begin(directory)
    with pytest.raises(ResumeError, match=rf"{root} .*is an unfinished run.*{named}.*`overwrite`") as caught:
        finish(directory, identity=changed)
    assert caught.value.exit_code == 5 and (root / "data" / "part").exists()
    finish(directory, identity=changed, overwrite=True)
    assert content(directory) == COMPLETE and state(directory) == AT_REST, "overwrite removes the unfinished run"
    with pytest.raises(OutputExistsError, match=r"a finished dataset with other settings.*`seed`: 2 then, 1 now.*`overwrite`"):
        finish(directory)
    assert content(directory) == COMPLETE and state(directory) == AT_REST


def test_overwrite_builds_apart_and_replaces_when_complete(directory: Path) -> None:
    finish(directory)
    (directory / "rejects").mkdir()
    with pytest.raises(RuntimeError), building(directory, OTHER, overwrite=True) as root:
        assert root is not None
        write_text(root / "data" / "new", "second")
        write_text(root / STATE / "tasks" / "extract" / "00000.json", "{}")
        raise RuntimeError
    assert content(directory) == COMPLETE and list(builds(directory)) == [root]
    with building(directory, OTHER, overwrite=True) as again:
        assert again == root and content(root) == {"data/new": "second"}
        write_json(root / MANIFEST, {})
        assert content(directory) == COMPLETE
    assert content(directory) == {"data/new": "second", MANIFEST: "{}\n"} and not (directory / "rejects").exists()
    assert read_json(directory / STATE / "run.json") == OTHER and state(directory) == AT_REST


def test_data_without_a_manifest_or_state_is_replaced_only_when_asked(directory: Path) -> None:
    finish(directory, "old")
    (directory / MANIFEST).unlink()
    with pytest.raises(OutputExistsError, match="data without a complete manifest: replace it with `overwrite`"):
        finish(directory)
    finish(directory, overwrite=True)
    assert content(directory) == COMPLETE and state(directory) == AT_REST
    other = directory.with_name("downloaded")
    write_json(other / MANIFEST, {"bertdata": 1})
    with pytest.raises(OutputExistsError, match="finished"):
        finish(other)
    finish(other, overwrite=True)
    assert content(other) == COMPLETE


def test_links_to_the_output_are_followed_and_links_to_data_are_replaced(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "big" / "corpus").mkdir(parents=True)
    directory.symlink_to(tmp_path / "big" / "corpus")
    finish(directory, "zero")
    write_text(tmp_path / "mine" / "thesis.txt", "mine")
    os.rename(directory / "data", tmp_path / "gone")
    (directory / "data").symlink_to(tmp_path / "mine")
    finish(directory, overwrite=True)
    assert content(directory) == COMPLETE and (tmp_path / "mine" / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("planted", ["link", "file", "owner"])
def test_state_of_another_user_is_refused(directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    directory.mkdir()
    if planted == "link":
        (tmp_path / "elsewhere").mkdir()
        (directory / STATE).symlink_to(tmp_path / "elsewhere")
    elif planted == "file":
        (directory / STATE).write_text("mine")
        write_json(directory / MANIFEST, {})
    else:
        finish(directory)
        lstat, stranger = os.lstat, os.stat_result((0o40755, 0, 0, 1, 54321, 0, 0, 0, 0, 0))
        monkeypatch.setattr(os, "lstat", lambda path, **how: stranger if str(path).endswith(STATE) else lstat(path, **how))
    with pytest.raises((OutputExistsError, StorageError), match=r"\.bertdata|exists"):
        finish(directory, identity=OTHER, overwrite=True)


# --- commits ---


@dataclass(frozen=True, kw_only=True)
class Late(Job):
    """A job that writes a manifest, and counts how often."""

    calls: list[int]

    def finish(self) -> None:
        self.calls.append(1)
        for root in self.roots:
            write_text(root / SHARD, "first")
            write_json(root / MANIFEST, {"text": "first"})


@pytest.mark.slow
@pytest.mark.parametrize("replaces", [False, True])
def test_a_kill_before_any_change_of_a_commit_leaves_old_none_or_new(tmp_path: Path, replaces: bool) -> None:
    """Never a mix, and the same command, or one with other settings, ends in the new dataset."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path  # hundreds of copies of a directory
    with tempfile.TemporaryDirectory(dir=memory) as work:
        command = [sys.executable, Path(__file__).with_name("every_commit.py"), f"{work}/work", json.dumps(replaces)]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    states = json.loads(done.stdout)
    assert len(states) > 15
    moments = [state.pop(0) for state in states]
    assert list(dict.fromkeys(moments)) == [*(["old"] if replaces else []), "none", "new"]
    assert all(state == ["new", "new"] for state in states)


def test_four_commits_at_once_are_one(directory: Path) -> None:
    """An engine may call more than once: the other calls wait, and find the work done."""
    with building(directory, IDENTITY) as root:
        assert root is not None
        late = Late(roots=(root,), calls=[])
        threads = [threading.Thread(target=late.commit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        late.commit()
    assert late.calls == [1] and content(directory) == COMPLETE and state(directory) == AT_REST


def test_a_commit_of_two_outputs_names_the_missing_one_and_a_replaced_run_does_not_commit(tmp_path: Path) -> None:
    both = [begin(tmp_path / name) for name in ("one", "two")]
    write_json(both[0] / MANIFEST, {})
    put_in_place(both[0])
    late = Late(roots=tuple(both), calls=[])
    with pytest.raises(StorageError, match="only some outputs are complete, not .*two: run the same command again"):
        late.commit()
    other = begin(tmp_path / "two", OTHER, overwrite=True)
    with pytest.raises(StorageError, match="not found. All workers must see"):
        Late(roots=(both[1],), calls=late.calls).commit()
    assert late.calls == [] and other.exists() and not (tmp_path / "two" / "data").exists()


def test_readers_refuse_a_dataset_between_the_renames_and_one_that_is_replaced(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(begin(directory) / MANIFEST, {})
    with pytest.raises(NoInputError, match="did not finish. Run the same command again"):
        read(directory)
    root = write_pairs(tmp_path / "pairs", {"train": [[9, 12], [10, 11]]})
    other = write_pairs(tmp_path / "other", {"train": [[9, 12], [10, 11]]}, salt=1)  # of the same sizes
    map_batches, calls = shards.map_batches, []

    def replaced(path: Path) -> Any:
        calls.append(1)
        if len(calls) == 2:
            os.rename(root, tmp_path / "gone")
            os.rename(other, root)
        return map_batches(path)

    monkeypatch.setattr(shards, "map_batches", replaced)
    with pytest.raises(VerificationError, match="pairs was replaced while it was read: read it again"):
        Shards(root)
    with steady(root):
        assert len(Shards(root)) == 4


# --- tasks ---


class Done(FilesReport, frozen=True, kw_only=True):
    """A report that counts."""

    n: int
    inputs: Sequence[InputRange] = ()


class Work:
    """A task that writes one file, and counts how often it was done."""

    def __init__(self, root: Path) -> None:
        self.root, self.done, self.input = root, 0, root.parent / "input.txt"
        write_json(root / STATE / "run.json", IDENTITY)
        self.input.write_text("the input")

    def __call__(self) -> Done:
        self.done += 1
        write_text(self.root / "data" / "a", "text")
        source = InputRange(name="", path=str(self.input), start=4, end=9, sha256=digest(self.input, 4, 9))
        return Done(files=[manifest.entry(self.root, "data/a")], inputs=[source], n=self.done)


TASK = ["books", ["input.txt", 4, 9]]


@pytest.mark.parametrize("damage", ["none", "missing", "changed", "record cut", "other task"])
def test_a_task_is_done_again_if_its_file_or_record_is_not_as_it_left_it(directory: Path, damage: str) -> None:
    work, task = Work(directory), TASK
    first = perform(directory, "extract", 0, TASK, work, Done, {})
    assert perform(directory, "extract", 0, TASK, work, Done, {}) == first and count_done(directory, "extract") == 1
    record, path = directory / STATE / "tasks" / "extract" / "00000.json", directory / "data" / "a"
    if damage == "missing":
        path.unlink()
    elif damage == "changed":
        path.write_text("texT")
    elif damage == "record cut":
        record.write_bytes(record.read_bytes()[:-9])
    elif damage == "other task":
        task = ["books", ["input.txt", 4, 8]]
    expected = 1 if damage == "none" else 2
    assert perform(directory, "extract", 0, task, work, Done, {}).n == expected == work.done
    assert path.read_text() == "text"


def test_a_changed_or_removed_input_is_refused(directory: Path) -> None:
    work = Work(directory)
    perform(directory, "extract", 0, TASK, work, Done, {})
    work.input.write_text("THE input, longer")  # outside of the bytes read
    perform(directory, "extract", 0, TASK, work, Done, {})
    work.input.write_text("the Input")
    with pytest.raises(ResumeError, match=r"input\.txt has changed.*`overwrite`"):
        perform(directory, "extract", 0, TASK, work, Done, {})
    assert work.done == 1
    write_text(directory / STATE / "replacing", "")  # as overwrite does
    assert perform(directory, "extract", 0, TASK, work, Done, {}).n == 2
    work.input.unlink()
    with pytest.raises((ResumeError, StorageError), match=r"input\.txt"):
        perform(directory, "extract", 0, TASK, work, Done, {})


def test_a_failed_task_leaves_no_record(directory: Path) -> None:
    def fail() -> Done:
        raise RuntimeError("broken")

    work = Work(directory)
    with pytest.raises(RuntimeError):
        perform(directory, "extract", 0, TASK, fail, Done)
    assert count_done(directory, "extract") == 0
    assert perform(directory, "extract", 0, TASK, work, Done, {}).n == 1
