"""Moving a build into place: complete at every moment, done once, each run in its own directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, command_line, digests, leftovers
from processes import start
from test_output import AT_REST, IDENTITY, OTHER, WHOLE, _begin, _content, _finish, _state
from tiny import write_pairs

from bertdata import Shards
from bertdata.dataset import shards
from bertdata.dataset.build import MANIFEST, STATE, building, is_complete, put_in_place
from bertdata.dataset.manifest import read, steady
from bertdata.errors import NoInputError, OutputExistsError, OutputLockedError, StorageError, VerificationError
from bertdata.run.job import Job
from bertdata.storage.files import to_path, write_json, write_text


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "corpus"


@dataclass(frozen=True, kw_only=True)
class Late(Job):
    """A job that writes a manifest, and counts how often."""

    calls: list[int]

    def finish(self) -> None:
        self.calls.append(1)
        for root in self.roots:
            write_text(root / "data" / "train-00000-of-00001.arrow", "first")
            write_json(root / MANIFEST, {"text": "first"})


def _late(*roots: Path) -> Late:
    return Late(roots=roots, calls=[])


@pytest.mark.long
@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.slow
def test_next_command_finishes_commit_killed_before_any_change(tmp_path: Path, replaces: bool) -> None:
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path  # hundreds of copies of a directory
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        driver = REPOSITORY / "tests" / "dataset" / "every_commit.py"
        command = [sys.executable, driver, f"{directory}/work", json.dumps(replaces)]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["changes"] > 15
    moments = [state.pop(0) for state in found["states"]]
    assert list(dict.fromkeys(moments)) == [*(["old"] if replaces else []), "none", "new"], "and never a mix"
    assert all(state == ["new", "new"] for state in found["states"]), "the same command, and one with other settings"


def test_reader_between_the_renames_is_told_to_run_the_command_again(directory: Path) -> None:
    root = _begin(directory)
    write_json(root / MANIFEST, {})
    with pytest.raises(NoInputError, match="the new dataset is not in place yet. Run the command again"):
        read(directory)


def test_shards_refuse_a_dataset_that_is_replaced_while_they_open_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both datasets have the same sizes, so only the manifest differs."""
    root = write_pairs(tmp_path / "pairs", {"train": [[9, 12], [10, 11]]})
    other = write_pairs(tmp_path / "other", {"train": [[9, 12], [10, 11]]}, salt=1)
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


def test_commit_of_two_outputs_names_the_complete_one(tmp_path: Path) -> None:
    both = [_begin(tmp_path / name) for name in ("one", "two")]
    write_json(both[0] / MANIFEST, {})
    put_in_place(both[0])
    late = _late(*both)
    with pytest.raises(StorageError, match="one is complete, the others are not: run the same command again"):
        late.commit()
    assert late.calls == [] and is_complete(tmp_path / "one") and both[1].exists()


def test_job_of_a_replaced_run_does_not_commit(directory: Path) -> None:
    late = _late(_begin(directory))
    other = _begin(directory, identity=OTHER, overwrite=True)
    with pytest.raises(StorageError, match="not found. All workers must see"):
        late.commit()
    assert late.calls == [] and other.exists() and not (directory / "data").exists()


def test_job_of_a_replaced_command_in_a_store_stops() -> None:
    pytest.importorskip("upath")
    directory = to_path("memory://test-build/corpus")
    with building(directory, IDENTITY) as root:
        late = _late(root)
        late.check()
        with building(directory, IDENTITY) as newer:
            for act in (late.check, late.commit):
                with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
                    act()
            _late(newer).commit()
    assert late.calls == [] and is_complete(directory)


@pytest.mark.slow
def test_two_commits_at_a_time_are_one(directory: Path) -> None:
    """An engine may call twice: the second call waits, and finds the work done."""
    late = _late(_begin(directory, "data/train-00000-of-00001.arrow"))
    threads = [threading.Thread(target=late.commit) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert late.calls == [1] and _content(directory) == WHOLE and _state(directory) == AT_REST
    late.commit()
    assert late.calls == [1]


@pytest.mark.long
def test_two_commands_at_once(parts: Path, text: Path, tmp_path: Path) -> None:
    """One of them builds. The others fail with a locked output, or find the dataset complete."""
    output, arguments = tmp_path / "out", command_line("build-corpus", text, parts)
    processes = [start("build-corpus", *arguments, "--output", output, "--workers", 1) for _ in range(3)]
    said = [process.communicate(timeout=120) for process in processes]
    codes = [process.returncode for process in processes]
    assert 0 in codes and {*codes} <= {0, 5}, said
    assert all(b"is being written by " in err for code, (_, err) in zip(codes, said, strict=True) if code)
    assert digests(output) == digests(parts / "build-corpus") and leftovers(output) == []


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
        _finish(directory)
        lstat, stranger = os.lstat, os.stat_result((0o40755, 0, 0, 1, 54321, 0, 0, 0, 0, 0))
        monkeypatch.setattr(os, "lstat", lambda path, **how: stranger if str(path).endswith(STATE) else lstat(path, **how))
    with pytest.raises((OutputExistsError, StorageError), match=r"\.bertdata|exists"), building(directory, OTHER, overwrite=True):
        pass


def test_link_in_place_of_data_is_replaced_and_not_followed(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    write_text(tmp_path / "mine" / "thesis.txt", "mine")
    _finish(directory)
    for path in (directory / "data").iterdir():
        path.unlink()
    (directory / "data").rmdir()
    (directory / "data").symlink_to(tmp_path / "mine")
    _finish(directory, overwrite=True)
    assert _content(directory) == WHOLE and (tmp_path / "mine" / "thesis.txt").read_text() == "mine"
