"""Shards of a store and of Parquet: fetched into a bounded cache of this user alone, each once, whatever is dropped or killed."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import s3_server
from tiny import row_of, write_pairs

from bertdata.dataset.shards import Shards, cache
from bertdata.dataset.shards.windows import windows
from bertdata.errors import StorageError, UsageError, VerificationError

pytest.importorskip("s3fs")
LENGTHS = np.random.default_rng(3).integers(6, 65, (9, 40)).tolist()
URL = "s3://bucket/pairs"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("store") / "pairs", {"train": LENGTHS})


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pairs: Path) -> Iterator[s3_server.Bucket]:
    """A store with the pairs in it; caches are made in tmp_path/cache."""
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_FIRST_PAUSE_S", 0.01)
    with s3_server.serving_here(monkeypatch, pairs) as found:
        yield found


def caches(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").glob("bertdata-cache-*"))


def bounded(pairs: Path, shards: int = 2) -> int:
    """Bytes of a cache of which a window has so many shards."""
    return 3 * shards * max(path.stat().st_size for path in (pairs / "data").iterdir())


def whole(bucket: s3_server.Bucket, pairs: Path) -> dict[str, float]:
    """How many times the store has sent each shard."""
    return {key: sent / (pairs.parent / key).stat().st_size for key, sent in bucket.fetched.items() if "/data/" in key}


@pytest.mark.slow
def test_rows_of_a_store_are_those_of_a_disk(bucket: s3_server.Bucket, pairs: Path, tmp_path: Path) -> None:
    here, far = Shards(pairs), Shards(URL)
    assert not any("/data/" in key for key in bucket.fetched), "opening reads no rows"
    assert far.identity == here.identity and len(far) == len(here) == 360
    rows = np.random.default_rng(1).permutation(360)[:50]
    a, b = (shards.gather(rows, 64) for shards in (here, far))
    assert a.keys() == b.keys() and all((a[name] == b[name]).all() and a[name].dtype == b[name].dtype for name in a)
    assert (far.lengths == here.lengths).all() and far.columns == here.columns
    assert list(map(str, far)) == list(map(str, here)) and str(far[-1]) == str(here[-1])
    assert set(whole(bucket, pairs).values()) == {1.0} and len(whole(bucket, pairs)) == 9
    (directory,) = caches(tmp_path)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in directory.glob("*.lock")} == {0}
    again = pickle.loads(pickle.dumps(far))
    assert str(again[5]) == str(here[5]) and caches(tmp_path) == [directory], "another process shares the cache"
    assert set(whole(bucket, pairs).values()) == {1.0}
    del again
    assert directory.is_dir()
    del far
    assert not caches(tmp_path)


@pytest.mark.slow
def test_a_bounded_cache_holds_three_windows(bucket: s3_server.Bucket, pairs: Path, tmp_path: Path) -> None:
    limit = bounded(pairs)
    here, far = Shards(pairs, cache_bytes=limit), Shards(URL, cache_bytes=limit)
    assert far.windows == here.windows and far.identity == here.identity != Shards(pairs).identity
    assert sorted(sum(far.windows, ())) == list(range(9)) and max(map(len, far.windows)) == 2
    most = 0
    for number, row in enumerate(far):
        assert row["input_ids"].tolist() == row_of(number, len(row["input_ids"]))
        most = max(most, sum(path.stat().st_size for path in caches(tmp_path)[0].glob("*.arrow")))
    assert 0 < most <= limit
    bucket.fetched.clear()
    for number, window in enumerate(far.windows):
        mapped = far.window(number, (number + 1) % len(far.windows))
        assert len(mapped) == sum(far.rows_of(number)) == 40 * len(window)
        numbers = mapped.numbers(np.arange(len(mapped)))
        assert (far.gather(numbers, 64)["input_ids"] == here.gather(numbers, 64)["input_ids"]).all()
        assert sum(path.stat().st_size for path in caches(tmp_path)[0].glob("*.arrow")) <= limit
    until = time.monotonic() + 10  # the first window is being fetched again, ahead
    while any(sent != 1 for sent in whole(bucket, pairs).values()) and time.monotonic() < until:
        time.sleep(0.01)
    assert max(whole(bucket, pairs).values()) <= 2 and sum(whole(bucket, pairs).values()) <= 9 + 2
    across = far.gather(np.array([359, 0, 100]), 64)["input_ids"]  # of three windows
    assert (across == Shards(pairs).gather(np.array([359, 0, 100]), 64)["input_ids"]).all()
    assert (far.lengths == here.lengths).all()


@pytest.mark.slow
def test_dropped_connections_are_tried_again(bucket: s3_server.Bucket, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.drops["pairs/data/train-00003-of-00009.arrow"] = 2
    far = Shards(URL)
    assert len(far.lengths) == 360
    assert bucket.drops["pairs/data/train-00003-of-00009.arrow"] <= 0
    monkeypatch.setattr(cache, "_MAX_TRIES", 1)
    monkeypatch.setattr("s3fs.core.S3FileSystem.retries", 1, raising=False)
    gone = Shards(URL)
    bucket.drops["pairs/data/train-00004-of-00009.arrow"] = 1000
    with pytest.raises(StorageError, match="train-00004-of-00009.arrow"):
        _ = gone.lengths
    bucket.drops.clear()
    assert len(gone.lengths) == 360, "what failed is fetched when it is asked for again"


@pytest.mark.slow
def test_damage_in_a_store_is_named(bucket: s3_server.Bucket, pairs: Path, tmp_path: Path) -> None:
    name = "data/train-00005-of-00009.arrow"
    data = bytearray((pairs / name).read_bytes())
    data[len(data) // 2] ^= 1
    bucket.objects[f"pairs/{name}"] = bytes(data)
    far = Shards(URL)
    with pytest.raises(VerificationError, match=f"{URL}/{name} differs from its manifest"):
        _ = far.lengths
    assert not list(caches(tmp_path)[0].glob(".tmp-*")) and not (caches(tmp_path)[0] / "5.arrow").exists()
    with pytest.raises(VerificationError, match=name):
        Shards(URL, verify=True)
    bucket.objects[f"pairs/{name}"] = bytes(data[:-1])
    with pytest.raises(VerificationError, match=f"{name} is missing or cut"):
        Shards(URL)


@pytest.mark.slow
def test_parquet_is_read_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: Path) -> None:
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    made = write_pairs(tmp_path / "parquet", {"train": LENGTHS}, format="parquet")
    found, here = Shards(made), Shards(pairs)
    assert list(map(str, found)) == list(map(str, here))
    rows = np.arange(0, 360, 7)
    assert (found.gather(rows, 64)["token_type_ids"] == here.gather(rows, 64)["token_type_ids"]).all()
    sizes = [path.stat().st_size for path in caches(tmp_path)[0].glob("*.arrow")]
    assert 0.8 < sum(found._mapped.files[number].bytes for number in range(9)) / sum(sizes) < 1.6
    path = made / "data/train-00001-of-00009.parquet"
    path.write_bytes(path.read_bytes()[:-9] + b"x" + path.read_bytes()[-8:])
    with pytest.raises(VerificationError, match="train-00001-of-00009.parquet differs from its manifest"):
        _ = Shards(made).lengths


@pytest.mark.slow
def test_threads_and_processes_fetch_a_shard_once(bucket: s3_server.Bucket, pairs: Path) -> None:
    far, bucket.latency = Shards(URL), 0.01
    others: list[Shards] = [pickle.loads(pickle.dumps(far)) for _ in range(3)]
    threads = [threading.Thread(target=lambda one=one: one.lengths) for one in (far, *others)]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(whole(bucket, pairs).values()) == {1.0}
    assert all((one.lengths == far.lengths).all() for one in others)


@pytest.mark.slow
def test_what_a_killed_process_leaves_goes_with_the_next(bucket: s3_server.Bucket, tmp_path: Path) -> None:
    code = f"import time, bertdata; rows = bertdata.Shards({URL!r}); rows[0]; print('there', flush=True); time.sleep(60)"
    environment = {**os.environ, "TMPDIR": str(tmp_path / "cache")}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout and process.stdout.readline() == "there\n"
            mine = Shards(URL)
            mine[0]
            assert len(caches(tmp_path)) == 2, "one that is in use stays"
        finally:
            process.send_signal(signal.SIGKILL)
    (tmp_path / "cache" / "bertdata-cache-new").mkdir()  # one that is being made
    (tmp_path / "cache" / "bertdata-cache-link").symlink_to(tmp_path)
    last = Shards(URL)
    left = [path for path in caches(tmp_path) if (path / "lock").exists()]
    assert sorted(left) == sorted(Path(one._mapped.directory) for one in (mine, last))
    assert len(caches(tmp_path)) == 4 and tmp_path.is_dir()


@pytest.mark.slow
def test_a_process_that_ends_leaves_nothing(bucket: s3_server.Bucket, tmp_path: Path) -> None:
    code = f"import bertdata; rows = bertdata.Shards({URL!r}); print(len(rows[0]['input_ids']))"
    environment = {**os.environ, "TMPDIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == [str(LENGTHS[0][0])] and not done.stderr and not caches(tmp_path)


@pytest.mark.slow
def test_no_room_is_said_before_anything_is_fetched(
    bucket: s3_server.Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage: Any = shutil._ntuple_diskusage(10**9, 10**9 - 1000, 1000)  # type: ignore[attr-defined]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(StorageError, match=r"room for 1,000 bytes.*use a smaller `cache_bytes`, or set TMPDIR"):
        Shards(URL)
    assert not any("/data/" in key for key in bucket.fetched)
    assert not caches(tmp_path)


def test_windows_are_equal_and_have_some_of_each_directory() -> None:
    assert windows([5, 5, 5, 5], [0.1, 0.4, 0.6, 0.9], 20) == [(0, 1, 2, 3)] == windows([5] * 4, [0.1] * 4, None)
    assert windows([5, 5, 5, 5], [0.1, 0.4, 0.6, 0.9], 18) == [(0,), (1,), (2,), (3,)]
    places = [(n + 0.5) / 8 for n in range(8)] + [0.25, 0.75]
    assert windows([10] * 10, places, 90) == [(0, 1, 8), (2, 3, 4), (5, 6, 9), (7,)]
    assert [len(window) for window in windows([10] * 9, places[:9], 89)] == [2, 2, 2, 2, 1]
    assert [len(window) for window in windows([1] * 9, places[:9], 12)] == [9]
    assert [len(window) for window in windows([1] * 13, [n / 13 for n in range(13)], 12)] == [4, 4, 4, 1]
    assert [len(window) for window in windows([1] * 17, [n / 17 for n in range(17)], 16)] == [5, 5, 5, 2]
    with pytest.raises(UsageError, match=r"`cache_bytes` 20: .*a shard has 9 bytes: use 27 or more"):
        windows([9, 9, 9], [0.1, 0.5, 0.9], 20)
