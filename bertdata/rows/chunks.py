"""Cut documents into chunks that fill their row, each at a sentence boundary into A and its true B.

A chunk takes words up to its limit, so it may end inside a sentence, whose rest begins the next chunk's A.  Where a sentence
ends a few tokens before the limit, the chunk ends with it.  At most 20 tokens, sentences of 8, 9, 10, 9 and 12:

    s1 (8) s2 (9) s3 (10) s4 (9) s5 (12)
    |------------------ 20|                 s1, s2 and 3 tokens of s3; it can be cut into A and B after s1 or after s2
                          |---- 12|         7 tokens of s3, and 5 of s4: with all of s4, s5 alone would be left
                                  |---- 16| 4 tokens of s4, and s5

The last chunk of a document takes the rest, and needs a sentence boundary inside it.  So no chunk may end where only one
sentence, or a part of one, would be left.  A sentence so long that no part of the next one fits loses tokens at its front, so
that the boundary between the two is used.  Other losses are rare: words or sentences that fit nowhere.  Documents of one sentence
become no chunk.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from .partition import Ints, Partition

# A chunk ends with a sentence if at most 1/16 of `max_tokens` stays unused. If possible, A has at least this many tokens.
_SLACK_DIVISOR = 16
_LEAST_B_DIVISOR = 8  # of `max_tokens`: what B gets of a sentence that does not fit behind a long A
_MIN_HEAD_TOKENS = 8  # tokens at the end of a sentence that begin a chunk, where rows are long
_PACKED_SLACK = 64  # of a chunk that is to be packed: few rows are short enough to fill the rest


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


def cut(
    partition: Partition, doc_keys: keys.Bits, *, max_tokens: int, short_seq_prob: float, phase: bool, pack: bool = False
) -> Chunks:
    """Cut every document into chunks, and each chunk at one of its sentence boundaries, chosen at random.

    No word is cut.  With `phase` the first chunk of each document of more than `max_tokens` gets a random length, so that all
    later cuts move as well: so copies differ.  The last chunk of a document may be longer than `max_tokens`.  With `pack` less of
    a chunk stays unused.
    """
    # Both random choices, a chunk's target length and its cut, are drawn per sentence and not per
    # chunk. The random numbers of a sentence depend only on the document's key and the sentence's
    # index, so the result is the same whatever else is in the partition, and in whatever order.
    draws = _draws(partition, doc_keys)
    targets = _targets(partition, draws, max_tokens, short_seq_prob, phase)
    # `inside[i]` is 1 if token i continues the word before it (##ing), so no cut may be before i.
    # Bytes instead of a NumPy array, because the loop below reads one element at a time, which is
    # much faster from bytes. The zero at the end stops `_after` at the end of the text.
    inside = partition.continues.tobytes() + b"\0"
    # The sentence of each token: a look-up takes a third of the time of a binary search.
    within = np.repeat(np.arange(len(targets), dtype=np.int32), np.diff(partition.edges)).data
    edges, spans = partition.edges.tolist(), list[tuple[int, int]]()
    slack = max_tokens // (_PACKED_SLACK if pack else _SLACK_DIVISOR)
    for low, high in zip(partition.first[:-1].tolist(), partition.first[1:].tolist(), strict=True):
        # A pair needs two segments, and they meet at a sentence boundary: a document of one
        # sentence has no such boundary and cannot become a pair.
        if high - low >= 2:
            spans += _spans(edges, within, low, high, inside, targets, max_tokens, slack)
    return _chunks(partition, spans, draws, max_tokens // _SLACK_DIVISOR)


def cut_whole(partition: Partition, doc_keys: keys.Bits, *, max_tokens: int, short_seq_prob: float, phase: bool) -> Chunks:
    """Cut as `cut` does, but into whole sentences.  Every second document, in order of size, is cut from its end.

    A sentence that did not fit begins the next chunk, so the first sentence of a chunk is longer than the others on average.
    In documents that are cut from their end it is the last one.  So length does not reveal whether A and B are swapped.
    """
    draws = _draws(partition, doc_keys)
    targets = _targets(partition, draws, max_tokens, short_seq_prob, phase)
    # The documents are sorted by size, with their random keys to break ties, and every second one is cut from its end. So both
    # directions get documents of the same sizes, and the direction is independent of the length.
    backward = np.zeros(len(doc_keys), bool)
    backward[np.lexsort((doc_keys, partition.sizes))[::2]] = True
    edges, spans = partition.edges.tolist(), list[tuple[int, int]]()
    for low, high, back in zip(partition.first[:-1].tolist(), partition.first[1:].tolist(), backward.tolist(), strict=True):
        if high - low < 2:
            continue
        document_edges, wanted = edges[low : high + 1], targets[low:high]
        # To cut from the end, mirror the document: negate the boundaries and reverse them, cut it
        # with the same function, and mirror the spans back. Boundaries 0 8 17 become -17 -8 0.
        if back:
            document_edges, wanted = [-edge for edge in document_edges[::-1]], wanted[::-1]
        whole = list(_whole(document_edges, wanted, max_tokens))
        spans += [(-end, -start) for start, end in whole[::-1]] if back else whole
    return _chunks(partition, spans, draws, 1)


def _draws(partition: Partition, doc_keys: keys.Bits) -> keys.Bits:
    """Return four random numbers for each sentence [S, 4]."""
    counts = np.diff(partition.first)
    within = np.arange(counts.sum()) - np.repeat(partition.first[:-1], counts)
    return keys.stream(keys.substream(np.repeat(doc_keys, counts), within.astype(np.uint64)), 4)


def _chunks(partition: Partition, spans: list[tuple[int, int]], draws: keys.Bits, least: int) -> Chunks:
    """Cut each span at a random sentence boundary inside it; A has at least `least` tokens wherever a boundary allows that."""
    start, end = np.fromiter(chain.from_iterable(spans), np.int64, 2 * len(spans)).reshape(-1, 2).T.copy()
    # `edges` are the sentence boundaries of all documents. The boundaries strictly inside the span,
    # the only places where A can end, are `edges[sentence + 1]` to `edges[high - 1]`:
    #
    #   edges      0      8       17       27       36          48
    #   span                          [20 ............ 32)           sentence = 2 (17 to 27)
    #   inside                             27                        the only candidate: A = 20..27
    #
    # `least` removes candidates that would leave A a few tokens only, unless no other is left.
    sentence = np.searchsorted(partition.edges, start, "right") - 1  # in which the chunk begins
    high = np.searchsorted(partition.edges, end)  # boundaries low to high - 1 lie inside the span
    low = np.minimum(np.maximum(np.searchsorted(partition.edges, start + least), sentence + 1), high - 1)
    drawn = draws[sentence]
    document = np.searchsorted(partition.first, sentence, "right") - 1
    return Chunks(document, start, partition.edges[low + keys.below(drawn[:, 2], high - low)], end, drawn[:, 3])


def _targets(partition: Partition, draws: keys.Bits, max_tokens: int, short_seq_prob: float, phase: bool) -> list[int]:
    """Return for each sentence how many tokens a chunk that begins in it is to have: `max_tokens`, or by chance fewer."""
    # As in Google's create_pretraining_data.py: most rows are full, and a share `short_seq_prob` of them (0.1 in BERT) has a
    # random length from 2 to the maximum. So the model also sees short texts before it is fine-tuned on them.
    short = keys.share(draws[:, 0]) < short_seq_prob
    # In a further copy of the corpus the first chunk of each long document is always a short one. Every later chunk of the
    # document then begins elsewhere, so the copy has other pairs, not the same pairs in another order.
    if phase:
        short[partition.first[:-1][partition.sizes > max_tokens]] = True
    return np.where(short, 2 + keys.below(draws[:, 1], max_tokens - 1), max_tokens).tolist()  # type: ignore[no-any-return]


def _spans(
    edges: list[int], within: Sequence[int], low: int, high: int, inside: bytes, targets: list[int], max_tokens: int, slack: int
) -> Iterator[tuple[int, int]]:
    """Cut the document whose sentences begin at ``edges[low:high]`` into spans with a sentence boundary inside.

    A span ends with a sentence where at most `slack` tokens stay unused. `within` is the sentence of each token.

    >>> edges, within = [0, 8, 17, 27, 36, 48], [0] * 8 + [1] * 9 + [2] * 10 + [3] * 9 + [4] * 12
    >>> list(_spans(edges, within, 0, 5, bytes(49), [20] * 5, 20, 1))
    [(0, 20), (20, 32), (32, 48)]
    """
    # The loop goes through the document once, from left to right. It runs while a sentence boundary is left after `start`, so
    # that the rest of the document can still be cut into A and B. It runs once for each row, so it avoids function calls.
    start, last, stop = edges[low], edges[high - 1], edges[high]
    least, head = max_tokens // _LEAST_B_DIVISOR, min(_MIN_HEAD_TOKENS, max_tokens // _SLACK_DIVISOR)
    while start < last:  # from `last` on there is one sentence alone, which has no boundary inside
        sentence = within[start]
        first = edges[sentence + 1]  # the first boundary after `start`, so the earliest end of A
        # The chunk reaches to its target.  Where its first sentence fills most of that, B still gets the next sentence whole,
        # or an eighth of a row of it: sentences of 39 and 9 with a target of 40 become 35 | 5, not 39 | 1.
        limit, second = start + targets[sentence], edges[sentence + 2]
        if limit < second:
            limit = max(limit, min(second, first + least))
        if limit - start > max_tokens:  # 39 + 5 tokens: 4 are lost at the front of A, or more, up to the next word
            start = _after(inside, limit - max_tokens)
            if start >= first:  # A is empty, because its words are too long: begin with the next sentence
                start = first
                continue
        if limit >= stop or first == last:  # it reaches the end of the document, or has its only boundary left
            yield start, stop
            return
        # End with the last sentence that fits, if that leaves a B and nearly fills the chunk; or else between two words.
        end = edges[within[limit]]
        if end == first or limit - end > slack:
            end = limit
            while inside[end]:
                end -= 1
            cut = within[end]  # the sentence that the next chunk begins in
            if 0 < edges[cut + 1] - end < head and edges[cut] != end:
                end = _earlier(edges[cut], edges[cut + 1] - head, inside, first, end)
        if end >= last:  # the next chunk would be a part of the last sentence: end earlier, so that it has a boundary too
            end = _before_last(edges[high - 2], last, stop, inside, first, max_tokens)
            if not first < end < last:  # no such position exists: take the rest, even if it is too long
                yield start, stop
                return
        if end > first:
            yield start, end
            start = end
        else:  # B's first word does not fit behind A: drop A and that word
            start = _after(inside, first + 1)


# Example: a chunk would end 3 tokens before the end of a sentence. The next chunk then begins with these 3 tokens, and where it
# is cut at that boundary, its A is "the harbour ." or just ".". Such an A has too little text. So this chunk ends earlier, and
# the next one begins at least `_MIN_HEAD_TOKENS` before the boundary.
def _earlier(begin: int, latest: int, inside: bytes, first: int, end: int) -> int:
    """Return an end before `end`, at `latest` or earlier, but not before the sentence that begins at `begin`."""
    while inside[latest]:
        latest -= 1
    earlier = max(begin, latest)
    return earlier if earlier > first else end


def _before_last(end: int, last: int, stop: int, inside: bytes, first: int, max_tokens: int) -> int:
    """Return where a chunk ends that leaves a sentence boundary to the next: where the last two sentences begin, if possible."""
    if end != first and stop - end <= max_tokens:  # this leaves the chunk a B, and the two fit into one chunk
        return end
    # Else inside the first of the two, half way between `last` and the earliest end that leaves one full chunk.
    # In the example, stop - max_tokens = 28 is in s4 (27 to 36): the second chunk ends at (36 + 28) // 2 = 32.
    return _after(inside, (last + (stop - max_tokens if end < stop - max_tokens < last else end)) // 2)


def _after(inside: bytes, position: int) -> int:
    """Return where the next word begins, at `position` or after it."""
    while inside[position]:
        position += 1
    return position


def _whole(edges: list[int], targets: list[int], max_tokens: int) -> Iterator[tuple[int, int]]:
    """Cut a document into spans of at least two whole sentences; leave out a sentence that fits with neither neighbour.

    >>> list(_whole([0, 8, 17, 27, 36, 48], [20] * 5, 20))
    [(0, 17), (17, 36)]
    """
    i, count = 0, len(targets)
    # Sentences i and i + 1 are the smallest possible chunk. If even they exceed a row, sentence i
    # cannot be the first of a chunk. It is skipped, and the loop tries i + 1 with i + 2.
    while i + 2 <= count:
        if edges[i + 2] - edges[i] > max_tokens:
            i += 1
            continue
        # Take all sentences that fit in the target, but never fewer than two.
        j = max(i + 2, bisect_right(edges, edges[i] + targets[i]) - 1)
        # A single last sentence cannot become a chunk. Take it into this chunk if it fits.
        # Otherwise leave two sentences for the last chunk instead of one, if this chunk keeps two.
        if j == count - 1:  # one sentence would be left
            j = count if edges[count] - edges[i] <= max_tokens else max(i + 2, j - 1)
        yield edges[i], edges[j]
        i = j


def ending(partition: Partition, chunks: Chunks) -> Ints:
    """Return how each chunk ends [N]: 0 inside a sentence, 1 with a sentence, 2 with its document."""
    sentence = partition.edges[np.searchsorted(partition.edges, chunks.end)] == chunks.end
    document = partition.sentences[partition.documents[chunks.document + 1]] == chunks.end
    return np.asarray(sentence.astype(np.int64) + document)
