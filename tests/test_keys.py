"""Keys: the same names give the same numbers for ever, and the numbers are spread evenly."""

from __future__ import annotations

import doctest
import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata import keys

LAW = settings(deadline=None, max_examples=30)
NAMES = st.lists(st.text(max_size=8) | st.integers(-5, 5), max_size=4)


def test_doctests() -> None:
    assert doctest.testmod(keys).failed == 0


def test_key_is_blake2b_of_the_names() -> None:
    """Hand-worked: seed and names as text, each name after its kind."""
    text = b"12345\x00senwiki:12\x00i3"
    expected = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    assert keys.key(12345, "enwiki:12", 3) == expected


def test_stream_is_splitmix64() -> None:
    """The published first outputs of SplitMix64 from the seed 1234567 (Rosetta Code, and Vigna's splitmix64.c)."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert keys.stream(1234567, 5).tolist() == expected


def test_pinned_numbers() -> None:
    """These literals decide the bytes of every dataset: a release that changes them can't resume or reproduce any."""
    assert keys.key(12345, "pairs", 125, "enwiki:12") == 16245142041721678194
    assert keys.key(0) == 9523843951405948789
    assert keys.stream(keys.key(1, "x"), 2).tolist() == [5574016005582483583, 911361303404624175]
    assert keys.substream(np.array([1, 2], np.uint64), np.array([0, 1], np.uint64)).tolist() == [
        5199774590669546748,
        7561992118531459300,
    ]
    assert keys.below(np.array([0, 1 << 63, 2**64 - 1], np.uint64), 10).tolist() == [0, 5, 9]
    assert keys.share(np.array([0, 1 << 63, 2**64 - 1], np.uint64)).tolist() == [0.0, 0.5, 1 - 2**-53]


def test_the_same_in_another_process() -> None:
    code = "from bertdata import keys; print(keys.key(7, 'é', 3), keys.stream(keys.key(7), 2).tolist())"
    env = {**os.environ, "PYTHONHASHSEED": "17"}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert out.strip() == f"{keys.key(7, 'é', 3)} {keys.stream(keys.key(7), 2).tolist()}"


@LAW
@given(st.integers(0, 3), NAMES, st.integers(0, 3), NAMES)
def test_distinct_names_have_distinct_keys(seed: int, names: list[str | int], seed2: int, names2: list[str | int]) -> None:
    same = (seed, names) == (seed2, names2) and [type(n) for n in names] == [type(n) for n in names2]
    assert (keys.key(seed, *names) == keys.key(seed2, *names2)) == same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("1",), (1,)),
        (("a",), ("a", "")),
        (("a\x00sb",), ("a", "b")),  # a document's id may hold any character
        (("a\x00i1",), ("a", 1)),
    ],
)
def test_names_do_not_run_together(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> None:
    assert keys.key(1, *one) != keys.key(1, *other)


@LAW
@given(st.integers(0, 2**64 - 1), st.integers(0, 20), st.integers(0, 20))
def test_a_shorter_stream_is_the_start_of_a_longer_one(key: int, short: int, more: int) -> None:
    assert keys.stream(key, short + more)[:short].tolist() == keys.stream(key, short).tolist()


@LAW
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5), st.integers(1, 5))
def test_streams_of_many_keys_are_those_of_each(many: list[int], count: int) -> None:
    found = keys.stream(np.array(many, np.uint64), count)
    assert found.shape == (len(many), count)
    assert found.tolist() == [keys.stream(key, count).tolist() for key in many]


def test_substreams_differ_by_key_and_number() -> None:
    many = keys.stream(3, 1000)
    children = np.concatenate([keys.substream(many, np.full(1000, n, np.uint64)) for n in range(100)])
    assert len(set(children.tolist())) == 100_000


@LAW
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), st.integers(1, 2**31))
def test_below_and_share_stay_in_range_and_in_order(many: list[int], bound: int) -> None:
    bits = np.array(sorted(many), np.uint64)
    whole, part = keys.below(bits, bound), keys.share(bits)
    assert whole.dtype == np.int64
    assert whole.min() >= 0 and whole.max() < bound
    assert (np.diff(whole) >= 0).all()
    assert part.min() >= 0 and part.max() < 1
    assert whole.tolist() == [(key >> 32) * bound >> 32 for key in sorted(many)]


def _chi_square_z(counts: np.ndarray) -> float:
    """How many standard deviations chi-square is from what uniform counts give."""
    expected = counts.sum() / len(counts)
    chi = float(((counts - expected) ** 2 / expected).sum())
    return (chi - (len(counts) - 1)) / (2 * (len(counts) - 1)) ** 0.5


def test_numbers_are_uniform() -> None:
    names = np.array([keys.key(1, "document", i) for i in range(20_000)], np.uint64)
    bounds = np.tile([1, 2, 50], 1000)
    assert (keys.below(keys.stream(8, 3000), bounds) < bounds).all(), "a bound for each"
    for bits in (names, keys.stream(5, 200_000), keys.substream(np.uint64(9), np.arange(200_000, dtype=np.uint64))):
        for bound in (2, 7, 1000):
            assert abs(_chi_square_z(np.bincount(keys.below(bits, bound), minlength=bound))) < 5
        assert abs(keys.share(bits).mean() - 0.5) < 5 / (12 * len(bits)) ** 0.5
        for bit in range(64):
            assert abs(float((bits >> np.uint64(bit) & np.uint64(1)).mean()) - 0.5) < 5 * 0.5 / len(bits) ** 0.5
