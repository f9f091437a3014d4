"""Match chunks whose Bs are about equally long, and let exactly half of the chunks exchange their Bs.

The two chunks of a match are of different documents, and their Bs end alike: inside a sentence, with one, or with their document.
A B that does not fit behind the other's A is cut to the length of the other B, whether the two exchange or not.  So matched
pairs that exchanged and matched pairs that did not differ only in their text.  At most 20 tokens, and four chunks:

    a 12 | 8 inside a sentence      a and b match: either B fits either A
    b 12 | 8 inside a sentence
    c 11 | 9 with a sentence        c and d match: the B of c loses a token, as it does not fit behind the A of d
    d 12 | 8 with a sentence

Matches are taken two by two, in their order, and of each two a coin decides which one exchanges: a with b, or c with d.  All
coins are tossed 64 times.  The toss is used that makes the chunks that exchange and those that do not the most alike in their
lengths and in their positions in the documents.

All of this happens within a group: documents of one language and script, and with ``pair_within`` source also of one source.
What the documents of a group share cannot reveal the label.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from .. import keys
from ..errors import EmptyResultError
from .chunks import Chunks, ending
from .partition import Ints, Partition

__all__ = ["choose", "even_half", "fair_half", "groups", "match", "position_ranks", "ranks"]

Mask = npt.NDArray[np.bool_]


def groups(partition: Partition, chunks: Chunks) -> list[tuple[int, Ints, Ints]]:
    """Return each group's number, its chunks [N] as indices of `chunks`, and its matches [M, 2] as indices of these N chunks.

    The smallest group comes first. If more than a third of a group's chunks have no partner, these are left out: with them, too
    many pairs would be IsNext. Where all chunks are of one group, all stay, and `choose` raises if it has too few matches.
    """
    if partition.groups is None or not len(chunks.start):
        return [(0, np.arange(len(chunks.start)), match(partition, chunks))]
    # Why groups: if an English A could get a French B, the model would learn to label pairs by
    # language, and never learn whether B follows A. The same is true for a book's A with an
    # encyclopedia's B, which `pair_within` source prevents. So every group is matched, and has its
    # half of exchanges, separately.
    numbers, of_group = np.unique(partition.groups[chunks.document], return_inverse=True)
    found = []
    for index, number in enumerate(numbers.tolist()):
        rows = np.flatnonzero(of_group == index)
        matches = match(partition, chunks.take(rows))
        # Half of the N chunks must exchange, and only the 2M matched ones can. With N > 3M, more
        # than three quarters of the matched chunks would be NotNext, and all others IsNext. Keep
        # the matched chunks only, and renumber the matches to index into this smaller list.
        if len(numbers) > 1 and len(rows) > 3 * len(matches):
            partners = np.sort(matches.ravel())
            rows, matches = rows[partners], np.searchsorted(partners, matches)
        found.append((number, rows, matches))
    return sorted(found, key=lambda group: (len(group[1]), group[0]))


def match(partition: Partition, chunks: Chunks) -> Ints:
    """Return the matches [M, 2], as indices of chunks. To match, chunks are sorted by how B ends, then by its length.

    Chunks of Chinese text are first sorted by the script variants of A and B, because documents mix them.

    A chunk is matched with the nearest one before it, in this order, that has no match yet and is of another document.  Those
    that have none wait on a stack, which at any time holds chunks of one document only.  So the chunks that are left over are of
    one document, and more than half of all chunks are left over only if it has more than half.  With documents 1 1 2 1 2 the
    second and third match, and the fourth and fifth:

        1           wait: 1
        1           wait: 1 1     the same document
        2  matches  wait: 1       the last one of the stack is the nearest in length
        1           wait: 1 1
        2  matches  wait: 1
    """
    # lexsort sorts by its last key first: script variant, then how B ends, then the length of B,
    # then at random. Neighbors in this order have Bs that look alike from outside, so exchanging
    # them changes nothing that a model could see without reading the text.
    order = np.lexsort((chunks.order, chunks.end - chunks.cut, ending(partition, chunks), *_variants(partition, chunks)))
    documents = partition.identity[chunks.document[order]].tolist()  # by id: copies of a page count as one document
    waiting: list[int] = []
    waiting_document = -1  # the document of all that wait
    matches: list[tuple[int, int]] = []
    for chunk, document in zip(order.tolist(), documents, strict=True):
        # All chunks on the stack are of one document (otherwise two of them would have matched), so
        # one comparison with that document is enough.
        if waiting and document != waiting_document:
            matches.append((waiting.pop(), chunk))
        else:
            waiting.append(chunk)
            waiting_document = document
    return np.array(matches, np.int64).reshape(-1, 2)


def _variants(partition: Partition, chunks: Chunks) -> list[Ints]:
    """Return the script variant of each chunk's A and B [N]: 1 traditional, -1 simplified, 0 neither; nothing without Chinese."""
    if partition.variants is None:
        return []
    before = partition.traditional
    a, b = before[chunks.cut] - before[chunks.start], before[chunks.end] - before[chunks.cut]
    return [np.sign(a).astype(np.int64), np.sign(b).astype(np.int64)]


def choose(
    partition: Partition, chunks: Chunks, matches: Ints, name: str, half: int, fewer: bool = False
) -> tuple[npt.NDArray[np.int8], Ints]:
    """Choose the matches that exchange, so that `half` of the chunks do.

    Return labels [N], 1 for chunks that exchange, and for each chunk the one whose B it gets [N], itself where it does not.
    Raise EmptyResultError if there are too few matches.  If half is an odd number, a third chunk joins one match, if a third
    document has one.  Otherwise, for example with only two documents, one chunk more than half exchanges, or with `fewer` one
    less.
    """
    count = len(chunks.start)
    # One match is two chunks, both of which exchange.
    wanted = half // 2
    if wanted > len(matches):
        raise EmptyResultError(_why(partition, chunks, name))
    a, b = chunks.cut - chunks.start, chunks.end - chunks.cut
    # Properties that must not reveal the label. Both chunks of a match exchange or neither does, so sum their ranks.
    # `facts` are numbers that a lazy classifier could use instead of reading: the lengths of A, B
    # and the row, the position in the document, and the size of the document.
    facts = [fact[matches].sum(1) for fact in (ranks(a), ranks(b), ranks(a + b), *position_ranks(partition, chunks))]
    # A match's coins are drawn from the key of its first chunk, so they are the same in whatever order documents come.
    coins = keys.stream(chunks.order[matches[:, 0]], 2)
    chosen = fair_half(facts, coins[:, 0])
    # `chosen` has half of the matches, and some more or fewer may be wanted: the chosen ones come first, both in random order.
    ranked = np.lexsort((coins[:, 1], ~chosen))
    # Each chunk starts with its own B (label 0, IsNext). Then both directions of each chosen match:
    # chunk a gets the B of b, and b gets the B of a. Both become label 1 (NotNext).
    labels, partner = np.zeros(count, np.int8), np.arange(count)
    for one, other in (matches[ranked[:wanted]].T, matches[ranked[:wanted], ::-1].T):
        labels[one], partner[one] = 1, other
    # With 10 chunks, half is 5, but matches exchange two chunks at a time: 2 matches make 4. A third
    # chunk that joins one match adds the fifth. If none can join, one match more exchanges, if there is one.
    if half % 2 and not _take_third(partition.identity[chunks.document], b, labels, partner):
        if wanted < len(matches) and not fewer:
            one, other = matches[ranked[wanted]]
            labels[[one, other]], partner[[one, other]] = 1, (other, one)
        elif wanted and not fewer:
            raise EmptyResultError(_why(partition, chunks, name))
    return labels, partner


def even_half(count: int) -> int:
    """Return half of a count, at least 0. For an odd count, return the even one of the two integers next to it.

    >>> [even_half(count) for count in (9, 10, 11)]
    [4, 5, 6]
    """
    return max(0, count // 2 + (count % 2 and count // 2 % 2))


def _why(partition: Partition, chunks: Chunks, name: str) -> str:
    most = partition.ids[Counter(chunks.document.tolist()).most_common(1)[0][0]]
    return (
        f"{f'{name}: ' if name else ''}{most} has most of the text, so half of the pairs cannot get a B from another document: "
        "NotNext needs several documents, and no document may contain most of the text. Use more documents"
    )


def _take_third(same: Ints, b: Ints, labels: npt.NDArray[np.int8], partner: Ints) -> bool:
    """Let a third chunk join one match, of a third document and with the B nearest in length. Return True if there is one.

    Three chunks exchange in a ring: `one` gets the B of `other`, `other` that of the new one, and the new one that of `one`.
    `same` [N] has one number for all chunks of a document, so no chunk gets a B from the document of its A.
    """
    #
    #             A of    one      other    new
    #   before    B of    other    one      new
    #   after     B of    other    new      one
    #
    # The three chunks are of three documents, so each A still gets a B of another document.
    free = np.flatnonzero(labels == 0)
    for one in np.flatnonzero(labels).tolist():
        other = int(partner[one])
        third = free[(same[free] != same[one]) & (same[free] != same[other])]
        if len(third):
            # The nearest length of B loses the fewest tokens when the Bs are cut to fit.
            new = int(third[np.argmin(np.abs(b[third] - b[one]))])
            labels[new], partner[one], partner[other], partner[new] = 1, other, new, one
            return True
    return False


def fair_half(facts: list[npt.NDArray[np.float64]], coins: keys.Bits, surplus: int = 0) -> Mask:
    """Choose one of every two neighbours [N], the first where its coin shows 1, else the second; an odd last one by its own coin.

    `surplus` is the number of chosen minus not chosen ones in earlier copies.  If it is not 0, an odd last one evens it out.
    `coins` are numbers of 64 bits [N]: bit k is the k-th toss.  The toss is used for which the sums of each of `facts` [N], all
    of them ranks, differ least between the chosen and the others; of several facts the one that differs most counts.

    >>> fair_half([np.array([1.0, 2.0, 2.0, 1.0])], np.array([0b01, 0, 0b11, 0], np.uint64)).tolist()
    [True, False, True, False]
    """
    # Why one of every two, and not a coin for each: `choose` passes matches in order of the length
    # of B, so the two differ little, and choosing exactly one of them makes both halves nearly
    # alike. The best of 64 tosses removes most of the remaining difference.
    even = len(coins) // 2 * 2
    # In the example the gaps are -1 and 1.  Toss 0 chooses both firsts: -1 + 1 = 0, the sums are equal.  Toss 1 chooses the
    # second of the first two, and the first of the others: 1 + 1 = 2, so toss 0 is used.
    # Ranks are multiples of 0.5, so these sums are exact in any order.
    gaps = np.array([fact[0:even:2] - fact[1:even:2] for fact in facts]).reshape(len(facts), even // 2)
    worst, sums = [], gaps.sum(1)
    for bit in range(64):
        heads = (coins[0:even:2] >> np.uint64(bit) & np.uint64(1)).astype(np.float64)
        # Heads add their gap to the difference and tails take it away: sum(heads) - sum(tails) = 2 * sum(heads) - sum(all).
        worst.append(np.abs(2 * (gaps @ heads) - sums).max(initial=0.0))
    chosen = (coins >> np.uint64(int(np.argmin(worst))) & np.uint64(1)).astype(bool)
    # The second of each two is the opposite of the first, so exactly half is chosen.
    chosen[1:even:2] = ~chosen[0:even:2]
    if surplus:
        chosen[even:] = surplus < 0
    return np.asarray(chosen)


def position_ranks(partition: Partition, chunks: Chunks) -> list[npt.NDArray[np.float64]]:
    """Return the ranks of where the chunks begin in their documents, and of how long these are: [N] each."""
    return [ranks(chunks.start - partition.edges[partition.first[chunks.document]]), ranks(partition.sizes[chunks.document])]


def ranks(values: Ints) -> npt.NDArray[np.float64]:
    """Rank values from 1 on; equal ones share the middle of their ranks.

    >>> ranks(np.array([5, 9, 5])).tolist()
    [1.5, 3.0, 1.5]
    """
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[index])
