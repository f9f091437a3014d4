"""Permute numbers by a key, in chunks: a permutation of any size without an array of it.

Black and Rogaway 2002, "Ciphers with arbitrary finite domains": a Feistel network over a x b >= N values, applied again while the
result is N or more.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .. import keys

_FEISTEL_ROUNDS = 8  # rounds of the Feistel network, four per half
Ints = npt.NDArray[np.int64]


def shuffled(positions: Ints, size: int, key: int) -> Ints:
    """Apply a random permutation of 0 to `size` - 1, chosen by `key`, to each of the positions.

    >>> sorted(shuffled(np.arange(7), 7, 1).tolist())
    [0, 1, 2, 3, 4, 5, 6]
    """
    # Write each number as (left, right) = divmod(number, b), with left < a and right < b. A round
    # adds a hash of one half to the other half, modulo its size. A round can be undone by
    # subtracting the same hash, so any number of rounds is a permutation of the a * b numbers,
    # whatever the hash is.
    #
    # To permute 7 numbers: a = 3, b = 3, so the network permutes 9. If 5 maps to 8, which is too
    # large, apply the network to 8 again, until the result is below 7. Because the network is a
    # permutation, this walk must come back into the range, and two inputs never end at the same
    # result. As a * b is only a little larger than `size`, few numbers need a second round trip.
    a = math.isqrt(max(size - 1, 0)) + 1
    b = -(-size // a)
    rounds = keys.stream(key, _FEISTEL_ROUNDS)
    values = np.array(positions, np.int64)
    outside = np.arange(len(values))  # values that are not in range yet
    while len(outside):
        left = values[outside] // b
        right = values[outside] - left * b
        for number in range(0, _FEISTEL_ROUNDS, 2):  # x mod a for a sum x < 2a: subtract a if needed, which is faster than %
            left += keys.below(keys.at(rounds[number], right), a)
            left -= a * (left >= a)
            right += keys.below(keys.at(rounds[number + 1], left), b)
            right -= b * (right >= b)
        # Only the values that are still too large go through the network again.
        values[outside] = left * b + right
        outside = outside[values[outside] >= size]
    return values
