"""Randomness as a function of names: the same seed and names yield the same numbers everywhere.

Nothing here has a state.  A key is a 64-bit number hashed from a seed and names (BLAKE2b); a stream is the SplitMix64
sequence (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators") that starts at a key.  Both are
plain integer arithmetic, so no release of Python or NumPy can change them.

    >>> key(12345, "enwiki:12") == key(12345, "enwiki:12")
    True
    >>> stream(key(12345, "enwiki:12"), 3).shape
    (3,)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]

_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, SplitMix64's increment
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)  # Stafford's variant 13, as in SplitMix64
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ONE, _SHIFT_1, _SHIFT_2, _SHIFT_3 = map(np.uint64, (1, 30, 27, 31))


def key(seed: int, *names: str | int) -> int:
    """Hash a seed and names into 64 bits; ``("ab", "c")`` and ``("a", "bc")`` differ."""
    text = "\x00".join([str(seed), *(_tagged(name) for name in names)])
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def many(seed: int, *names: str | int, last: Iterable[tuple[str | int, ...]]) -> Bits:
    """Return ``key(seed, *names, *each)`` for each element of `last`, as an array [N], in a third of the time.

    >>> many(1, "a", last=[("b", 0), ("c", 1)]).tolist() == [key(1, "a", "b", 0), key(1, "a", "c", 1)]
    True
    """
    start = hashlib.blake2b("\x00".join([str(seed), *map(_tagged, names), ""]).encode("utf-8", "surrogatepass"), digest_size=8)

    def digest(each: tuple[str | int, ...]) -> bytes:
        hashed = start.copy()
        hashed.update("\x00".join(map(_tagged, each)).encode("utf-8", "surrogatepass"))
        return hashed.digest()

    return np.frombuffer(b"".join(map(digest, last)), ">u8").astype(np.uint64)


def _tagged(name: str | int) -> str:
    """Write a name after its kind. Double each NUL in it, because a single NUL separates names."""
    return f"s{name}".replace("\x00", "\x00\x00") if isinstance(name, str) else f"i{name}"


def stream(keys: int | Bits, count: int) -> Bits:
    """Draw `count` 64-bit numbers from every key: shape ``keys.shape + (count,)``."""
    return at(np.asarray(keys, dtype=np.uint64)[..., None], np.arange(count))


def at(keys: int | Bits, index: int | npt.NDArray[Any]) -> Bits:
    """Return the number that `stream` has at `index`, counted from 0, element by element.

    >>> int(at(key(1, "a"), 2)[0]) == int(stream(key(1, "a"), 3)[2])
    True
    """
    steps = np.atleast_1d(np.asarray(index)).astype(np.uint64)
    steps += np.uint64(1)
    steps *= _GOLDEN_GAMMA
    return _mix(np.asarray(np.asarray(keys, dtype=np.uint64) + steps))


def substream(keys: int | Bits, number: int | Bits) -> Bits:
    """Derive the key of the `number`-th child of every key (an epoch, a row, a copy), element by element."""
    return derive(keys, child(number))


def child(number: int | Bits) -> Bits:
    """Return what `derive` takes for the `number`-th child, which a caller that derives it from many keys computes once."""
    return _mix((np.atleast_1d(np.asarray(number, dtype=np.uint64)) + _ONE) * _GOLDEN_GAMMA)  # of scalars NumPy warns


def derive(keys: int | Bits, children: Bits) -> Bits:
    """Derive children of every key, element by element: see `substream`."""
    return _mix(np.asarray(_mix(np.array(keys, dtype=np.uint64, ndmin=1)) ^ children))


def below(bits: Bits, bound: int | npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Scale random bits to integers in ``[0, bound)``; `bound` is at most 2**31 (bias under 2**-32 of a unit)."""
    scaled = np.asarray((bits >> np.uint64(32)) * np.asarray(bound, dtype=np.uint64))
    scaled >>= np.uint64(32)
    return scaled.view(np.int64)


def share(bits: Bits) -> npt.NDArray[np.float64]:
    """Scale random bits to ``[0, 1)`` with 53 bits of precision."""
    return np.asarray(bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: Bits) -> Bits:
    """Scramble numbers in place, because new memory takes longer than the arithmetic."""
    shifted = np.asarray(x >> _SHIFT_1)
    x ^= shifted
    x *= _MIX_1
    x ^= np.right_shift(x, _SHIFT_2, out=shifted)
    x *= _MIX_2
    x ^= np.right_shift(x, _SHIFT_3, out=shifted)
    return x
