"""Check that language and script do not predict a pair's label: A and B share a language, and half of its pairs are NotNext.

The manifest's counts by language and script of the documents are compared with the labels in the shards. The scripts of A and B
are also detected from the rows, by an independent rule: the first word of a letter's Unicode name, and for Chinese the
character sets GB 2312 and Big5.

A classifier that sees only one of these facts must do no better than chance, within three standard errors. Its AUC is 0.5
plus half the difference between the shares of NotNext and of IsNext pairs for which the fact is true.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dataset.manifest_records import Pairing
from ..dataset.manifest_types import PairsManifest
from .row_checks import HAN, KANA, Rows

__all__ = ["DIFFERS", "partners", "scripts"]

DIFFERS = ("IsNext pairs of two scripts", "NotNext pairs of two scripts")  # by label
_MAX_STANDARD_ERRORS = 3.0
_ALLOWED_AUC_DISTANCE = 0.01  # allowed AUC distance: a page on Greek words has Greek in A and in B because of its content
Array = npt.NDArray[Any]


def scripts(rows: Rows, first_of_b: Array, of_pieces: Array) -> Array:
    """Return, for each pair [N], whether A and B have different scripts. A side without letters matches any script."""
    bounds = np.stack([rows.starts, first_of_b], 1).ravel()
    side = np.repeat(np.arange(len(bounds)), np.diff(np.append(bounds, rows.ends[-1])))
    script, variant = of_pieces[rows.ids].T
    width = max(KANA, int(of_pieces[:, 0].max())) + 1
    counts = np.bincount(side * width + script, minlength=len(bounds) * width).reshape(-1, width)
    counts[:, 0] = 0
    japanese = counts[:, KANA] > 0
    counts[:, HAN] += counts[:, KANA]  # Japanese uses both
    counts[:, KANA] = 0
    main = counts.argmax(1)  # 0 if there is no letter
    sign = np.sign(np.bincount(side, variant, minlength=len(bounds)))
    sign[(main != HAN) | japanese] = 0
    (a, b), (sign_a, sign_b) = main.reshape(-1, 2).T, sign.reshape(-1, 2).T
    return np.asarray(((a != b) & (a > 0) & (b > 0)) | (sign_a * sign_b < 0))


def partners(manifest: PairsManifest, counted: Counter[str]) -> Iterator[str]:
    """Check the manifest's pair counts by language, script and source against `counted`, the counts of the shards."""
    config = manifest.settings
    if config.objective != "nsp":
        return
    found = manifest.pairings or {}
    if sorted(found) != ["language", "script", "source"]:
        yield "pairings has not language, script and source"
        return
    for fact, values in found.items():
        stated_pairs, stated_ones = (sum(each.pairs for each in values.values()), sum(each.not_next for each in values.values()))
        for what, stated, number in (("pairs", stated_pairs, counted["labels"]), ("not_next", stated_ones, counted["ones"])):
            if stated != number:
                yield f"pairings.{fact}.*.{what}: {stated:,} in the manifest, {number:,} were found"
                return
        if any(not entry.other <= entry.not_next <= entry.pairs for entry in values.values()):
            yield f"pairings.{fact} counts more NotNext pairs than pairs, or more of another {fact} than NotNext pairs"
            return
        if not config.pair_across_languages and fact != "source":
            yield from _tells(fact, values, counted)
    is_next, not_next = (counted[name] for name in DIFFERS)
    problem = _problem(not_next, is_next, counted["ones"], counted["labels"] - counted["ones"], _ALLOWED_AUC_DISTANCE)
    if problem and not config.pair_across_languages:
        yield f"{problem}: A and B are of two scripts, as their tokens are"


def _tells(fact: str, values: dict[str, Pairing], counted: Counter[str]) -> Iterator[str]:
    """Check that a fact of A's and B's documents does not predict the label: B has A's language, and half of each is NotNext."""
    ones, zeros = counted["ones"], counted["labels"] - counted["ones"]
    if problem := _problem(sum(entry.other for entry in values.values()), 0, ones, zeros):
        yield f"{problem}: B is of another {fact} than A"
    for name, entry in values.items():
        if 2 * entry.not_next != entry.pairs:
            yield f"{entry.not_next:,} of {entry.pairs:,} pairs whose A has the {fact} {ascii(name)[:100]} are NotNext, not half"


def _problem(of_ones: int, of_zeros: int, ones: int, zeros: int, allowed: float = 0.0) -> str:
    """Return how well a binary fact predicts the label, or an empty string if no better than chance.

    `of_ones` of `ones` pairs with label 1, and `of_zeros` of `zeros` pairs with label 0, have the fact.
    """
    if not ones or not zeros:
        return ""
    area = 0.5 + (of_ones / ones - of_zeros / zeros) / 2
    error = math.sqrt((ones + zeros + 1) / (12 * ones * zeros))
    if abs(area - 0.5) <= max(_MAX_STANDARD_ERRORS * error, allowed):
        return ""
    return f"one fact predicts the label (AUC {area:.3f}, standard error {error:.3f})"
