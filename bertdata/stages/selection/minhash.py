"""Find near-duplicate texts with MinHash signatures of their shingles and locality-sensitive hashing (LSH).

A shingle is five words in a row, or five characters in scripts without spaces (Han, kana, Thai, Lao, Burmese, Khmer).  The
Jaccard similarity of two texts is the share of common shingles. The share of equal values in two signatures estimates it
(Broder 1997, "On the resemblance and containment of documents").  Only texts with at least one common band are compared
(Indyk and Motwani 1998).  Shingles are hashed here, and rensa permutes these hashes by a fixed seed.
"""

from __future__ import annotations

import re
import sys
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import keys
from ...errors import UsageError
from ...extras import install, missing_package

SIGNATURE_VALUES = 128  # values of a signature; the standard error of an estimate of 0.8 is then 0.035
SHINGLE_TOKENS = 5  # tokens in a shingle, as is common in web text pipelines
_ALGORITHM = 2  # of rensa's RMinHash; another value means other signatures
_SEED = 20  # seed of the permutations: part of the signature format, never changes
_MIN_RECALL = 0.99  # minimum probability that two texts at the threshold share a band
# Distinct, so that word order matters; odd, so that no bits of a hash are lost.
_WEIGHTS = keys.stream(_SEED, SHINGLE_TOKENS) | np.uint64(1)
_MEMO_ENTRIES = 1 << 17  # maximum cached words
_SPACELESS = (  # Thai, Lao, Burmese, Khmer, kana, Han: in order of code points
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_TOKENS = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+")

# [SIGNATURE_VALUES], or of N texts: the lowest eight bits of each value (Li and König 2010, "b-bit minwise hashing").
Signatures = npt.NDArray[np.uint8]


@lru_cache(_MEMO_ENTRIES)
def _hash(word: str) -> bytes:
    return keys.key(_SEED, word).to_bytes(8, sys.byteorder)


@cache
def _rensa() -> Any:
    """Return the class of rensa that signs texts. Raise UsageError if it is missing or computes other signatures."""
    try:
        from rensa import RMinHash
    except ImportError as error:
        raise missing_package("`dedup` near needs rensa", "near", error) from None
    if RMinHash.ALGORITHM_VERSION != _ALGORITHM:
        problem = "this version of rensa computes other signatures"
        raise UsageError(f"`dedup` near: {problem}. Install with: {install('near')}", field="dedup")
    return RMinHash


def signature(text: str) -> Signatures:
    """Return the signature of a text normalized by `facts.normal` [SIGNATURE_VALUES]. A text without words gets zeros."""
    # Why MinHash: comparing the shingle sets of all pairs of a million texts is impossible. Apply a random permutation to all
    # shingles; the probability that two sets have the same minimum is exactly their Jaccard similarity. 128 permutations are 128
    # such trials, and the share of equal minima estimates the similarity from 128 numbers per text, however long the text is.
    shingles = _shingles(text)
    if not len(shingles):
        return np.zeros(SIGNATURE_VALUES, np.uint8)
    ends = np.array([0, len(shingles)], np.uint64)
    matrix = _rensa().digest_matrix_from_flat_token_hashes(shingles, ends, SIGNATURE_VALUES, _SEED)
    # Eight bits per value are enough: different minima have equal low bits once in 256, and `similarity` corrects for that. It
    # makes signatures eight times smaller.
    return np.asarray(np.array(matrix.to_rows()[0], np.uint64) & np.uint64(255), np.uint8)


def _shingles(text: str) -> keys.Bits:
    """Hash all runs of `SHINGLE_TOKENS` tokens. A shorter text is one run."""
    tokens = np.frombuffer(b"".join(map(_hash, _TOKENS.findall(text))), np.uint64)
    # The hash of a shingle is a weighted sum of the hashes of its five words. So the loop runs five times, over all shingles at
    # once, instead of once per shingle:
    #
    #   words     w0 w1 w2 w3 w4 w5
    #   hash 0    w0 A + w1 B + w2 C + w3 D + w4 E
    #   hash 1    w1 A + w2 B + w3 C + w4 D + w5 E
    #
    # `keys.at` then mixes the bits, because a weighted sum is linear, and MinHash needs independent bits.
    width = min(SHINGLE_TOKENS, len(tokens))
    hashes = np.zeros(len(tokens) - width + 1 if width else 0, np.uint64)
    for offset in range(width):
        hashes += tokens[offset : offset + len(hashes)] * _WEIGHTS[offset]
    return keys.at(hashes, 0)


def packages() -> tuple[str, ...]:
    """Return the optional packages that this needs. Raise UsageError if one is missing."""
    _rensa()
    return ("rensa",)


def layout(threshold: float) -> tuple[int, int]:
    """Return (bands, values per band): the longest bands that still find texts of this similarity.

    >>> layout(0.8), layout(0.5)
    ((21, 6), (42, 3))
    """
    # Signatures are cut into bands of r values, and two texts are compared if any band is equal. With similarity s, a band is
    # equal with probability s^r, and one of b bands with 1 - (1 - s^r)^b. For s = 0.8, 21 bands of 6 values:
    #
    #   similarity      0.3      0.5      0.6      0.7      0.8      0.9
    #   compared        0.015    0.28     0.63     0.93     0.998    1.000
    #
    # Longer bands save comparisons and miss pairs. Take the longest with at least 0.99 at the threshold.
    rows = max(
        r for r in range(1, SIGNATURE_VALUES + 1) if r == 1 or 1 - (1 - threshold**r) ** (SIGNATURE_VALUES // r) >= _MIN_RECALL
    )
    return SIGNATURE_VALUES // rows, rows


def similarity(one: Signatures, other: Signatures) -> npt.NDArray[Any]:
    """Estimate the Jaccard similarity of texts, row by row. Two 8-bit values agree by chance once in 256."""
    equal = (one == other).mean(axis=1)
    return np.asarray((equal - 1 / 256) / (1 - 1 / 256))
