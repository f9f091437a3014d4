"""Files: complete or not there, flushed before they are named, locked or free, and a storage error says what to do."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import fsync

from bertdata.errors import OutputLockedError, StorageError, VerificationError
from bertdata.storage import files, moves
from bertdata.storage.lock import lock, locked_by
from bertdata.storage.problems import storage_errors


def test_a_file_has_its_name_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "file.bin"
    with files.replacing(path) as one:
        one.write(b"one")
        assert [name.startswith(files.TEMPORARY_PREFIX) for name in os.listdir(path.parent)] == [True]
        with files.replacing(path) as two:  # two writers of one file do not mix
            two.write(b"two!")
        assert path.read_bytes() == b"two!"
    assert path.read_bytes() == b"one" and os.listdir(path.parent) == ["file.bin"]


@pytest.mark.parametrize("error", [RuntimeError("stop"), KeyboardInterrupt(), OSError(errno.EIO, "broken")])
def test_an_exception_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    with pytest.raises(StorageError if isinstance(error, OSError) else type(error)), files.replacing(path) as file:
        file.write(b"new")
        raise error
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file.bin"]


def test_a_kill_leaves_the_old_file_and_a_temporary_one_that_is_removed(tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(b"old")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".tmp-link").symlink_to(tmp_path / ".hidden")
    code = (
        "import os, sys, pathlib; from bertdata.storage import files\n"
        "with files.replacing(pathlib.Path(sys.argv[1])) as f: f.write(b'new'); f.flush(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "file.bin")]).returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 4 and (tmp_path / "file.bin").read_bytes() == b"old"
    moves.remove_temporary(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".hidden", "file.bin"]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_files_and_directories_are_flushed_before_they_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the real calls, so that a power cut leaves the old or the new file."""
    seen: list[tuple[str, str]] = []
    rename, replace = os.rename, os.replace

    def flush(descriptor: int) -> None:
        fsync(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        seen.append(("flushed", path.name if path.is_dir() else path.read_text()))

    def named(source: Path, target: Path) -> None:
        seen.append(("named", target.name))
        (rename if source.is_dir() else replace)(source, target)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "rename", named)
    monkeypatch.setattr(os, "replace", named)
    files.write_text(tmp_path / "a.txt", "words")
    assert seen == [("flushed", "words"), ("named", "a.txt"), ("flushed", tmp_path.name)]
    seen.clear()
    with files.replacing_directory(tmp_path / "shards") as directory:
        (directory / "one").write_text("one")
    assert seen == [("flushed", "one"), ("flushed", directory.name), ("named", "shards"), ("flushed", tmp_path.name)]


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=100), st.integers(0, 110), st.none() | st.integers(0, 110), st.sampled_from([1, 1 << 15]))
def test_a_digest_is_the_sha256_of_the_range(tmp_path: Path, data: bytes, start: int, end: int | None, times: int) -> None:
    path, data = tmp_path / "file.bin", data * times
    path.write_bytes(data)
    expected = data[start : max(start, len(data) if end is None else end)]
    assert files.digest(path, start, end) == hashlib.sha256(expected).hexdigest()


def test_json_is_read_as_it_was_written_and_damage_reads_as_none(tmp_path: Path) -> None:
    path, value = tmp_path / "value.json", {"é茶😀": [1, 2.5, None, True], "b": {}}
    assert files.read_json(path) is None and files.read_json(path / "below") is None
    files.write_json(path, value)
    assert files.read_json(path) == value
    for damaged in (path.read_bytes()[:-5], b"\xff\xfe", b"[" * 100_000):
        path.write_bytes(damaged)
        assert files.read_json(path) is None


HOLD = (
    "import sys, time, pathlib; from bertdata.storage.lock import lock\n"
    "with lock(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
)


@pytest.mark.slow
def test_a_lock_keeps_others_out_until_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "corpus" / ".bertdata" / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        says = rf"corpus is being written by process {holder.pid} on .*`output`"
        with pytest.raises(OutputLockedError, match=says), lock(path):
            pass
        assert locked_by(path).startswith(f"process {holder.pid} on ")
        holder.kill()
    with lock(path):
        assert path.read_text().startswith(f"process {os.getpid()} on ") and locked_by(path)
    assert not locked_by(path)


def test_a_lock_keeps_out_the_same_process_and_its_children_do_not_have_it(tmp_path: Path) -> None:
    path = tmp_path / "corpus" / ".bertdata" / "lock"
    with pytest.raises(RuntimeError), lock(path):
        with pytest.raises(OutputLockedError), lock(path):
            pass
        if not (child := os.fork()):
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(OutputLockedError), lock(path):
            pass
        if not (child := os.fork()):
            while True:
                signal.pause()
        raise RuntimeError
    with lock(path):  # free, although a child that was forked meanwhile lives
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_lock_file_of_someone_else_is_not_written(tmp_path: Path) -> None:
    (mine := tmp_path / "mine").write_text("mine")
    (tmp_path / "linked").hardlink_to(mine)
    (tmp_path / "link").symlink_to(mine)
    for name in ("linked", "link"):
        with pytest.raises(StorageError), lock(tmp_path / name):
            pass
    assert mine.read_text() == "mine"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    code = (
        "import pathlib, resource, signal, sys; from bertdata import errors; from bertdata.storage import files\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    with files.replacing(pathlib.Path(sys.argv[1])) as f: f.write(b'x' * 100000); f.flush()\n"
        "except errors.StorageError as e: print(e.exit_code, e)"
    )
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert out.stdout.startswith(f"4 cannot write {path}: ") and "ulimit -f" in out.stdout, out.stderr
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file.bin"]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EDQUOT, "quota"),
        (errno.EACCES, "permissions"),
        (errno.EROFS, "read-only"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EIO, "file system"),
    ],
)
def test_an_error_of_the_system_has_advice(number: int, advice: str) -> None:
    with pytest.raises(StorageError, match=advice) as caught, storage_errors("doing it"):
        raise OSError(number, os.strerror(number))
    assert caught.value.exit_code == 4 and str(caught.value).startswith("doing it: ")
    for error in (VerificationError("as it was"), ValueError("as it was")):
        with pytest.raises(type(error), match="^as it was$"), storage_errors("doing it"):
            raise error
