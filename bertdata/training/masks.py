"""The options of masks that are drawn when rows are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from ..config import OBJECTIVES, mask_shares
from ..config.base import Config, Count, Share, option
from ..dataset.rows import Shards
from ..errors import UsageError
from ..rows import masking


@dataclass(frozen=True)
class MaskConfig(Config):
    """Masking options at load time. The defaults are BERT's, and `bertdata.rows.masking.mask` describes the algorithm.

    Attributes:
        masked_lm_prob: Share of a row's tokens to predict. With 0, rows are returned unmasked, for your own masks.
        max_predictions: Maximum number of predicted tokens per row, or 0 for no limit other than the share.
        unit: ``piece`` (single tokens) or ``word`` (whole words).
        mask_shares: Percentages of [MASK], random and unchanged tokens.
    """

    masked_lm_prob: Share = option(0.15, "Share of tokens to mask in each row.")
    max_predictions: Count = option(0, "Maximum number of masked tokens per row; 0 means no limit.")
    unit: Literal["piece", "word"] = option("piece", "Mask single tokens or whole words.")
    mask_shares: str = option("80/10/10", "Percentages of masked tokens that become [MASK], a random token, or stay unchanged.")

    def __post_init__(self) -> None:
        super().__post_init__()
        mask_shares(self.mask_shares)

    def check(self, shards: Shards) -> None:
        """Raise UsageError if the options have no effect because the rows have static masks or an objective without masks."""
        static = shards.masking == "static"
        for name, value in asdict(self).items() if static or not OBJECTIVES[shards.objective].masks else ():
            if value != getattr(MaskConfig, name):
                why = "is masked already" if static else "has no masks"
                raise UsageError(f"{shards.paths[0]} {why}, so `{name}` {value} has no effect. Omit it", field=name, value=value)

    def predictions(self, width: int, widest: int) -> int:
        """Return the number of positions P in a batch of this width. It is the same at every step."""
        if not self.masked_lm_prob:
            return 0
        if self.unit != "piece":  # a row's last word can exceed its share; by how much must not depend on the width
            width = widest
        most = masking.predictions_per_row(width, self.masked_lm_prob, self.unit)
        return min(most, self.max_predictions) if self.max_predictions else most
