"""The loader from a store: the same rows in the same steps as from a disk, and each shard fetched once an epoch."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import s3_server
from tiny import write_pairs

from bertdata.dataset.shards import Shards
from bertdata.errors import UsageError

torch = pytest.importorskip("torch")
pytest.importorskip("s3fs")
from bertdata.training import loader  # noqa: E402

LENGTHS = np.random.default_rng(5).integers(6, 65, (8, 60)).tolist()
URL = "s3://bucket/pairs"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("store") / "pairs", {"train": LENGTHS})


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pairs: Path) -> Iterator[s3_server.Bucket]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with s3_server.serving_here(monkeypatch, pairs) as found:
        yield found
        for thread in threading.enumerate():  # requests of this test must not reach the store of the next one
            if thread.name == "fetch-ahead":
                thread.join()


def limit(pairs: Path) -> int:
    """A cache whose windows have two shards."""
    return 6 * max(path.stat().st_size for path in (pairs / "data").iterdir())


def equal(one: Iterable[dict[str, Any]], other: Iterable[dict[str, Any]]) -> int:
    """Assert that all batches are equal, to the bit; return how many there are."""
    same = [list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a) for a, b in zip(one, other, strict=True)]
    assert all(same)
    return len(same)


@pytest.mark.slow
def test_all_in_the_cache_is_the_order_of_a_disk(bucket: s3_server.Bucket, pairs: Path) -> None:
    far = loader.batches(Shards(URL), 32, steps=20, workers=1)
    assert equal(loader.batches(Shards(pairs), 32, steps=20), far) == 20
    sent = {key: count for key, count in bucket.fetched.items() if "/data/" in key}
    assert sent == {f"pairs/{path.relative_to(pairs)}": path.stat().st_size for path in (pairs / "data").iterdir()}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.slow
def test_windows_give_the_same_steps_and_fetch_each_shard_once_an_epoch(
    bucket: s3_server.Bucket, pairs: Path, workers: int
) -> None:
    here = loader.batches(Shards(pairs, cache_bytes=limit(pairs)), 16, steps=56)
    rows = Shards(URL, cache_bytes=limit(pairs))
    far = loader.batches(rows, 16, steps=56, workers=workers)
    assert far.dataset.plan.batches == 28 == here.dataset.plan.batches and far.dataset.plan.left == 4 * (120 % 16)
    assert not any("/data/" in key for key in bucket.fetched)
    assert equal(here, far) == 56
    for path in (pairs / "data").iterdir():
        assert bucket.fetched[f"pairs/data/{path.name}"] <= 3 * path.stat().st_size  # of the epoch that comes then, some
    assert sum(bucket.fetched[f"pairs/data/{p.name}"] / p.stat().st_size for p in (pairs / "data").iterdir()) <= 8 * 2 + 2
    if workers:
        return
    late = loader.batches(rows, 16, start_step=33, steps=10)
    assert equal(loader.batches(Shards(pairs, cache_bytes=limit(pairs)), 16, start_step=33, steps=10), late) == 10


@pytest.mark.slow
def test_an_epoch_of_windows_has_all_rows_but_a_part_of_a_batch_of_each(pairs: Path) -> None:
    rows = Shards(pairs, cache_bytes=limit(pairs))
    plan = loader.Batches(rows, 16).plan
    for epoch in range(3):
        served = np.concatenate([plan[step].rows for step in range(28 * epoch, 28 * (epoch + 1))])
        assert len(served) == len(set(served.tolist())) == 480 - plan.left
    first, second = (tuple(plan[step].rows.tolist()) for step in (0, 28))
    assert first != second
    whole = loader.Batches(rows, 16, whole=True).plan
    assert sorted(row for step in range(whole.batches) for row in whole[step].rows.tolist()) == list(range(480))
    ranks = [loader.batches(rows, 16, rank=rank, world_size=4, steps=30) for rank in range(4)]
    joined = ({name: torch.cat([part[name] for part in parts]) for name in parts[0]} for parts in zip(*ranks, strict=True))
    assert equal(loader.batches(rows, 16, steps=30), joined) == 30
    with pytest.raises(UsageError, match=r"`cache_bytes` .* a third of it has 120 rows, less than one batch of 128"):
        loader.batches(rows, 128)


def test_weights_hold_in_windows(pairs: Path, tmp_path: Path) -> None:
    other = write_pairs(tmp_path / "other", {"train": [[20] * 50] * 4}, salt=3)
    rows = Shards([pairs, other], weights=[1.5, 0.5], cache_bytes=2 * limit(pairs))
    assert all(min(rows.rows_of(window)) > 0 for window in range(len(rows.windows))), "some of each directory in every window"
    plan = loader.Batches(rows, 10).plan
    served = np.concatenate([plan[step].rows for step in range(2 * plan.batches)])
    assert abs(int((served < 480).sum()) - 2 * 720) <= 2 * plan.left and len(served) == 2 * (720 + 100 - plan.left)
