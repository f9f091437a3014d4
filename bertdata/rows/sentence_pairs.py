"""Pairs for next sentence prediction and for sentence order: [CLS] A [SEP] B [SEP].

document 1:  s1 s2 | s3        document 2:  t1 | t2 t3

nsp, both chosen: they exchange Bs      (s1 s2, t2 t3) 1 NotNext    (t1, s3) 1 NotNext
nsp, not chosen                         (s1 s2, s3)    0 IsNext     (t1, t2 t3) 0 IsNext
sop, the first one chosen               (s3, s1 s2)    1 swapped    (t1, t2 t3) 0 in order

Exactly half of the pairs of every shard and copy have the label 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from ..config import PairsConfig
from ..pieces import Special
from ..tally import Tally
from .chunks import Chunks, cut, cut_whole, ending
from .exchange import choose, match
from .partition import Ints, Pairs, Partition, placed

_NO_PARTNER = "no-partner"  # the reason of chunks, and documents, that have no other chunk of their group to be matched with
_CUT_DIVISOR = 64  # the shorter B of a match loses at most 1/64 of a row to become like the other one


class _Rows(NamedTuple):
    """Pairs as positions in the partition's tokens: first and second segment, label, documents, and a number to shuffle by."""

    a_start: Ints
    a_end: Ints
    b_start: Ints
    b_end: Ints
    labels: npt.NDArray[np.int8]
    a_documents: Ints
    b_documents: Ints
    order: keys.Bits

    def take(self, rows: npt.NDArray[Any]) -> _Rows:
        """Return some of them."""
        return _Rows(*(column[rows] for column in self))


class _Counts(NamedTuple):
    """Counts over all copies, updated by each copy."""

    chunks: Tally
    tokens: Tally
    alone: set[int]  # documents of which a chunk had no partner


def build(partition: Partition, config: PairsConfig, special: Special) -> Pairs:
    """Build a partition's pairs, each copy separately: partners are never from another copy."""
    chunks, tokens = Tally("chunks"), Tally("tokens", entered=len(partition.tokens) * config.dupe_factor)
    counts = _Counts(chunks, tokens, set())
    copies = [_one_copy(partition, config, number, counts) for number in range(config.dupe_factor)]
    # Join the copies column by column, then shuffle the rows of all copies together.
    rows = _Rows(*map(np.concatenate, zip(*copies, strict=True)))
    rows = rows.take(np.argsort(rows.order, kind="stable"))
    documents = _count_documents(partition, rows, config.dupe_factor, counts)
    chunks.left, tokens.left = len(rows.order), int((rows.a_end - rows.a_start + rows.b_end - rows.b_start).sum())
    # Every token is in a row or counted with a reason; the rest was cut off to fit.
    lost = tokens.entered - tokens.left - sum(tokens.dropped.values())
    tokens.dropped["truncation" if config.objective == "nsp" else "sentences that fit in with no neighbour"] = lost
    return _lay_out(partition, config, rows, special, [documents, chunks, tokens])


def _one_copy(partition: Partition, config: PairsConfig, number: int, counts: _Counts) -> _Rows:
    """Cut one copy of the partition into chunks and make a pair of each."""
    max_tokens = config.max_seq_length - 3  # less [CLS] and two [SEP]
    doc_keys = partition.keys(config.seed, max_tokens, number)
    is_sop, short = config.objective == "sop", config.short_seq_prob or 0.0
    options: dict[str, Any] = {"max_tokens": max_tokens, "short_seq_prob": short, "phase": number > 0}
    chunks = cut_whole(partition, doc_keys, **options) if is_sop else cut(partition, doc_keys, **options, pack=config.pack)
    counts.chunks.entered += len(chunks.start)
    if not is_sop:
        chunks = _without_long_words(partition, chunks, max_tokens, counts)
    # `order` is random per chunk and depends on the document's id, not on its place in the partition. So the order of the
    # documents does not matter.
    chunks = chunks.take(np.argsort(chunks.order))
    return _swap(chunks, counts) if is_sop else _exchange(partition, chunks, max_tokens, counts)


def _exchange(partition: Partition, chunks: Chunks, max_tokens: int, counts: _Counts) -> _Rows:
    """Make pairs for next sentence prediction: in each group of documents, half of the matched chunks exchange their Bs."""
    # First shorten each chunk that is longer than a row, with its own A and B, as if nothing were exchanged. Only then are
    # lengths compared, so both labels start from the same lengths.
    sizes = chunks.end - chunks.start
    start, end = _fit(partition, max_tokens, chunks.start, chunks.cut, chunks.cut, chunks.end)
    chunks = chunks._replace(start=start, end=end)
    matches = match(partition, chunks)
    chunks = _cut_matches(partition, chunks, matches, max_tokens)
    labels, partner = choose(chunks, matches)
    rows = _Rows(
        a_start=chunks.start,
        a_end=chunks.cut,
        b_start=chunks.cut[partner],
        b_end=chunks.end[partner],
        labels=labels,
        a_documents=chunks.document,
        b_documents=chunks.document[partner],
        order=_shuffle(chunks),
    )
    return _keep(rows, matches.ravel(), sizes, counts)


def _cut_matches(partition: Partition, chunks: Chunks, matches: Ints, max_tokens: int) -> Chunks:
    """Cut the Bs of a match to one length where both end inside a sentence.

    Then the rows of a match have the same lengths, and Bs that end alike, whether the Bs are exchanged or not. So these facts say
    nothing about the label, alone or together with the facts of A. In words of one token, where | is the end of a sentence:

        B of one chunk     6 tokens inside      6 tokens
        B of the other     9 tokens inside   -> 6 tokens, or both 5 if a sentence ends after the sixth

    Two Bs are cut if one does not fit behind the other A. They are also cut if they differ and one ends inside a sentence, unless
    the shorter one would lose more than 1/64 of a row.
    """
    # If only a B that does not fit were cut, to the length of the other B, then in partitions of 20 documents "the row is full"
    # would have an AUC of 0.484, and a classifier of all facts 0.517 to 0.530. This rule cuts off 0.06 % more of the text.
    start, end = chunks.start.copy(), chunks.end.copy()
    lengths, kinds = (end - chunks.cut)[matches], ending(partition, chunks)[matches]
    too_long = ((chunks.cut - start)[matches] + lengths[:, ::-1] > max_tokens).any(1)
    unlike = (lengths[:, 0] != lengths[:, 1]) | (kinds[:, 0] != kinds[:, 1])
    considered = np.flatnonzero(too_long | (unlike & (kinds == 0).any(1)))
    pairs, length = matches[considered], lengths[considered].min(1)
    may_end = ~np.append(partition.continues, False)
    may_end[partition.edges] = False
    left = np.arange(len(pairs))
    while len(left):  # one token shorter in each round, until both Bs of a match may end there
        ends = chunks.cut[pairs[left]] + length[left, None]
        left = left[~may_end[ends].all(1) & (length[left] > 0)]
        length[left] -= 1
    cheap = lengths[considered].min(1) - length <= max_tokens // _CUT_DIVISOR
    pairs, length = (values[too_long[considered] | cheap] for values in (pairs, length))
    # A B keeps its first word, even if that is longer than the other B. Then `_fit` shortens A.
    one, other = np.concatenate([pairs, pairs[:, ::-1]]).T
    end[other] = np.maximum(partition.next_word(chunks.cut[other] + 1), chunks.cut[other] + np.tile(length, 2))
    start[one], end[other] = _fit(partition, max_tokens, start[one], chunks.cut[one], chunks.cut[other], end[other])
    return chunks._replace(start=start, end=end)


def _keep(rows: _Rows, kept: Ints, sizes: Ints, counts: _Counts) -> _Rows:
    """Return the rows at `kept`. Drop and count the others, the chunks without a partner; `sizes` are the chunks' tokens [N]."""
    alone = np.ones(len(sizes), bool)
    alone[kept] = False
    if alone.any():
        counts.chunks.dropped[_NO_PARTNER] += int(alone.sum())
        counts.tokens.dropped[_NO_PARTNER] += int(sizes[alone].sum())
        counts.alone.update(rows.a_documents[alone].tolist())
    return rows.take(~alone)


def _swap(chunks: Chunks, counts: _Counts) -> _Rows:
    """Make pairs for sentence order: of every two neighbors in order of length, one has A and B swapped.

    If the number of chunks is odd, the longest one is dropped: at most one chunk per shard and copy.
    """
    # ALBERT's task: both segments are from the same document, and the label says whether they are swapped. The segments keep
    # their text, so only the order can reveal the label.
    sizes = chunks.end - chunks.start
    by_length = np.lexsort((chunks.order, sizes))
    twos = by_length[: len(by_length) // 2 * 2].reshape(-1, 2)
    coins = keys.stream(chunks.order[twos[:, 0]], 1)[:, 0] & np.uint64(1)
    swapped = np.zeros(len(sizes), bool)
    swapped[twos[np.arange(len(twos)), coins.astype(np.int64)]] = True
    rows = _Rows(
        a_start=np.where(swapped, chunks.cut, chunks.start),
        a_end=np.where(swapped, chunks.end, chunks.cut),
        b_start=np.where(swapped, chunks.start, chunks.cut),
        b_end=np.where(swapped, chunks.cut, chunks.end),
        labels=swapped.astype(np.int8),
        a_documents=chunks.document,
        b_documents=chunks.document,
        order=_shuffle(chunks),
    )
    return _keep(rows, twos.ravel(), sizes, counts)


def _shuffle(chunks: Chunks) -> keys.Bits:
    """Return a random number for each chunk, by which rows are shuffled; not `order`, on which the label depends."""
    return keys.stream(chunks.order, 3)[:, 2]


def _without_long_words(partition: Partition, chunks: Chunks, max_tokens: int, counts: _Counts) -> Chunks:
    """Drop chunks where A's last word or B's first is longer than half of a row: A or B could only be cut inside that word."""
    last_word = chunks.cut - partition.word_start(chunks.cut - 1)
    first_word = partition.next_word(chunks.cut + 1) - chunks.cut
    # `_fit` shortens A from its front and B from its end. It can't shorten below the word next to
    # the cut, so these two words must fit in half a row each.
    too_long = np.maximum(last_word, first_word) > max_tokens // 2
    if too_long.any():
        counts.chunks.dropped["a word over half the length"] += int(too_long.sum())
        counts.tokens.dropped["chunks of a word over half the length"] += int((chunks.end - chunks.start)[too_long].sum())
    return chunks.take(~too_long)


def _fit(partition: Partition, max_tokens: int, a_start: Ints, a_end: Ints, b_start: Ints, b_end: Ints) -> tuple[Ints, Ints]:
    """Cut tokens off A's front and B's end, at word boundaries, so that both fit; return where A starts and where B ends.

    With 13 tokens, and words of one token: A of 20 and B of 20 get 7 and 6; A of 4 leaves 9 to B.
    """
    # Each side may use half of the row, and more if the other side leaves some of its half. A gets the extra token.
    a, b = a_end - a_start, b_end - b_start
    for_a = np.minimum(a, np.maximum(max_tokens - max_tokens // 2, max_tokens - b))
    for_b = np.minimum(b, max_tokens - for_a)
    start, end = partition.next_word(a_end - for_a), partition.word_start(b_start + for_b)
    return np.where(for_a < a, start, a_start), np.where(for_b < b, end, b_end)


def _count_documents(partition: Partition, rows: _Rows, copies: int, counts: _Counts) -> Tally:
    """Count the documents, and the tokens of those that are too short for a pair."""
    # Documents count as used if the A of some row is theirs.
    gave = np.bincount(rows.a_documents, minlength=len(partition.ids)) > 0
    sentences = np.diff(partition.first)
    documents = Tally("documents", entered=len(gave), left=int(gave.sum()))
    alone = np.isin(np.arange(len(gave)), list(counts.alone))
    reasons = {"no text": sentences == 0, "one sentence": sentences == 1, _NO_PARTNER: alone}
    for reason, which in {**reasons, "no two sentences that fit": (sentences > 1) & ~alone}.items():
        documents.dropped[reason] = int((which & ~gave).sum())
    counts.tokens.dropped["documents of one sentence"] = int(partition.sizes[sentences == 1].sum()) * copies
    return documents


def _lay_out(partition: Partition, config: PairsConfig, rows: _Rows, special: Special, tallies: list[Tally]) -> Pairs:
    """Concatenate the pairs: [CLS] A [SEP] B [SEP], segment ids 0…0 1…1."""
    # All rows end to end, without padding. For row i with A of length a and B of length b:
    #
    #   position   first   first + 1 .. first + a   first + a + 1   ... + b    last
    #   token      [CLS]   A                        [SEP]           B          [SEP]
    #   type       0       0                        0               1          1
    a, b = rows.a_end - rows.a_start, rows.b_end - rows.b_start
    ends = np.append(0, np.cumsum(a + b + 3))
    first, last = ends[:-1], ends[1:] - 1
    start, length = np.concatenate([rows.a_start, rows.b_start]), np.concatenate([a, b])
    segments = start, length, np.concatenate([first + 1, first + a + 2]), int(ends[-1])
    input_ids = placed(partition.tokens, *segments)
    input_ids[first], input_ids[first + a + 1], input_ids[last] = special.cls, special.sep, special.sep
    continues = placed(partition.continues, *segments) if config.chinese_words != "none" else None
    token_type_ids = np.repeat(np.tile(np.array([0, 1], np.uint8), len(a)), np.stack([a + 2, b + 1], 1).ravel())
    return Pairs(input_ids, token_type_ids, continues, ends, rows.labels, rows.a_documents, rows.b_documents, tallies)
