"""Read the weights by which tokens are masked: from a JSON file of ``{token: weight}``, or from the frequencies of tokens.

With frequencies, a token's weight is 1 / √count, so rare tokens are masked more often (Zhang et al. 2023, "Weighted Sampling for
Masked Language Modeling", arXiv:2302.14225).  Counts are those of `_SAMPLED_ROWS` rows, spread evenly over the data.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dataset.rows import Shards
from ..errors import UsageError
from ..storage.files import read_json

__all__ = ["FREQUENCY", "token_weights"]

FREQUENCY = "frequency"
_SAMPLED_ROWS = 4096
_MIN_COUNT = 10  # tokens with a lower count have the weight of this count


def token_weights(shards: Shards, name: str) -> npt.NDArray[np.float64]:
    """Return the mask weight of each token [V], from a JSON file or from the frequencies of tokens in rows."""
    if name == FREQUENCY:
        rows = np.unique(np.linspace(0, len(shards) - 1, min(len(shards), _SAMPLED_ROWS)).astype(np.int64)).tolist()
        counts = np.zeros(shards.vocab_size, np.int64)
        for row in rows:
            counts += np.bincount(shards[row]["input_ids"], minlength=len(counts))
        return 1 / np.sqrt(np.maximum(counts, _MIN_COUNT))
    stored = read_json(Path(name))
    known = {piece: number for number, piece in enumerate(shards.pieces)}
    wrong = [token for token, weight in (stored or {}).items() if token not in known or not _is_weight(weight)]
    if stored is None or wrong:
        what = f"{wrong[0]!r} is not a token with a weight of 0 or more" if wrong else "no such file"
        raise UsageError(f'`token_weights` {name}: {what}. Use a JSON file such as {{"tea": 2.5}}', field="token_weights")
    weights = np.ones(shards.vocab_size)
    for token, weight in stored.items():
        weights[known[token]] = weight
    return weights


def _is_weight(weight: Any) -> bool:
    return type(weight) in (int, float) and 0 <= weight < math.inf
