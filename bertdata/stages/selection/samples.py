"""Choose documents by a key hashed from their ids: a share of text or a number of words per source, or a number of documents.

Smaller keys are chosen first. A larger choice therefore includes a smaller one, and the order of the input does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...config import ChoiceConfig
from ...errors import UsageError

Array = npt.NDArray[Any]
Sources = Mapping[str, Array]  # the items of each source, as indices


def smallest(key: Array, size: Array, limit: int) -> tuple[Array, int]:
    """Return a mask of the items with the smallest keys whose sizes add up to at most `limit`, and the next item, or -1.

    >>> smallest(np.array([5, 1, 3], np.uint64), np.array([10, 20, 30]), 50)
    (array([False,  True,  True]), 0)
    """
    order = np.argsort(key, kind="stable")
    count = int(np.searchsorted(np.cumsum(size[order]), limit, side="right"))
    mask = np.zeros(len(key), bool)
    mask[order[:count]] = True
    return mask, int(order[count]) if count < len(order) else -1


def sampled(choice: ChoiceConfig, sources: Sources, key: Array, size: Array) -> Iterator[tuple[str, Array]]:
    """Reduce sources to their shares of the text, then the corpus to a number of documents. Yield reasons and dropped items."""
    kept, scaled = np.ones(len(key), bool), key.copy()
    if choice.mix.strip():
        shares = targets(choice.shares, {name: int(size[items].sum()) for name, items in sources.items()})
        for name, items in sources.items():
            kept[items], after = smallest(key[items], size[items], shares.get(name, 0))
            if after >= 0:  # the keys of each source are now below another cut: scale them, so that a sample keeps the shares
                scaled[items] = _scaled(key[items], int(key[items][after]))
        yield "mixture", np.flatnonzero(~kept)
    if choice.sample_documents:
        left = np.flatnonzero(kept)
        yield "sample", left[~smallest(scaled[left], np.ones(len(left), np.int64), choice.sample_documents)[0]]


def limited(choice: ChoiceConfig, sources: Sources, key: Array, words: Array) -> Array:
    """Return how many words of each document are kept, for the limits of sources and then that of the corpus ("").

    The first document over a limit is cut to fit, so the number is exact.
    """
    keep = words.copy()
    for name, limit in choice.word_limits.items():
        items = sources[name] if name else np.arange(len(words))
        mask, after = smallest(key[items], keep[items], limit)
        if after < 0:
            continue
        rest, over = limit - int(keep[items][mask].sum()), items[~mask & (keep[items] > 0)]
        keep[items[~mask]] = 0
        if len(over):
            keep[over[np.argmin(key[over])]] = rest
    return np.asarray(keep)


def targets(shares: Mapping[str, float], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return how much of each source to use for the largest possible mixture. One source is used completely.

    >>> targets({"wikipedia": 3, "books": 1}, {"wikipedia": 900, "books": 100})
    {'wikipedia': 300, 'books': 100}
    """
    if empty := [source for source in shares if not sizes.get(source)]:
        raise UsageError(
            f"`mix` asks for {empty[0]}, and no document of it is left. Remove it from `mix`, or check the input", field="mix"
        )
    # Each source alone would allow a mixture of size / share. The smallest of these is the largest mixture for which no source
    # runs out: 900 / 3 = 300 and 100 / 1 = 100, so 100 per share.
    total = min(sizes[source] / share for source, share in shares.items())
    return {source: min(sizes[source], round(total * share)) for source, share in shares.items()}


def _scaled(keys: Array, cut: int) -> Array:
    """Scale keys below a cut to all 64 bits, keeping their order.

    A source with a cut at a tenth of the range has keys in [0, 0.1). Divided by the cut, they are uniform in [0, 1).
    """
    share = keys.astype(np.float64) / float(max(1, cut))
    return np.asarray(np.minimum(share * 2.0**53, 2.0**53 - 1).astype(np.uint64) << np.uint64(11), np.uint64)
