"""Pairs for next sentence prediction and for sentence order: [CLS] A [SEP] B [SEP].

document 1:  s1 s2 | s3        document 2:  t1 | t2 t3

nsp, both chosen: they exchange Bs      (s1 s2, t2 t3) 1 NotNext    (t1, s3) 1 NotNext
nsp, not chosen                         (s1 s2, s3)    0 IsNext     (t1, t2 t3) 0 IsNext
sop, the first one chosen               (s3, s1 s2)    1 swapped    (t1, t2 t3) 0 in order
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from ..config import PairsConfig
from ..pieces import Special
from ..tally import Tally
from .chunks import Chunks, cut, cut_whole
from .exchange import choose, even_half, fair_half, groups, position_ranks, ranks
from .partition import Ints, Pairs, Partition, placed

__all__ = ["build"]

_NO_PARTNER = "no-partner"  # why a document or chunk is dropped that no other of its group can exchange text with


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


class _Counts(NamedTuple):
    """Counts over all copies, updated by each copy.

    Attributes:
        chunks: chunks, and those dropped by reason.
        tokens: tokens, and those dropped by reason.
        surplus: for each group, labels 1 minus labels 0.
        alone: documents of which a chunk had no partner.
    """

    chunks: Tally
    tokens: Tally
    surplus: Counter[int]
    alone: set[int]


def build(partition: Partition, config: PairsConfig, special: Special, name: str) -> Pairs:
    """Build a partition's pairs, each copy for itself: partners are never from another copy.

    Only the number of labels 1 goes on from copy to copy, so that half of all pairs have one, and not of each copy, rounded.
    """
    chunks, tokens = Tally("chunks"), Tally("tokens", entered=len(partition.tokens) * config.dupe_factor)
    counts = _Counts(chunks, tokens, Counter(), set())
    copies = [_one_copy(partition, config, number, name, counts) for number in range(config.dupe_factor)]
    # Each copy returns columns of equal length. Join them column by column, then shuffle the rows
    # of all copies together.
    columns: list[Any] = [np.concatenate(column) for column in zip(*copies, strict=True)]
    order = np.argsort(columns[-1], kind="stable")
    rows = _Rows(*(column[order] for column in columns))
    documents = _count_documents(partition, rows, config.dupe_factor, counts)
    chunks.left, tokens.left = len(order), int((rows.a_end - rows.a_start + rows.b_end - rows.b_start).sum())
    # Every token is in a row or counted with a reason; the rest was cut off to fit.
    lost = tokens.entered - tokens.left - sum(tokens.dropped.values())
    tokens.dropped["truncation" if config.objective == "nsp" else "sentences that fit in with no neighbour"] = lost
    return _lay_out(partition, config, rows, special, [documents, chunks, tokens])


def _one_copy(partition: Partition, config: PairsConfig, number: int, name: str, counts: _Counts) -> _Rows:
    """Cut one copy of the partition into chunks and make a pair of each."""
    max_tokens = config.max_seq_length - 3  # less [CLS] and two [SEP]
    doc_keys = partition.keys(config.seed, max_tokens, number)
    is_sop, short = config.objective == "sop", config.short_seq_prob or 0.0
    cut_chunks = cut_whole if is_sop else cut
    chunks = cut_chunks(partition, doc_keys, max_tokens=max_tokens, short_seq_prob=short, phase=number > 0, pack=config.pack)
    if is_sop:
        counts.chunks.entered += len(chunks.start)
        rows = _swap(partition, chunks.take(np.argsort(chunks.order)), counts.surplus[0])
        counts.surplus[0] += 2 * int(rows.labels.sum()) - len(rows.labels)
        return rows
    chunks = _without_long_words(partition, chunks, max_tokens, counts)
    # `order` is random per chunk and depends on the document's id, not on its place in the
    # partition.
    chunks = chunks.take(np.argsort(chunks.order))  # so no order of documents matters
    return _exchange(partition, chunks, max_tokens, name, counts)


def _exchange(partition: Partition, chunks: Chunks, max_tokens: int, name: str, counts: _Counts) -> _Rows:
    """Make pairs for next sentence prediction: in each group half of the chunks exchange their Bs."""
    # First shorten each chunk that is longer than a row, with its own A and B, as if nothing were
    # exchanged. Only then are lengths compared, so both labels start from the same lengths.
    start, end = _fit(partition, max_tokens, chunks.start, chunks.cut, chunks.cut, chunks.end)
    sizes, chunks = chunks.end - chunks.start, chunks._replace(start=start, end=end)
    found = groups(partition, chunks)
    # Both directions of each match: `one` would get the B of `other`. If that B doesn't fit behind
    # the A of `one`, it is cut to the length of the B that `one` has now. This happens to both
    # chunks of each match, exchanged or not. If only exchanged Bs were cut, a B that ends in the
    # middle of a sentence would reveal the label.
    matches = np.concatenate([rows[pairs] for _, rows, pairs in found])
    one, other = np.concatenate([matches, matches[:, ::-1]]).T
    b_length, too_long = (end - chunks.cut)[one], (chunks.cut - start)[one] + (end - chunks.cut)[other] > max_tokens
    end[other[too_long]] = _cut_to(partition, chunks.cut[other[too_long]], b_length[too_long])
    # B keeps its first word whole, even where that is longer than it should be: then A is shortened.
    start[one], end[other] = _fit(partition, max_tokens, start[one], chunks.cut[one], chunks.cut[other], end[other])
    labels, partner = _choose(partition, chunks, found, name, counts.surplus)
    start, end = _fit(partition, max_tokens, start, chunks.cut, chunks.cut[partner], end[partner])  # a third chunk may need it
    documents = chunks.document, chunks.document[partner]
    rows = _Rows(start, chunks.cut, chunks.cut[partner], end, labels, *documents, _shuffle(chunks))
    # Chunks without a partner are not in any group's rows. Drop and count them.
    alone = np.ones(len(labels), bool)
    alone[np.concatenate([of_group for _, of_group, _ in found])] = False
    if alone.any():
        counts.chunks.dropped[_NO_PARTNER] += int(alone.sum())
        counts.tokens.dropped[_NO_PARTNER] += int(sizes[alone].sum())
        counts.alone.update(chunks.document[alone].tolist())
    columns: list[Any] = [column[~alone] for column in rows]
    return _Rows(*columns)


def _choose(
    partition: Partition, chunks: Chunks, found: list[tuple[int, Ints, Ints]], name: str, surplus: Counter[int]
) -> tuple[npt.NDArray[np.int8], Ints]:
    """Let half of each group's chunks exchange; return labels [N], and for each chunk the one whose B it gets [N].

    Where half of a group is not a whole number, groups take turns with one more and one less, and the last and largest group
    brings all of them together to half. `surplus` is updated.

        group   chunks   half   labels 1   labels 1 minus 0, in all
        yi           7    3.5          4                          1
        ga           9    4.5          4                          0
        en         994    497        497                          0
    """
    labels, partner = np.zeros(len(chunks.start), np.int8), np.arange(len(chunks.start))
    # `surplus` is labels 1 minus labels 0 so far, per group, over all copies. Each group should end
    # near 0, and all groups together as near 0 as the number of rows allows.
    for number, rows, matches in found:
        others = surplus.total() - surplus[number]
        count = len(rows) - surplus[number]  # half of it is what makes this group even
        fewer = len(found) > 1 and others > 0
        # The last group is the largest. It balances what rounding left over in the others.
        if number == found[-1][0]:
            half, fewer = even_half(count - others), False
        # An odd group can't be halved: round up if the others have too few labels 1, else down.
        elif count % 2 and others:
            half = max(0, count // 2 + (others < 0))
        else:
            half = even_half(count)
        half = min(half, 2 * len(matches)) if len(found) > 1 else half
        chosen, partners = choose(partition, chunks.take(rows), matches, name, half, fewer)
        labels[rows], partner[rows] = chosen, rows[partners]
        surplus[number] += 2 * int(chosen.sum()) - len(rows)
    return labels, partner


def _swap(partition: Partition, chunks: Chunks, surplus: int) -> _Rows:
    """Make pairs for sentence order: half of the chunks, one of every two neighbours in random order, have A and B swapped."""
    # ALBERT's task: both segments are of the same document, and the label says whether they are
    # swapped. The segments keep their text, so only the order can reveal the label.
    coins = keys.stream(chunks.order, 1)[:, 0]
    swapped = fair_half([ranks(chunks.end - chunks.start), *position_ranks(partition, chunks)], coins, surplus)
    first = np.where(swapped, chunks.cut, chunks.start), np.where(swapped, chunks.end, chunks.cut)
    second = np.where(swapped, chunks.start, chunks.cut), np.where(swapped, chunks.cut, chunks.end)
    return _Rows(*first, *second, swapped.astype(np.int8), chunks.document, chunks.document, _shuffle(chunks))


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
    counts.chunks.entered += len(too_long)
    if too_long.any():
        counts.chunks.dropped["a word over half the length"] += int(too_long.sum())
        counts.tokens.dropped["chunks of a word over half the length"] += int((chunks.end - chunks.start)[too_long].sum())
    return chunks.take(~too_long)


def _cut_to(partition: Partition, start: Ints, length: Ints) -> Ints:
    """Return where segments end that are cut to a length, at a word boundary, but not before the end of their first word."""
    return np.maximum(partition.next_word(start + 1), partition.word_start(start + length))


def _fit(partition: Partition, max_tokens: int, a_start: Ints, a_end: Ints, b_start: Ints, b_end: Ints) -> tuple[Ints, Ints]:
    """Cut tokens off A's front and B's end, at word boundaries, so that both fit; return where A starts and where B ends.

    With 13 tokens, and words of one token: A of 20 and B of 20 get 7 and 6; A of 4 leaves 9 to B.
    """
    # Each side may use half of the row, and more if the other side leaves some of its half. A gets
    # the extra token of an odd number.
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
    reasons = (
        ("no text", sentences == 0),
        ("one sentence", sentences == 1),
        (_NO_PARTNER, alone),
        ("no two sentences that fit", (sentences > 1) & ~alone),
    )
    for reason, which in reasons:
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
