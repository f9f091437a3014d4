"""Mask rows at load time: the masking options, their schedules over steps, and user-defined masks."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from ..config import OBJECTIVES, mask_shares
from ..config.base import Config, option
from ..dataset.rows import Shards
from ..errors import UsageError
from ..labels import IGNORED
from ..rows import masking
from ..storage.files import digest
from ..storage.user_functions import load, source_digest
from .token_weights import FREQUENCY, token_weights

__all__ = ["LABELS", "MaskConfig", "Masker", "Rows", "Schedule", "is_causal", "next_tokens"]

LABELS = ("same", "next")
Masked = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


class Schedule(NamedTuple):
    """A share that changes linearly from `first` at step 0 to `last` at step `steps`, then stays constant.

    >>> round(Schedule(0.3, 0.15, 1000).at(500), 3)  # GPT-BERT's (Charpentier and Samuel 2024): from 0.30 to 0.15 over the run
    0.225
    """

    first: float
    last: float
    steps: int

    def at(self, step: int) -> float:
        """Return the share at a step."""
        return self.first + (self.last - self.first) * min(1.0, step / self.steps)

    def sum(self, step: int) -> float:
        """Return the integral of the share from step 0 to `step`.

        >>> Schedule(0.5, 0.5, 1).sum(8), Schedule(1.0, 0.0, 10).sum(10)
        (4.0, 5.0)
        """
        # The area under the line: a trapezoid up to `steps`, then a rectangle.
        inside = min(step, self.steps)
        return inside * (self.first + self.at(inside)) / 2 + (step - inside) * self.last


@dataclass(frozen=True)
class MaskConfig(Config):
    """Masking options at load time. The defaults are BERT's, and `bertdata.rows.masking.mask` describes the algorithm.

    Attributes:
        masked_lm_prob: Share of a row's tokens to predict, or a `Schedule` over steps. 0 disables masking.
        masked_lm_prob_by_row: Range such as ``"0.1-0.9"``. Each row's share is drawn uniformly from it.
        max_predictions: Maximum number of predicted tokens per row, or 0 for no limit other than the share.
        unit: ``piece`` (single tokens), ``word`` (whole words) or ``span`` (runs of words).
        per_piece: Choose [MASK], random or unchanged for each token, instead of once per word or span.
        mask_shares: Percentages of [MASK], random and unchanged tokens.
        labels: ``same``, or ``next`` to predict token i at position i - 1, as in a causal model (GPT-BERT).
        causal_share: Share of causal batches, or a `Schedule` over steps. A causal batch predicts each next token, without masks.
        token_weights: JSON file of ``{token: weight}`` (default 1), or ``frequency``. Tokens are masked in proportion to weights.
        mask: ``module:function``, your own function that masks rows (see `bertdata.training.masks.Rows`).
    """

    masked_lm_prob: float | Schedule = option(0.15, "Share of tokens to mask in each row.")
    max_predictions: int = option(0, "Maximum number of masked tokens per row; 0 means no limit.")
    unit: str = option("piece", "Mask single tokens, whole words, or spans of words.", choices=masking.UNITS)
    per_piece: bool = option(False, "Apply `mask_shares` to each token instead of once per word or span.")
    mask_shares: str = option("80/10/10", "Percentages of masked tokens that become [MASK], a random token, or stay unchanged.")
    masked_lm_prob_by_row: str = option("", "Range to draw each row's share uniformly from, such as 0.1-0.9.", metavar="LOW-HIGH")
    labels: str = option("same", "Predict each token at its position (same) or one before it (next).", choices=LABELS)
    causal_share: float | Schedule = option(0.0, "Share of causal batches. Needs `labels` next.")
    token_weights: str = option(
        "",
        "JSON file with the weights of tokens; tokens of larger weight are masked more often. frequency: rare tokens more often.",
        metavar="FILE",
    )
    mask: str = option("", "Your own function that masks rows.", metavar="MODULE:FUNCTION")

    def __post_init__(self) -> None:
        super().__post_init__()
        mask_shares(self.mask_shares)
        for name in ("masked_lm_prob", "causal_share"):
            value, low, high, steps = getattr(self, name), *_schedule(getattr(self, name))
            numbers = all(type(number) in (int, float) for number in (low, high, steps))
            zero = name == "causal_share" or low == high == 0
            self._require(
                numbers and (min(low, high) > 0 or (zero and min(low, high) == 0)) and max(low, high) <= 1 and steps >= 1,
                f"`{name}` is {value}: use a share up to 1, 0 for none, or a Schedule of shares over 0",
                field=name,
            )
        self._require(
            self.max_predictions >= 0,
            f"`max_predictions` is {self.max_predictions}: use 1 or more, or 0 for no limit",
            field="max_predictions",
        )
        self._require(
            not self.causal or self.labels == "next",
            "`causal_share` needs `labels` next: causal batches predict each token one position before it",
            field="causal_share",
        )
        _ = self.bounds

    @property
    def schedule(self) -> Schedule:
        """The schedule of `masked_lm_prob`."""
        return _schedule(self.masked_lm_prob)

    @property
    def causal(self) -> Schedule | None:
        """The schedule of `causal_share`, or None without causal batches."""
        schedule = _schedule(self.causal_share)
        return schedule if max(schedule[:2]) else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds of `masked_lm_prob_by_row`, or None.

        >>> MaskConfig(masked_lm_prob_by_row="0.1-0.9").bounds
        (0.1, 0.9)
        """
        text = self.masked_lm_prob_by_row
        try:
            low, high = (float(each) for each in text.split("-")) if text else (0.0, 1.0)
        except ValueError:
            low, high = 1.0, 0.0
        self._require(
            0 <= low <= high <= 1,
            f"`masked_lm_prob_by_row` {text}: use two shares from 0 to 1, the lower one first, such as 0.1-0.9",
            field="masked_lm_prob_by_row",
        )
        return (low, high) if text else None

    @property
    def varies(self) -> bool:
        """Whether masks depend on the step, beyond its epoch and rows."""
        return bool(self.mask) or self.causal is not None or self.schedule.first != self.schedule.last

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of the weights file and of the mask function's source, by option, for the identity of a run."""
        digests = {}
        if self.token_weights not in ("", FREQUENCY):
            digests["token_weights"] = digest(Path(self.token_weights))
        if self.mask:
            load(self.mask, "mask")
            digests["mask"] = source_digest(self.mask)
        return digests

    def check(self, shards: Shards) -> None:
        """Raise UsageError if the options have no effect because the rows have static masks or an objective without masks."""
        objective = OBJECTIVES[shards.objective]
        if self != MaskConfig() and (shards.masking == "static" or not objective.masks):
            reason = "is masked already" if objective.masks else "has no masks"
            changed = {name: value for name, value in asdict(self).items() if value != getattr(MaskConfig, name)}
            name, value = next(iter(changed.items()))
            problem = f"{shards.paths[0]} {reason}, so `{name}` {value} has no effect. Omit it"
            raise UsageError(
                f"{problem}, or make rows without static masks" if objective.masks else problem, field=name, value=value
            )
        if self.causal and objective.labels:
            raise UsageError(f"{shards.paths[0]}: causal batches cannot predict the labels of pairs. Omit `causal_share`")


def _schedule(share: float | Schedule) -> Schedule:
    return share if isinstance(share, Schedule) else Schedule(share, share, 1)


class Rows(NamedTuple):
    """The argument of a mask function, which returns masked ids and labels, both [B, L]. Label -100 predicts nothing.

        def half(rows):  # mask each token with probability 0.5
            chosen = rows.vocabulary.maskable[rows.ids] & (rows.random(0) < 0.5)
            return np.where(chosen, rows.vocabulary.mask_id, rows.ids), np.where(chosen, rows.ids, -100)

    Attributes:
        ids: Token ids [B, L] in int64, padded.
        continues: Whether a token continues the word before it [B, L], or None.
        vocabulary: The ids that can be masked, continue a word, or replace other ids (`rows.mask_vocabulary.MaskVocabulary`).
        step: Number of the training step.
        keys: Random key of each row [B].
    """

    ids: npt.NDArray[Any]
    continues: npt.NDArray[Any] | None
    vocabulary: masking.MaskVocabulary
    step: int
    keys: keys.Bits

    def random(self, stream: int) -> npt.NDArray[np.float64]:
        """Return random numbers in ``[0, 1)`` [B, L]. They depend only on the seed, the epoch, the row and `stream`."""
        return keys.share(keys.stream(keys.substream(self.keys, stream), self.ids.shape[1]))


class Masker:
    """Mask rows of `shards`, which have at most `widest` tokens.

    A row's masks depend on the seed, the step and the row number, but not on the other rows or the width of the batch.
    """

    def __init__(self, shards: Shards, masks: MaskConfig, *, seed: int, widest: int) -> None:
        self.masks, self.seed, self._widest = masks, seed, widest
        self._vocabulary = masking.mask_vocabulary(shards.pieces, shards.special)
        self._weights = token_weights(shards, masks.token_weights) if masks.token_weights else None

    def __call__(
        self, ids: npt.NDArray[Any], rows: npt.NDArray[Any], continues: npt.NDArray[Any] | None, *, step: int, epoch: int
    ) -> Masked:
        """Mask ids [B, L] at a step of an epoch. `rows` [B] are row numbers; each copy of a row has a different number."""
        masks, most = self.masks, self.predictions(ids.shape[1])
        if not most:
            return ids, np.zeros((len(ids), 0), np.int64), np.zeros((len(ids), 0), np.int64)
        # The user's function decides the masks if it is set, otherwise BERT's rule.
        if masks.mask:
            masked, positions, labels = self._custom(ids, rows, continues, step, epoch, most)
        else:
            masked, positions, labels = masking.mask(
                ids,
                self._vocabulary,
                seed=self.seed,
                epoch=epoch,
                rows=rows,
                max_predictions=most,
                masked_lm_prob=self._shares(rows, step, epoch),
                unit=masks.unit,
                per_piece=masks.per_piece,
                continues=continues,
                shares=masks.mask_shares,
                weights=self._weights,
            )
        if masks.labels == "next":  # position 0 marks an unused entry, and a token at position 0 has no earlier position
            labels, positions = np.where(positions > 0, labels, IGNORED), np.maximum(positions - 1, 0)
        return masked, positions, labels

    def _shares(self, rows: npt.NDArray[Any], step: int, epoch: int) -> Any:
        """Return the share of tokens to predict: one number for all rows, or one per row [B]."""
        if (bounds := self.masks.bounds) is None:
            return self.masks.schedule.at(step)
        # Draw one share per row and epoch, as in masked diffusion models.
        random = keys.share(keys.substream(keys.key(self.seed, "mask shares", epoch), rows.astype(np.uint64)))
        return bounds[0] + (bounds[1] - bounds[0]) * random

    def _custom(
        self, ids: npt.NDArray[Any], rows: npt.NDArray[Any], continues: npt.NDArray[Any] | None, step: int, epoch: int, most: int
    ) -> Masked:
        """Call the user's function, and convert its labels [B, L] to positions and labels [B, P]."""
        row_keys = keys.substream(keys.key(self.seed, "custom masks", epoch), rows.astype(np.uint64))
        padded_rows = Rows(ids.astype(np.int64), continues, self._vocabulary, step, row_keys)
        masked, dense = map(np.asarray, load(self.masks.mask, "mask")(padded_rows))
        if masked.shape != ids.shape or dense.shape != ids.shape:
            raise UsageError(f"`mask` {self.masks.mask}: it must return masked ids and labels, both of shape {ids.shape}")
        # Dense labels [B, L] to sparse ones [B, P]. `place` numbers the labels of each row from 0:
        #
        #   row     0 0 0 2 2          (row 1 has no labels)
        #   counts  3 0 2
        #   place   0 1 2 0 1
        row, column = np.nonzero(dense != IGNORED)
        counts = np.bincount(row, minlength=len(ids))
        if counts.max(initial=0) > most:
            raise UsageError(f"`mask` {self.masks.mask}: a row has {counts.max()} labels, more than `max_predictions` {most}")
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        positions, labels = np.zeros((len(ids), most), np.int64), np.full((len(ids), most), IGNORED, np.int64)
        positions[row, place], labels[row, place] = column, dense[row, column]
        return masked, positions, labels

    def predictions(self, width: int) -> int:
        """Return the number of positions P in a batch of this width. It is the same at every step, except causal steps."""
        masks = self.masks
        if masks.mask:
            return masks.max_predictions or width
        most_share = masks.bounds[1] if masks.bounds else max(masks.schedule[:2])
        if not most_share:
            return 0
        if masks.unit != "piece":  # a row's last word can exceed its share; by how much must not depend on the width
            width = self._widest
        most = masking.predictions_per_row(width, most_share, masks.unit)
        return min(most, masks.max_predictions) if masks.max_predictions else most


def is_causal(masks: MaskConfig, seed: int, step: int) -> bool:
    """Return True for a causal step. Causal steps are spread evenly, so any range of steps has its share of them, rounded."""
    if masks.causal is None:
        return False
    # A step is causal when the integer part of a running sum grows. With a share of 0.25 and offset 0.6, the sum is
    # 0.6 0.85 1.1 1.35 1.6 1.85 2.1, so every fourth step is causal. Independent draws would cluster.
    offset = float(keys.share(keys.stream(keys.key(seed, "causal"), 1))[0])
    return math.floor(masks.causal.sum(step + 1) + offset) > math.floor(masks.causal.sum(step) + offset)


def next_tokens(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Return the positions and labels [B, L] with which each token predicts the next token of the same document."""
    # Position i predicts token i + 1 unless that is padding.
    ids, seen = arrays["input_ids"], arrays["attention_mask"].astype(bool)
    labels = np.full(ids.shape, IGNORED, np.int32)
    labels[:, :-1] = np.where(seen[:, 1:], ids[:, 1:].astype(np.int32), IGNORED)
    if "document_starts" in arrays:  # the last token of a document must not predict the first one of the next
        row, nth = np.nonzero(arrays["document_starts"] > 0)
        labels[row, arrays["document_starts"][row, nth].astype(np.int64) - 1] = IGNORED
    positions = np.where(labels == IGNORED, 0, np.arange(ids.shape[1])).astype(np.uint16)
    return {"masked_lm_positions": positions, "masked_lm_labels": labels}
