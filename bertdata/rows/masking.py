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

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from ..config import mask_shares
from ..labels import IGNORED
from .mask_vocabulary import MaskVocabulary, mask_vocabulary, max_predictions_of, predictions_per_row

__all__ = ["UNITS", "MaskVocabulary", "mask", "mask_vocabulary", "max_predictions_of", "predictions_per_row"]

UNITS = ("piece", "word", "span")
_SPAN_P, _SPAN_WORDS = 0.2, 10  # SpanBERT (Joshi et al. 2020), section 3.1: lengths in words, Geo(0.2) up to 10, mean 3.8
_STREAMS = 5
_ORDER, _KINDS, _WORDS, _LENGTHS, _LAST = range(_STREAMS)  # the streams of random numbers of a row, one for each use
_STREAM_NUMBERS = keys.child(np.arange(_STREAMS, dtype=np.uint64))[:, None]
_TINY = 1e-300  # stands for a weight of 0, by which nothing can be divided
_OFFSET = 1 << 16  # of the stream of kinds, the number that is drawn once for a row: no position is so far
Ids = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]


class _Rows(NamedTuple):
    """The arguments of the selectors.

    maskable: positions that may be masked [B, L].  wanted: number of pieces to select [B].  keys: [5, B].  begins: where words
    begin [B, L].  weights: the weight of each word, where it begins [B, L], or None for equal weights.
    """

    maskable: Flags
    wanted: Ids
    keys: keys.Bits
    begins: Flags
    weights: Ids | None


def mask(
    ids: Ids,
    vocabulary: MaskVocabulary,
    *,
    seed: int,
    epoch: int,
    rows: Ids,
    max_predictions: int,
    masked_lm_prob: float | Ids = 0.15,
    unit: str = "piece",
    per_piece: bool = False,
    continues: Flags | None = None,
    shares: str = "80/10/10",
    weights: Ids | None = None,
) -> tuple[Ids, Ids, Ids]:
    """Mask ``ids`` [B, L], padded with a special id; ``rows`` [B] are the rows' numbers in the dataset.

    Return masked ids [B, L], positions [B, P] and labels [B, P] with P = `max_predictions`; unused entries have position 0 and
    label `IGNORED`.  Of the n maskable tokens of a row exactly round(0.15 n) are selected, at least 1 and at most P; with
    ``unit="word"`` whole words, as many tokens on average, and with ``"span"`` runs of words.  All pieces of a word or span are
    treated alike, replaced by [MASK] or by random pieces or kept, unless `per_piece`.  ``continues`` [B, L] marks the tokens that
    continue the word before them; without it ``##`` does.  No word and no span reaches over a special token, so none over two
    parts of a packed row.  `shares` are those of [MASK], random and kept pieces.

    `masked_lm_prob` may have a share for each row [B].  With `weights` [V], pieces are selected without replacement, with
    probabilities proportional to their weights (for words and spans, to the mean weight of a word), and the number of selected
    pieces stays the same.  A piece of weight 0 is selected only if a row has too few others.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}; it must be one of {', '.join(UNITS)}")
    maskable = vocabulary.maskable.take(ids)
    barred = np.flatnonzero(~maskable)
    count = ids.shape[1] - np.bincount(barred // ids.shape[1], minlength=len(ids))
    wanted = np.minimum(np.minimum(np.maximum(np.rint(count * masked_lm_prob), 1), max_predictions), count).astype(np.int64)
    row_keys = keys.substream(_epoch_key(seed, epoch), rows.astype(np.uint64))
    streams = keys.derive(row_keys, _STREAM_NUMBERS)  # [5, B] at once: for a small batch the calls take most of the time
    if unit == "piece":
        selected, first = _pieces(maskable, barred, wanted, streams[_ORDER], None if weights is None else weights.take(ids)), None
    else:
        joined = vocabulary.continues[ids] if continues is None else continues
        begins = maskable.copy()
        begins[:, 1:] &= ~(joined[:, 1:] & maskable[:, :-1])
        of_words = None if weights is None else _means(weights.take(ids), maskable, begins)
        batch = _Rows(maskable, wanted, streams, begins, of_words)
        selected, first = _words(batch, max_predictions) if unit == "word" else _spans(batch, max_predictions)
    at = np.flatnonzero(selected)
    words = None if first is None or per_piece else first.ravel()[at]
    return _replace(ids, vocabulary, streams, at, words, max_predictions, _mask_shares(shares))


_mask_shares = lru_cache(mask_shares)  # parsing takes as long as some of the arithmetic


@lru_cache
def _epoch_key(seed: int, epoch: int) -> int:
    return keys.key(seed, "mask", epoch)


def _replace(
    ids: Ids, vocabulary: MaskVocabulary, streams: keys.Bits, at: Ids, words: Ids | None, width: int, shares: tuple[float, float]
) -> tuple[Ids, Ids, Ids]:
    """Replace the tokens at `at`, indices of all tokens end to end, by [MASK] or a random word, or keep them.

    The tokens of a row with equal `words` are treated alike, or where it is None, each by its own number.
    """
    masked, count = ids.copy(), ids.shape[1]
    flat, old = masked.ravel(), ids.ravel().take(at)  # `flat` is a view
    starts = np.searchsorted(at, np.arange(len(ids) + 1) * count)  # of each row's tokens in `at`
    counts = np.diff(starts)
    row = np.repeat(np.arange(len(ids)), counts)
    column = at - row * count
    places = np.arange(len(at)) + (row * width - starts.take(row))  # in the arrays of positions and labels, end to end
    positions = np.zeros((len(ids), width), np.int64)
    labels = np.full(positions.shape, IGNORED, np.int64)
    positions.ravel()[places], labels.ravel()[places] = column, old
    drawn = positions
    if words is not None:
        drawn = np.zeros(positions.shape, np.int64)
        drawn.ravel()[places] = words
    kinds, order = _kinds(streams[_KINDS], drawn, counts, places, repeated=words is not None)
    order += starts.take(row)
    order = order[kinds < shares[1]]
    kinds = kinds[kinds < shares[1]]
    changed = at.take(order)
    flat[changed] = vocabulary.mask_id
    random = order[kinds >= shares[0]]
    picks = keys.below(keys.at(streams[_WORDS].take(row.take(random)), column.take(random)), len(vocabulary.words))
    flat[at.take(random)] = vocabulary.words[picks]
    return masked, positions, labels


def _kinds(row_keys: keys.Bits, drawn: Ids, counts: Ids, places: Ids, *, repeated: bool) -> tuple[npt.NDArray[np.float64], Ids]:
    """Return numbers in ``[0, 1)`` for the selected tokens, by systematic sampling, and which token of its row gets each.

    A row's n tokens, in random order, get (k + u) / n modulo 1 for k = 0 to n - 1, with one uniform offset u.  So each row is as
    close to 80/10/10 as n allows, where independent draws would vary: of 20 tokens exactly 16 are below 0.8.  If `drawn` [B, P]
    is `repeated`, all pieces of a word get the number of its first piece, as they have equal `drawn`.  `places` are the indices
    of the selected tokens in `drawn`, end to end.
    """
    nth = np.arange(drawn.shape[1])
    unused = nth >= counts[:, None]
    draws = keys.at(row_keys[:, None], drawn)
    # A sort is several times as fast as an argsort, so each number carries its place in its last 16 bits.
    draws >>= np.uint64(24)
    draws <<= np.uint64(16)
    draws |= nth.view(np.uint64)
    draws[unused] = ~np.uint64(0)
    draws.sort(axis=1)
    draws &= np.uint64(0xFFFF)
    order, step = draws.view(np.int64), nth
    if repeated:
        by_draw = np.take_along_axis(drawn, np.where(unused, 0, order), 1)
        first = np.ones(unused.shape, bool)
        first[:, 1:] = by_draw[:, 1:] != by_draw[:, :-1]
        step = np.maximum.accumulate(np.where(first, nth, 0), axis=1)
    numbers = step / np.maximum(counts, 1)[:, None]
    numbers += keys.share(keys.at(row_keys, _OFFSET))[:, None]
    numbers -= numbers >= 1  # the same as modulo 1 below 2, in a fraction of the time
    return numbers.take(places), order.take(places)


def _ranks(order_keys: keys.Bits, allowed: Flags, weights: Ids | None = None) -> keys.Bits:
    """Return a different random number for each position [B, L], its column in the last 16 bits; the largest if not allowed.

    With `weights` [B, L], these are exponential variables divided by the weights, of which the k smallest are a sample without
    replacement (Efraimidis and Spirakis 2006).  Positive floats and their bits have the same order.
    """
    columns = np.arange(allowed.shape[1], dtype=np.uint64)
    draws = keys.stream(order_keys, allowed.shape[1])
    if weights is not None:
        draws = (-np.log1p(-keys.share(draws)) / np.maximum(weights, _TINY)).view(np.uint64)
    return np.asarray(np.where(allowed, (draws & ~np.uint64(0xFFFF)) | columns, ~np.uint64(0)), np.uint64)


def _smallest(ranks: Ids, most: int) -> Ids:
    """Return the `most` smallest numbers of each row in order, or all."""
    if 0 < most < ranks.shape[1]:
        ranks = np.partition(ranks, most - 1, axis=1)[:, :most]
    return np.sort(ranks, axis=1)


def _means(weights: Ids, maskable: Flags, begins: Flags) -> Ids:
    """Return the mean weight of the pieces of each word, where it begins [B, L]."""
    word = np.cumsum(begins.ravel())[maskable.ravel()] - 1
    means = np.zeros(maskable.shape)
    means[begins] = np.bincount(word, weights[maskable]) / np.bincount(word)
    return means


def _pieces(maskable: Flags, barred: Ids, wanted: Ids, order_keys: keys.Bits, weights: Ids | None) -> Flags:
    """Select the pieces with the smallest random numbers; `barred` are the indices of those that are not maskable.

    The upper 31 bits decide, in half of the time, unless a piece that is not wanted has the same as the last that is.
    """
    if weights is None:
        draws = keys.upper(order_keys, maskable.shape[1])
        draws.ravel()[barred] = np.iinfo(np.int32).max
        selected = draws <= _last(draws, wanted)
        if np.count_nonzero(selected) == wanted.sum():
            return np.asarray(selected)
    ranks = _ranks(order_keys, maskable, weights)
    return np.asarray((ranks <= _last(ranks, wanted)) & maskable & (wanted > 0)[:, None])


def _last(numbers: Ids, wanted: Ids) -> Ids:
    """Return the largest [B, 1] of the smallest numbers of each row, of which there are as many as wanted, and at least one."""
    at = np.maximum(wanted - 1, 0)
    return np.asarray(_smallest(numbers, int(at.max(initial=0)) + 1)[np.arange(len(at)), at][:, None])


def _words(batch: _Rows, most: int) -> tuple[Flags, Ids]:
    """Select words in random order until the wanted number of pieces is reached.

    The word that reaches over it is selected by chance: of 19 wanted pieces 17 are selected, and a word of 4 comes next, which is
    selected with probability 2/4.  So 19 are selected on average, and long words are as likely as short ones.  Return which
    positions are selected [B, L], and for each position the column where its word begins.
    """
    maskable, wanted, streams, begins, weights = batch
    width = maskable.shape[1]
    first = np.maximum.accumulate(np.where(begins, np.arange(width), 0), axis=1)
    sizes = np.zeros(maskable.shape, np.int64)
    sizes[begins] = np.bincount(np.cumsum(begins.ravel())[maskable.ravel()] - 1, minlength=int(begins.sum()))
    ranks = _ranks(streams[_ORDER], begins, weights)
    order = _smallest(ranks, most)
    taken = np.take_along_axis(sizes, (order & np.uint64(0xFFFF)).astype(np.int64) % width, 1)
    reach = np.cumsum(np.where(order == ~np.uint64(0), 0, taken), axis=1)
    chance = keys.share(keys.at(streams[_LAST], 0))
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
    maskable, wanted, streams, begins, weights = batch
    width = maskable.shape[1]
    columns = np.arange(width)
    order = (_smallest(_ranks(streams[_ORDER], begins, weights), width) & np.uint64(0xFFFF)).astype(np.int64)
    weights = (1 - _SPAN_P) ** np.arange(_SPAN_WORDS)
    draws = keys.share(keys.stream(streams[_LENGTHS], width))
    words = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], draws, side="right") + 1
    starts = np.pad(np.sort(np.where(begins, columns, width), axis=1), ((0, 0), (0, _SPAN_WORDS + 1)), constant_values=width)
    border = np.minimum.accumulate(np.where(maskable, width, columns)[:, ::-1], axis=1)[:, ::-1]  # the next special token
    number = np.cumsum(begins, axis=1) - 1
    chance = keys.share(keys.at(streams[_LAST], 0))
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
