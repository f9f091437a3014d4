"""Match chunks whose Bs are about equally long, and let one of every two matches exchange its Bs.

The two chunks of a match are from different documents of one group: one language and script, and with ``pair_within`` source
also one source. Their Bs end alike: inside a sentence, with a sentence, or with their document. Two matches that follow each
other in the order of B's length form a group of four chunks. A coin decides which of the two matches exchanges:

    chunk    A | B                          match    coin shows 0            coin shows 1
    a       12 | 8 inside a sentence        a, b     A of a with B of b,     unchanged
    b       12 | 8 inside a sentence                 A of b with B of a
    c       11 | 9 inside a sentence        c, d     unchanged               A of c with B of d,
    d       12 | 8 inside a sentence                                         A of d with B of c

So exactly half of the pairs of every group of documents, copy and shard are NotNext, and the coin does not depend on the text.

The cost is counted as ``no-partner``: the last match if the number of matches is odd, and the chunks without a match. A group of
documents usually has none or one of these per shard and copy. It has more if a document has more than half of the group's chunks,
or all of the longest Bs. On Wikipedia in five languages this is 0.1 to 0.4 % of the rows. A group with fewer than four chunks has
no pairs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import keys
from .chunks import Chunks, ending
from .partition import Ints, Partition


def match(partition: Partition, chunks: Chunks) -> Ints:
    """Return the matches [M, 2] as indices of chunks, ordered by group, by how B ends, and by its length.

    Each group has an even number of matches. Chunks of Chinese text are first sorted by the script variants of A and B, because
    documents mix them.

    A chunk is matched with the nearest chunk before it, in this order, that has no match yet and is from another document of the
    group. Chunks without a match wait on a stack, which contains chunks of only one document at any time. So the chunks that are
    left over are from one document. With documents 1 1 2 1 2, the second and third match, and the fourth and fifth:

        1           wait: 1
        1           wait: 1 1     the same document
        2  matches  wait: 1       the last one of the stack is the nearest in length
        1           wait: 1 1
        2  matches  wait: 1
    """
    # Why groups: if an English A could get a French B, the model would learn to label pairs by language, and never learn
    # whether B follows A. `pair_within` source prevents the same for a book's A with an encyclopedia's B.
    documents = partition.identity[chunks.document]  # by id: copies of a page count as one document
    groups = np.zeros_like(documents) if partition.groups is None else partition.groups[chunks.document]
    # lexsort sorts by its last key first: group, script variants, how B ends, the length of B, then at random. Neighbors in
    # this order have Bs that look alike from outside, so exchanging them changes nothing that a model could see without
    # reading the text.
    looks = chunks.end - chunks.cut, ending(partition, chunks), *_variants(partition, chunks)
    order = np.lexsort((chunks.order, *looks, groups))
    matches: list[tuple[int, int]] = []
    for of_group in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        first = len(matches)
        waiting: list[int] = []
        waiting_document = -1  # the document of all chunks on the stack
        for chunk, document in zip(of_group.tolist(), documents[of_group].tolist(), strict=True):
            # All chunks on the stack are from one document (otherwise two of them would have matched), so one comparison
            # with that document is enough.
            if waiting and document != waiting_document:
                matches.append((waiting.pop(), chunk))
            else:
                waiting.append(chunk)
                waiting_document = document
        if (len(matches) - first) % 2:  # no second match to toss a coin with
            matches.pop()
    return np.array(matches, np.int64).reshape(-1, 2)


def _variants(partition: Partition, chunks: Chunks) -> list[Ints]:
    """Return the script variant of each chunk's A and B [N]: 1 traditional, -1 simplified, 0 neither; nothing without Chinese."""
    if partition.variants is None:
        return []
    before = partition.traditional
    a, b = before[chunks.cut] - before[chunks.start], before[chunks.end] - before[chunks.cut]
    return [np.sign(a).astype(np.int64), np.sign(b).astype(np.int64)]


def choose(chunks: Chunks, matches: Ints) -> tuple[npt.NDArray[np.int8], Ints]:
    """Choose one of every two neighboring matches [M, 2], M even, to exchange its Bs.

    Returns:
        Labels [N]: 1 for chunks that exchange, else 0. And for each chunk, the chunk whose B it gets [N], or itself.
    """
    # The coin of two matches is drawn from the key of a chunk, so it is the same whatever other documents the partition has.
    coins = keys.stream(chunks.order[matches[::2, 0]], 1)[:, 0] & np.uint64(1)
    chosen = matches[np.arange(len(coins)) * 2 + coins.astype(np.int64)]
    labels, partner = np.zeros(len(chunks.start), np.int8), np.arange(len(chunks.start))
    # Both directions: chunk a gets the B of b, and b gets the B of a.
    labels[chosen], partner[chosen] = 1, chosen[:, ::-1]
    return labels, partner
