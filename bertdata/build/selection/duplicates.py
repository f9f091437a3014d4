"""Tell texts that are the same by a hash of them, and which of them come later than the first.

Two texts are the same when their words are, whatever their case and the white space between them: documents are compared as
one run of words, so where paragraphs and sentences begin does not matter either.

    >>> fingerprint(normal("The  Tide\\nturns.")) == fingerprint(normal("the tide turns."))
    True
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["LONG", "WHOLE", "Claims", "Indices", "bucket", "fingerprint", "first_of_each", "normal"]

LONG = 100  # characters from which on a paragraph counts as one that is written once: shorter ones recur by chance
WHOLE = (1 << 32) - 1  # as the number of a paragraph: the whole document

Indices = npt.NDArray[np.int64]


def normal(text: str) -> str:
    """Return a text as it is compared: lower case, words apart by one space.

    >>> normal(" The tide\\tTURNS. ")
    'the tide turns.'
    """
    lower = text.lower()
    if lower.isprintable() and "  " not in lower:  # of all white space a space alone is printable; to split takes much longer
        return lower.strip()
    return " ".join(lower.split())


def fingerprint(text: str) -> tuple[int, int]:
    """Hash a text into 128 bits: two numbers of 64."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")


class Claims(NamedTuple):
    """Claims of documents or paragraphs: each says "here is a text with this hash"; a rule decides which of equal ones is kept.

    `high` and `low`, of 64 bits each, are the hash; `task` and `row`, of 32, the document, and `part` the paragraph in it.
    `payload` is what else the rule needs to know of the document, so that it looks nothing up: its id, its signature, or nothing.
    """

    high: npt.NDArray[Any]
    low: npt.NDArray[Any]
    task: npt.NDArray[Any]
    row: npt.NDArray[Any]
    part: npt.NDArray[Any]
    payload: pa.Array | None = None

    @classmethod
    def of(
        cls, task: int, hashes: Any, rows: npt.NDArray[np.uint32], parts: Any = WHOLE, payload: pa.Array | None = None
    ) -> Claims:
        """Make claims of one task: `hashes` are [N, 2], `parts` one for each or one for all."""
        tasks, parts = (np.broadcast_to(np.asarray(each, np.uint32), len(rows)) for each in (task, parts))
        return cls(hashes[:, 0], hashes[:, 1], tasks, rows, parts, payload)

    @property
    def nbytes(self) -> int:
        """The bytes that they take in memory."""
        return sum(column.nbytes for column in self if column is not None)

    def in_order(self) -> Claims:
        """Sort by hash, and claims with one hash by their position in the corpus."""
        return self.take(np.lexsort((self.part, self.row, self.task, self.low, self.high)))

    def take(self, chosen: Indices) -> Claims:
        """Return some of the claims."""
        payload = None if self.payload is None else self.payload.take(pa.array(chosen))
        return Claims(*(column[chosen] for column in self[:5]))._replace(payload=payload)


def first_of_each(claims: Claims) -> Indices:
    """Return for each of sorted claims the index of the first one with its hash.

    >>> hashes, zeros = np.array([5, 5, 9], np.uint64), np.zeros(3, np.uint32)
    >>> first_of_each(Claims(hashes, hashes, zeros, np.arange(3, dtype=np.uint32), zeros)).tolist()
    [0, 0, 2]
    """
    index = np.arange(len(claims.high))
    new = np.ones(len(index), bool)
    new[1:] = (claims.high[1:] != claims.high[:-1]) | (claims.low[1:] != claims.low[:-1])
    return np.asarray(np.maximum.accumulate(np.where(new, index, 0)), np.int64)


def bucket(high: npt.NDArray[np.uint64], count: int) -> Indices:
    """Return which of `count` buckets a hash goes to: equal parts of all there are.

    >>> bucket(np.array([0, 2**63, 2**64 - 1], np.uint64), 4).tolist()
    [0, 2, 3]
    """
    return np.asarray((high >> np.uint64(32)) * np.uint64(count) >> np.uint64(32), np.int64)
