"""Disks, limits and surroundings that fail: an exit code, a message that names the fix, and then the same bytes."""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import COMMAND, REPOSITORY, STEPS, Build, build_of, command_line, digests, leftovers
from test_resume import kill_in_mid_run

from bertdata.errors import BertDataError, ResumeError, StorageError

pytestmark = pytest.mark.long
NIGHTLY = pytest.mark.nightly


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Python itself would write truncated .pyc files at a limit of the size of files, and later starts would fail."""
    compileall.compile_dir(REPOSITORY / "bertdata", quiet=2)


def shell(line: str, *arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run bertdata in a line of bash, where it is "$@"."""
    command = ["bash", "-c", line, "bash", *COMMAND, *map(str, arguments)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


@pytest.fixture
def disk(tmp_path: Path, name: str) -> Iterator[Path]:
    """A disk on which a run begins, because it is larger than half of the estimate, and cannot end."""
    (path := tmp_path / "disk").mkdir()
    size = "size=100k" if name == "train-vocab" else "size=560k"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", path], capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


LIMITS = [("build-corpus", 1, 4), *(pytest.param(name, 2, 1, marks=NIGHTLY) for name in STEPS)]


@pytest.mark.parametrize(("name", "workers", "kilobytes"), LIMITS)
def test_a_limit_of_the_size_of_files(
    build: Build, parts: Path, text: Path, tmp_path: Path, name: str, workers: int, kilobytes: int
) -> None:
    arguments, output = command_line(name, text, parts), tmp_path / "out"
    done = shell(f'ulimit -f {kilobytes}; exec "$@"', name, *arguments, "--output", output, "--workers", workers)
    assert done.returncode == 4 and "Traceback" not in done.stderr, done.stderr
    assert "ulimit -f" in done.stderr and "same command" in done.stderr and not (output / "manifest.json").exists()
    build(name, output, *arguments)
    assert digests(output) == digests(parts / name) and leftovers(output) == []


@pytest.mark.parametrize(
    "name", ["build-corpus", *(pytest.param(name, marks=NIGHTLY) for name in STEPS if name != "build-corpus")]
)
def test_a_full_disk(build: Build, parts: Path, text: Path, disk: Path, name: str) -> None:
    arguments, output = command_line(name, text, parts), disk / "out"
    done = shell('exec "$@"', name, *arguments, "--output", output, "--workers", 1)
    assert done.returncode == 4 and not (output / "manifest.json").exists(), done.stderr
    assert "No space left on device. Free some space" in done.stderr and "same command" in done.stderr
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
    build(name, output, *arguments)
    assert digests(output) == digests(parts / name) and leftovers(output) == []
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(StorageError, match="read-only; choose another directory"):
        build(name, disk / "other", *arguments)


IN_THE_WAY = {
    "": (5, "is a file: choose another --output"),
    "data": (5, "not a bertdata dataset: choose another --output"),
    ".bertdata": (5, "not a bertdata dataset: choose another --output"),
    ".bertdata/lock/": (4, "A directory is in the place of a file; remove it"),
}


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_what_is_in_the_way_is_named_and_stays(build: Build, text: Path, tmp_path: Path, name: str) -> None:
    output, (code, message) = tmp_path / "out", IN_THE_WAY[name]
    path = output / name
    (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
    if not name.endswith("/"):
        path.write_text("mine")
    with pytest.raises(BertDataError, match=message) as caught:
        build("build-corpus", output, "--text", text, "--task-bytes", 1 << 16)
    assert caught.value.exit_code == code
    assert path.is_dir() if name.endswith("/") else path.read_text() == "mine"


def test_a_run_of_another_version_is_not_continued_and_times_do_not_matter(
    build: Build, parts: Path, text: Path, tmp_path: Path
) -> None:
    output, arguments = tmp_path / "out", command_line("make-pairs", text, parts)
    kill_in_mid_run(output, "tokenize", 2, "make-pairs", *arguments, "--output", output, "--workers", 1)
    state = build_of(output) / ".bertdata" / "run.json"
    begun = state.read_text(encoding="utf-8")
    for name in ("bertdata", "code", "tokenizers"):
        other = json.loads(begun)
        other["versions"][name] = "0.0.1"
        state.write_text(json.dumps(other), encoding="utf-8")
        with pytest.raises(ResumeError, match=rf"versions\.{name}: '0.0.1' then, "):
            build("make-pairs", output, *arguments)
    state.write_text(begun, encoding="utf-8")
    for number, path in enumerate(output.rglob("*")):  # a clock that was set back or forth
        os.utime(path, (clock := 4_000_000_000 * (number % 2), clock))
    build("make-pairs", output, *arguments)
    assert digests(output) == digests(parts / "make-pairs")


SURROUNDINGS = {
    "no directory for temporary files": ('exec "$@"', {"TMPDIR": "/nonexistent"}, 0, ""),
    "no home and no locale": ('unset LC_ALL LC_CTYPE LANG; exec "$@"', {"HOME": "/nonexistent"}, 0, ""),
    "nobody reads the output": ('set -o pipefail; "$@" | true', {}, 0, ""),
    "no room for the messages": ('"$@" 2> /dev/full', {}, 0, ""),
    "no room for the output": ('"$@" > /dev/full', {}, 4, "standard output (No space left on device)"),
    "few open files": ('ulimit -n 7; exec "$@"', {}, 4, "ulimit -n 1024"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full and the limits of Linux")
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings(parts: Path, text: Path, tmp_path: Path, name: str) -> None:
    line, env, code, message = SURROUNDINGS[name]
    output = tmp_path / "出力 out\n'\"$(x)"
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", output, "--workers", 1]
    done = shell(line, *arguments, **env)
    assert done.returncode == code and message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert name == "few open files" or digests(output) == digests(parts / "build-corpus")
