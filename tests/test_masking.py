"""Masks: exact shares, ordinary words only, and the same wherever a row is read."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata import masking
from bertdata.masking import IGNORED, Ordinary, mask, ordinary

LAW = settings(deadline=None, max_examples=60)
UNUSED = [f"[unused{i}]" for i in range(20)]
PIECES = [
    "[PAD]",
    *UNUSED,
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *(f"w{i}" for i in range(500)),
    *(f"##w{i}" for i in range(300)),
    "[",
]
VOCABULARY = ordinary(PIECES)
PAD, CLS, SEP, MASK = (PIECES.index(f"[{name}]") for name in ("PAD", "CLS", "SEP", "MASK"))
FIRST = PIECES.index("w0")


def _row(length: int, width: int, start: int = 0) -> list[int]:
    """[CLS] half [SEP] half [SEP] and padding; `length` counts the words."""
    words = [FIRST + (start + i) % 800 for i in range(length)]
    row = [CLS, *words[: length // 2], SEP, *words[length // 2 :], SEP]
    return row + [PAD] * (width - len(row))


def _mask(ids: Any, rows: Any, *, seed: int = 1, epoch: int = 0, most: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return mask(np.asarray(ids), VOCABULARY, seed=seed, epoch=epoch, rows=np.asarray(rows), max_predictions=most)


@pytest.fixture(scope="module")
def million() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of 1 to 125 words, over a million of them in all."""
    lengths = np.random.default_rng(1).integers(1, 126, 20_000)
    ids = np.array([_row(int(n), 128, int(n) * 7) for n in lengths])
    assert lengths.sum() > 1_000_000
    return ids, *_mask(ids, np.arange(len(ids)), most=19)


def test_doctests() -> None:
    assert doctest.testmod(masking).failed == 0


def test_ordinary_words_are_no_specials() -> None:
    assert VOCABULARY.mask_id == MASK
    assert sorted(VOCABULARY.special.tolist()) == [PAD, CLS, SEP, MASK]
    assert [PIECES[i] for i in VOCABULARY.words.tolist()] == [p for p in PIECES if not p.startswith("[") or p == "["]


def test_a_row_worked_by_hand() -> None:
    """Ten maskable of thirteen: round(1.5) = 2 are selected, and only they change."""
    ids = np.array([_row(10, 16)])
    masked, positions, labels = _mask(ids, [5], most=4)
    assert positions.shape == labels.shape == (1, 4)
    chosen = positions[0][:2]
    assert (
        (labels[0][:2] == ids[0][chosen]).all()
        and labels[0][2:].tolist() == [IGNORED] * 2
        and positions[0][2:].tolist() == [0, 0]
    )
    assert np.flatnonzero(masked[0] != ids[0]).tolist() == [p for p in chosen if masked[0, p] != ids[0, p]]


def test_exactly_the_share_of_every_row(million: Any) -> None:
    ids, _masked, _positions, labels = million
    maskable = (ids >= FIRST).sum(1)
    expected = [min(19, max(1, round(0.15 * int(n)))) for n in maskable]
    assert ((labels != IGNORED).sum(1) == expected).all()


def test_labels_are_the_original_ids_and_the_rest_is_untouched(million: Any) -> None:
    ids, masked, positions, labels = million
    row, column = np.nonzero(labels != IGNORED)
    at = positions[row, column]
    assert (ids[row, at] == labels[row, column]).all()
    assert (ids[row, at] >= FIRST).all()  # never [CLS], [SEP] or padding
    assert len({*zip(row.tolist(), at.tolist(), strict=True)}) == len(row)
    rest = np.ones(ids.shape, bool)
    rest[row, at] = False
    assert (masked[rest] == ids[rest]).all()
    assert (positions[labels == IGNORED] == 0).all()
    inside = positions[:, :-1] < positions[:, 1:]
    assert inside[(labels != IGNORED)[:, 1:]].all()  # in order


def test_eighty_ten_ten(million: Any) -> None:
    _ids, masked, positions, labels = million
    row, column = np.nonzero(labels != IGNORED)
    new, old = masked[row, positions[row, column]], labels[row, column]
    shares = [(new == MASK).mean(), ((new != MASK) & (new != old)).mean(), (new == old).mean()]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.005)


def test_random_words_are_ordinary_and_uniform(million: Any) -> None:
    _ids, masked, positions, labels = million
    row, column = np.nonzero(labels != IGNORED)
    new, old = masked[row, positions[row, column]], labels[row, column]
    random = new[(new != MASK) & (new != old)]
    assert np.isin(random, VOCABULARY.words).all()
    counts = np.bincount(random, minlength=len(PIECES))[VOCABULARY.words]
    expected = len(random) / len(counts)
    z = (float(((counts - expected) ** 2 / expected).sum()) - (len(counts) - 1)) / (2 * (len(counts) - 1)) ** 0.5
    assert len(random) > 10_000 and counts.min() > 0 and abs(z) < 5


def test_every_place_is_selected_equally_often() -> None:
    ids = np.tile(_row(100, 103), (20_000, 1))
    _masked, positions, labels = _mask(ids, np.arange(20_000))
    counts = np.bincount(positions[labels != IGNORED], minlength=103)[ids[0] >= FIRST]
    assert counts.sum() == 20_000 * 15
    assert abs(counts / 20_000 - 0.15).max() < 5 * (0.15 * 0.85 / 20_000) ** 0.5


def test_masks_differ_by_epoch_seed_and_row() -> None:
    ids = np.tile(_row(100, 103), (200, 1))
    rows = np.arange(200)
    first = _mask(ids, rows)
    others = [_mask(ids, rows, epoch=1), _mask(ids, rows, seed=2), _mask(ids, rows + 200)]
    for _masked, positions, _labels in others:
        same = (positions == first[1]).all(1)
        assert not same.any()
    shared = np.mean([np.isin(a[:15], b[:15]).mean() for a, b in zip(first[1], others[0][1], strict=True)])
    assert shared == pytest.approx(0.15, abs=0.02)  # as many as by chance


def test_equal_for_equal_names() -> None:
    ids = np.array([_row(60, 64, i) for i in range(50)])
    for one, other in zip(_mask(ids, np.arange(50)), _mask(ids, np.arange(50)), strict=True):
        assert one.tolist() == other.tolist()


@LAW
@given(st.lists(st.integers(0, 60), min_size=1, max_size=6), st.integers(0, 1000), st.permutations(range(6)))
def test_a_rows_mask_does_not_depend_on_the_batch(lengths: list[int], first: int, order: list[int]) -> None:
    """Alone, among others, in another order."""
    ids = np.array([_row(n, 64, n) for n in lengths])
    rows = np.arange(len(lengths)) + first
    whole = _mask(ids, rows, most=9)
    mixed = [i for i in order if i < len(lengths)]
    for i, *found in zip(mixed, *_mask(ids[mixed], rows[mixed], most=9), strict=True):
        alone = _mask(ids[i : i + 1], rows[i : i + 1], most=9)
        for part, single, told in zip(whole, alone, found, strict=True):
            assert part[i].tolist() == single[0].tolist() == told.tolist()


@pytest.mark.parametrize("width", [63, 64, 100, 128])
def test_a_rows_mask_does_not_depend_on_the_padding_of_its_batch(width: int) -> None:
    """A batch padded to its longest row, on one rank, and the same row in another batch, on another."""
    for row in range(20):
        narrow, wide = _mask([_row(60, 63, row)], [row], most=9), _mask([_row(60, width, row)], [row], most=9)
        assert narrow[1].tolist() == wide[1].tolist()
        assert narrow[2].tolist() == wide[2].tolist()
        assert narrow[0][0].tolist() == wide[0][0, :63].tolist()


def test_a_rows_mask_does_not_depend_on_the_room_for_predictions() -> None:
    """Nine are selected; room for 9 or for 20 must not change what becomes of them."""
    for row in range(20):
        small, large = _mask([_row(60, 64, row)], [row], most=9), _mask([_row(60, 64, row)], [row], most=20)
        assert small[1][0].tolist() == large[1][0, :9].tolist()
        assert small[0].tolist() == large[0].tolist()


@LAW
@given(st.integers(0, 30), st.integers(1, 70), st.sampled_from([np.uint16, np.int32, np.int64]))
def test_short_rows_and_wide_rooms(length: int, most: int, dtype: Any) -> None:
    ids = np.array([_row(length, 34)], dtype)
    masked, positions, labels = _mask(ids, [3], most=most)
    assert masked.dtype == dtype and positions.shape == labels.shape == (1, most)
    expected = min(most, max(1, round(0.15 * length)), length)
    assert (labels != IGNORED).sum() == expected
    assert (masked >= 0).all() and (masked < len(PIECES)).all()


def test_the_share_can_be_chosen_and_the_input_is_not_changed() -> None:
    ids = np.array([_row(100, 103)])
    before = ids.copy()
    vocabulary = Ordinary(MASK, VOCABULARY.special, VOCABULARY.words)
    _masked, _positions, labels = mask(
        ids, vocabulary, seed=1, epoch=0, rows=np.array([0]), max_predictions=60, masked_lm_prob=0.4
    )
    assert (labels != IGNORED).sum() == 40 and (ids == before).all()
