"""Mask token ids for masked language modeling: select 15 % of the tokens of each row, and replace 80 % of these by [MASK].

Another 10 % become random tokens, and 10 % stay unchanged (BERT's paper, section 3.1, task 1).  The mask of a row is a function
of (seed, epoch, row).  So it is the same in any batch, rank and worker, and changes with the epoch (RoBERTa's paper, 4.1).

    >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "##s", "cup", "of"]
    >>> vocabulary = mask_vocabulary(pieces, Special(pad=0, unk=1, cls=2, sep=3, mask=4, others=(), mark="##"))
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
from ..pieces import IGNORED, Special, continues_word

UNITS = ("piece", "word")
_EXTRA_POSITIONS = 8  # positions beyond the share, for the last word, which may reach over it
_RANDOM_STREAMS = 4
_ORDER, _KINDS, _WORDS, _LAST = range(_RANDOM_STREAMS)  # the streams of random numbers of a row, one per use
_TOKENS_AT_ONCE = 1 << 15  # tokens for which numbers are drawn at a time: they stay in the processor's cache
_STREAM_NUMBERS = keys.child(np.arange(_RANDOM_STREAMS, dtype=np.uint64))[:, None]
Ids = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]


class MaskVocabulary(NamedTuple):
    """What masking needs of a vocabulary of V pieces."""

    mask_id: int
    maskable: Flags  # [V]
    continues: Flags  # whether a piece continues a word (``##ing``) [V]
    words: npt.NDArray[np.int64]  # the ids from which random replacements are drawn


def mask_vocabulary(pieces: Sequence[str], special: Special) -> MaskVocabulary:
    """Return which tokens of a vocabulary can be masked, and which can replace a masked token.

    Special tokens are never masked, and neither they nor [UNK] replace a token.
    """
    maskable = np.ones(len(pieces), bool)
    maskable[sorted(special.never)] = False
    words = maskable.copy()
    # [UNK] can be masked, because the model sees it in text, but it never replaces another token.
    if special.unk >= 0:
        words[special.unk] = False
    continues = np.array([continues_word(piece, special.mark) for piece in pieces])
    drawn = np.flatnonzero(words)
    return MaskVocabulary(special.mask, maskable, continues, drawn if len(drawn) else np.array([special.mask]))


def predictions_per_row(length: int, masked_lm_prob: float = 0.15, unit: str = "piece") -> int:
    """Return the `max_predictions` with which rows of `length` tokens, at least two of them special, get their full share.

    >>> predictions_per_row(128), predictions_per_row(512), predictions_per_row(128, unit="word")
    (19, 76, 27)
    """
    return max(1, int(np.rint((length - 2) * masked_lm_prob))) + (_EXTRA_POSITIONS if unit != "piece" else 0)


def max_predictions_of(config: PairsConfig) -> int:
    """Return the most tokens that are masked in a row of a dataset with static masks."""
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
    continues: Flags | None = None,
    shares: str = "80/10/10",
) -> tuple[Ids, Ids, Ids]:
    """Return masked ids [B, L], positions [B, P] and labels [B, P]. Unused entries have position 0 and label `IGNORED`.

    Of the n maskable tokens of a row, exactly round(0.15 n) are selected, at least 1 and at most P = `max_predictions`. Whole
    words select the same number on average. A word never crosses a special token, so it never crosses two segments of a packed
    row. Each selected token, also of a whole word, independently becomes [MASK], becomes a random token, or stays, as in BERT.

    Args:
        ids: Token ids [B, L], padded with a special id.
        vocabulary: The tokens that can be masked, and that can replace others.
        rows: Numbers of the rows in the dataset [B].
        max_predictions: Maximum number of selected tokens per row.
        masked_lm_prob: Share of tokens to select.
        unit: ``piece`` (single tokens) or ``word`` (whole words).
        continues: Whether a token continues the word before it [B, L]. By default, tokens that begin with ``##`` do.
        shares: Percentages of [MASK], random and unchanged tokens.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}; it must be one of {', '.join(UNITS)}")
    # Step 1: how many tokens of each row to predict. Special tokens and padding can't be masked, and the share is of the rest. At
    # least one, because a row without predictions is wasted compute, and never more than the P columns of the output.
    maskable = vocabulary.maskable.take(ids)
    count = np.count_nonzero(maskable, axis=1)
    wanted = np.minimum(np.minimum(np.maximum(np.rint(count * masked_lm_prob), 1), max_predictions), count).astype(np.int64)
    # Step 2: the randomness. No generator has a state: the key of a row is a hash of (seed, epoch, row), and each use gets its
    # own stream of it. So rows can be masked in any order, on any worker, in any batch, with the same result. This is what makes
    # a resumed run identical.
    row_keys = keys.substream(keys.key(seed, "mask", epoch), rows.astype(np.uint64))
    streams = keys.derive(row_keys, _STREAM_NUMBERS)  # [4, B] in one call: for a small batch, calls take most of the time
    # Step 3: which tokens. `selected` [B, L] marks them.
    if unit == "piece":
        selected = _pieces(maskable, wanted, streams[_ORDER])
    else:
        joined = vocabulary.continues[ids] if continues is None else continues
        # A word begins at each maskable token, except one that continues the maskable token before it:
        #
        #   token      [CLS]  tea  ##cup  of  ##f  [SEP]
        #   maskable     0     1     1     1    1     0
        #   joined       0     0     1     0    1     0
        #   begins       0     1     0     1    0     0
        begins = maskable.copy()
        begins[:, 1:] &= ~(joined[:, 1:] & maskable[:, :-1])
        selected = _words(maskable, wanted, streams, begins, max_predictions)
    # Step 4: replace them. `at` are flat indices into [B * L], in order of rows.
    return _replace(ids, vocabulary, streams, np.flatnonzero(selected), max_predictions, mask_shares(shares))


def _replace(
    ids: Ids, vocabulary: MaskVocabulary, streams: keys.Bits, at: Ids, width: int, shares: tuple[float, float]
) -> tuple[Ids, Ids, Ids]:
    """Replace the tokens at the flat indices `at` by [MASK] or a random token, or keep them."""
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
    # A number in [0, 1) decides what happens to a token: below shares[0] (0.8) it becomes [MASK], below shares[1] (0.9) a random
    # token, and from there on it stays. The numbers are drawn by column, so they do not depend on the batch.
    kinds = keys.share(keys.at(streams[_KINDS].take(row), column))
    flat[at[kinds < shares[0]]] = vocabulary.mask_id
    random = np.flatnonzero((kinds >= shares[0]) & (kinds < shares[1]))
    picks = keys.below(keys.at(streams[_WORDS].take(row.take(random)), column.take(random)), len(vocabulary.words))
    flat[at.take(random)] = vocabulary.words[picks]
    return masked, positions, labels


def _ranks(order_keys: keys.Bits, allowed: Flags) -> keys.Bits:
    """Return a distinct random number for each allowed position [B, L], with its column in the last 16 bits, else the maximum."""
    columns = np.arange(allowed.shape[1], dtype=np.uint64)
    ranks = keys.stream(order_keys, allowed.shape[1])
    ranks &= ~np.uint64(0xFFFF)
    ranks |= columns
    ranks[~allowed] = ~np.uint64(0)
    return ranks


def _smallest(ranks: Ids, most: int) -> Ids:
    """Return the `most` smallest numbers of each row in order, or all."""
    if 0 < most < ranks.shape[1]:
        ranks = np.partition(ranks, most - 1, axis=1)[:, :most]
    return np.sort(ranks, axis=1)


def _pieces(maskable: Flags, wanted: Ids, order_keys: keys.Bits) -> Flags:
    """Select the tokens with the smallest random numbers: a uniform sample without replacement."""
    selected = np.empty(maskable.shape, bool)
    at_once = max(1, _TOKENS_AT_ONCE // max(1, maskable.shape[1]))
    for start in range(0, len(maskable), at_once):
        rows = slice(start, start + at_once)
        ranks = _ranks(order_keys[rows], maskable[rows])
        selected[rows] = (ranks <= _last(ranks, wanted[rows])) & maskable[rows] & (wanted[rows] > 0)[:, None]
    return selected


def _last(numbers: Ids, wanted: Ids) -> Ids:
    """Return the largest [B, 1] of the `wanted` smallest numbers of each row, or the smallest one if `wanted` is 0."""
    at = np.maximum(wanted - 1, 0)
    return np.asarray(_smallest(numbers, int(at.max(initial=0)) + 1)[np.arange(len(at)), at][:, None])


def _words(maskable: Flags, wanted: Ids, streams: keys.Bits, begins: Flags, most: int) -> Flags:
    """Select words in random order until the wanted number of tokens is reached.

    The word that exceeds this number is selected by chance. If 19 tokens are wanted, 17 are selected and the next word has 4, it
    is selected with probability 2/4.  So 19 tokens are selected on average, and long words are as likely as short ones.

    `begins` [B, L] are the positions where words begin, and `most` is the maximum number of tokens to select in a row.
    """
    # All rows at once, without a Python loop over words:
    #
    # 1. `first`: for each column, where its word begins (a running maximum of the begins).
    # 2. `sizes`: the number of pieces of each word, stored at the column where it begins.
    # 3. `ranks`: a random number for each word; `order` has the smallest of each row, sorted.
    # 4. `reach`: the running sum of sizes in this order. Words 0 to k have `reach[k]` pieces.
    #
    # The first word with reach > wanted is the one that exceeds the number. It is taken by chance.
    width = maskable.shape[1]
    first = np.maximum.accumulate(np.where(begins, np.arange(width), 0), axis=1)
    sizes = np.zeros(maskable.shape, np.int64)
    sizes[begins] = np.bincount(np.cumsum(begins.ravel())[maskable.ravel()] - 1, minlength=int(begins.sum()))
    ranks = _ranks(streams[_ORDER], begins)
    order = _smallest(ranks, most)
    # The last 16 bits of a rank are its column. Entries beyond the words of a row have all bits set.
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
    return np.asarray(np.take_along_axis(chosen, first, 1) & maskable)
