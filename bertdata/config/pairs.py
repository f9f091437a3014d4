"""What `make-pairs` does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .base import FORMATS, FREE, Config

__all__ = ["LABEL_1", "MASKINGS", "OBJECTIVES", "SEGMENTERS", "PairsConfig"]

OBJECTIVES = {  # what rows are for -> what labels 0 and 1 of a pair mean, as in google-research/bert; () where a row is no pair
    "nsp": ("IsNext", "NotNext"),
    "sop": ("in order", "swapped"),
    "full-sentences": (),
    "causal": (),
}
LABEL_1 = {"nsp": "not_next", "sop": "swapped"}  # under which name a manifest counts the pairs with label 1
MASKINGS = ("none", "static")
SEGMENTERS = ("none", "jieba")
_MASKS = ("masked_lm_prob", "max_predictions", "whole_word", "span", "per_piece")  # fields of PairsConfig that static masks have


@dataclass(frozen=True, kw_only=True)
class PairsConfig(Config):
    """Rows to train on; `short_seq_prob` of pairs and `seed` are google-research/bert's defaults.

    `short_seq_prob` None stands for what suits the objective: 0.1 for pairs, 0 for the others.
    `dupe_factor` is in how many copies, each cut and paired anew, the text is used.  `validation_fraction` is the share of the
    documents that go into a split of their own.  `shards` is the number of buckets and of files (of ``train``); 0 chooses it
    from the size of the corpus: `bucket_bytes` of text each, all copies counted.

    With `masking` ``static`` rows are masked when they are built: `masked_lm_prob` None stands for BERT's 0.15, `max_predictions`
    0 for the number that gives every row its full share.  `chinese_words` names the segmenter, ``jieba``, that tells the words of
    Chinese text, which are then neither cut nor masked in part.
    """

    objective: str = "nsp"
    max_seq_length: int = 128
    short_seq_prob: float | None = None
    dupe_factor: int = 1
    validation_fraction: float = 0.0
    shards: int = 0
    bucket_bytes: int = field(default=12 << 20, metadata=FREE)  # the number of shards chosen by it is in the identity
    provenance: bool = False
    masking: str = "none"
    masked_lm_prob: float | None = None
    max_predictions: int = 0
    whole_word: bool = False
    span: bool = False
    per_piece: bool = False
    chinese_words: str = "none"
    format: str = "arrow-stream"
    seed: int = 12345

    @property
    def unit(self) -> str:
        """What is masked as one: ``piece``, ``word`` or ``span``."""
        return "word" if self.whole_word else "span" if self.span else "piece"

    @property
    def packages(self) -> tuple[str, ...]:
        """The optional packages whose versions the output's bytes depend on."""
        return () if self.chinese_words == "none" else (self.chinese_words,)

    def __post_init__(self) -> None:
        self._require(self.objective in OBJECTIVES, f"--objective {self.objective}: use one of {', '.join(OBJECTIVES)}")
        pairs = bool(OBJECTIVES[self.objective])
        if self.short_seq_prob is None:
            object.__setattr__(self, "short_seq_prob", 0.1 if pairs else 0.0)
        self._require(self.format in FORMATS, f"--format {self.format}: use one of {', '.join(FORMATS)}")
        self._require(16 <= self.max_seq_length <= 65536, "--max-seq-length: use 16 to 65536")
        self._require(0 <= (self.short_seq_prob or 0) <= 1, "--short-seq-prob: use a share between 0 and 1")
        self._require(
            pairs or not self.short_seq_prob, f"--short-seq-prob is for pairs: rows of {self.objective} are never made shorter"
        )
        self._require(
            pairs or not self.provenance, f"--provenance is for pairs: a row of {self.objective} may be of many documents"
        )
        self._require(1 <= self.dupe_factor <= 1000, "--dupe-factor: use 1 to 1000")
        self._require(0 <= self.validation_fraction <= 0.5, "--validation-fraction: use a share between 0 and 0.5")
        self._require(0 <= self.shards <= 99999, "--shards: use 1 to 99999, or 0 to choose by size")
        self._check_masks()

    def _check_masks(self) -> None:
        """Refuse masks that can't be, and what would do nothing."""
        self._require(self.masking in MASKINGS, f"--masking {self.masking}: use one of {', '.join(MASKINGS)}")
        self._require(self.chinese_words in SEGMENTERS, f"--chinese-words: use one of {', '.join(SEGMENTERS)}")
        static, words = self.masking == "static", self.chinese_words != "none"
        for name in _MASKS:
            self._require(
                static or getattr(self, name) == getattr(PairsConfig, name),
                f"--{name.replace('_', '-')} does nothing with --masking none: rows are then masked when they are read",
            )
        asked = "--masking static" if static else "--chinese-words"
        self._require(
            self.objective != "causal" or not (static or words), f"{asked} does nothing with --objective causal: it has no masks"
        )
        self._require(not (self.whole_word and self.span), "--whole-word and --span: use one of them")
        whole = self.unit != "piece"
        self._require(whole or not self.per_piece, "--per-piece is for --whole-word or --span: a piece is always drawn by itself")
        self._require(
            whole or not (static and words), "--chinese-words does nothing to masks of pieces: add --whole-word or --span"
        )
        if static and self.masked_lm_prob is None:
            object.__setattr__(self, "masked_lm_prob", 0.15)
        self._require(not static or 0 < (self.masked_lm_prob or 0) <= 1, "--masked-lm-prob: use a share over 0, up to 1")
        self._require(0 <= self.max_predictions <= self.max_seq_length, "--max-predictions: use 1 to --max-seq-length")

    def identity(self) -> dict[str, Any]:
        """Return the fields that the output's bytes depend on; how rows are masked only where they are."""
        return {name: value for name, value in super().identity().items() if self.masking == "static" or name not in _MASKS}
