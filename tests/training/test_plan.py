"""The plan: an epoch has every row once, whatever the widths, and a step is a slice of it."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.errors import EmptyResultError, UsageError
from bertdata.training import epoch_plan
from bertdata.training.epoch_plan import EpochPlan, even_widths, shuffled

LAW = settings(deadline=None, max_examples=40)


def _epoch(own: EpochPlan, epoch: int) -> list[epoch_plan.Batch]:
    return [own[step] for step in range(epoch * own.batches, (epoch + 1) * own.batches)]


def test_doctests() -> None:
    done = doctest.testmod(epoch_plan)
    assert done.attempted and not done.failed


@LAW
@given(size=st.integers(1, 3000), key=st.integers(0, 2**64 - 1))
def test_shuffled_is_a_permutation(size: int, key: int) -> None:
    found = shuffled(np.arange(size), size, key)
    assert sorted(found.tolist()) == list(range(size))
    some = np.arange(size)[::7]
    assert (shuffled(some, size, key) == found[::7]).all()


@pytest.mark.slow
def test_shuffled_is_as_random_as_it_should_be() -> None:
    """All 24 orders of four things come equally often, and of many things no place and no neighbour tells anything."""
    counts = Counter(tuple(shuffled(np.arange(4), 4, key).tolist()) for key in range(4800))
    assert set(counts) == set(permutations(range(4)))
    assert sum((n - 200) ** 2 / 200 for n in counts.values()) < 60  # chi-square of 23 degrees of freedom: beyond it 4e-5
    size = 100_000
    found = shuffled(np.arange(size), size, 1)
    table = np.histogram2d(np.arange(size), found, bins=10)[0]
    assert ((table - size / 100) ** 2 / (size / 100)).sum() < 140  # 81 degrees of freedom
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.015
    assert abs((np.diff(found) == 1).sum() - 1) < 6
    assert (found != shuffled(np.arange(size), size, 2)).mean() > 0.99


@LAW
@given(
    lengths=st.lists(st.integers(1, 64), min_size=1, max_size=200),
    wide=st.sets(st.integers(1, 63), max_size=4),
    batch_size=st.integers(1, 40),
    whole=st.booleans(),
    epoch=st.integers(0, 3),
)
def test_an_epoch_has_every_row_once(lengths: list[int], wide: set[int], batch_size: int, whole: bool, epoch: int) -> None:
    given = np.array(lengths, np.uint16)
    if not whole and len(lengths) < batch_size:
        with pytest.raises(EmptyResultError, match="smaller batch size"):
            EpochPlan(given, batch_size, widths=[*sorted(wide), 64], seed=1, whole=whole)
        return
    own = EpochPlan(given, batch_size, widths=[*sorted(wide), 64], seed=1, whole=whole)
    assert own.left == (0 if whole else len(lengths) % batch_size) < batch_size
    batches = _epoch(own, epoch)
    rows = [row for batch in batches for row in batch.rows.tolist()]
    assert len(rows) == len({*rows}) == len(lengths) - own.left
    for step, batch in enumerate(batches, epoch * own.batches):
        assert (batch.step, batch.epoch) == (step, epoch)
        assert given[batch.rows].max() <= batch.width
        assert len(batch.rows) == batch_size or (whole and step % own.batches == own.batches - 1)
        assert not batch.copies.any()
        if len(batch.rows) == batch_size:  # padded no more than its longest row needs: less than a batch is carried to a bucket
            assert given[batch.rows].max() > max([w for w in wide if w < batch.width], default=0)


def test_batches_of_buckets_by_hand() -> None:
    """Seven short rows and four long ones in batches of three: one short row goes on, two rows are left."""
    lengths = np.array([5, 5, 5, 5, 5, 5, 5, 30, 30, 30, 30])
    own = EpochPlan(lengths, 3, widths=(8, 32), seed=3)
    assert (own.batches, own.left) == (3, 2)
    for epoch in range(20):
        found = sorted((batch.width, int((lengths[batch.rows] == 5).sum())) for batch in _epoch(own, epoch))
        assert found[:2] == [(8, 3), (8, 3)]
        assert found[2] in [(32, 0), (32, 1)]
    orders = {tuple(batch.width for batch in _epoch(own, epoch)) for epoch in range(20)}
    assert orders == {(8, 8, 32), (8, 32, 8), (32, 8, 8)}


def test_epochs_differ_and_leave_other_rows_over() -> None:
    own = EpochPlan(np.full(103, 9), 10, widths=(16,), seed=1)
    epochs = [np.concatenate([batch.rows for batch in _epoch(own, epoch)]) for epoch in range(30)]
    assert len({tuple(rows.tolist()) for rows in epochs}) == 30
    left = Counter(row for rows in epochs for row in {*range(103)} - {*rows.tolist()})
    assert sum(left.values()) == 90
    assert max(left.values()) < 8
    assert (epochs[0] != np.concatenate([b.rows for b in _epoch(EpochPlan(np.full(103, 9), 10, widths=(16,), seed=2), 0)])).any()


def test_any_step_at_once() -> None:
    """A step of a far epoch is the same, whether others were asked for before or not."""
    lengths = np.random.default_rng(1).integers(5, 65, 1000)
    one, other = (EpochPlan(lengths, 32, widths=even_widths(64), seed=5) for _ in range(2))
    far = 10**12
    for step in (7, 0, 31, 300, 31):
        one[step]
    assert (one[far].rows == other[far].rows).all()
    assert one[far].epoch == far // one.batches


def test_weights() -> None:
    """Two and a half: all rows twice, half of them once more; a share moves on until every row was served."""
    own = EpochPlan(np.array([4] * 40 + [20] * 60 + [6] * 30), 10, widths=(8, 32), seed=1, parts=[(100, 0.25), (30, 2.5)])
    assert (own.batches, own.left) == (10, 0)
    served: Counter[int] = Counter()
    for epoch in range(4):
        batches = _epoch(own, epoch)
        pairs = [pair for batch in batches for pair in zip(batch.rows.tolist(), batch.copies.tolist(), strict=True)]
        assert len(pairs) == len({*pairs}) == 100
        rows = Counter(row for row, _ in pairs)
        assert sum(n for row, n in rows.items() if row < 100) == 25
        assert sorted(n for row, n in rows.items() if row >= 100) == [2] * 15 + [3] * 15
        served.update(rows)
    assert {served[row] for row in range(100)} == {1}  # four quarters, no row twice
    assert {served[row] for row in range(100, 130)} == {10}  # two whole rounds of halves


@LAW
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    weights=st.lists(st.sampled_from([0.1, 1 / 3, 0.5, 1.0, 1.7, 2.0]), min_size=3, max_size=3),
    seed=st.integers(0, 99),
)
@pytest.mark.slow
def test_weights_add_up(sizes: list[int], weights: list[float], seed: int) -> None:
    lengths = np.random.default_rng(seed).integers(1, 33, sum(sizes))
    parts = list(zip(sizes, weights, strict=False))
    if not sum(round(size * weight) for size, weight in parts):
        return
    own = EpochPlan(lengths, 4, widths=(8, 16, 32), seed=seed, parts=parts, whole=True)
    rows = np.concatenate([batch.rows for batch in _epoch(own, seed)])
    ends = np.cumsum([0, *sizes])
    for (size, weight), first, last in zip(parts, ends, ends[1:], strict=False):
        counts = np.bincount(rows[(first <= rows) & (rows < last)] - first, minlength=size)
        share = weight - int(weight)
        assert counts.sum() == int(weight) * size + round(share * size)
        assert {*counts.tolist()} <= {int(weight), int(weight) + 1}


def test_widths() -> None:
    assert even_widths(512) == (128, 256, 384, 512)
    assert even_widths(100, 3) == (40, 72, 100)
    assert even_widths(4) == (4,)


def test_refusals() -> None:
    for bad in ((), (8, 8), (16, 8), (0, 8)):
        with pytest.raises(UsageError, match="widths"):
            EpochPlan(np.array([4, 5]), 2, widths=bad, seed=1)
    with pytest.raises(UsageError, match="up to 9 tokens"):
        EpochPlan(np.array([4, 9]), 2, widths=(8,), seed=1)
    with pytest.raises(UsageError, match="batches of 0"):
        EpochPlan(np.array([4, 9]), 0, widths=(16,), seed=1)


MANY = """
import resource, time
import numpy as np
from bertdata.training.epoch_plan import EpochPlan, even_widths
lengths = np.full(COUNT, 128, np.uint16)
lengths[::5], lengths[1::7] = 40, 90
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
plan = EpochPlan(lengths, BATCH_SIZE, widths=even_widths(128), seed=1)
for step in (0, plan.batches - 1):
    plan[step]
spent, memory = time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
seen = np.zeros(COUNT, bool)
if CHECK:
    for step in range(plan.batches, 2 * plan.batches):
        seen[plan[step].rows] = True
print(spent, memory, (~seen).sum(), plan.left)
"""


def plan_of(count: int, batch_size: int, *, check: bool) -> list[float]:
    """Seconds and MB that a plan takes in a process of its own, the rows that its second epoch does not serve, and `left`."""
    code = MANY.replace("COUNT", str(count)).replace("CHECK", str(check)).replace("BATCH_SIZE", str(batch_size))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    return [float(word) for word in done.stdout.split()]


@pytest.mark.nightly
def test_thirty_million_rows_within_ten_seconds_and_190_mb() -> None:
    """Memory is the plan's own, measured in a process of its own; the lengths, 60 MB, were there before."""
    seconds, megabytes, *_ = plan_of(30_000_000, 256, check=False)
    assert seconds < 10
    assert megabytes < 190


@pytest.mark.long
def test_millions_of_rows_each_come_once() -> None:
    """More of them than a number in single precision tells apart."""
    _, _, missing, left = plan_of((1 << 24) + 1_000_003, 1 << 14, check=True)
    assert missing == left < 1 << 14
