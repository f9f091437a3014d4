"""Mix languages or sources: how many rows of each group an epoch serves, and how many a step served.

With a temperature T, a group of n rows gets a share in proportion to n^T. T = 1 keeps the proportions of the data. With
T = 0 all shares are equal. mmBERT (Marone et al. 2025, section 2) lowers T from 0.7 to 0.5 and 0.3 over its phases. Of
900 English and 100 Basque rows, an epoch of 1,000 rows serves

    T = 1      900 English      100 Basque
    T = 0.5    750 English      250 Basque, each of them two or three times
    T = 0      500 English      500 Basque, each of them five times

The counts are exact, not drawn: a `BatchPlan` serves each row of a group equally often, or once more, and shuffles all of them
together.  So the rows of a step remain a function of the seed and the step.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..config.mixture import Mixture
from ..dataset.rows import Origin, Shards
from ..errors import UsageError

__all__ = ["Expected", "Groups", "counts", "drawn", "expected", "grouped"]

_CHUNK_ROWS = 1 << 20  # rows whose groups are looked up at a time
_MAX_PASSES = 1000  # limit of a group's weight, as for the weights of `Shards`


class Groups(NamedTuple):
    """The group of each row [N], and (rows, weight) of each group: with weight 2.5, an epoch serves each row 2 or 3 times."""

    of_rows: npt.NDArray[np.uint16]
    parts: list[tuple[int, float]]


def counts(weights: Sequence[float], rows: int) -> list[int]:
    """Divide rows in proportion to weights, rounded so that they add up: by largest remainder.

    >>> counts([900**0.5, 100**0.5], 1000), counts([1, 1, 1], 1000)
    ([750, 250], [334, 333, 333])
    """
    exact = [weight / math.fsum(weights) * rows for weight in weights]
    order = sorted(range(len(exact)), key=lambda group: (math.floor(exact[group]) - exact[group], group))
    rounded_up = set(order[: rows - sum(map(math.floor, exact))])
    return [math.floor(share) + (group in rounded_up) for group, share in enumerate(exact)]


def grouped(shards: Shards, mixture: Mixture, rows: int) -> Groups:
    """Return the groups of a mixture, with the weights at which an epoch has `rows` rows.

    Raise UsageError if the rows do not have the groups, or if it would serve the same rows more than 1,000 times.
    """
    of_origin = [getattr(origin, mixture.by) or "unknown" for origin in shards.origins]
    names = sorted({*of_origin})
    if (weighted := {*(mixture.weights or names)}) != {*names}:
        wrong = [("the rows have no", weighted - {*names}), ("no weight for", {*names} - weighted)]
        problem = "; ".join(f"{what} {mixture.by} {', '.join(sorted(which))}" for what, which in wrong if which)
        fix = f"Set a weight, or 0, for each {mixture.by} of the rows: {', '.join(names)}"
        raise UsageError(f"`mixture`: {problem}. {fix}", field="mixture")
    if "unknown" in names:
        raise UsageError(
            f"`mixture`: {shards.paths[0]} does not store the {mixture.by} of its rows: run make-pairs again", field="mixture"
        )
    number = np.array([names.index(name) for name in of_origin], np.uint16)
    of_rows = np.empty(len(shards), np.uint16)
    for first in range(0, len(shards), _CHUNK_ROWS):
        of_rows[first : first + _CHUNK_ROWS] = number[shards.origins_of(np.arange(first, min(first + _CHUNK_ROWS, len(shards))))]
    sizes = np.bincount(of_rows, minlength=len(names)).tolist()
    weights = [
        mixture.weights[name] if mixture.weights else size**mixture.temperature * (size > 0)
        for name, size in zip(names, sizes, strict=True)
    ]
    parts = list[tuple[int, float]]()
    for name, size, count in zip(names, sizes, counts(weights, rows), strict=True):
        if count > size * _MAX_PASSES:
            what = f"`mixture`: the {size:,} rows of {name} would be served {count:,} times, over {_MAX_PASSES:,} times each"
            raise UsageError(f"{what}. Use a smaller weight, a temperature nearer to 1, or fewer steps", field="mixture")
        parts.append((size, count / max(size, 1)))
    return Groups(of_rows, parts)


class Expected(NamedTuple):
    """What a phase serves of one source or language: the expected number of tokens, and how often each row comes on average."""

    tokens: float
    times: float


def expected(shards: Shards, mixture: Mixture | None, rows: int) -> dict[str, dict[str, Expected]]:
    """Return what a phase of `rows` rows serves of each source and language, from the tokens that the manifests count."""
    group_times = dict[str, float]()
    if mixture:
        names = sorted({getattr(origin, mixture.by) for origin in shards.origins})
        group_times = {name: weight for name, (_, weight) in zip(names, grouped(shards, mixture, rows).parts, strict=True)}
    epochs = rows / sum(count * weight for count, weight in zip(shards.rows, shards.weights, strict=True))
    stored, served = ({"source": defaultdict[str, float](float), "language": defaultdict[str, float](float)} for _ in range(2))
    for contents, weight in zip(shards.manifests, shards.weights, strict=True):
        of_documents = {
            Origin(source, code): n for source, codes in (contents.tokens or {"": {"": 1}}).items() for code, n in codes.items()
        }
        scale = contents.splits[shards.split].tokens / max(1, sum(of_documents.values()))
        for origin, tokens in of_documents.items():
            times = group_times.get(getattr(origin, mixture.by), 0.0) if mixture else weight * epochs
            for by, name in origin._asdict().items():
                stored[by][name or "unknown"] += tokens * scale
                served[by][name or "unknown"] += tokens * scale * times
    return {
        by: {name: Expected(served[by][name], served[by][name] / max(1, tokens)) for name, tokens in sorted(stored[by].items())}
        for by in stored
    }


def drawn(shards: Shards, plan: Any, steps: range) -> dict[str, dict[str, int]]:
    """Count the rows of steps by source and by language, or return an empty dict for rows of one source and language."""
    if len(shards.origins) < 2:
        return {}
    rows = sum(
        (np.bincount(shards.origins_of(plan[step].rows), minlength=len(shards.origins)) for step in steps), np.zeros(1, np.int64)
    )
    found: dict[str, Counter[str]] = {"rows_by_source": Counter(), "rows_by_language": Counter()}
    for origin, count in zip(shards.origins, rows.tolist(), strict=True):
        for name, value in zip(found, origin, strict=True):
            found[name][value] += count
    return {name: dict(values) for name, values in found.items()}
