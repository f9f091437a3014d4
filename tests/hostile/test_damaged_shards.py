"""Shards that were flipped or cut: who reads them raises VerificationError, and no process ends by a fault of memory."""

from __future__ import annotations

import gc
import os
import random
import resource
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import Build

import bertdata
from bertdata.dataset import shards
from bertdata.errors import BertDataError

RIGHT, REFUSED, OTHER = 0, 6, 1  # how a process ends that reads a damaged file
MEMORY = 600 << 20  # bytes that it may take, over what its parent has


def outcome(work: object) -> int:
    """Call `work` in a process of its own; return its exit code, or minus the signal that ended it."""
    before = _resident()
    pid = os.fork()
    if pid == 0:
        gc.freeze()  # a look at what the parent's tests have left would copy all of its memory
        signal.alarm(60)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        code = OTHER
        try:
            work()  # type: ignore[operator]
            code = RIGHT
        except BertDataError as error:
            code = error.exit_code
        finally:
            os._exit(code if _peak() < before + MEMORY else 99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)


def _resident() -> int:
    """Return the bytes that this process has now, and a child of it from the start."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() if statm.exists() else _peak()


def damaged(data: bytes, count: int) -> list[bytes]:
    """Flip bytes of the beginning, where the description is, and anywhere; and cut the file."""
    chance = random.Random(len(data))
    places = [chance.randrange(min(len(data), 3000)) for _ in range(count)] + [chance.randrange(len(data)) for _ in range(count)]
    found = [data[:at] + bytes([data[at] ^ chance.choice([1, 16, 0x80, 0xFF])]) + data[at + 1 :] for at in places]
    return found + [data[: chance.randrange(len(data))] for _ in range(count // 2)]


@pytest.mark.parametrize("kind", ["sample_corpus", "sample_pairs"])
@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.long)])
def test_reading_a_damaged_shard(kind: str, count: int, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    path = min((request.getfixturevalue(kind) / "data").glob("*.arrow"), key=lambda path: path.stat().st_size)
    ends: Counter[int] = Counter()
    for data in damaged(path.read_bytes(), count):
        (tmp_path / "a.arrow").write_bytes(data)

        def read() -> None:
            for batch in shards.read_batches(tmp_path / "a.arrow", "arrow-stream"):
                batch.to_pylist()

        ends[outcome(read)] += 1
    assert set(ends) <= {RIGHT, REFUSED} and ends[REFUSED] > count // 4, ends


@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.long)])
def test_mapping_damaged_pairs(count: int, sample_pairs: Path, tmp_path: Path) -> None:
    """The loader's view: rows that can't be are refused, or read as they lie; `verify=True` finds every one."""
    shutil.copytree(sample_pairs, tmp_path / "pairs")
    path = next((tmp_path / "pairs" / "data").glob("*.arrow"))
    ends: Counter[tuple[int, int]] = Counter()
    whole = path.read_bytes()
    for data in damaged(whole, count):
        path.write_bytes(data)

        def read(verify: bool = False) -> None:
            found = bertdata.Shards(tmp_path / "pairs", verify=verify)
            for start in range(0, len(found), 64):
                found.gather(range(start, min(start + 64, len(found))), found.max_seq_length)  # type: ignore[arg-type]

        ends[outcome(read), outcome(lambda: read(True))] += 1
    assert {plain for plain, _ in ends} <= {RIGHT, REFUSED} and {checked for _, checked in ends} == {REFUSED}, ends


def test_commands_on_a_damaged_corpus(build: Build, sample_corpus: Path, tmp_path: Path) -> None:
    """`train-vocab` and `make-pairs` compare digests first."""
    for number, data in enumerate(damaged((next((sample_corpus / "data").iterdir())).read_bytes(), 4)):
        copy = tmp_path / f"{number}"
        shutil.copytree(sample_corpus, copy)
        (copy / "data" / next((sample_corpus / "data").iterdir()).name).write_bytes(data)
        with pytest.raises(BertDataError) as caught:
            build("train-vocab", tmp_path / "vocab", copy, "--size", 500, "--overwrite")
        assert caught.value.exit_code == 6 and not (tmp_path / "vocab" / "manifest.json").exists()
