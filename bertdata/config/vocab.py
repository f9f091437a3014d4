"""What `train-vocab` does."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Config, option

__all__ = ["VocabConfig"]


@dataclass(frozen=True, kw_only=True)
class VocabConfig(Config):
    """A WordPiece vocabulary; 30,522 pieces and lower case are bert-base-uncased's.

    `sample_bytes` bounds the text that is counted, in memory and in time; `alphabet` bounds the single characters, so that
    a Chinese corpus keeps its characters (`tokenizers` alone keeps 1,000).  `layout` is ``compact`` ([PAD] 0, [UNK] 1, [CLS] 2,
    [SEP] 3, [MASK] 4) or ``bert`` ([PAD] 0, [unused0-98], [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103, [unused99-993]).
    `strip_accents` takes marks off letters, as bert-base-uncased does; None stands for "in lower case, and where every document
    is English": marks are letters of their own in most scripts (vowel signs, voiced kana), and tell words apart in others.
    """

    size: int = option(30522, "Number of pieces, special ones included.")
    lowercase: bool = option(True, "Make everything lower case, as bert-base-uncased.", flags="--lowercase/--cased")
    strip_accents: bool | None = option(
        None,
        "Take accents and other marks off letters, as bert-base-uncased; this damages most other scripts.",
        flags="--strip-accents/--no-strip-accents",
        unset="where every document is English, with lower case",
    )
    layout: str = option(
        "compact",
        "Special pieces at ids 0-4, or at BERT's ids 0 and 100-103 with [unused0-993] around them.",
        choices=("compact", "bert"),
    )
    min_frequency: int = option(2, "Occurrences a piece needs.", least=1)
    alphabet: int = option(10000, "Single characters kept, the frequent first.", least=1)
    sample_bytes: int = option(256 << 20, "Text that is looked at, by chance.", least=1 << 10)
    seed: int = option(12345, "Seed of the sample.")

    def __post_init__(self) -> None:
        super().__post_init__()
        least = 2048 if self.layout == "bert" else 64
        self._require(least <= self.size <= 1 << 20, f"`size`: use {least:,} to {1 << 20:,} pieces with this `layout`")
        if self.strip_accents is None and not self.lowercase:
            object.__setattr__(self, "strip_accents", False)
