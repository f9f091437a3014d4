"""How rows are masked when they are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..dataset.shards import Shards
from ..errors import UsageError
from ..rows import masking

__all__ = ["MaskConfig"]


@dataclass(frozen=True)
class MaskConfig:
    """How rows are masked when they are read; the defaults are BERT's.

    masked_lm_prob: the share of a row's tokens that is predicted.  max_predictions: the most of them; 0 for no limit but the
    share.  unit: ``piece``, ``word`` (whole words) or ``span`` (runs of words).  per_piece: draw [MASK], random or kept for each
    piece, and not once for a word or span.  `bertdata.rows.masking.mask` says more.
    """

    masked_lm_prob: float = 0.15
    max_predictions: int = 0
    unit: str = "piece"
    per_piece: bool = False

    def check(self, shards: Shards) -> None:
        """Raise UsageError for values that cannot be, or where rows have masks of their own or none."""
        if self.unit not in masking.UNITS:
            raise UsageError(f"unit {self.unit!r}: use one of {', '.join(masking.UNITS)}")
        if not 0 < self.masked_lm_prob <= 1 or self.max_predictions < 0:
            raise UsageError(f"{self}: masked_lm_prob is over 0 and up to 1, max_predictions not below 0")
        if self != MaskConfig() and (shards.masking == "static" or shards.objective == "causal"):
            reason = "has no masks" if shards.objective == "causal" else "is masked already"
            given = {name: value for name, value in asdict(self).items() if value != getattr(MaskConfig, name)}
            raise UsageError(f"{shards.paths[0]} {reason}: {given} does nothing; omit it")
