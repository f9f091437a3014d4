"""What `train-vocab` does."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Config

__all__ = ["VocabConfig"]


@dataclass(frozen=True, kw_only=True)
class VocabConfig(Config):
    """A WordPiece vocabulary; 30,522 pieces and lower case are bert-base-uncased's.

    `sample_bytes` bounds the text that is counted, in memory and in time; `alphabet` bounds the single characters, so that
    a Chinese corpus keeps its characters (`tokenizers` alone keeps 1,000).  `layout` is ``compact`` ([PAD] 0, [UNK] 1, [CLS] 2,
    [SEP] 3, [MASK] 4) or ``bert`` ([PAD] 0, [unused0-98], [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103, [unused99-993]).
    """

    size: int = 30522
    lowercase: bool = True
    strip_accents: bool = True
    layout: str = "compact"
    min_frequency: int = 2
    alphabet: int = 10000
    sample_bytes: int = 256 << 20
    seed: int = 12345

    def __post_init__(self) -> None:
        self._require(self.layout in ("compact", "bert"), "--layout: use compact or bert")
        least = 2048 if self.layout == "bert" else 64
        self._require(least <= self.size <= 1 << 20, f"--size: use {least} to {1 << 20} pieces with this --layout")
        self._require(self.min_frequency >= 1, "--min-frequency: use at least 1")
        self._require(self.alphabet >= 1, "--alphabet: use at least 1")
        self._require(self.sample_bytes >= 1 << 10, "--sample-bytes: use at least 1024")
