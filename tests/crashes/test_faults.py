"""Disks, directories and surroundings that fail: an exit code, a message that names the fix, and then the same bytes."""

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
from conftest import COMMAND, STEPS, Build, Run, build_of, command_line, digests, leftovers
from test_resume import kill_in_mid_run

from bertdata.dataset import shards
from bertdata.errors import BertDataError, ResumeError, StorageError, VerificationError
from bertdata.storage import files

pytestmark = pytest.mark.long

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def shell(line: str, *arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run bertdata from a line of bash, in which it is "$@"."""
    command = ["bash", "-c", line, "bash", *COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=300, check=False)


def cases(*numbers: int) -> list[Any]:
    """A command, workers and a number: the first number with one worker, the others with each command."""
    first, *others = numbers
    ways = [*((number, 1) for number in others), (first, 2)]
    return [
        ("build-corpus", 1, first),
        *(pytest.param(name, workers, number, marks=pytest.mark.long) for name in STEPS for number, workers in ways),
    ]


# kilobytes that a file may have: too few for shards, spills or the vocabulary, or even for the state
@pytest.mark.parametrize(("name", "workers", "limit"), cases(4, 1))
def test_a_limit_on_the_size_of_files(
    build: Build, parts: Path, text: Path, tmp_path: Path, name: str, workers: int, limit: int
) -> None:
    arguments, output = command_line(name, text, parts), tmp_path / "out"
    done = shell(f'ulimit -f {limit}; exec "$@"', name, *arguments, "--output", output, "--workers", workers)
    assert done.returncode == 4, done.stderr
    assert "ulimit -f" in done.stderr and "same command" in done.stderr and "Traceback" not in done.stderr
    assert not (output / "manifest.json").exists()
    build(name, output, *arguments)
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


@pytest.mark.parametrize(("name", "workers", "kilobytes"), cases(100, 12, 300))
def test_a_full_disk(build: Build, parts: Path, text: Path, disk: Path, name: str, workers: int, kilobytes: int) -> None:
    arguments, output = command_line(name, text, parts), disk / "out"
    remount(disk, f"size={kilobytes}k")
    done = shell('exec "$@"', name, *arguments, "--output", output, "--workers", workers)
    if done.returncode or name != "train-vocab":  # whose output may be small enough
        assert done.returncode == 4, done.stderr
        assert "No space left on device: free some space" in done.stderr and "same command" in done.stderr
        assert not (output / "manifest.json").exists()
    remount(disk, "size=64m")
    build(name, output, *arguments)
    assert digests(output) == digests(parts / name)
    assert leftovers(output) == []


@pytest.mark.parametrize("name", STEPS)
def test_a_disk_that_can_only_be_read(build: Build, parts: Path, text: Path, disk: Path, name: str) -> None:
    remount(disk, "ro")
    with pytest.raises(StorageError, match="read-only; choose another directory"):
        build(name, disk / "out", *command_line(name, text, parts))


@pytest.mark.skipif(ROOT, reason="root may write anywhere")
@pytest.mark.parametrize("name", STEPS)
def test_a_directory_that_may_not_be_written(build: Build, parts: Path, text: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir(mode=0o555)
    with pytest.raises(StorageError, match="check the permissions"):
        build(name, tmp_path / "out", *command_line(name, text, parts))


IN_THE_WAY = {
    "": (5, "is a file: choose another --output"),
    "data": (5, "not a bertdata dataset: choose another --output"),
    ".bertdata": (5, "not a bertdata dataset: choose another --output"),
    ".bertdata/old": (5, "is a link or file, not a directory. It was not changed"),
    ".bertdata/new": (5, "is a link or file, not a directory. It was not changed"),
    ".bertdata/build-0": (5, "is a link or file, not a directory. It was not changed"),
    ".bertdata/lock/": (4, "a directory is in the place of a file; remove it"),
    "manifest.json/": (4, "a directory is in the place of a file; remove it"),
}


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_what_stands_in_the_way_is_named_and_stays(build: Build, text: Path, tmp_path: Path, name: str) -> None:
    output, (code, says) = tmp_path / "out", IN_THE_WAY[name]
    path = output / name if name else output
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith("/"):
        (output / ".bertdata").mkdir(exist_ok=True)
        path.mkdir()
    else:
        path.write_text("mine")
    with pytest.raises(BertDataError, match=says) as caught:
        build("build-corpus", output, "--text", text, "--task-bytes", 1 << 16)
    assert caught.value.exit_code == code
    assert path.is_dir() if name.endswith("/") else path.read_text() == "mine"


def test_a_file_above_the_output(build: Build, text: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="a part of the path is a file, not a directory; choose another path"):
        build("build-corpus", tmp_path / "file" / "out", "--text", text)


@pytest.mark.parametrize(("what", "old"), [("bertdata", "0.0.1"), ("code", "0f"), ("tokenizers", "0.1.0")])
def test_a_run_begun_by_another_version_is_not_gone_on_with(
    build: Build, parts: Path, text: Path, tmp_path: Path, what: str, old: str
) -> None:
    output, arguments = tmp_path / "out", command_line("make-pairs", text, parts)
    kill_in_mid_run(output, "tokenize", 2, "make-pairs", *arguments, "--output", output, "--workers", 1)
    state = build_of(output) / ".bertdata" / "run.json"
    begun = json.loads(state.read_text(encoding="utf-8"))
    begun["versions"][what] = old
    state.write_text(json.dumps(begun), encoding="utf-8")
    with pytest.raises(ResumeError, match=rf"versions\.{what}: '{old}' then, .*--overwrite"):
        build("make-pairs", output, *arguments)
    build("make-pairs", output, *arguments, "--overwrite")
    assert digests(output) == digests(parts / "make-pairs")


@pytest.mark.parametrize("clock", [0, 4_000_000_000])
def test_a_clock_that_was_set_back_or_forth(build: Build, parts: Path, text: Path, tmp_path: Path, clock: int) -> None:
    """What was written before is from 1970, or from 2096: no file's time decides anything."""
    output, arguments = tmp_path / "out", command_line("build-corpus", text, parts)
    kill_in_mid_run(output, "extract", 3, "build-corpus", *arguments, "--output", output, "--workers", 1)
    for path in output.rglob("*"):
        os.utime(path, (clock, clock))
    build("build-corpus", output, *arguments)
    assert digests(output) == digests(parts / "build-corpus")


SURROUNDINGS = {
    "52 open files": ('ulimit -n 52; exec "$@"', {}),
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
    workers = 2 if name == "52 open files" else 1
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", output, "--workers", workers]
    done = shell(line, *arguments, **env)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert digests(output) == digests(parts / "build-corpus")


def test_too_few_open_files_for_the_workers(build: Build, parts: Path, text: Path, tmp_path: Path) -> None:
    """They are named before anything is written."""
    output, arguments = tmp_path / "out", command_line("build-corpus", text, parts)
    done = shell('ulimit -n 51; exec "$@"', "build-corpus", *arguments, "--output", output, "--workers", 2)
    assert done.returncode == 4
    assert "51 open files are too few for 2 workers, who take 52: raise the limit (ulimit -n 1024)" in done.stderr
    build("build-corpus", output, *arguments)
    assert digests(output) == digests(parts / "build-corpus")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_result_that_cannot_be_printed_is_an_error_and_is_there(parts: Path, text: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", output, "--workers", 1]
    done = shell('"$@" > /dev/full', *arguments)
    assert done.returncode == 4 and "standard output: No space left on device" in done.stderr
    assert digests(output) == digests(parts / "build-corpus")


def test_a_chinese_input_in_locale_c(run: Run, parts: Path, text: Path, tmp_path: Path) -> None:
    source = tmp_path / "中文 目录" / text.name
    source.parent.mkdir()
    shutil.copy(text, source)
    arguments = ["build-corpus", "--text", source, "--task-bytes", 1 << 16, "--workers", 1, "--output", tmp_path / "out"]
    ascii = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    assert "set PYTHONUTF8=1: this locale is not UTF-8" in run(*arguments, code=2, PYTHONUTF8="0", **ascii).stderr
    run(*arguments, PYTHONUTF8="1", **ascii)
    assert digests(tmp_path / "out") == digests(parts / "build-corpus")


FAILURES = [(errno.EIO, StorageError), (errno.EMFILE, StorageError), (errno.EINVAL, VerificationError), (None, VerificationError)]


@pytest.mark.parametrize(("number", "kind"), FAILURES)
def test_a_disk_that_fails_is_not_called_damage(
    parts: Path, monkeypatch: pytest.MonkeyPatch, number: int | None, kind: type[Exception]
) -> None:
    """Of our own shards: exit code 4, and the same command again; not 6, and a corpus built again in vain."""

    def fail(*_: Any) -> Any:
        raise OSError(number, os.strerror(number)) if number else pa.ArrowInvalid("not an Arrow file")

    shard = next((parts / "build-corpus" / "data").iterdir())
    monkeypatch.setattr(pa, "OSFile", fail)
    with pytest.raises(kind) as caught:
        list(shards.read_batches(shard))
    assert str(shard) in str(caught.value)


def test_a_store_that_fails_while_pairs_are_made(parts: Path, build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("upath")
    lost = pytest.importorskip("botocore.exceptions").EndpointConnectionError(endpoint_url="http://store")
    for path in (parts / "build-corpus").rglob("*"):
        if path.is_file() and ".bertdata" not in path.parts:
            target = files.to_path(f"memory://store/corpus/{path.relative_to(parts / 'build-corpus').as_posix()}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    corpus, output = files.to_path("memory://store/corpus"), files.to_path("memory://store/pairs")
    real, left = files.digest, [3]

    def digest(*arguments: Any) -> str:
        left[0] -= 1
        if left[0] < 0:
            raise lost
        return real(*arguments)

    monkeypatch.setattr("bertdata.dataset.tasks.digest", digest)
    monkeypatch.setattr("bertdata.stages.corpus_reader.digest", digest)
    with pytest.raises(StorageError, match=r"check the address, the network.*same command"):
        build("make-pairs", output, corpus, "--vocab", parts / "train-vocab", "--shards", 12)
    left[0] = 10_000
    build("make-pairs", output, corpus, "--vocab", parts / "train-vocab", "--shards", 12)
    assert (output / "manifest.json").read_bytes() == (parts / "make-pairs" / "manifest.json").read_bytes()
