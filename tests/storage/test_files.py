"""Files: whole or not there, locked or free, and a storage error says what to do."""

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

from bertdata.errors import OutputLockedError, StorageError, VerificationError
from bertdata.storage import files, moves
from bertdata.storage.lock import lock
from bertdata.storage.storage import storage_errors


def test_nothing_stands_under_the_name_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "file.bin"
    with files.replacing(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        names = os.listdir(path.parent)
        assert len(names) == 1 and names[0].startswith(files.TEMPORARY_PREFIX)
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert os.listdir(path.parent) == ["file.bin"]


@pytest.mark.parametrize("error", [RuntimeError("stop"), KeyboardInterrupt(), OSError(errno.EIO, "broken")])
def test_an_exception_leaves_the_old_file_and_no_temporary(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    with pytest.raises(StorageError if isinstance(error, OSError) else type(error)), files.replacing(path) as file:
        file.write(b"new")
        raise error
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.bin"]


def test_kill_leaves_the_old_file_and_a_hidden_one_that_is_swept(tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(b"old")
    code = (
        "import os, sys, pathlib; from bertdata.storage import files\n"
        "with files.replacing(pathlib.Path(sys.argv[1])) as f: f.write(b'new'); f.flush(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "file.bin")])
    assert done.returncode == -signal.SIGKILL
    left = sorted(os.listdir(tmp_path))
    assert len(left) == 2 and left[0].startswith(files.TEMPORARY_PREFIX) and left[1] == "file.bin"
    assert (tmp_path / "file.bin").read_bytes() == b"old"
    moves.remove_temporary(tmp_path)
    assert os.listdir(tmp_path) == ["file.bin"]


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    with files.replacing(path) as one:
        one.write(b"one")
        with files.replacing(path) as two:
            two.write(b"two!")
        assert path.read_bytes() == b"two!"
    assert path.read_bytes() == b"one"


def test_remove_temporary_takes_only_its_own(tmp_path: Path) -> None:
    for name in (".tmp-a", "deep/.tmp-b", "deep/keep", ".hidden", "x.tmp-", "tmp-x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".tmp-directory" / "below").mkdir(parents=True)
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "file").write_text("")
    (tmp_path / ".tmp-link").symlink_to(outside)
    moves.remove_temporary(tmp_path)
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert left == [".hidden", "deep", "deep/keep", "tmp-x", "x.tmp-"]
    assert (outside / "file").exists()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=100), st.integers(0, 110), st.none() | st.integers(0, 110))
def test_digest_is_sha256_of_the_range(tmp_path: Path, data: bytes, start: int, end: int | None) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(data)
    assert (
        files.digest(path, start, end) == hashlib.sha256(data[start : max(start, len(data) if end is None else end)]).hexdigest()
    )


def test_digest_of_more_than_a_block(tmp_path: Path) -> None:
    data = bytes(range(256)) * (3 * 4096 + 1)
    (tmp_path / "file.bin").write_bytes(data)
    assert files.digest(tmp_path / "file.bin") == hashlib.sha256(data).hexdigest()
    assert files.digest(tmp_path / "file.bin", 5, len(data) - 7) == hashlib.sha256(data[5:-7]).hexdigest()


def test_json_round_trip_and_damage(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    assert files.read_json(path) is None
    assert files.read_json(tmp_path / "value.json" / "below") is None
    value = {"é茶😀": [1, 2.5, None, True], "b": {}}
    files.write_json(path, value)
    assert files.read_json(path) == value
    first = path.read_bytes()
    files.write_json(path, value)
    assert path.read_bytes() == first and first.endswith(b"\n")
    path.write_bytes(first[:-5])
    assert files.read_json(path) is None
    path.write_bytes(b"\xff\xfe")
    assert files.read_json(path) is None


HOLD = (
    "import sys, time, pathlib; from bertdata.storage.lock import lock\n"
    "with lock(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
)


def test_a_lock_keeps_others_out_until_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "corpus" / ".bertdata" / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with (
            pytest.raises(OutputLockedError, match=rf"corpus is being written by process {holder.pid} on .*`output`"),
            lock(path),
        ):
            pass
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()
    with lock(path):
        assert path.read_text().startswith(f"process {os.getpid()} on ")


def test_a_lock_keeps_out_the_same_process_and_is_freed_by_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "corpus" / ".bertdata" / "lock"
    with pytest.raises(RuntimeError), lock(path):
        with pytest.raises(OutputLockedError), lock(path):
            pass
        raise RuntimeError
    with lock(path):
        pass


def test_no_space_is_a_storage_error_that_says_what_to_do(tmp_path: Path) -> None:
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
    assert out.stdout.startswith(f"4 cannot write {path}: "), out.stderr
    assert "ulimit -f" in out.stdout and "same command" in out.stdout
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file.bin"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_enospc_names_the_way_out() -> None:
    wanted = pytest.raises(StorageError, match="cannot write X: .*free some space.*same command")
    with wanted, storage_errors("cannot write X"), open("/dev/full", "wb", buffering=0) as file:
        file.write(b"x")


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "quota"),
        (errno.EACCES, "permissions"),
        (errno.EPERM, "permissions"),
        (errno.EROFS, "read-only"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EIO, "file system"),
    ],
)
def test_every_error_number_has_advice(number: int, advice: str) -> None:
    with pytest.raises(StorageError, match=advice) as caught, storage_errors("doing it"):
        raise OSError(number, os.strerror(number))
    assert caught.value.exit_code == 4 and str(caught.value).startswith("doing it: ")
    assert isinstance(caught.value.__cause__, OSError)


def test_a_file_in_the_way_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("a file")
    with pytest.raises(StorageError, match="a file, not a directory|a file is in the place"):
        files.write_text(tmp_path / "corpus" / "data" / "x", "text")
    with pytest.raises(StorageError, match="a file is in the place"):
        files.write_text(tmp_path / "corpus" / "x", "text")
    assert (tmp_path / "corpus").read_text() == "a file"


def test_our_own_errors_pass_unchanged() -> None:
    for error in (VerificationError("as it was"), ValueError("as it was")):
        with pytest.raises(type(error), match="^as it was$"), storage_errors("doing it"):
            raise error
