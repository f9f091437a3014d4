"""Tell texts that are the same by a hash of them, and which of them come later than the first.

Two texts are the same when their words are, whatever their case and the whitespace between them: documents are compared as
one run of words, so where paragraphs and sentences begin does not matter either.

    >>> fingerprint(normal("The  Tide\\nturns.")) == fingerprint(normal("the tide turns."))
    True
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

__all__ = ["LONG", "Indices", "bucket", "fingerprint", "first_of_each", "normal"]

LONG = 100  # characters from which on a paragraph counts as one that is written once: shorter ones recur by chance

Indices = npt.NDArray[np.int64]


def normal(text: str) -> str:
    """Return a text as it is compared: lower case, words apart by one space.

    >>> normal(" The tide\\tTURNS. ")
    'the tide turns.'
    """
    lower = text.lower()
    if lower.isprintable() and "  " not in lower:  # of all whitespace a space alone is printable; to split takes much longer
        return lower.strip()
    return " ".join(lower.split())


def fingerprint(text: str) -> tuple[int, int]:
    """Hash a text into 128 bits: two numbers of 64."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")


def first_of_each(hashes: npt.NDArray[np.uint64]) -> Indices:
    """Return for each of sorted hashes [N, numbers] the index of the first one that equals it.

    >>> first_of_each(np.array([[5, 1], [5, 1], [9, 1]], np.uint64)).tolist()
    [0, 0, 2]
    """
    index = np.arange(len(hashes))
    new = np.ones(len(index), bool)
    new[1:] = (hashes[1:] != hashes[:-1]).any(1)
    return np.asarray(np.maximum.accumulate(np.where(new, index, 0)), np.int64)


def bucket(hashes: npt.NDArray[np.uint64], count: int) -> Indices:
    """Return which of `count` buckets each hash [N, numbers] goes to, by its first number: equal ranges of all there are.

    >>> bucket(np.array([[0], [2**63], [2**64 - 1]], np.uint64), 4).tolist()
    [0, 2, 3]
    """
    return np.asarray((hashes[:, 0] >> np.uint64(32)) * np.uint64(count) >> np.uint64(32), np.int64)
