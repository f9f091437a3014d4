"""Mask token ids for the masked language model: 15 % of every row, 80 % [MASK], 10 % random, 10 % kept.

Everything is a function of (seed, epoch, row): a row's mask is the same in any batch, on any rank and worker, and another one
each epoch (BERT's paper, section 3.1 task 1; RoBERTa's paper, section 4.1, for masks that change).

    >>> vocabulary = mask_vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "##s", "cup", "of"])
    >>> ids = np.array([[2, 7, 8, 5, 6, 3, 5, 6, 3, 0, 0]])
    >>> masked, positions, labels = mask(ids, vocabulary, seed=1, epoch=0, rows=np.array([7]), max_predictions=2)
    >>> positions.shape, bool(labels[0, 0] == ids[0, positions[0, 0]])
    ((1, 2), True)
    >>> *_, labels = mask(ids, vocabulary, seed=1, epoch=0, rows=np.arange(1), max_predictions=4, masked_lm_prob=0.3, unit="word")
    >>> sorted(set(labels[0].tolist()) - {IGNORED}) in ([5, 6], [7, 8])  # a whole word is masked
    True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from ..config import PairsConfig, mask_shares
from ..labels import IGNORED
from ..pieces import Special, continues_word, of_bert

__all__ = ["UNITS", "MaskVocabulary", "mask", "mask_vocabulary", "max_predictions_of", "predictions_per_row"]

UNITS = ("piece", "word", "span")
_SPAN_P, _SPAN_WORDS = 0.2, 10  # SpanBERT (Joshi et al. 2020), section 3.1: lengths in words, Geo(0.2) up to 10, mean 3.8
_SLACK = 8  # positions beyond the share, for the last word, which may reach over it
_ORDER, _KINDS, _WORDS, _LENGTHS, _LAST = range(5)  # the streams of random numbers of a row, one for each use
Ids = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]


class MaskVocabulary(NamedTuple):
    """What masking needs of a vocabulary of V pieces.

    mask_id: [MASK]'s id.  maskable: whether a piece may be masked, [V].  continues: whether it continues a word (``##ing``), [V].
    words: the ids from which random replacements are drawn.
    """

    mask_id: int
    maskable: Flags
    continues: Flags
    words: Ids


class _Rows(NamedTuple):
    """A batch as the selectors see it: maskable positions [B, L], how many to select [B], keys [B], where words begin [B, L]."""

    maskable: Flags
    wanted: Ids
    keys: keys.Bits
    begins: Flags


def mask_vocabulary(pieces: Sequence[str], special: Special | None = None) -> MaskVocabulary:
    """Read a vocabulary's pieces: no special token is masked, and none, nor an unknown word, replaces a piece.

    `special` are those of a vocabulary that is not BERT's.
    """
    special = special or of_bert(pieces)
    maskable = np.ones(len(pieces), bool)
    maskable[sorted(special.never)] = False
    words = maskable.copy()
    words[[i for i in (special.unk,) if i >= 0]] = False
    continues = np.array([continues_word(piece, special.mark) for piece in pieces])
    drawn = np.flatnonzero(words)
    return MaskVocabulary(special.mask, maskable, continues, drawn if len(drawn) else np.array([special.mask]))


def predictions_per_row(length: int, masked_lm_prob: float = 0.15, unit: str = "piece") -> int:
    """Return the `max_predictions` with which rows of `length` tokens, at least two of them special, get their full share.

    >>> predictions_per_row(128), predictions_per_row(512), predictions_per_row(128, unit="word")
    (19, 76, 27)
    """
    return max(1, int(np.rint((length - 2) * masked_lm_prob))) + (_SLACK if unit != "piece" else 0)


def max_predictions_of(config: PairsConfig) -> int:
    """Return the most tokens that are masked in a row of a data set with static masks."""
    return config.max_predictions or predictions_per_row(config.max_seq_length, config.masked_lm_prob or 0.0, config.unit)


def mask(
    ids: Ids,
    vocabulary: MaskVocabulary,
    *,
    seed: int,
    epoch: int,
    rows: Ids,
    max_predictions: int,
    masked_lm_prob: float = 0.15,
    unit: str = "piece",
    per_piece: bool = False,
    continues: Flags | None = None,
    shares: str = "80/10/10",
) -> tuple[Ids, Ids, Ids]:
    """Mask ``ids`` [B, L], padded with a special id; ``rows`` [B] are the rows' numbers in the data set.

    Return masked ids [B, L], positions [B, P] and labels [B, P] with P = `max_predictions`; unused entries have position 0 and
    label `IGNORED`.  Of the n maskable tokens of a row exactly round(0.15 n) are selected, at least 1 and at most P; with
    ``unit="word"`` whole words, as many tokens on average, and with ``"span"`` runs of words.  All pieces of a word or span are
    treated alike, replaced by [MASK] or by random pieces or kept, unless `per_piece`.  ``continues`` [B, L] tells which tokens
    continue the word before them; without it ``##`` does.  No word and no span reaches over a special token, so none over two
    parts of a packed row.  `shares` are those of [MASK], random and kept pieces.
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
        selected, first = _words(batch, max_predictions) if unit == "word" else _spans(batch, max_predictions)
    row, column = np.divmod(np.flatnonzero(selected), ids.shape[1])  # faster than np.nonzero of two dimensions
    drawn = column if first is None or per_piece else first[row, column]
    return _replace(ids, vocabulary, row_keys, row, column, drawn, max_predictions, mask_shares(shares))


def _replace(
    ids: Ids,
    vocabulary: MaskVocabulary,
    row_keys: keys.Bits,
    row: Ids,
    column: Ids,
    drawn: Ids,
    width: int,
    shares: tuple[float, float],
) -> tuple[Ids, Ids, Ids]:
    """Replace the tokens at (row, column) by [MASK] or a random word, or keep them; those of a row with equal `drawn` alike."""
    masked = ids.copy()
    old = ids[row, column]
    counts = np.bincount(row, minlength=len(ids))
    kind = _kinds(row_keys, row, drawn, counts)
    picks = keys.below(keys.at(keys.substream(row_keys, _WORDS)[row], column), len(vocabulary.words))
    masked[row, column] = np.where(kind < shares[0], vocabulary.mask_id, np.where(kind < shares[1], vocabulary.words[picks], old))
    nth = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)  # of its row's selected tokens
    positions = np.zeros((len(ids), width), np.int64)
    labels = np.full((len(ids), width), IGNORED, np.int64)
    positions[row, nth], labels[row, nth] = column, old
    return masked, positions, labels


def _kinds(row_keys: keys.Bits, row: Ids, drawn: Ids, counts: Ids) -> npt.NDArray[np.float64]:
    """Return a number in ``[0, 1)`` for each selected token, by systematic sampling: each is uniform, a row's evenly spread.

    A row's n tokens, in random order, get (k + u) / n modulo 1 for k = 0 to n - 1, with one uniform offset u.  So each row is as
    close to 80/10/10 as n allows, where independent draws would vary: of 20 tokens exactly 16 are below 0.8.  All pieces of a
    word get the number of its first piece, as they have equal `drawn`.
    """
    row_keys = keys.substream(row_keys, _KINDS)
    draws = keys.at(row_keys[row], drawn)
    order = (row.astype(np.uint64) << np.uint64(40)) | (draws >> np.uint64(24))
    by = np.argsort(order)  # many times as fast as a stable sort, and the same where no two are equal
    if (order[by][1:] == order[by][:-1]).any():
        by = np.argsort(order, kind="stable")
    first = np.ones(len(row), bool)
    first[1:] = (drawn[by][1:] != drawn[by][:-1]) | (row[by][1:] != row[by][:-1])
    begin = np.repeat(np.cumsum(counts) - counts, counts)  # where a row's tokens begin, in either order
    step = np.maximum.accumulate(np.where(first, np.arange(len(row)), 0)) - begin
    kinds = np.empty(len(row))
    kinds[by] = (step / np.repeat(counts, counts) + keys.share(keys.at(row_keys, 1 << 16))[row]) % 1.0
    return kinds


def _ranks(row_keys: keys.Bits, allowed: Flags) -> keys.Bits:
    """Return a different random number for each position [B, L], its column in the last 16 bits; the largest if not allowed."""
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
    ranks, at = _ranks(row_keys, maskable), np.maximum(wanted - 1, 0)
    lasts = np.partition(ranks, np.unique(at), axis=1) if ranks.size else ranks  # each row's own number, and those of others
    last = np.take_along_axis(lasts, at[:, None], 1)
    selected = ranks <= last
    selected &= maskable
    return np.asarray(selected)


def _words(batch: _Rows, most: int) -> tuple[Flags, Ids]:
    """Select words in random order until the wanted number of pieces is reached.

    The word that reaches over it is selected by chance: of 19 wanted pieces 17 are selected, and a word of 4 comes next, which is
    selected with probability 2/4.  So 19 are selected on average, and long words are as likely as short ones.  Return which
    positions are selected [B, L], and for each position the column where its word begins.
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
    number = np.where(over.any(1), last[:, 0] + also, order.shape[1])  # of words that are selected
    limit = np.take_along_axis(order, np.maximum(number - 1, 0)[:, None], 1)
    chosen = begins & (ranks <= limit) & (number > 0)[:, None]
    return np.asarray(np.take_along_axis(chosen, first, 1) & maskable), first


def _spans(batch: _Rows, most: int) -> tuple[Flags, Ids]:
    """Select spans of words that begin at random words, until the wanted number of pieces is reached.

    A span ends at the next special token, and the last span where enough is selected.  No word is cut: the word that reaches over
    the wanted number is selected by chance, as in `_words`, if no more than `most` pieces are selected then.  Return which
    positions are selected [B, L], and for each of them the column where its span begins.
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
    chance = keys.share(keys.at(keys.substream(row_keys, _LAST), 0))
    selected, first = np.zeros(maskable.shape, bool), np.zeros(maskable.shape, np.int64)
    left, turn, turns = wanted.copy(), 0, begins.sum(1)
    while len(rows := np.flatnonzero((left > 0) & (turn < turns))):
        start = order[rows, turn]
        turn += 1
        free = ~selected[rows, start]
        rows, start = rows[free], start[free]
        if not len(rows):
            continue
        end = np.minimum(starts[rows, number[rows, start] + words[rows, start]], border[rows, start])
        span = start[:, None] + np.arange((end - start).max(initial=0))
        within = np.minimum(span, width - 1)
        new = (span < end[:, None]) & ~selected[rows[:, None], within]
        reach = np.cumsum(new, axis=1)
        over = new & (reach > left[rows][:, None])
        # In the example of `_words` the word that reaches over has 4 pieces, and 2 are wanted: it is selected in 2 of 4 rows.
        word = np.where(new, number[rows[:, None], within], -1)
        last = word[np.arange(len(rows)), np.argmax(over, axis=1)]  # the word that reaches over, if one does
        of_last = over.any(1)[:, None] & (word == last[:, None])
        size, before = of_last.sum(1), (new & (word < last[:, None])).sum(1)
        none = before + wanted[rows] - left[rows] == 0  # nothing is selected yet: this word is, as far as it may be
        fits = wanted[rows] - left[rows] + before + size <= most
        also = fits & (none | (chance[rows] * size < left[rows] - before))
        new &= ~over.any(1)[:, None] | (word < last[:, None]) | (of_last & also[:, None])
        row, nth = np.nonzero(new)
        selected[rows[row], span[row, nth]] = True
        first[rows[row], span[row, nth]] = start[row]
        left[rows] = np.where(over.any(1) & ~(none & ~fits), 0, left[rows] - new.sum(1))
    return selected, first
