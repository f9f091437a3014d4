"""Configure the mixture of a training phase: shares of the rows by language or source.

>>> Mixture(by="language", temperature=0.7), Mixture(by="source", weights={"wikipedia": 2.0, "books": 1.0}).weights
(Mixture(by='language', temperature=0.7, weights={}, epoch_steps=None), {'wikipedia': 2.0, 'books': 1.0})
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .base import FREE, Config

__all__ = ["Mixture"]

_GROUPS = ("language", "source")


@dataclass(frozen=True, kw_only=True)
class Mixture(Config):
    """Shares of the rows of a phase by language or source.

    Attributes:
        by: ``language`` or ``source``.
        temperature: A group of n rows gets a share in proportion to n to this power: 1 keeps the shares of the data, and 0 makes
            them equal.
        weights: The weight of each group by name, instead of a temperature. A group of weight 0 is left out.
        epoch_steps: Steps over which the shares are exact. Default: those of the phase, or as many as the rows fill.
    """

    by: str
    temperature: float = 1.0
    weights: dict[str, float] = field(default_factory=dict)
    epoch_steps: int | None = field(default=None, metadata=FREE)  # identities of rows have it, those of runs have the phase's

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.by in _GROUPS, f"mixture.by: use one of {', '.join(_GROUPS)}", field="by")
        self._require(
            self.epoch_steps is None or self.epoch_steps >= 1, "mixture.epoch_steps: use at least 1", field="epoch_steps"
        )
        self._require(0 <= self.temperature <= 1, "mixture.temperature: use 0 to 1", field="temperature")
        weights = self.weights.values()
        fine = not weights or (all(0 <= weight < math.inf for weight in weights) and sum(weights) > 0)
        self._require(fine, "mixture.weights: use numbers of 0 or more, and at least one over 0", field="weights")
        self._require(
            not self.weights or self.temperature == Mixture.temperature,
            "mixture.temperature: omit it, because `weights` are the shares",
            field="temperature",
        )
