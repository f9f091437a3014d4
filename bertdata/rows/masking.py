"""Mask token ids for masked language modeling: select 15 % of the tokens of each row, and replace 80 % of these by [MASK].

Another 10 % become random tokens, and 10 % stay unchanged (BERT's paper, section 3.1, task 1).  The mask of a row is a function
of (seed, epoch, row).  So it is the same in any batch, rank and worker, and changes with the epoch (RoBERTa's paper, 4.1).

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
_RANDOM_STREAMS = 5
_ORDER, _KINDS, _WORDS, _LENGTHS, _LAST = range(_RANDOM_STREAMS)  # the streams of random numbers of a row, one per use
_STREAM_NUMBERS = keys.child(np.arange(_RANDOM_STREAMS, dtype=np.uint64))[:, None]
_MIN_WEIGHT = 1e-300  # replaces a weight of 0, because weights are divisors
_OFFSET_COUNTER = 1 << 16  # counter in the stream of kinds for the number drawn once per row; larger than any position
Ids = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]


class _Rows(NamedTuple):
    """The arguments of `_words` and `_spans`."""

    maskable: Flags  # positions that may be masked [B, L]
    wanted: Ids  # number of tokens to select in each row [B]
    keys: keys.Bits  # random keys of each stream and row [5, B]
    begins: Flags  # positions where words begin [B, L]
    weights: Ids | None  # weight of each word, at its first position [B, L], or None for equal weights


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
    """Return masked ids [B, L], positions [B, P] and labels [B, P]. Unused entries have position 0 and label `IGNORED`.

    Of the n maskable tokens of a row, exactly round(0.15 n) are selected, at least 1 and at most P = `max_predictions`. Whole
    words and spans select the same number on average. A word or span never crosses a special token, so it never crosses two
    segments of a packed row.

    Args:
        ids: Token ids [B, L], padded with a special id.
        vocabulary: The tokens that can be masked, and that can replace others.
        rows: Numbers of the rows in the dataset [B].
        max_predictions: Maximum number of selected tokens per row.
        masked_lm_prob: Share of tokens to select, for all rows or per row [B].
        unit: ``piece`` (single tokens), ``word`` (whole words) or ``span`` (runs of words).
        per_piece: Choose [MASK], random or unchanged per token, instead of once per word or span.
        continues: Whether a token continues the word before it [B, L]. By default, tokens that begin with ``##`` do.
        shares: Percentages of [MASK], random and unchanged tokens.
        weights: Weight of each token [V]. Tokens are selected without replacement, with probabilities in proportion to their
            weights, or to the mean weight of a word. Tokens of weight 0 are selected only if a row has too few others.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}; it must be one of {', '.join(UNITS)}")
    # Step 1: how many tokens of each row to predict. Special tokens and padding can't be masked,
    # and the share is of the rest. At least one, because a row without predictions is wasted
    # compute, and never more than the P columns of the output.
    maskable = vocabulary.maskable.take(ids)
    barred = np.flatnonzero(~maskable)
    count = ids.shape[1] - np.bincount(barred // ids.shape[1], minlength=len(ids))
    wanted = np.minimum(np.minimum(np.maximum(np.rint(count * masked_lm_prob), 1), max_predictions), count).astype(np.int64)
    # Step 2: the randomness. No generator has a state: the key of a row is a hash of
    # (seed, epoch, row), and each use gets its own stream of it. So rows can be masked in any
    # order, on any worker, in any batch, with the same result. This is what makes a resumed run
    # identical.
    row_keys = keys.substream(_epoch_key(seed, epoch), rows.astype(np.uint64))
    streams = keys.derive(row_keys, _STREAM_NUMBERS)  # [5, B] in one call: for a small batch, calls take most of the time
    # Step 3: which tokens. `selected` [B, L] marks them. For words and spans, `first` [B, L] is the
    # column of the first token of each token's word or span.
    if unit == "piece":
        selected, first = _pieces(maskable, barred, wanted, streams[_ORDER], None if weights is None else weights.take(ids)), None
    else:
        joined = vocabulary.continues[ids] if continues is None else continues
        # A word begins at each maskable token, except one that continues the maskable token before
        # it:
        #
        #   token      [CLS]  tea  ##cup  of  ##f  [SEP]
        #   maskable     0     1     1     1    1     0
        #   joined       0     0     1     0    1     0
        #   begins       0     1     0     1    0     0
        begins = maskable.copy()
        begins[:, 1:] &= ~(joined[:, 1:] & maskable[:, :-1])
        of_words = None if weights is None else _means(weights.take(ids), maskable, begins)
        batch = _Rows(maskable, wanted, streams, begins, of_words)
        selected, first = _words(batch, max_predictions) if unit == "word" else _spans(batch, max_predictions)
    # Step 4: replace them. `at` are flat indices into [B * L], in order of rows.
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
    """Replace the tokens at the flat indices `at` by [MASK] or a random token, or keep them.

    Tokens of a row with equal `words` get the same kind of replacement. If `words` is None, each token is independent.
    """
    # Selected tokens of all rows are handled in one flat array, because rows have different numbers
    # of them. For B = 2, L = 5 and at = [1, 3, 6], row 0 has two and row 1 has one:
    #
    #   row     = [0, 0, 1]       which row
    #   column  = [1, 3, 1]       where in the row: at - row * L
    #   places  = [0, 1, P]       where in positions and labels [B, P], flat
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
    # `drawn` is what a token's random number is derived from: its column, or the column where its
    # word begins, so that all pieces of a word get the same number.
    drawn = positions
    if words is not None:
        drawn = np.zeros(positions.shape, np.int64)
        drawn.ravel()[places] = words
    # A number in [0, 1) decides what happens to a token: below shares[0] (0.8) it becomes [MASK],
    # below shares[1] (0.9) a random token, and from there on it stays.
    kinds, order = _kinds(streams[_KINDS], drawn, counts, places, repeated=words is not None)
    order += starts.take(row)
    # Kept tokens need no change. Write [MASK] to all others, then overwrite some with random
    # tokens.
    order = order[kinds < shares[1]]
    kinds = kinds[kinds < shares[1]]
    changed = at.take(order)
    flat[changed] = vocabulary.mask_id
    random = order[kinds >= shares[0]]
    # The replacement is drawn by the column of the token, not of the word, so the pieces of a word
    # get different replacements.
    picks = keys.below(keys.at(streams[_WORDS].take(row.take(random)), column.take(random)), len(vocabulary.words))
    flat[at.take(random)] = vocabulary.words[picks]
    return masked, positions, labels


def _kinds(row_keys: keys.Bits, drawn: Ids, counts: Ids, places: Ids, *, repeated: bool) -> tuple[npt.NDArray[np.float64], Ids]:
    """Return numbers in ``[0, 1)`` for the selected tokens, by systematic sampling, and the token of the row for each number.

    The n tokens of a row, in random order, get (k + u) / n modulo 1 for k = 0 to n - 1, with one uniform offset u.  So each row
    is as close to 80/10/10 as n allows: of 20 tokens, exactly 16 are below 0.8.  Independent draws would vary.  If `repeated`,
    all tokens of a word have equal `drawn` [B, P] and get the number of its first token.  `places` are the flat indices of the
    selected tokens in `drawn`.
    """
    # Systematic sampling: for n = 5 and u = 0.13, the numbers are 0.13 0.33 0.53 0.73 0.93 in
    # random order. Four of them are below 0.8 in this row, whatever u is, while five independent
    # draws could have any number from 0 to 5.
    nth = np.arange(drawn.shape[1])
    unused = nth >= counts[:, None]
    draws = keys.at(row_keys[:, None], drawn)
    # A sort is several times as fast as an argsort, so each number carries its place in its last 16 bits.
    # Layout of a draw: 40 random bits in front, 16 bits of its index behind. Sorting the draws
    # sorts by the random bits, and the index that comes out at place k says which token is k-th.
    draws >>= np.uint64(24)
    draws <<= np.uint64(16)
    draws |= nth.view(np.uint64)
    # Unused entries sort to the end.
    draws[unused] = ~np.uint64(0)
    draws.sort(axis=1)
    draws &= np.uint64(0xFFFF)
    order, step = draws.view(np.int64), nth
    # All pieces of a word have equal random bits, so they are neighbors after the sort. `first`
    # marks where a new word begins, and all of its pieces take the step of the first one:
    #
    #   words after the sort    w1  w1  w3  w2  w2
    #   first                    1   0   1   1   0
    #   step                     0   0   2   3   3
    if repeated:
        by_draw = np.take_along_axis(drawn, np.where(unused, 0, order), 1)
        first = np.ones(unused.shape, bool)
        first[:, 1:] = by_draw[:, 1:] != by_draw[:, :-1]
        step = np.maximum.accumulate(np.where(first, nth, 0), axis=1)
    numbers = step / np.maximum(counts, 1)[:, None]
    numbers += keys.share(keys.at(row_keys, _OFFSET_COUNTER))[:, None]
    numbers -= numbers >= 1  # the same as modulo 1 below 2, in a fraction of the time
    return numbers.take(places), order.take(places)


def _ranks(order_keys: keys.Bits, allowed: Flags, weights: Ids | None = None) -> keys.Bits:
    """Return a distinct random number for each allowed position [B, L], with its column in the last 16 bits, else the maximum.

    With `weights` [B, L], these are exponential variables divided by the weights, of which the k smallest are a sample without
    replacement (Efraimidis and Spirakis 2006).  Positive floats and their bits have the same order.
    """
    columns = np.arange(allowed.shape[1], dtype=np.uint64)
    draws = keys.stream(order_keys, allowed.shape[1])
    if weights is not None:
        draws = (-np.log1p(-keys.share(draws)) / np.maximum(weights, _MIN_WEIGHT)).view(np.uint64)
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
    """Select the tokens with the smallest random numbers. `barred` are the flat indices of tokens that are not maskable.

    Comparing only the upper 31 bits takes half the time. If they tie at the limit, all bits are compared.
    """
    # The wanted number of smallest random numbers is a uniform sample without replacement. Two
    # random numbers of 31 bits are seldom equal. Only if they are, and at the limit, more tokens
    # than wanted are selected. The count shows that, and the slower 64-bit way below decides.
    if weights is None:
        draws = keys.upper(order_keys, maskable.shape[1])
        draws.ravel()[barred] = np.iinfo(np.int32).max
        selected = draws <= _last(draws, wanted)
        if np.count_nonzero(selected) == wanted.sum():
            return np.asarray(selected)
    ranks = _ranks(order_keys, maskable, weights)
    return np.asarray((ranks <= _last(ranks, wanted)) & maskable & (wanted > 0)[:, None])


def _last(numbers: Ids, wanted: Ids) -> Ids:
    """Return the largest [B, 1] of the `wanted` smallest numbers of each row, or the smallest one if `wanted` is 0."""
    at = np.maximum(wanted - 1, 0)
    return np.asarray(_smallest(numbers, int(at.max(initial=0)) + 1)[np.arange(len(at)), at][:, None])


def _words(batch: _Rows, most: int) -> tuple[Flags, Ids]:
    """Select words in random order until the wanted number of tokens is reached.

    The word that exceeds this number is selected by chance. If 19 tokens are wanted, 17 are selected and the next word has 4, it
    is selected with probability 2/4.  So 19 tokens are selected on average, and long words are as likely as short ones.  Return a
    mask of the selected positions [B, L], and for each position the column where its word begins.
    """
    # All rows at once, without a Python loop over words:
    #
    # 1. `first`: for each column, where its word begins (a running maximum of the begins).
    # 2. `sizes`: the number of pieces of each word, stored at the column where it begins.
    # 3. `ranks`: a random number for each word; `order` has the smallest of each row, sorted.
    # 4. `reach`: the running sum of sizes in this order. Words 0 to k have `reach[k]` pieces.
    #
    # The first word with reach > wanted is the one that exceeds the number. It is taken by chance.
    maskable, wanted, streams, begins, weights = batch
    width = maskable.shape[1]
    first = np.maximum.accumulate(np.where(begins, np.arange(width), 0), axis=1)
    sizes = np.zeros(maskable.shape, np.int64)
    sizes[begins] = np.bincount(np.cumsum(begins.ravel())[maskable.ravel()] - 1, minlength=int(begins.sum()))
    ranks = _ranks(streams[_ORDER], begins, weights)
    order = _smallest(ranks, most)
    # The last 16 bits of a rank are its column. Entries beyond the words of a row have all bits
    # set.
    taken = np.take_along_axis(sizes, (order & np.uint64(0xFFFF)).astype(np.int64) % width, 1)
    reach = np.cumsum(np.where(order == ~np.uint64(0), 0, taken), axis=1)
    chance = keys.share(keys.at(streams[_LAST], 0))
    over = reach > wanted[:, None]
    last = np.argmax(over, axis=1)[:, None]
    after, size = np.take_along_axis(reach, last, 1)[:, 0], np.take_along_axis(taken, last, 1)[:, 0]
    # Take this word if it fits in P columns, and if it is the first one (a row must have a
    # prediction) or by chance: with probability k/n if k tokens are missing and the word has n.
    # So the expected number of selected tokens is exactly the wanted one.
    also = over.any(1) & (after <= most) & ((last[:, 0] == 0) | (chance * size < wanted - (after - size)))
    number = np.where(over.any(1), last[:, 0] + also, order.shape[1])  # of words that are selected
    # Select all words up to the rank of the last one taken, then extend the choice from the first
    # piece of each word to all of its pieces.
    limit = np.take_along_axis(order, np.maximum(number - 1, 0)[:, None], 1)
    chosen = begins & (ranks <= limit) & (number > 0)[:, None]
    return np.asarray(np.take_along_axis(chosen, first, 1) & maskable), first


def _spans(batch: _Rows, most: int) -> tuple[Flags, Ids]:
    """Select spans of words that begin at random words, until the wanted number of tokens is reached.

    A span ends before the next special token, and the last span ends when enough tokens are selected.  No word is cut: the word
    that exceeds the wanted number is selected by chance, as in `_words`, if at most `most` tokens are selected then.  Return a
    mask of the selected positions [B, L], and for each of them the column where its span begins.
    """
    maskable, wanted, streams, begins, weights = batch
    width = maskable.shape[1]
    columns = np.arange(width)
    order = (_smallest(_ranks(streams[_ORDER], begins, weights), width) & np.uint64(0xFFFF)).astype(np.int64)
    # Lengths of spans follow a geometric distribution cut off at 10 words: 0.2, 0.16, 0.128, ... of
    # the spans have 1, 2, 3, ... words, before normalizing. A uniform number is looked up in the
    # cumulative sum (inverse transform sampling).
    weights = (1 - _SPAN_P) ** np.arange(_SPAN_WORDS)
    draws = keys.share(keys.stream(streams[_LENGTHS], width))
    words = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], draws, side="right") + 1
    # `starts[row, n]` is the column of the row's n-th word, padded with the width. A span of w
    # words that begins with word n ends before the column `starts[row, n + w]`, or before the next
    # special token (`border`), whichever is first.
    starts = np.pad(np.sort(np.where(begins, columns, width), axis=1), ((0, 0), (0, _SPAN_WORDS + 1)), constant_values=width)
    border = np.minimum.accumulate(np.where(maskable, width, columns)[:, ::-1], axis=1)[:, ::-1]  # the next special token
    number = np.cumsum(begins, axis=1) - 1
    chance = keys.share(keys.at(streams[_LAST], 0))
    selected, first = np.zeros(maskable.shape, bool), np.zeros(maskable.shape, np.int64)
    # Each turn adds one span to every row that still needs pieces. A Python loop is fine here: its
    # number of turns is the number of spans of a row, and each turn handles the whole batch.
    left, turn, turns = wanted.copy(), 0, begins.sum(1)
    while len(rows := np.flatnonzero((left > 0) & (turn < turns))):
        start = order[rows, turn]
        turn += 1
        # The start is inside an earlier span already: this row skips the turn.
        free = ~selected[rows, start]
        rows, start = rows[free], start[free]
        if not len(rows):
            continue
        end = np.minimum(starts[rows, number[rows, start] + words[rows, start]], border[rows, start])
        span = start[:, None] + np.arange((end - start).max(initial=0))
        within = np.minimum(span, width - 1)
        # Spans may overlap. Only pieces not selected yet count.
        new = (span < end[:, None]) & ~selected[rows[:, None], within]
        reach = np.cumsum(new, axis=1)
        over = new & (reach > left[rows][:, None])
        # In the example of `_words`, this word has 4 tokens and 2 are missing: it is selected with probability 2/4.
        word = np.where(new, number[rows[:, None], within], -1)
        last = word[np.arange(len(rows)), np.argmax(over, axis=1)]  # the word that exceeds the number, if any
        of_last = over.any(1)[:, None] & (word == last[:, None])
        size, before = of_last.sum(1), (new & (word < last[:, None])).sum(1)
        none = before + wanted[rows] - left[rows] == 0  # nothing is selected yet, so this word is if it fits
        fits = wanted[rows] - left[rows] + before + size <= most
        also = fits & (none | (chance[rows] * size < left[rows] - before))
        new &= ~over.any(1)[:, None] | (word < last[:, None]) | (of_last & also[:, None])
        row, nth = np.nonzero(new)
        selected[rows[row], span[row, nth]] = True
        first[rows[row], span[row, nth]] = start[row]
        left[rows] = np.where(over.any(1) & ~(none & ~fits), 0, left[rows] - new.sum(1))
    return selected, first
