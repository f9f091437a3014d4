"""Match the chunks in twos whose Bs are equally long, and let exactly half of the chunks exchange their Bs.

A two is of different documents, and its Bs end alike: inside a sentence, with one, or with their document.  Where the longer B
does not fit the other's A it is cut to the same length, whether they exchange or not.  So pairs that exchanged and pairs that
did not are alike in all but their text.  Room for 20, and four chunks:

    a 12 | 8 inside a sentence      a and b make a two: either B fits either A
    b 12 | 8 inside a sentence
    c 11 | 9 with a sentence        c and d make a two: the B of c loses a token, as it does not fit the A of d
    d 12 | 8 with a sentence

Of every two neighbours in the line of twos one is chosen by a coin: a and b exchange, or c and d do.  All coins are thrown 64
times, and that throw counts that leaves lengths and places the most equal among those that exchange and those that do not.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from .. import keys
from ..errors import EmptyResultError
from .bucket import Bucket, Ints
from .chunks import Chunks, ending

__all__ = ["choose", "fair_half", "match", "places", "ranks"]

Mask = npt.NDArray[np.bool_]


def match(bucket: Bucket, chunks: Chunks) -> Ints:
    """Return the twos [M, 2], as rows of chunks: in order of how and after how many tokens B ends, each takes the nearest.

    Chunks wait for a partner in one queue, which at any time holds chunks of one document only; so only a document with more
    than half of the chunks leaves some without.
    """
    order = np.lexsort((chunks.order, chunks.end - chunks.cut, ending(bucket, chunks)))
    documents = bucket.identity[chunks.document[order]].tolist()
    waiting: list[int] = []
    holder = -1  # the document that waits
    twos: list[tuple[int, int]] = []
    for row, document in zip(order.tolist(), documents, strict=True):
        if waiting and document != holder:
            twos.append((waiting.pop(), row))
        else:
            waiting.append(row)
            holder = document
    return np.array(twos, np.int64).reshape(-1, 2)


def choose(bucket: Bucket, chunks: Chunks, twos: Ints, name: str) -> tuple[npt.NDArray[np.int8], Ints]:
    """Choose half of the chunks, as twos; return labels [N], 1 for the chosen, and for each chunk whose B it gets [N].

    Raise EmptyResultError where there are not twos enough.  An odd half takes a third chunk into one two, where a third
    document has one; else it is one more or less than half.
    """
    count = len(chunks.start)
    half = count // 2 + (count % 2 and count // 2 % 2)  # of an odd number of chunks, the half that is even
    wanted = half // 2
    if wanted > len(twos):
        raise EmptyResultError(_why(bucket, chunks, name))
    a, b = chunks.cut - chunks.start, chunks.end - chunks.cut
    facts = [fact[twos].sum(1) for fact in (ranks(a), ranks(b), ranks(a + b), *places(bucket, chunks))]
    coins = keys.stream(chunks.order[twos[:, 0]], 2)
    chosen = fair_half(facts, coins[:, 0])
    ranked = np.lexsort((coins[:, 1], ~chosen))
    labels, partner = np.zeros(count, np.int8), np.arange(count)
    for one, other in (twos[ranked[:wanted]].T, twos[ranked[:wanted], ::-1].T):
        labels[one], partner[one] = 1, other
    if half % 2 and not _take_third(bucket.identity[chunks.document], b, labels, partner) and wanted < len(twos):
        one, other = twos[ranked[wanted]]
        labels[[one, other]], partner[[one, other]] = 1, (other, one)
    return labels, partner


def _why(bucket: Bucket, chunks: Chunks, name: str) -> str:
    most = bucket.ids[Counter(chunks.document.tolist()).most_common(1)[0][0]]
    return (
        f"{name or 'the bucket'}: {most} holds most of the text, so half of the pairs cannot get a B from another document: "
        "give more documents"
    )


def _take_third(same: Ints, b: Ints, labels: npt.NDArray[np.int8], partner: Ints) -> bool:
    """Make an exchange of two one of three, with the chunk of a third document whose B is the nearest in length."""
    free = np.flatnonzero(labels == 0)
    for one in np.flatnonzero(labels).tolist():
        other = int(partner[one])
        third = free[(same[free] != same[one]) & (same[free] != same[other])]
        if len(third):
            new = int(third[np.argmin(np.abs(b[third] - b[one]))])
            labels[new], partner[one], partner[other], partner[new] = 1, other, new, one
            return True
    return False


def fair_half(facts: list[npt.NDArray[np.float64]], coins: keys.Bits) -> Mask:
    """Choose one of every two neighbours, the first or the second as its coin falls [N]; an odd last one by its own.

    `coins` are numbers of 64 bits [N], each bit a throw; the throw is taken whose sums of `facts` [N], all ranks, differ least.

    >>> fair_half([np.array([1.0, 2.0, 2.0, 1.0])], np.array([0b01, 0, 0b11, 0], np.uint64)).tolist()
    [True, False, True, False]
    """
    even = len(coins) // 2 * 2
    gaps = [fact[0:even:2] - fact[1:even:2] for fact in facts]
    worst = []
    for bit in range(64):
        heads = (coins[0:even:2] >> np.uint64(bit) & np.uint64(1)).astype(bool)
        worst.append(max((abs(2 * gap[heads].sum() - gap.sum()) for gap in gaps), default=0.0))
    heads = (coins >> np.uint64(int(np.argmin(worst))) & np.uint64(1)).astype(bool)
    heads[1:even:2] = ~heads[0:even:2]
    return np.asarray(heads)


def places(bucket: Bucket, chunks: Chunks) -> list[npt.NDArray[np.float64]]:
    """Return the ranks of where the chunks stand in their documents, and of how long these are."""
    return [ranks(chunks.start - bucket.edges[bucket.first[chunks.document]]), ranks(bucket.sizes[chunks.document])]


def ranks(values: Ints) -> npt.NDArray[np.float64]:
    """Rank values; equal ones share the middle of their ranks.

    >>> ranks(np.array([5, 9, 5])).tolist()
    [1.5, 3.0, 1.5]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])
