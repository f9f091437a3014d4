"""Count what a phase of training serves of each source and language."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from ..dataset.rows import Origin, Shards
from .epoch_plan import EpochPlan


class Expected(NamedTuple):
    """What a phase serves of one source or language: the expected number of tokens, and how often each row comes on average."""

    tokens: float
    times: float


def expected(shards: Shards, rows: int) -> dict[str, dict[str, Expected]]:
    """Return what a phase of `rows` rows serves of each source and language, from the tokens that the manifests count."""
    epochs = rows / sum(count * weight for count, weight in zip(shards.rows, shards.weights, strict=True))
    stored, served = ({"source": defaultdict[str, float](float), "language": defaultdict[str, float](float)} for _ in range(2))
    for contents, weight in zip(shards.manifests, shards.weights, strict=True):
        of_documents = {Origin(source, code): n for source, codes in contents.tokens.items() for code, n in codes.items()}
        scale = contents.splits[shards.split].tokens / max(1, sum(of_documents.values()))
        for origin, tokens in of_documents.items():
            for by, name in origin._asdict().items():
                stored[by][name or "unknown"] += tokens * scale
                served[by][name or "unknown"] += tokens * scale * weight * epochs
    return {
        by: {name: Expected(served[by][name], served[by][name] / max(1, tokens)) for name, tokens in sorted(stored[by].items())}
        for by in stored
    }


def drawn(shards: Shards, plan: EpochPlan, steps: range) -> dict[str, dict[str, int]]:
    """Count the rows of steps by source and by language, or return an empty dict for rows of one source and language."""
    if len(shards.origins) < 2:
        return {}
    rows = sum(
        (np.bincount(shards.origins_of(plan[step].rows), minlength=len(shards.origins)) for step in steps), np.zeros(1, np.int64)
    )
    counts: dict[str, Counter[str]] = {"rows_by_source": Counter(), "rows_by_language": Counter()}
    for origin, count in zip(shards.origins, rows.tolist(), strict=True):
        for name, value in zip(counts, origin, strict=True):
            counts[name][value] += count
    return {name: dict(values) for name, values in counts.items()}
