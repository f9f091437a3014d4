"""Mask rows at load time."""

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
    """A share that changes linearly from `first`, at step 0, to `last`, at step `steps`, and then stays constant.

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
    """Masking options at load time. The defaults are BERT's.

    masked_lm_prob: share of a row's tokens to predict, or a `Schedule` over steps.
    max_predictions: maximum number of predicted tokens per row, or 0 for no limit other than the share.
    unit: ``piece``, ``word`` (whole words) or ``span`` (runs of words).
    per_piece: choose [MASK], random or kept for each token, instead of once per word or span.
    mask_shares: shares of [MASK], random and kept tokens.
    `bertdata.rows.masking.mask` has the details.
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
        """Raise UsageError if the rows have static masks or the objective has none, so that these options have no effect."""
        has_masks = OBJECTIVES[shards.objective].masks
        if self != MaskConfig() and (shards.masking == "static" or not has_masks):
            reason = "is masked already" if has_masks else "has no masks"
            given = {name: value for name, value in asdict(self).items() if value != getattr(MaskConfig, name)}
            raise UsageError(f"{shards.paths[0]} {reason}: {given} does nothing; omit it")


class Masker:
    """Mask rows of `shards` as in training, where rows have at most `widest` tokens. Masks depend on the seed, step and row.

    A row's masks do not depend on other rows or on the width.
    """

    def __init__(self, shards: Shards, masks: MaskConfig, *, seed: int, widest: int) -> None:
        self.masks, self.seed, self._widest = masks, seed, widest
        self._vocabulary = masking.mask_vocabulary(shards.pieces, shards.special)

    def __call__(
        self, ids: npt.NDArray[Any], rows: npt.NDArray[Any], continues: npt.NDArray[Any] | None, *, step: int, epoch: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Mask ids [B, L] at a step of an epoch. `rows` [B] are row numbers; each copy of a row has a different number."""
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
        """Return P for batches of a width."""
        masks = self.masks
        if masks.unit != "piece":  # the overshoot of a word over a row's share must not depend on the width
            width = self._widest
        most = masking.predictions_per_row(
            width, max(masks.schedule[:2]), masks.unit
        )  # maximum over all steps, so shapes are constant
        return min(most, masks.max_predictions) if masks.max_predictions else most
