"""Shards that were flipped or cut: who reads them raises VerificationError, and no process ends by a fault of memory."""

from __future__ import annotations

import functools
import gc
import os
import random
import resource
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from conftest import Build

import bertdata
from bertdata.dataset import shards
from bertdata.errors import BertDataError

pytestmark = pytest.mark.long

RIGHT, REFUSED, OTHER, TOO_LARGE = 0, 6, 1, 99  # how a reading of a damaged file ends
MEMORY = 600 << 20  # bytes that it may take, over what its parent has


def outcomes(works: Iterable[Callable[[], object]]) -> Counter[int]:
    """Call each in another process; count how they ended: exit codes, or minus the signal that ended the process.

    That is one process, and no further call is made in it after one that ends it.
    """
    before, (source, target) = _resident(), os.pipe()
    pid = os.fork()
    if pid == 0:
        gc.freeze()  # a look at what the parent's tests have left would copy all of its memory
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            for work in works:
                signal.alarm(60)
                code = _outcome(work)
                os.write(target, bytes([code if _peak() < before + MEMORY else TOO_LARGE]))
        finally:
            os._exit(0)
    os.close(target)
    with os.fdopen(source, "rb") as file:
        ends = Counter(file.read())
    if ended := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        ends[ended] += 1
    return ends


def _outcome(work: Callable[[], object]) -> int:
    try:
        work()
    except BertDataError as error:
        return error.exit_code
    except BaseException:
        return OTHER
    return RIGHT


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


def each(files: Iterable[bytes], path: Path, read: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Write each of these files in turn, and yield what reads it."""
    for data in files:
        path.write_bytes(data)
        yield read


@pytest.mark.parametrize("kind", ["sample_corpus", "sample_pairs"])
@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.slow
def test_reading_a_damaged_shard(kind: str, count: int, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    path = min((request.getfixturevalue(kind) / "data").glob("*.arrow"), key=lambda path: path.stat().st_size)
    files = damaged(path.read_bytes(), count)

    def read() -> None:
        for batch in shards.read_batches(tmp_path / "a.arrow"):
            batch.to_pylist()

    ends = outcomes(each(files, tmp_path / "a.arrow", read))
    assert set(ends) <= {RIGHT, REFUSED} and ends[REFUSED] > count // 4 and ends.total() == len(files), ends


@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.long)])
def test_mapping_damaged_pairs(count: int, sample_pairs: Path, tmp_path: Path) -> None:
    """The loader's view: rows that can't be are refused, or read as they lie; `verify=True` finds every one."""
    shutil.copytree(sample_pairs, tmp_path / "pairs")
    path = next((tmp_path / "pairs" / "data").glob("*.arrow"))
    files = damaged(path.read_bytes(), count)

    def read(verify: bool) -> None:
        found = bertdata.Shards(tmp_path / "pairs", verify=verify)
        for start in range(0, len(found), 64):
            found.gather(range(start, min(start + 64, len(found))), found.max_seq_length)  # type: ignore[arg-type]

    plain, checked = (outcomes(each(files, path, functools.partial(read, verify))) for verify in (False, True))
    assert set(plain) <= {RIGHT, REFUSED} and plain.total() == len(files) and checked == {REFUSED: len(files)}, (plain, checked)


def test_commands_on_a_damaged_corpus(build: Build, sample_corpus: Path, tmp_path: Path) -> None:
    """`train-vocab` and `make-pairs` compare digests first."""
    for number, data in enumerate(damaged((next((sample_corpus / "data").iterdir())).read_bytes(), 4)):
        copy = tmp_path / f"{number}"
        shutil.copytree(sample_corpus, copy)
        (copy / "data" / next((sample_corpus / "data").iterdir()).name).write_bytes(data)
        with pytest.raises(BertDataError) as caught:
            build("train-vocab", tmp_path / "vocab", copy, "--size", 500, "--overwrite")
        assert caught.value.exit_code == 6 and not (tmp_path / "vocab" / "manifest.json").exists()
