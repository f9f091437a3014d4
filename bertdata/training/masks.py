"""How rows are masked when they are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

from ..config import mask_shares
from ..config.base import Config
from ..dataset.shards import Shards
from ..errors import UsageError
from ..rows import masking

__all__ = ["MaskConfig", "Schedule"]


class Schedule(NamedTuple):
    """A share that goes from `first`, at step 0, in a line to `last`, at step `steps`, and stays there.

    >>> round(Schedule(0.3, 0.15, 1000).at(500), 3)  # GPT-BERT's (Charpentier and Samuel 2024): from 0.30 to 0.15 over the run
    0.225
    """

    first: float
    last: float
    steps: int

    def at(self, step: int) -> float:
        """Return the share of a step."""
        return self.first + (self.last - self.first) * min(1.0, step / self.steps)


@dataclass(frozen=True)
class MaskConfig(Config):
    """How rows are masked when they are read; the defaults are BERT's.

    masked_lm_prob: the share of a row's tokens that is predicted, of a `Schedule` by step.  max_predictions: the most of
    them; 0 for no limit but the share.  unit: ``piece``, ``word`` (whole words) or ``span`` (runs of words).  per_piece: draw
    [MASK], random or kept for each piece, and not once for a word or span.  mask_shares: of [MASK], random and kept pieces.
    `bertdata.rows.masking.mask` says more.
    """

    masked_lm_prob: float | Schedule = 0.15
    max_predictions: int = 0
    unit: str = "piece"
    per_piece: bool = False
    mask_shares: str = "80/10/10"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.unit in masking.UNITS, f"`unit` {self.unit!r}: use one of {', '.join(masking.UNITS)}")
        mask_shares(self.mask_shares)
        numbers = all(type(number) in (int, float) for number in self.schedule)
        self._require(
            numbers and min(self.schedule[:2]) > 0 and max(self.schedule[:2]) <= 1 and self.schedule.steps >= 1,
            f"`masked_lm_prob` is {self.masked_lm_prob}: use a share over 0, up to 1, or a Schedule of such",
        )
        self._require(self.max_predictions >= 0, f"`max_predictions` is {self.max_predictions}: use 1 or more, or 0 for no limit")

    @property
    def schedule(self) -> Schedule:
        """The shares by step."""
        prob = self.masked_lm_prob
        return prob if isinstance(prob, Schedule) else Schedule(prob, prob, 1)

    def check(self, shards: Shards) -> None:
        """Raise UsageError where rows have masks of their own, or none, and so these do nothing."""
        if self != MaskConfig() and (shards.masking == "static" or shards.objective == "causal"):
            reason = "has no masks" if shards.objective == "causal" else "is masked already"
            given = {name: value for name, value in asdict(self).items() if value != getattr(MaskConfig, name)}
            raise UsageError(f"{shards.paths[0]} {reason}: {given} does nothing; omit it")
