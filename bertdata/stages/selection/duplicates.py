"""Detect identical texts by hash, and find the first copy of each.

Two texts are identical if their words are, ignoring case and whitespace. A document is compared as one sequence of words, so
boundaries of paragraphs and sentences do not matter either.

    >>> fingerprint(normal("The  Tide\\nturns.")) == fingerprint(normal("the tide turns."))
    True
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

__all__ = ["HASH_BYTES", "MIN_PARAGRAPH_CHARS", "Indices", "partition", "fingerprint", "first_of_each", "normal"]

HASH_BYTES = 16
MIN_PARAGRAPH_CHARS = 100  # minimum characters of a paragraph that must not repeat: shorter ones recur by chance

Indices = npt.NDArray[np.int64]


def normal(text: str) -> str:
    """Normalize a text for comparison: lower case, with one space between words.

    >>> normal(" The tide\\tTURNS. ")
    'the tide turns.'
    """
    lower = text.lower()
    if lower.isprintable() and "  " not in lower:  # a space is the only printable whitespace; splitting takes much longer
        return lower.strip()
    return " ".join(lower.split())


def fingerprint(text: str) -> bytes:
    """Hash a text to `HASH_BYTES` bytes."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def first_of_each(hashes: npt.NDArray[np.uint64]) -> Indices:
    """Return, for each of the sorted hashes [N, numbers], the index of the first equal hash.

    >>> first_of_each(np.array([[5, 1], [5, 1], [9, 1]], np.uint64)).tolist()
    [0, 0, 2]
    """
    #   hashes     5  5  5  9  9
    #   new        1  0  0  1  0
    #   index      0  .  .  3  .     where new, else 0
    #   maximum    0  0  0  3  3     the running maximum: the first index of each group
    index = np.arange(len(hashes))
    new = np.ones(len(index), bool)
    new[1:] = (hashes[1:] != hashes[:-1]).any(1)
    return np.asarray(np.maximum.accumulate(np.where(new, index, 0)), np.int64)


def partition(hashes: npt.NDArray[np.uint64], count: int) -> Indices:
    """Return the partition of each hash [N, numbers]: its first number selects one of `count` equal ranges.

    >>> partition(np.array([[0], [2**63], [2**64 - 1]], np.uint64), 4).tolist()
    [0, 2, 3]
    """
    # Multiply and shift: h / 2^32 * count without division. Unlike h % count it keeps the order of
    # hashes, so partition 0 has the smallest ones.
    return np.asarray((hashes[:, 0] >> np.uint64(32)) * np.uint64(count) >> np.uint64(32), np.int64)
