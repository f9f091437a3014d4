"""The directory of a run's socket: nobody else's, short enough, and gone when the run is over or at the next one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from bertdata.pipelines.engines import sockets

from bertdata.errors import StorageError

KILLED = """
import os, signal, socket
from bertdata.pipelines.engines import sockets
with sockets.private_socket() as path, socket.socket(socket.AF_UNIX) as server:
    server.bind(path)
    print(path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder() -> Path:
    """A directory whose path leaves room for a socket, as pytest's own may not."""
    with tempfile.TemporaryDirectory(prefix="b", dir="/tmp") as path:
        yield Path(path)


@pytest.fixture(autouse=True)
def _own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


def test_the_directory_is_private_and_removed(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt), sockets.private_socket() as path:
        assert Path(path).parent.parent == folder
        assert Path(path).parent.stat().st_mode & 0o777 == 0o700
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
        raise KeyboardInterrupt
    assert not list(folder.iterdir())


@pytest.mark.parametrize("length", [1, 60, 75, 76, 77, 78, 107, 200])
def test_a_path_that_is_too_long_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    long = folder / "/".join("x" * min(100, length - start) for start in range(0, length, 101))
    long.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with sockets.private_socket() as path, socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        assert len(os.fsencode(path)) <= 103
        assert path.startswith(str(long)) == (len(str(long)) + len("/bertdata-socket-12345678/beam") <= 103)


@pytest.mark.parametrize(("mode", "above", "used"), [(0o755, 0o755, True), (0o777, 0o755, False), (0o755, 0o775, False)])
def test_a_directory_that_others_can_change_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mode: int, above: int, used: bool
) -> None:
    """Who can rename the directory, or the one above it, can put a socket of their own in its place."""
    own = folder / "own"
    own.mkdir()
    own.chmod(mode)
    folder.chmod(above)
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    with sockets.private_socket() as path:
        assert path.startswith(str(own)) == used


def test_a_directory_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    (folder / "theirs").mkdir()
    os.chown(folder / "theirs", 65534, 65534)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "theirs"))
    with sockets.private_socket() as path:
        assert not path.startswith(str(folder))


def test_what_a_killed_run_left_is_removed_by_the_next_and_nothing_else(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, env={**os.environ, "TMPDIR": str(folder)}
    )
    left = Path(done.stdout.strip())
    assert left.parent.parent == folder and left.exists(), done.stderr
    keep = folder / "bertdata-socket-link", folder / "bertdata-socket-full", folder / "other"
    keep[0].symlink_to(folder.parent)
    keep[1].mkdir()
    (keep[1] / "file").touch()
    keep[2].mkdir()
    with sockets.private_socket() as first, sockets.private_socket() as second:
        assert not left.parent.exists()
        assert Path(first).parent.exists() and Path(second).parent.exists(), "a run that is alive keeps its own"
    assert sorted(folder.iterdir()) == sorted(keep)


def test_no_directory_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_is_safe", lambda path: False)
    with pytest.raises(StorageError, match="set TMPDIR to a directory .* of at most 73 bytes"), sockets.private_socket():
        pass
