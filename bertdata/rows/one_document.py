"""Rows of one document each: its text, cut where it is longer than a row.

    document:  s1 s2 s3 s4      s1 and s2 fit in a row, and s4 is longer than a row

    documents          [CLS] s1 s2 [SEP]     [CLS] s3 [SEP]     [CLS] words of s4 [SEP]     [CLS] rest of s4 [SEP]
    causal, packed     s1 s2 s3 s4 [SEP], cut every `max_seq_length` tokens, wherever that is

Rows that are to be packed are cut at such ends of sentences that most are full, and the others at most half full: of rows where
a sentence is missing, which no other row fills, there are as few as possible (`pack.cut_to_pack`).

No row has tokens of two documents.  Every token of every document is used once in each copy; in a further copy the first row of
a document that is cut has a length by chance, so that all later cuts move as well.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, pairwise
from operator import sub

import numpy as np

from .. import keys
from ..config import PairsConfig
from ..pieces import Special
from .pack import arrange, cut_to_pack
from .partition import Ints, Pairs, Partition, placed, text_tallies

__all__ = ["build", "cut"]


def build(partition: Partition, config: PairsConfig, special: Special) -> Pairs:
    """Build a partition's rows; all segment ids are 0, and there are no labels."""
    framed = config.objective != "causal"  # [CLS] and [SEP] around each row; else [SEP] at the end of each document
    capacity = config.max_seq_length - 2 * framed
    spans = [_spans(partition, config, number, capacity, sentences=framed) for number in range(config.dupe_factor)]
    # Rows of one document are neighbors here. Shuffle all rows, then copy their tokens in this
    # order.
    start, end, last, document = np.concatenate(spans, axis=1)
    order = np.argsort(keys.stream(keys.key(config.seed, "rows", config.max_seq_length), len(start)), kind="stable")
    # With [CLS] and [SEP], every row gets both. In running text only the row with the end of a
    # document gets a [SEP]. `closed` is the number of [SEP] of each row.
    closed = np.ones(len(order), np.int64) if framed else last
    sizes = end - start + framed + closed
    if config.pack:
        packed, row_ends = arrange(sizes[order], config.max_seq_length, config.seed)
        order = order[packed]
    start, size, closed = start[order], (end - start)[order], closed[order]
    ends = np.append(0, np.cumsum(sizes[order]))
    text = start, size, ends[:-1] + framed, int(ends[-1])
    input_ids = placed(partition.tokens, *text)
    input_ids[ends[1:][closed > 0] - 1] = special.sep
    if framed:
        input_ids[ends[:-1]] = special.cls
    continues = placed(partition.continues, *text) if config.chinese_words != "none" else None
    tallies = text_tallies(partition, config.dupe_factor, len(start))
    types = np.zeros(len(input_ids), np.uint8)
    built = Pairs(input_ids, types, continues, ends, None, document[order], None, tallies)
    return built._replace(ends=row_ends, parts=ends) if config.pack else built


def _spans(partition: Partition, config: PairsConfig, number: int, capacity: int, *, sentences: bool) -> Ints:
    """Cut the documents of a copy, in order of their keys: where each row begins and ends, whether its document ends, and
    the number of the document [4, N].

    Without `sentences` the position of a document's [SEP] counts as well, and a last row may have nothing else.
    """
    doc_keys = partition.keys(config.seed, config.max_seq_length, number)
    # The first copy cuts into full rows. In a further copy the first row of a document gets a
    # random length, which shifts all later cuts, so that the copy has other rows of the same text.
    first = 1 + keys.below(keys.stream(doc_keys, 1)[:, 0], capacity) if number else np.full(len(doc_keys), capacity)
    inside, edges = partition.continues.tobytes() + b"\0", partition.edges.tolist()
    order = np.argsort(doc_keys, kind="stable")
    order = order[partition.sizes[order] > 0]
    spans, counts = list[tuple[int, int]](), [0]
    for d, low, high in zip(order.tolist(), partition.first[order].tolist(), partition.first[order + 1].tolist(), strict=True):
        begin, end, target = edges[low], edges[high], int(first[d])
        # The document fits in one row.
        if end - begin + (not sentences) <= capacity:
            spans.append((begin, end + (not sentences)))
        elif not sentences:
            # Position `end` is the [SEP] of the document, so the last row can be the [SEP] alone.
            starts = [begin, *range(begin + target, end + 1, capacity)]
            spans += pairwise([*starts, end + 1])
        elif config.pack:
            spans += _cut_to_pack(edges[low : high + 1], inside, capacity, target)
        else:
            spans += cut(edges[low : high + 1], inside, capacity, target)
        counts.append(len(spans))
    documents = np.repeat(order, np.diff(counts))
    start, stop = np.fromiter(chain.from_iterable(spans), np.int64, 2 * len(spans)).reshape(-1, 2).T
    end = partition.edges[partition.first[documents + 1]]
    return np.stack([start, np.minimum(stop, end), stop == end + (not sentences), documents])


def _cut_to_pack(edges: list[int], inside: bytes, capacity: int, first: int) -> list[tuple[int, int]]:
    """Cut a document for packing. A `first` row shorter than `capacity`, of a further copy, is cut as it would be unpacked."""
    kept = [next(cut(edges, inside, capacity, first))] if first < capacity else []
    if kept:
        edges = [kept[0][1], *edges[bisect_right(edges, kept[0][1]) :]]
    # `cut_to_pack` needs each boundary within reach of the one before it.
    return [*kept, *cut_to_pack(_within_reach(edges, inside, capacity), capacity)]


def cut(edges: list[int], inside: bytes, capacity: int, first: int) -> Iterator[tuple[int, int]]:
    """Cut a document, whose sentences begin at `edges` and end with the last of them, into spans of `capacity` tokens at most.

    A span ends with a sentence; inside one, between words, where no whole one fits in it; and inside a word that is longer
    than `capacity`.  The first span has `first` tokens at most, unless its first word is longer.  `inside` marks the tokens
    that continue a word.

    >>> list(cut([0, 4, 9, 12, 30], bytes(31), 10, 10))
    [(0, 9), (9, 12), (12, 22), (22, 30)]
    """
    start, target = edges[0], first
    while start < edges[-1]:
        # The last sentence end within reach, or `start` itself if the sentence is too long.
        end = edges[bisect_right(edges, start + target) - 1]
        if end <= start:
            end = start + target
            while inside[end]:
                end -= 1
            if end <= start:
                # The random length of the first row is shorter than its first word. Use the full
                # capacity.
                if target < capacity:
                    target = capacity
                    continue
                end = start + capacity
        yield start, end
        start, target = end, capacity


def _within_reach(edges: list[int], inside: bytes, capacity: int) -> list[int]:
    """Put cuts between words, or inside one longer than `capacity`, where the next end of a sentence is out of reach."""
    if max(map(sub, edges[1:], edges), default=0) <= capacity:
        return edges
    reachable = edges[:1]
    for edge in edges[1:]:
        while edge - reachable[-1] > capacity:
            reachable.append(next(cut([reachable[-1], edge], inside, capacity, capacity))[1])
        reachable.append(edge)
    return reachable
