"""Rows of many documents: full sentences that fill a row (RoBERTa), or running text cut to length (GPT).

    document 1:  s1 s2 s3        document 2:  t1 t2

    full-sentences     [CLS] s1 s2 [SEP]     [CLS] s3 [SEP] t1 t2 [SEP]     the second crosses from document 1 to 2
    causal             s1 s2 s3 [SEP] t1 t2 [SEP], cut every `max_seq_length` tokens, wherever that is

Both use every token of every document once in each copy; a copy has the documents in another order.  RoBERTa's paper, section
4.2, describes the first; [SEP] is the extra separator between documents, and what ends a document in the second.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import keys
from ..config import PairsConfig
from ..pieces import Special
from .partition import Pairs, Partition, placed, text_tallies

__all__ = ["build"]


def build(partition: Partition, config: PairsConfig, special: Special) -> Pairs:
    """Build a partition's rows; all segment ids are 0, and there are no labels."""
    length, full = config.max_seq_length, config.objective == "full-sentences"
    frame = 1 if full else 0  # [CLS] in front, and [SEP] behind
    # For each copy: join all documents to one stream with a [SEP] between, cut the stream into
    # spans, and shift the offsets by `base`, so that all copies can be concatenated at the end.
    streams, flags, starts, ends, chosen, begins, base = [], [], [], [], [], [], 0
    for number in range(config.dupe_factor):
        numbers, documents, edges = _stream(partition, partition.keys(config.seed, length, number))
        stream, inside = _join(partition.tokens, documents, special.sep), _join(partition.continues, documents, False)
        if full:
            spans = np.array(list(_rows(edges, inside, length - 2)), np.int64).reshape(-1, 2)
        else:
            # GPT: cut every `length` tokens. The last row may be shorter.
            cuts = np.arange(0, len(stream), length)
            spans = np.stack([cuts, np.minimum(cuts + length, len(stream))], 1)
        streams.append(stream)
        flags.append(inside)
        starts.append(spans[:, 0] + base)
        ends.append(spans[:, 1] + base)
        chosen += numbers
        begins += [document[0] + base for document in edges]
        base += len(stream)
    start, end = np.concatenate(starts), np.concatenate(ends)
    # Consecutive rows continue each other. Shuffle them, so that a batch doesn't have neighbors.
    order = np.argsort(keys.stream(keys.key(config.seed, "rows", length), len(start)), kind="stable")
    start, size = start[order], (end - start)[order]
    row_ends = np.append(0, np.cumsum(size + 2 * frame))
    text = start, size, row_ends[:-1] + frame, int(row_ends[-1])
    input_ids = placed(np.concatenate(streams), *text)
    if full:
        input_ids[row_ends[:-1]], input_ids[row_ends[1:] - 1] = special.cls, special.sep
    continues = placed(np.concatenate(flags), *text) if config.chinese_words != "none" else None
    tallies = text_tallies(partition, config.dupe_factor, len(start))
    # A row may have tokens of several documents. `first` and `last` are the documents of its first
    # and last token, and the lists of all rows are written end to end:
    #
    #   first = [0, 1], last = [1, 1]   ->   counts = [2, 1]   ->   nth = [0, 1, 1]   (row 0: 0 and 1)
    first, last = (np.searchsorted(begins, at, "right") - 1 for at in (start, start + size - 1))
    counts = last - first + 1
    document_ends = np.append(0, np.cumsum(counts))
    nth = np.arange(document_ends[-1]) + np.repeat(first - document_ends[:-1], counts)
    documents_of = np.array(chosen, np.int64)[nth]
    types = np.zeros(len(input_ids), np.uint8)
    return Pairs(input_ids, types, continues, row_ends, None, documents_of, None, tallies, document_ends=document_ends)


def _stream(partition: Partition, doc_keys: keys.Bits) -> tuple[list[int], list[slice], list[list[int]]]:
    """Put the documents in order of their keys, with one position for a [SEP] after each.

    Return each document's number, its slice of the partition's tokens, and where in the stream its sentences begin and its
    last one ends.
    """
    numbers: list[int] = []
    documents: list[slice] = []
    edges: list[list[int]] = []
    position = 0
    for d in np.argsort(doc_keys, kind="stable").tolist():
        document_edges = partition.edges[partition.first[d] : partition.first[d + 1] + 1]
        if len(document_edges) > 1:
            numbers.append(d)
            documents.append(slice(document_edges[0], document_edges[-1]))
            # Offsets in the partition become offsets in the stream. The + 1 below is the [SEP].
            edges.append((document_edges - document_edges[0] + position).tolist())
            position = edges[-1][-1] + 1
    return numbers, documents, edges


def _join(values: npt.NDArray[Any], documents: list[slice], between: int) -> npt.NDArray[Any]:
    """Put the values of documents end to end, and one of `between` after each."""
    separator = np.array([between], values.dtype)
    return np.concatenate([values[:0], *(part for document in documents for part in (values[document], separator))])


def _rows(edges: list[list[int]], inside: npt.NDArray[np.bool_], max_tokens: int) -> Iterator[tuple[int, int]]:
    """Fill rows with full sentences; one that is longer than a row continues in the next, cut between words where possible.

    >>> list(_rows([[0, 4, 9], [10, 13]], np.zeros(14, bool), 9))
    [(0, 9), (10, 13)]
    >>> list(_rows([[0, 4, 9], [10, 13]], np.zeros(14, bool), 8))
    [(0, 4), (4, 9), (10, 13)]
    """
    # `next_starts[k]` is where a row begins that follows a row ending at `ends[k]`. Inside a
    # document these are equal. At the end of a document the next row skips the separator, because
    # each row has its own [SEP].
    ends = [end for document in edges for end in document[1:]]
    next_starts = [start for document in edges for start in (*document[1:-1], document[-1] + 1)]
    start = 0
    while ends and start < ends[-1]:
        # The usual case: end with the last sentence that fits.
        last = bisect_right(ends, start + max_tokens) - 1
        if last >= 0 and ends[last] > start:
            yield start, ends[last]
            start = next_starts[last]
            continue
        # The sentence is longer than a row. Cut it before a word, not inside one.
        end = start + max_tokens
        while inside[end] and end > start + 1:
            end -= 1
        end = end if end > start + 1 or not inside[end] else start + max_tokens  # a word longer than a row
        yield start, end
        start = end
