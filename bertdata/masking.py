"""Mask token ids for the masked language model: 15 % of every row, 80 % [MASK], 10 % random, 10 % kept.

Everything is a function of (seed, epoch, row): a row's mask is the same in any batch, on any rank and worker, and another one
each epoch (BERT's paper, section 3.1 task 1; RoBERTa's paper, section 4.1, for masks that change).

    >>> vocabulary = ordinary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "##s", "cup", "of"])
    >>> ids = np.array([[2, 7, 8, 5, 6, 3, 5, 6, 3, 0, 0]])
    >>> masked, positions, labels = mask(ids, vocabulary, seed=1, epoch=0, rows=np.array([7]), max_predictions=2)
    >>> positions.shape, bool(labels[0, 0] == ids[0, positions[0, 0]])
    ((1, 2), True)
    >>> *_, labels = mask(ids, vocabulary, seed=1, epoch=0, rows=np.arange(1), max_predictions=4, masked_lm_prob=0.3, unit="word")
    >>> sorted(set(labels[0].tolist()) - {IGNORED}) in ([5, 6], [7, 8])  # a word goes whole, or not at all
    True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import keys

__all__ = ["IGNORED", "UNITS", "Ordinary", "mask", "ordinary", "room"]

IGNORED = -100  # the label of a position that is not predicted, as in torch's cross_entropy
UNITS = ("piece", "word", "span")
_SPAN_P, _SPAN_WORDS = 0.2, 10  # SpanBERT (Joshi et al. 2020), section 3.1: lengths in words, Geo(0.2) up to 10, mean 3.8
_SLACK = 8  # places beyond the share, for a word that reaches over it
_ORDER, _KINDS, _WORDS, _LENGTHS, _LAST = range(5)  # what a row draws numbers for, each from a stream of its own
Ids = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]


class Ordinary(NamedTuple):
    """What masking needs of a vocabulary of V pieces.

    mask_id: [MASK]'s id.  maskable: may a piece be masked, [V].  continues: does it go on with a word (``##ing``), [V].
    words: the ids that may replace another.
    """

    mask_id: int
    maskable: Flags
    continues: Flags
    words: Ids


class _Rows(NamedTuple):
    """A batch as the selectors see it: [B, L] maskable places, [B] wanted of each row, [B] keys, [B, L] where words begin."""

    maskable: Flags
    wanted: Ids
    keys: keys.Bits
    begins: Flags


def ordinary(pieces: Sequence[str]) -> Ordinary:
    """Read a vocabulary's pieces: no special and no ``[unusedN]`` piece is ever masked or put in a word's place."""
    words = [i for i, p in enumerate(pieces) if not (p.startswith("[") and p.endswith("]") and len(p) > 2)]
    maskable = np.array([piece not in ("[PAD]", "[CLS]", "[SEP]", "[MASK]") for piece in pieces])
    continues = np.array([piece.startswith("##") and len(piece) > 2 for piece in pieces])
    return Ordinary(pieces.index("[MASK]"), maskable, continues, np.array(words or [pieces.index("[MASK]")]))


def room(length: int, masked_lm_prob: float = 0.15, unit: str = "piece") -> int:
    """Return the `max_predictions` that lets rows of `length` tokens, [CLS] and two [SEP] among them, have their full share.

    >>> room(128), room(512), room(128, unit="word")
    (19, 76, 27)
    """
    return max(1, int(np.rint((length - 2) * masked_lm_prob))) + (_SLACK if unit == "word" else 0)


def mask(
    ids: Ids,
    vocabulary: Ordinary,
    *,
    seed: int,
    epoch: int,
    rows: Ids,
    max_predictions: int,
    masked_lm_prob: float = 0.15,
    unit: str = "piece",
    per_piece: bool = False,
    continues: Flags | None = None,
) -> tuple[Ids, Ids, Ids]:
    """Mask ``ids`` [B, L], padded with a special id; ``rows`` [B] are the rows' numbers in the data set.

    Return masked ids [B, L], positions [B, P] and labels [B, P] with P = `max_predictions`; unused places have position 0 and
    label -100.  Of the n maskable tokens of a row exactly round(0.15 n) are selected, at least 1 and at most P; with
    ``unit="word"`` whole words, as many on average, and with ``"span"`` runs of words.  A word or span is replaced as one, by
    [MASK] or by random words or not at all, unless `per_piece`.  ``continues`` [B, L] tells which tokens go on with the word
    before them; without it ``##`` does.  No word reaches over a special token.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}; it must be one of {', '.join(UNITS)}")
    maskable = vocabulary.maskable[ids]
    count = maskable.sum(1)
    wanted = np.minimum(np.clip(np.rint(count * masked_lm_prob), 1, max_predictions), count).astype(np.int64)
    row_keys = keys.substream(np.uint64(keys.key(seed, "mask", epoch)), rows.astype(np.uint64))
    if unit == "piece":
        selected, first = _pieces(maskable, wanted, row_keys), None
    else:
        joined = vocabulary.continues[ids] if continues is None else continues
        begins = maskable.copy()
        begins[:, 1:] &= ~(joined[:, 1:] & maskable[:, :-1])
        batch = _Rows(maskable, wanted, row_keys, begins)
        selected, first = _words(batch, max_predictions) if unit == "word" else _spans(batch)
    row, column = np.nonzero(selected)
    drawn = column if first is None or per_piece else first[row, column]
    return _replace(ids, vocabulary, row_keys, row, column, drawn, max_predictions)


def _replace(
    ids: Ids, vocabulary: Ordinary, row_keys: keys.Bits, row: Ids, column: Ids, drawn: Ids, width: int
) -> tuple[Ids, Ids, Ids]:
    """Put [MASK], a random word or the same in each place (row, column); places with equal `drawn` fare alike."""
    masked = ids.copy()
    old = ids[row, column]
    counts = np.bincount(row, minlength=len(ids))
    kind = _kinds(row_keys, row, drawn, counts)
    picks = keys.below(keys.at(keys.substream(row_keys, _WORDS)[row], column), len(vocabulary.words))
    masked[row, column] = np.where(kind < 0.8, vocabulary.mask_id, np.where(kind < 0.9, vocabulary.words[picks], old))
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    positions = np.zeros((len(ids), width), np.int64)
    labels = np.full((len(ids), width), IGNORED, np.int64)
    positions[row, place], labels[row, place] = column, old
    return masked, positions, labels


def _kinds(row_keys: keys.Bits, row: Ids, drawn: Ids, counts: Ids) -> npt.NDArray[np.float64]:
    """Give every place a number in ``[0, 1)``: of each by itself uniform, of a row's places together spread evenly.

    A row's places are put in random order and lie on a circle in equal steps, which is turned at random.  So 80/10/10 hold in
    every row as nearly as whole places allow, where separate draws would stray.  A word lies where its first place does.
    """
    row_keys = keys.substream(row_keys, _KINDS)
    draws = keys.at(row_keys[row], drawn)
    by = np.argsort((row.astype(np.uint64) << np.uint64(40)) | (draws >> np.uint64(24)), kind="stable")
    first = np.ones(len(row), bool)
    first[1:] = (drawn[by][1:] != drawn[by][:-1]) | (row[by][1:] != row[by][:-1])
    begin = np.repeat(np.cumsum(counts) - counts, counts)  # where a row's places begin, in either order
    step = np.maximum.accumulate(np.where(first, np.arange(len(row)), 0)) - begin
    kinds = np.empty(len(row))
    kinds[by] = (step / np.repeat(counts, counts) + keys.share(keys.at(row_keys, 1 << 16))[row]) % 1.0
    return kinds


def _ranks(row_keys: keys.Bits, allowed: Flags) -> keys.Bits:
    """Give every place [B, L] a random number of its own, the column in its last 16 bits; the largest where not allowed."""
    columns = np.arange(allowed.shape[1], dtype=np.uint64)
    draws = keys.stream(keys.substream(row_keys, _ORDER), allowed.shape[1])
    return np.asarray(np.where(allowed, (draws & ~np.uint64(0xFFFF)) | columns, ~np.uint64(0)), np.uint64)


def _smallest(ranks: keys.Bits, most: int) -> keys.Bits:
    """Return the `most` smallest numbers of each row in order, or all."""
    if 0 < most < ranks.shape[1]:
        ranks = np.partition(ranks, most - 1, axis=1)[:, :most]
    return np.sort(ranks, axis=1)


def _pieces(maskable: Flags, wanted: Ids, row_keys: keys.Bits) -> Flags:
    """Select the pieces with the smallest random numbers."""
    ranks = _ranks(row_keys, maskable)
    smallest = _smallest(ranks, int(wanted.max(initial=1)))
    last = np.take_along_axis(smallest, np.maximum(wanted - 1, 0)[:, None], 1)
    return np.asarray((ranks <= last) & maskable)


def _words(batch: _Rows, most: int) -> tuple[Flags, Ids]:
    """Select words in random order up to the wanted pieces; the one that reaches over with the chance of the share it adds.

    So a row has as many as wanted on average, and a word's length does not tell whether it is selected.  Return the places
    [B, L], and of each the column where its word begins.
    """
    maskable, wanted, row_keys, begins = batch
    width = maskable.shape[1]
    first = np.maximum.accumulate(np.where(begins, np.arange(width), 0), axis=1)
    sizes = np.zeros(maskable.shape, np.int64)
    sizes[begins] = np.bincount(np.cumsum(begins.ravel())[maskable.ravel()] - 1, minlength=int(begins.sum()))
    ranks = _ranks(row_keys, begins)
    order = _smallest(ranks, most)
    taken = np.take_along_axis(sizes, (order & np.uint64(0xFFFF)).astype(np.int64) % width, 1)
    reach = np.cumsum(np.where(order == ~np.uint64(0), 0, taken), axis=1)
    chance = keys.share(keys.at(keys.substream(row_keys, _LAST), 0))
    over = reach > wanted[:, None]
    last = np.argmax(over, axis=1)[:, None]
    after, size = np.take_along_axis(reach, last, 1)[:, 0], np.take_along_axis(taken, last, 1)[:, 0]
    also = over.any(1) & (after <= most) & ((last[:, 0] == 0) | (chance * size < wanted - (after - size)))
    number = np.where(over.any(1), last[:, 0] + also, order.shape[1])  # how many words
    limit = np.take_along_axis(order, np.maximum(number - 1, 0)[:, None], 1)
    chosen = begins & (ranks <= limit) & (number > 0)[:, None]
    return np.asarray(np.take_along_axis(chosen, first, 1) & maskable), first


def _spans(batch: _Rows) -> tuple[Flags, Ids]:
    """Select spans of words that begin at random words, until exactly the wanted pieces are selected.

    A span ends at the next special token, and the last span where enough is selected.  Return the places [B, L], and of each
    the column where its span begins.
    """
    maskable, wanted, row_keys, begins = batch
    width = maskable.shape[1]
    columns = np.arange(width)
    order = (_smallest(_ranks(row_keys, begins), width) & np.uint64(0xFFFF)).astype(np.int64)
    weights = (1 - _SPAN_P) ** np.arange(_SPAN_WORDS)
    draws = keys.share(keys.stream(keys.substream(row_keys, _LENGTHS), width))
    words = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], draws, side="right") + 1
    starts = np.pad(np.sort(np.where(begins, columns, width), axis=1), ((0, 0), (0, _SPAN_WORDS + 1)), constant_values=width)
    border = np.minimum.accumulate(np.where(maskable, width, columns)[:, ::-1], axis=1)[:, ::-1]  # the next special token
    number = np.cumsum(begins, axis=1) - 1
    selected, first = np.zeros(maskable.shape, bool), np.zeros(maskable.shape, np.int64)
    left, turn = wanted.copy(), 0
    while len(rows := np.flatnonzero(left)):
        start = order[rows, turn]
        turn += 1
        free = ~selected[rows, start]
        rows, start = rows[free], start[free]
        end = np.minimum(starts[rows, number[rows, start] + words[rows, start]], border[rows, start])
        places = start[:, None] + np.arange((end - start).max(initial=0))
        new = (places < end[:, None]) & ~selected[rows[:, None], np.minimum(places, width - 1)]
        new &= np.cumsum(new, axis=1) <= left[rows][:, None]
        row, place = np.nonzero(new)
        selected[rows[row], places[row, place]] = True
        first[rows[row], places[row, place]] = start[row]
        left[rows] -= new.sum(1)
    return selected, first
