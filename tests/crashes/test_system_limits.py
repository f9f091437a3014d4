"""Limits of the system, and files that it does not give, end a command with exit code 4, the cause and what helps."""

from __future__ import annotations

import doctest
import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE

import bertdata
from bertdata import errors, extras
from bertdata.errors import BertDataError, StorageError

pytestmark = pytest.mark.long

# A line that changes Python before the command line begins, in a worker process too where it is in sitecustomize.
NO_THREAD = """
import threading
def refuse(self):
    raise RuntimeError("can't start new thread")
if {condition}:
    threading.Thread.start = refuse
"""
IN_WORKERS = "'-c' in __import__('sys').orig_argv"  # a worker is started by `python -c`
LATE_EMFILE = """
import builtins, errno, os, sys
real = builtins.__import__
def refuse(name, *rest, **more):
    if name.endswith({module!r}) or {module!r} in (rest[2] or () if len(rest) > 2 else ()):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "some.py")
    return real(name, *rest, **more)
builtins.__import__ = refuse
"""
CLOSED_STAT = """
import errno, os, pathlib, sys
real = pathlib.Path.stat
def refuse(self, **more):
    if self.name == {name!r}:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
    return real(self, **more)
pathlib.Path.stat = refuse
"""


def _build(tmp_path: Path, change: str, *more: object) -> subprocess.CompletedProcess[str]:
    (tmp_path / "sitecustomize.py").write_text(change)
    words = ["build-corpus", "--books", SAMPLE / "books", "--task-bytes", 1 << 16, "--output", tmp_path / "out", *more]
    command = [sys.executable, "-m", "bertdata", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=300)


def test_doctests() -> None:
    assert doctest.testmod(errors).failed == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "more", "cause"),
    [
        (NO_THREAD.format(condition=True), (), "can't start new thread: raise the limit of processes"),
        (NO_THREAD.format(condition=IN_WORKERS), ("--workers", 2), "can't start new thread"),
        (LATE_EMFILE.format(module="chains.build_corpus"), (), "Too many open files"),
        (LATE_EMFILE.format(module="cli"), (), "Too many open files"),
        (CLOSED_STAT.format(name="run.json"), (), "Permission denied: check the permissions"),
        (CLOSED_STAT.format(name="run.json"), ("--workers", 2), "Permission denied: check the permissions"),
    ],
)
def test_a_limit_ends_with_exit_code_4(tmp_path: Path, change: str, more: tuple[object, ...], cause: str) -> None:
    done = _build(tmp_path, change, *more)
    assert done.returncode == 4, done.stderr
    assert cause in done.stderr
    assert "internal error" not in done.stderr and "Traceback" not in done.stderr and "the run failed" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts descriptors as Linux does")
@pytest.mark.parametrize("most", [5, 6, 7, 8, 10, 12])
def test_few_open_files_end_with_exit_code_4(tmp_path: Path, most: int) -> None:
    command = [
        sys.executable,
        "-m",
        "bertdata",
        "build-corpus",
        "--books",
        str(SAMPLE / "books"),
        "--output",
        str(tmp_path / "o"),
    ]
    done = subprocess.run(
        ["bash", "-c", f'ulimit -n {most}; exec "$@"', "-", *command], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 4 and "ulimit -n 1024" in done.stderr, done.stderr


def test_the_library_raises_storage_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "out")

    monkeypatch.setattr("bertdata.commands.build_corpus.finished", refuse)
    with pytest.raises(StorageError, match="Permission denied: check the permissions"):
        bertdata.build_corpus(books=SAMPLE / "books", output=tmp_path / "out", workers=1)


def _fail(kind: str) -> None:
    raise {"fork": BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "other": ValueError("a bug")}[kind]


@pytest.mark.parametrize("kind", ["fork", "other"])
def test_a_step_that_meets_a_limit_is_no_bug(kind: str) -> None:
    from bertdata.chains import local
    from bertdata.chains.steps import Create, Map, Step

    class Chain(Step):
        def expand(self, begin: Any) -> Any:
            return begin | Create([kind]) | Map(_fail)

    with pytest.raises(BertDataError) as caught:
        local.run(Chain())
    assert caught.value.exit_code == (4 if kind == "fork" else 1)
    assert ("raise the limit of processes" in str(caught.value)) == (kind == "fork")


def test_an_installed_library_that_cannot_be_opened_is_not_missing() -> None:
    problem = ImportError("librensa.so: cannot open shared object file: Too many open files")
    error = extras.missing_package("`dedup` near needs rensa", "near", problem)
    assert isinstance(error, StorageError) and "pip install" not in str(error) and "ulimit -n" in str(error)
    assert "pip install" in str(extras.missing_package("x", "near", ImportError("No module named 'rensa'")))


def test_files_that_users_name_are_missing_or_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bertdata.commands.build_corpus import named_files, tables
    from bertdata.errors import UsageError

    for read in (tables, lambda path: named_files(path, "exclude")):
        with pytest.raises(UsageError, match=r"gone.toml: no such file\. Check the path"):
            read(tmp_path / "gone.toml")
        with monkeypatch.context() as closed, pytest.raises(StorageError, match="Permission denied: check the permissions"):

            def refuse(self: Path, **_: Any) -> Any:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

            closed.setattr(Path, "stat", refuse)
            read(tmp_path / "closed.toml")
