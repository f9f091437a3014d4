"""Masks: exact shares, ordinary words only, and the same wherever a row is read."""

from __future__ import annotations

import doctest
import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.pieces import IGNORED, Special
from bertdata.rows import masking
from bertdata.rows.masking import UNITS, mask, mask_vocabulary, predictions_per_row

LAW = settings(deadline=None, max_examples=30)
UNUSED = [f"[unused{i}]" for i in range(20)]
WORDS = [*(f"w{i}" for i in range(500)), *(f"##w{i}" for i in range(300))]
PIECES = ["[PAD]", *UNUSED, "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "["]
PAD, UNK, CLS, SEP, MASK = (PIECES.index(f"[{name}]") for name in ("PAD", "UNK", "CLS", "SEP", "MASK"))
VOCABULARY = mask_vocabulary(PIECES, Special(PAD, UNK, CLS, SEP, MASK, tuple(map(PIECES.index, UNUSED)), "##"))
FIRST = PIECES.index("w0")


def _row(length: int, width: int, start: int = 0) -> list[int]:
    """[CLS] half [SEP] half [SEP] and padding; `length` counts the words."""
    words = [FIRST + (start + i) % 800 for i in range(length)]
    row = [CLS, *words[: length // 2], SEP, *words[length // 2 :], SEP]
    return row + [PAD] * (width - len(row))


def _mask(ids: Any, rows: Any, *, most: int = 80, **options: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    options = {"seed": 1, "epoch": 0, **options}
    return mask(np.asarray(ids), VOCABULARY, rows=np.asarray(rows), max_predictions=most, **options)


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
    never = [i for i, piece in enumerate(PIECES) if piece.startswith("[unused") or i in (PAD, CLS, SEP, MASK)]
    assert np.flatnonzero(~VOCABULARY.maskable).tolist() == never
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


@pytest.mark.slow
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
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.003)
    counts = np.bincount(row, minlength=len(masked))
    masked_counts = np.bincount(row[new == MASK], minlength=len(masked))
    deviations = (masked_counts - 0.8 * counts) / np.sqrt(0.16 * counts)
    assert deviations.std() == pytest.approx(1, abs=0.05), "the draws are independent, as in BERT"


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


@LAW
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=6),
    st.integers(0, 1000),
    st.permutations(range(6)),
    st.sampled_from(UNITS),
)
def test_a_rows_mask_does_not_depend_on_the_batch(lengths: list[int], first: int, order: list[int], unit: str) -> None:
    """Alone, among others, in another order."""
    ids = np.array([_row(n, 64, 490 + n) for n in lengths])
    rows = np.arange(len(lengths)) + first
    whole = _mask(ids, rows, most=9, unit=unit)
    mixed = [i for i in order if i < len(lengths)]
    for i, *found in zip(mixed, *_mask(ids[mixed], rows[mixed], most=9, unit=unit), strict=True):
        alone = _mask(ids[i : i + 1], rows[i : i + 1], most=9, unit=unit)
        for part, single, told in zip(whole, alone, found, strict=True):
            assert part[i].tolist() == single[0].tolist() == told.tolist()


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("width", [63, 64, 100, 128])
def test_a_rows_mask_does_not_depend_on_the_padding_of_its_batch(width: int, unit: str) -> None:
    """A batch padded to its longest row, on one rank, and the same row in another batch, on another."""
    for row in range(20):
        ids = _row(60, 63, 480 + row)
        narrow, wide = (_mask([ids + [PAD] * more], [row], most=9, unit=unit) for more in (0, width - 63))
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
    _masked, _positions, labels = mask(
        ids, VOCABULARY, seed=1, epoch=0, rows=np.array([0]), max_predictions=60, masked_lm_prob=0.4
    )
    assert (labels != IGNORED).sum() == 40 and (ids == before).all()


def _wordy(count: int, width: int = 128) -> np.ndarray:
    """Rows of words of one to four pieces, the second half behind a [SEP]; one in five begins with a piece that continues."""
    random = np.random.default_rng(4)
    starts, inner = FIRST + random.integers(0, 500, (count, width)), FIRST + 500 + random.integers(0, 300, (count, width))
    ids = np.where(random.random((count, width)) < 0.4, inner, starts)
    ids[:, 0], ids[:, -1] = CLS, SEP
    ids[np.arange(count), random.integers(20, width - 20, count)] = SEP
    return ids


def _words_of(rows: np.ndarray) -> np.ndarray:
    """The number of each piece's word, by the rule said plainly: ``##`` goes on, unless a special token stands before it.

    Words are numbered over all rows, from 1; what is no word has number 0.
    """
    word = rows >= FIRST
    before = np.pad(word, ((0, 0), (1, 0)))[:, :-1]
    goes_on = (rows >= FIRST + 500) & (rows < FIRST + 800) & before
    return np.where(word, np.cumsum(word & ~goes_on).reshape(rows.shape), 0)


@pytest.fixture(scope="module")
def wordy() -> np.ndarray:
    return _wordy(8000)


def _selected(positions: np.ndarray, labels: np.ndarray, width: int) -> np.ndarray:
    chosen = np.zeros((len(positions), width), bool)
    row, position = np.nonzero(labels != IGNORED)
    chosen[row, positions[row, position]] = True
    return chosen


@pytest.mark.parametrize("most", [predictions_per_row(128, unit="word"), 20])
@pytest.mark.slow
def test_words_go_whole_and_make_up_the_share(wordy: np.ndarray, most: int) -> None:
    _masked, positions, labels = _mask(wordy, np.arange(len(wordy)), unit="word", most=most)
    chosen = _selected(positions, labels, 128)
    words = _words_of(wordy).ravel()
    lengths, picked = np.bincount(words)[1:], np.bincount(words, chosen.ravel())[1:]
    assert ((picked == 0) | (picked == lengths)).all()
    assert not chosen[wordy < FIRST].any() and chosen.sum(1).min() >= 1 and chosen.sum(1).max() <= most
    if most > 20:  # with little room long words are left out: what the docstring of `predictions_per_row` is for
        counts = (wordy >= FIRST).sum(1)
        assert chosen.sum() == pytest.approx(np.rint(0.15 * counts).sum(), rel=0.003)
        shares = [(picked[lengths == length] > 0).mean() for length in (1, 2, 3, 4)]
        assert shares == pytest.approx([0.15] * 4, abs=0.015)


@pytest.mark.slow
def test_each_token_of_a_word_is_replaced_independently(wordy: np.ndarray) -> None:
    masked, positions, labels = _mask(wordy, np.arange(len(wordy)), unit="word", most=27)
    chosen = _selected(positions, labels, 128)
    words = _words_of(wordy)[chosen]
    lengths, shown = np.bincount(words), np.bincount(words, masked[chosen] == MASK)
    assert ((shown > 0) & (shown < lengths)).sum() > 400
    new, old = masked[chosen], wordy[chosen]
    shares = [(new == MASK).mean(), ((new != MASK) & (new != old)).mean(), (new == old).mean()]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.006)
    assert np.isin(new, [MASK, *VOCABULARY.words]).all()


def test_words_that_the_caller_names() -> None:
    """Chinese characters are pieces of their own; what joins them to words comes with the row."""
    ids = np.array([_row(40, 43)])
    continues = np.zeros(ids.shape, bool)
    continues[0, 2:21:2] = continues[0, 23:42:2] = True  # words of two, on either side of the [SEP] at 21
    _masked, positions, labels = _mask(ids, [3], unit="word", continues=continues)
    chosen = set(positions[0][labels[0] != IGNORED].tolist())
    assert chosen and all((position - 1 if continues[0, position] else position + 1) in chosen for position in chosen)


def test_a_row_of_one_word_and_a_row_of_none() -> None:
    ids = np.array([[CLS, FIRST, FIRST + 500, FIRST + 501, SEP, PAD], [CLS, SEP, SEP, PAD, PAD, PAD]])
    for unit in UNITS:
        masked, _positions, labels = _mask(ids, [0, 1], unit=unit, most=4)
        assert (labels[0] != IGNORED).sum() == (1 if unit == "piece" else 3)
        assert (labels[1] == IGNORED).all() and masked[1].tolist() == ids[1].tolist()


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="unit is 'phrase'"):
        _mask([_row(10, 13)], [0], unit="phrase")


@pytest.mark.parametrize(("unit", "digest"), [("piece", "26fe90ad3a5a721f"), ("word", "2bbd04abc4606d01")])
def test_masks_are_the_same_in_every_release(unit: str, digest: str) -> None:
    """Static masks, and runs that continue, depend on these bytes."""
    ids = np.array([_row(5 + 3 * i, 128, 20 * i) for i in range(40)])
    arrays = _mask(ids, np.arange(40) * 7, most=30, unit=unit, epoch=3)
    found = hashlib.sha256(b"".join(array.astype("<i8").tobytes() for array in arrays)).hexdigest()[:16]
    assert found == digest
