"""Build rows of one document each: its text, cut where it is longer than a row.

    document:  s1 s2 s3 s4      s1 and s2 fit in a row, and s4 is longer than a row

    documents           [CLS] s1 s2 [SEP]     [CLS] s3 [SEP]     [CLS] words of s4 [SEP]     [CLS] rest of s4 [SEP]
    documents, packed   [CLS] s1 s2 and words of s3 [SEP]     [CLS] rest of s3, words of s4 [SEP]     [CLS] rest of s4 [SEP]
    causal              s1 s2 and words of s3     rest of s3, words of s4     rest of s4 [SEP]

Rows of `documents` end with a sentence. Rows that are packed, and causal ones, are cut at the last word that fits, so they are
full: 0.25 % of the positions of packed rows of 512 tokens are padding.

Each copy uses every token of every document once. In a further copy, the first row of a document that is cut has a random length,
so that all later cuts move.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain

import numpy as np

from .. import keys
from ..config import PairsConfig
from ..pieces import Special
from ..tally import Tally
from .pack import arrange
from .partition import Ints, Pairs, Partition, placed


def build(partition: Partition, config: PairsConfig, special: Special) -> Pairs:
    """Build a partition's rows. All segment ids are 0, and there are no labels."""
    framed = config.objective != "causal"  # [CLS] and [SEP] around each row, or [SEP] at the end of each document
    spans = [_spans(partition, config, number, framed) for number in range(config.dupe_factor)]
    # Rows of one document are neighbors here. Shuffle all rows, then copy their tokens in this order.
    start, end, last, document = np.concatenate(spans, axis=1)
    order = np.argsort(keys.stream(keys.key(config.seed, "rows", config.max_seq_length), len(start)), kind="stable")
    closed = np.ones(len(order), np.int64) if framed else last  # the number of [SEP] of each row
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
    tallies = _tallies(partition, config.dupe_factor, len(start))
    types = np.zeros(len(input_ids), np.uint8)
    built = Pairs(input_ids, types, continues, ends, None, document[order], None, tallies)
    return built._replace(ends=row_ends, parts=ends) if config.pack else built


def _spans(partition: Partition, config: PairsConfig, number: int, framed: bool) -> Ints:
    """Cut the documents of a copy, in order of their keys.

    Return where each row begins and ends, whether its document ends, and the number of the document [4, N].
    """
    capacity = config.max_seq_length - 2 * framed
    doc_keys = partition.keys(config.seed, config.max_seq_length, number)
    # The first copy cuts into full rows. In a further copy the first row of a document gets a
    # random length, which shifts all later cuts, so that the copy has other rows of the same text.
    first = 1 + keys.below(keys.stream(doc_keys, 1)[:, 0], capacity) if number else np.full(len(doc_keys), capacity)
    inside, edges = partition.continues.tobytes() + b"\0", partition.edges.tolist()
    order = np.argsort(doc_keys, kind="stable")
    order = order[partition.sizes[order] > 0]
    spans, counts = list[tuple[int, int]](), [0]
    for d, low, high in zip(order.tolist(), partition.first[order].tolist(), partition.first[order + 1].tolist(), strict=True):
        # The [SEP] of a causal document counts as its last word, so a last row may be the [SEP] alone.
        begin, end = edges[low], edges[high] + (not framed)
        if end - begin <= capacity:
            spans.append((begin, end))
        else:
            sentences = framed and not config.pack
            spans += cut(edges[low : high + 1] if sentences else [begin, end], inside, capacity, int(first[d]))
        counts.append(len(spans))
    documents = np.repeat(order, np.diff(counts))
    start, stop = np.fromiter(chain.from_iterable(spans), np.int64, 2 * len(spans)).reshape(-1, 2).T
    end_of_text = partition.edges[partition.first[documents + 1]]
    return np.stack([start, np.minimum(stop, end_of_text), stop == end_of_text + (not framed), documents])


def cut(edges: list[int], inside: bytes, capacity: int, first: int) -> Iterator[tuple[int, int]]:
    """Cut a text, whose sentences begin at `edges` and end with the last of them, into spans of at most `capacity` tokens.

    A span ends with the last sentence that fits, or with the last word where no complete sentence fits. It ends inside a word
    that is longer than `capacity`. The first span has at most `first` tokens, unless its first word is longer. `inside` marks the
    tokens that continue a word.

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
                # The random length of the first row is shorter than its first word. Use the full capacity.
                if target < capacity:
                    target = capacity
                    continue
                end = start + capacity
        yield start, end
        start, target = end, capacity


def _tallies(partition: Partition, copies: int, chunks: int) -> list[Tally]:
    """Count documents, chunks and tokens. All text is used, so only documents without text have no rows."""
    empty = int((partition.sizes == 0).sum())
    documents = Tally("documents", entered=len(partition.ids), left=len(partition.ids) - empty)
    documents.dropped["no text"] = empty
    tokens = len(partition.tokens) * copies
    return [documents, Tally("chunks", entered=chunks, left=chunks), Tally("tokens", entered=tokens, left=tokens)]
