"""Disks, directories and surroundings that fail: an exit code, a message that names the fix, and --resume to the same bytes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import COMMAND, STEPS, Run, command_line, digests, leftovers
from test_resume import kill_in_mid_run

from bertdata import files, shards
from bertdata.errors import StorageError, VerificationError

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def shell(line: str, *arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run bertdata from a line of bash, in which it is "$@"."""
    command = ["bash", "-c", line, "bash", *COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=300, check=False)


@pytest.fixture(params=[("build-corpus", 1), *(pytest.param((n, w), marks=pytest.mark.long) for n in STEPS for w in (1, 2))])
def case(request: pytest.FixtureRequest, parts: Path, text: Path, tmp_path: Path) -> tuple[str, list[object], Path]:
    """A command, its arguments, and its output."""
    name, workers = request.param
    output = tmp_path / "out"
    return name, [name, *command_line(name, text, parts), "--output", output, "--workers", workers], output


# kilobytes that a file may have: too few for the state, and then for shards, spills or the vocabulary
@pytest.mark.parametrize("limit", [4, pytest.param(1, marks=pytest.mark.long), pytest.param(8, marks=pytest.mark.long)])
def test_a_limit_on_the_size_of_files(run: Run, parts: Path, case: tuple[str, list[object], Path], limit: int) -> None:
    name, arguments, output = case
    done = shell(f'ulimit -f {limit}; exec "$@"', *arguments)
    assert done.returncode == 4, done.stderr
    assert "ulimit -f" in done.stderr and "--resume" in done.stderr and "Traceback" not in done.stderr
    assert not (output / "manifest.json").exists()
    run(*arguments, "--resume")
    assert digests(output) == digests(parts / name)
    assert leftovers(output) == []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    if not ROOT or sys.platform != "linux":
        pytest.skip("only root can mount a small disk")
    path = tmp_path / "disk"
    path.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)


@pytest.mark.parametrize("kilobytes", [100, pytest.param(12, marks=pytest.mark.long), pytest.param(300, marks=pytest.mark.long)])
def test_a_full_disk(run: Run, parts: Path, disk: Path, case: tuple[str, list[object], Path], kilobytes: int) -> None:
    name, arguments, _ = case
    output = disk / "out"
    arguments[arguments.index("--output") + 1] = output
    remount(disk, f"size={kilobytes}k")
    done = shell('exec "$@"', *arguments)
    if done.returncode or name != "train-vocab":  # whose output may be small enough
        assert done.returncode == 4, done.stderr
        assert "No space left on device: free some space" in done.stderr and "--resume" in done.stderr
        assert not (output / "manifest.json").exists()
    remount(disk, "size=64m")
    run(*arguments, "--resume")
    assert digests(output) == digests(parts / name)
    assert leftovers(output) == []


def test_a_disk_that_can_only_be_read(case: tuple[str, list[object], Path], disk: Path) -> None:
    _, arguments, _ = case
    arguments[arguments.index("--output") + 1] = disk / "out"
    remount(disk, "ro")
    done = shell('exec "$@"', *arguments)
    assert done.returncode == 4 and "read-only; choose another directory" in done.stderr


@pytest.mark.skipif(ROOT, reason="root may write anywhere")
def test_a_directory_that_may_not_be_written(case: tuple[str, list[object], Path]) -> None:
    _, arguments, output = case
    output.mkdir(mode=0o555)
    done = shell('exec "$@"', *arguments)
    assert done.returncode == 4 and "check the permissions" in done.stderr


IN_THE_WAY = {
    "": (5, "is a file: choose another --output"),
    "data": (5, "no data set of bertdata: choose another --output"),
    ".bertdata": (5, "no data set of bertdata: choose another --output"),
    ".bertdata/work": (4, "a file stands where a directory should be; remove it"),
    ".bertdata/tasks": (4, "a part of the path is a file, not a directory"),
    ".bertdata/lock/": (4, "a directory stands where a file should be; remove it"),
    "manifest.json/": (4, "a directory stands where a file should be; remove it"),
}


@pytest.mark.parametrize("place", IN_THE_WAY)
def test_what_stands_in_the_way_is_named_and_stays(run: Run, text: Path, tmp_path: Path, place: str) -> None:
    output, (code, says) = tmp_path / "out", IN_THE_WAY[place]
    path = output / place if place else output
    path.parent.mkdir(parents=True, exist_ok=True)
    if place.endswith("/"):
        (output / ".bertdata").mkdir(exist_ok=True)
        path.mkdir()
    else:
        path.write_text("mine")
    done = run("build-corpus", "--text", text, "--task-bytes", 1 << 16, "--output", output, "--workers", 1, code=code)
    assert says in done.stderr
    assert path.is_dir() if place.endswith("/") else path.read_text() == "mine"


def test_a_file_above_the_output(run: Run, text: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = run("build-corpus", "--text", text, "--output", tmp_path / "file" / "out", "--workers", 1, code=4)
    assert "a part of the path is a file, not a directory; choose another path" in done.stderr


@pytest.mark.parametrize(("what", "old"), [("bertdata", "0.0.1"), ("pyarrow", "1.0.0")])
def test_a_run_begun_by_another_version_is_not_gone_on_with(
    run: Run, parts: Path, text: Path, tmp_path: Path, what: str, old: str
) -> None:
    output = tmp_path / "out"
    arguments = ["make-pairs", *command_line("make-pairs", text, parts), "--output", output, "--workers", 1]
    kill_in_mid_run(output, "tokenize", 2, *arguments)
    state = output / ".bertdata" / "run.json"
    begun = json.loads(state.read_text(encoding="utf-8"))
    begun["versions"][what] = old
    state.write_text(json.dumps(begun), encoding="utf-8")
    refused = run(*arguments, "--resume", code=5).stderr
    assert f"versions.{what}: '{old}' then, " in refused and "--overwrite" in refused
    run(*arguments, "--overwrite")
    assert digests(output) == digests(parts / "make-pairs")


@pytest.mark.parametrize("clock", [0, 4_000_000_000])
def test_a_clock_that_was_set_back_or_forth(run: Run, parts: Path, text: Path, tmp_path: Path, clock: int) -> None:
    """What was written before is from 1970, or from 2096: no file's time decides anything."""
    output = tmp_path / "out"
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", output, "--workers", 1]
    kill_in_mid_run(output, "extract", 3, *arguments)
    for path in output.rglob("*"):
        os.utime(path, (clock, clock))
    run(*arguments, "--resume")
    assert digests(output) == digests(parts / "build-corpus")


SURROUNDINGS = {
    "64 open files": ('ulimit -n 64; exec "$@"', {}),
    "no directory for temporary files": ('exec "$@"', {"TMPDIR": "/nonexistent"}),
    "no home": ('exec "$@"', {"HOME": "/nonexistent"}),
    "nobody reads the output": ('set -o pipefail; "$@" | true', {}),
    "nobody reads the messages": ('"$@" 2> >(true)', {}),
    "no room for the messages": ('"$@" 2> /dev/full', {}),
    "locale C": ('exec "$@"', {"LC_ALL": "C"}),
    "no locale": ('unset LC_ALL LC_CTYPE LANG; exec "$@"', {}),
    "a terminal of ASCII": ('exec "$@"', {"PYTHONIOENCODING": "ascii"}),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings(parts: Path, text: Path, tmp_path: Path, name: str) -> None:
    line, env = SURROUNDINGS[name]
    output = tmp_path / "出力 out\n'\"$(x)"
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", output, "--workers", 2]
    done = shell(line, *arguments, **env)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert digests(output) == digests(parts / "build-corpus")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_result_that_cannot_be_printed_is_an_error_and_is_there(parts: Path, text: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", output, "--workers", 1]
    done = shell('"$@" > /dev/full', *arguments)
    assert done.returncode == 4 and "standard output: No space left on device" in done.stderr
    assert digests(output) == digests(parts / "build-corpus")


def test_a_chinese_input_in_locale_c(run: Run, text: Path, tmp_path: Path) -> None:
    source = tmp_path / "中文 目录" / "文 本.jsonl"
    source.parent.mkdir()
    shutil.copy(text, source)
    arguments = ["build-corpus", "--text", source, "--task-bytes", 1 << 16, "--workers", 1, "--output"]
    run(*arguments, tmp_path / "one")
    run(*arguments, tmp_path / "two", LC_ALL="C")
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


@pytest.mark.parametrize(("number", "kind"), [(errno.EIO, StorageError), (errno.EMFILE, StorageError), (None, VerificationError)])
def test_a_disk_that_fails_is_not_called_damage(
    parts: Path, monkeypatch: pytest.MonkeyPatch, number: int | None, kind: type[Exception]
) -> None:
    """Of our own shards: exit code 4, and --resume; not 6, and a corpus built again in vain."""

    def fail(*_: Any) -> Any:
        raise OSError(number, os.strerror(number)) if number else pa.ArrowInvalid("not an Arrow file")

    shard = next((parts / "build-corpus" / "data").iterdir())
    monkeypatch.setattr(pa, "OSFile", fail)
    with pytest.raises(kind) as caught:
        list(shards.read_batches(shard, "arrow-stream"))
    assert str(shard) in str(caught.value)


def test_a_store_that_fails_while_pairs_are_made(parts: Path, build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("upath")
    lost = pytest.importorskip("botocore.exceptions").EndpointConnectionError(endpoint_url="http://store")
    for path in (parts / "build-corpus").rglob("*"):
        if path.is_file() and ".bertdata" not in path.parts:
            target = files.place(f"memory://store/corpus/{path.relative_to(parts / 'build-corpus').as_posix()}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    corpus, output = files.place("memory://store/corpus"), files.place("memory://store/pairs")
    real, left = files.digest, [3]

    def digest(*arguments: Any) -> str:
        left[0] -= 1
        if left[0] < 0:
            raise lost
        return real(*arguments)

    monkeypatch.setattr("bertdata.output.digest", digest)
    monkeypatch.setattr("bertdata.pipelines.corpus.digest", digest)
    with pytest.raises(StorageError, match=r"check the address, the network.*--resume"):
        build("make-pairs", output, corpus, "--vocab", parts / "train-vocab", "--shards", 12)
    left[0] = 10_000
    build("make-pairs", output, corpus, "--vocab", parts / "train-vocab", "--shards", 12, "--resume")
    assert (output / "manifest.json").read_bytes() == (parts / "make-pairs" / "manifest.json").read_bytes()
