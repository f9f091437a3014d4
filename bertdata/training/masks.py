"""Mask rows when they are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy.typing as npt

from ..config import OBJECTIVES, mask_shares
from ..config.base import Config, option
from ..dataset.shards import Shards
from ..errors import UsageError
from ..rows import masking

__all__ = ["MaskConfig", "Masker", "Schedule"]


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

    masked_lm_prob: float | Schedule = option(0.15, "Share of a row's tokens that is predicted.")
    max_predictions: int = option(0, "Most tokens of a row that are predicted; 0: no limit but the share.")
    unit: str = option("piece", "What is masked: pieces, whole words, or spans of words.", choices=masking.UNITS)
    per_piece: bool = option(False, "Draw [MASK], random or kept for each piece of a word or span.")
    mask_shares: str = option("80/10/10", "Of 100 tokens to predict, how many become [MASK], become a random word, and stay.")

    def __post_init__(self) -> None:
        super().__post_init__()
        mask_shares(self.mask_shares)
        numbers = all(type(number) in (int, float) for number in self.schedule)
        self._require(
            numbers and min(self.schedule[:2]) > 0 and max(self.schedule[:2]) <= 1 and self.schedule.steps >= 1,
            f"`masked_lm_prob` is {self.masked_lm_prob}: use a share over 0, up to 1, or a Schedule of such",
            field="masked_lm_prob",
        )
        self._require(
            self.max_predictions >= 0,
            f"`max_predictions` is {self.max_predictions}: use 1 or more, or 0 for no limit",
            field="max_predictions",
        )

    @property
    def schedule(self) -> Schedule:
        """The shares by step."""
        prob = self.masked_lm_prob
        return prob if isinstance(prob, Schedule) else Schedule(prob, prob, 1)

    def check(self, shards: Shards) -> None:
        """Raise UsageError where rows have masks of their own, or none, and so these do nothing."""
        has_masks = OBJECTIVES[shards.objective].masks
        if self != MaskConfig() and (shards.masking == "static" or not has_masks):
            reason = "is masked already" if has_masks else "has no masks"
            given = {name: value for name, value in asdict(self).items() if value != getattr(MaskConfig, name)}
            raise UsageError(f"{shards.paths[0]} {reason}: {given} does nothing; omit it")


class Masker:
    """Mask rows of `shards` as training does, which pads to `widest` tokens at the most: a function of seed, step and row.

    What is masked of a row depends on no other row, and not on the width.
    """

    def __init__(self, shards: Shards, masks: MaskConfig, *, seed: int, widest: int) -> None:
        self.masks, self.seed, self._widest = masks, seed, widest
        self._vocabulary = masking.mask_vocabulary(shards.pieces, shards.special)

    def __call__(
        self, ids: npt.NDArray[Any], rows: npt.NDArray[Any], continues: npt.NDArray[Any] | None, *, step: int, epoch: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Mask ids [B, L] at a step of an epoch; `rows` [B] are numbers, a row's copies having some of their own."""
        return masking.mask(
            ids,
            self._vocabulary,
            seed=self.seed,
            epoch=epoch,
            rows=rows,
            max_predictions=self.predictions(ids.shape[1]),
            masked_lm_prob=self.masks.schedule.at(step),
            unit=self.masks.unit,
            per_piece=self.masks.per_piece,
            continues=continues,
            shares=self.masks.mask_shares,
        )

    def predictions(self, width: int) -> int:
        """Return P of the batches of a width."""
        masks = self.masks
        if masks.unit != "piece":  # how far a word may reach over a row's share must not depend on the width
            width = self._widest
        most = masking.predictions_per_row(width, max(masks.schedule[:2]), masks.unit)  # of all steps, so shapes stay
        return min(most, masks.max_predictions) if masks.max_predictions else most
