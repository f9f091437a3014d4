"""Cut documents into chunks that fill their row, each at a sentence boundary into A and its true B.

A chunk takes words up to its limit, so it may end inside a sentence, whose rest begins the next chunk's A.  Where a sentence
ends a few tokens before the limit it ends there.  Room for 20 tokens, sentences of 8, 9, 10, 9 and 12:

    s1 (8) s2 (9) s3 (10) s4 (9) s5 (12)
    |------------------ 20|                 s1, s2 and 3 tokens of s3; a boundary to choose: after s1 or after s2
                          |---- 12|         7 tokens of s3, and 5 of s4: with all of s4, s5 alone would be left
                                  |---- 16| 4 tokens of s4, and s5

The last chunk of a document takes what is left, so no chunk may end where only (a part of) one sentence would be left.
A sentence that leaves no room for the next one is cut at its front, so that the junction stays; this alone loses tokens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from .bucket import Bucket, Ints

__all__ = ["Chunks", "cut", "cut_whole", "ending"]

_SLACK = 16  # a chunk ends with a sentence where that leaves at most a 16th of the room free; a rest so short is no A


class Chunks(NamedTuple):
    """Chunks: A is ``tokens[start:cut]``, its true B ``tokens[cut:end]``; `order` is a random number for each; all [N]."""

    document: Ints
    start: Ints
    cut: Ints
    end: Ints
    order: keys.Bits

    def take(self, rows: npt.NDArray[Any]) -> Chunks:
        """Return some of them."""
        return Chunks(*(column[rows] for column in self))


def cut(bucket: Bucket, doc_keys: keys.Bits, *, room: int, short_seq_prob: float, phase: bool) -> Chunks:
    """Cut every document into chunks, and each chunk at one of its sentence boundaries, chosen at random.

    No word is cut.  `phase` gives the first chunk of documents
    over the room a random length, so that the other cuts fall elsewhere too.  The last chunk of a document may be over the room.
    """
    draws = _draws(bucket, doc_keys)
    targets = _targets(bucket, draws, room, short_seq_prob, phase)
    inside = bucket.continues.tobytes() + b"\0"
    edges, spans = bucket.edges.tolist(), list[tuple[int, int]]()
    for low, high in zip(bucket.first[:-1].tolist(), bucket.first[1:].tolist(), strict=True):
        if high - low >= 2:
            spans += _spans(edges, low, high, inside, targets, room)
    return _chunks(bucket, spans, draws, room // _SLACK)


def cut_whole(bucket: Bucket, doc_keys: keys.Bits, *, room: int, short_seq_prob: float, phase: bool) -> Chunks:
    """Cut as `cut` does, but into whole sentences.  Every second document, in order of size, is filled from its end.

    A sentence that did not fit begins the next chunk, so the first one is longer than the others; from the end it is the last.
    """
    draws = _draws(bucket, doc_keys)
    targets = _targets(bucket, draws, room, short_seq_prob, phase)
    backward = np.zeros(len(doc_keys), bool)
    backward[np.lexsort((doc_keys, bucket.sizes))[::2]] = True
    edges, spans = bucket.edges.tolist(), list[tuple[int, int]]()
    for low, high, back in zip(bucket.first[:-1].tolist(), bucket.first[1:].tolist(), backward.tolist(), strict=True):
        if high - low < 2:
            continue
        if back:
            mirrored = _whole([-edge for edge in edges[low : high + 1][::-1]], targets[low:high][::-1], room)
            spans += [(-end, -start) for start, end in mirrored][::-1]
        else:
            spans += _whole(edges[low : high + 1], targets[low:high], room)
    return _chunks(bucket, spans, draws, 1)


def _draws(bucket: Bucket, doc_keys: keys.Bits) -> keys.Bits:
    """Return four random numbers for each sentence [S, 4]."""
    counts = np.diff(bucket.first)
    within = np.arange(counts.sum()) - np.repeat(bucket.first[:-1], counts)
    return keys.stream(keys.substream(np.repeat(doc_keys, counts), within.astype(np.uint64)), 4)


def _chunks(bucket: Bucket, spans: list[tuple[int, int]], draws: keys.Bits, least: int) -> Chunks:
    """Cut each span at a random sentence boundary inside it, where there is a choice not before A has `least` tokens."""
    start, end = np.array(spans, np.int64).reshape(-1, 2).T.copy()
    sentence = np.searchsorted(bucket.edges, start, "right") - 1  # that the chunk begins in
    high = np.searchsorted(bucket.edges, end)
    low = np.minimum(np.maximum(np.searchsorted(bucket.edges, start + least), sentence + 1), high - 1)
    own = draws[sentence]
    document = np.searchsorted(bucket.first, sentence, "right") - 1
    return Chunks(document, start, bucket.edges[low + keys.below(own[:, 2], high - low)], end, own[:, 3])


def _targets(bucket: Bucket, draws: keys.Bits, room: int, short_seq_prob: float, phase: bool) -> list[int]:
    """Return how many tokens a chunk that begins in each sentence is to have: the room, or by chance less."""
    short = keys.share(draws[:, 0]) < short_seq_prob
    if phase:
        short[bucket.first[:-1][bucket.sizes > room]] = True
    return np.where(short, 2 + keys.below(draws[:, 1], room - 1), room).tolist()  # type: ignore[no-any-return]


def _spans(edges: list[int], low: int, high: int, inside: bytes, targets: list[int], room: int) -> Iterator[tuple[int, int]]:
    """Cut the document whose sentences begin at ``edges[low:high]`` into spans with a sentence boundary inside.

    >>> edges = [0, 8, 17, 27, 36, 48]
    >>> list(_spans(edges, 0, 5, bytes(49), [20] * 5, 20))
    [(0, 20), (20, 32), (32, 48)]
    """
    start, last, stop = edges[low], edges[high - 1], edges[high]
    while start < last:
        i = bisect_right(edges, start, low, high)
        first = edges[i]
        limit = max(start + targets[i - 1], min(edges[i + 1], first + room // 4))  # B gets a sentence, or a quarter of the room
        if limit - start > room:
            start = _after(inside, limit - room)
            if start >= first:
                start = first
                continue
        if limit >= stop or first == last:
            yield start, stop
            return
        end = edges[bisect_right(edges, limit, i, high) - 1]
        if end == first or limit - end > room // _SLACK:
            end = _before(inside, limit)
        if end >= last:  # what is left would be a part of one sentence
            end = edges[high - 2]
            if end == first or stop - end > room:
                end = _after(inside, (last + (stop - room if end < stop - room < last else end)) // 2)
            if not first < end < last:
                yield start, stop
                return
        if end > first:
            yield start, end
            start = end
        else:  # a word without end: give it up
            start = _after(inside, first + 1)


def _after(inside: bytes, place: int) -> int:
    """Return where the next word begins, at `place` or after it."""
    while inside[place]:
        place += 1
    return place


def _before(inside: bytes, place: int) -> int:
    """Return where the word at `place` begins."""
    while inside[place]:
        place -= 1
    return place


def _whole(edges: list[int], targets: list[int], room: int) -> Iterator[tuple[int, int]]:
    """Cut a document into spans of at least two whole sentences; leave out a sentence that fits in with neither neighbour.

    >>> list(_whole([0, 8, 17, 27, 36, 48], [20] * 5, 20))
    [(0, 17), (17, 36)]
    """
    i, count = 0, len(targets)
    while i + 2 <= count:
        if edges[i + 2] - edges[i] > room:
            i += 1
            continue
        j = max(i + 2, bisect_right(edges, edges[i] + targets[i]) - 1)
        if j == count - 1:  # one sentence would be left
            j = count if edges[count] - edges[i] <= room else max(i + 2, j - 1)
        yield edges[i], edges[j]
        i = j


def ending(bucket: Bucket, chunks: Chunks) -> Ints:
    """Tell how each chunk ends [N]: 0 inside a sentence, 1 with a sentence, 2 with its document."""
    sentence = bucket.edges[np.searchsorted(bucket.edges, chunks.end)] == chunks.end
    document = bucket.sentences[bucket.documents[chunks.document + 1]] == chunks.end
    return np.asarray(sentence.astype(np.int64) + document)
