"""Configure `train-vocab`: the kind and size of a vocabulary, how text is normalized, and the sample that is counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..pieces import OF_BERT
from .base import Config, option

__all__ = ["VocabConfig"]


@dataclass(frozen=True, kw_only=True)
class VocabConfig(Config):
    """A vocabulary; WordPiece of 30,522 pieces and lower case are bert-base-uncased's.

    `model` is ``wordpiece``, ``bpe`` (byte-level: every text has ids) or ``unigram`` (SentencePiece's).  With `byte_fallback` a
    character that is no piece becomes the pieces of its bytes, and ``bpe`` is SentencePiece's, of characters.  `lowercase` None
    stands for lower case of ``wordpiece``, and for case kept by the others, whose accents always stay.

    `sample_bytes` bounds the text that is counted, in memory and in time; `alphabet` bounds the single characters, so that
    a Chinese corpus keeps its characters (`tokenizers` alone keeps 1,000).  `layout` is ``compact`` ([PAD] 0, [UNK] 1, [CLS] 2,
    [SEP] 3, [MASK] 4) or ``bert`` ([PAD] 0, [unused0-98], [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103, [unused99-993]).
    `strip_accents` removes marks from letters, as bert-base-uncased does; None stands for "with lower case, if at least 98 % of
    the text is English": in most scripts marks are letters (vowel signs, voiced kana), and in others they distinguish words.
    """

    model: str = option("wordpiece", "Kind of vocabulary.", choices=("wordpiece", "bpe", "unigram"))
    size: int = option(30522, "Number of pieces, special ones included.")
    byte_fallback: bool = option(
        False, "Of unigram, and of bpe, which else is byte-level: write rare characters as their bytes, so that none is unknown."
    )
    pad_to_multiple_of: int = option(
        0, "Add [unusedN] up to a multiple of this, 64 for instance, as GPUs like it.", least=1, most=4096, unset="no padding"
    )
    extra_tokens: tuple[str, ...] = option((), "Further special tokens, with commas between.", metavar="TOKEN,…")
    lowercase: bool | None = option(
        None,
        "Make everything lower case, as bert-base-uncased.",
        flags="--lowercase/--cased",
        unset="lower case of wordpiece, else cased",
    )
    strip_accents: bool | None = option(
        None,
        "Take accents and other marks off letters, as bert-base-uncased; this damages most other scripts.",
        flags="--strip-accents/--no-strip-accents",
        unset="on if lowercase and at least 98 % of the text is English",
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
        self._require(
            least <= self.size <= 1 << 20, f"`size`: use {least:,} to {1 << 20:,} pieces with this `layout`", field="size"
        )
        wordpiece = self.model == "wordpiece"
        if self.lowercase is None:
            object.__setattr__(self, "lowercase", wordpiece)
        self._require(
            wordpiece or not self.strip_accents,
            "`strip_accents` is for wordpiece: other models keep accents",
            field="strip_accents",
        )
        self._require(
            wordpiece or self.layout == "compact",
            "`layout` bert is for wordpiece: others have special tokens at ids 0-4",
            field="layout",
        )
        self._require(
            not (wordpiece and self.byte_fallback),
            "`byte_fallback` is for bpe and unigram: wordpiece has no bytes",
            field="byte_fallback",
        )
        least = 5 + len(self.extra_tokens) + 256 * (self.byte_fallback or self.model == "bpe") + 32
        self._require(wordpiece or self.size >= least, f"`size`: use {least:,} or more with this `model`", field="size")
        self._check_extra()
        if self.strip_accents is None and not (wordpiece and self.lowercase):
            object.__setattr__(self, "strip_accents", False)

    def _check_extra(self) -> None:
        """Refuse further tokens that can't be told from text, or that are there already."""
        for token in self.extra_tokens:
            good = token and not any(c.isspace() or not c.isprintable() for c in token) and len(token) <= 100
            self._require(
                bool(good), f"`extra_tokens`: {token!r} is none: use printable characters without spaces", field="extra_tokens"
            )
            framed = token.startswith("[") and token.endswith("]") and len(token) > 2
            self._require(
                self.model != "wordpiece" or framed,
                f"`extra_tokens`: write [{token}] in square brackets, as other special pieces",
                field="extra_tokens",
            )
        taken = any(token in OF_BERT.values() or token.startswith("[unused") for token in self.extra_tokens)
        repeated = len(set(self.extra_tokens)) < len(self.extra_tokens)
        self._require(not (taken or repeated), "`extra_tokens`: name each once, and no [unusedN]", field="extra_tokens")

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose versions decide the output's bytes."""
        return ("tokenizers",)

    def identity(self) -> dict[str, Any]:
        """Return the fields that the output's bytes depend on; what only other models than wordpiece have, where it is given."""
        values = super().identity()
        later = ("model", "byte_fallback", "pad_to_multiple_of", "extra_tokens")
        return {name: value for name, value in values.items() if name not in later or value not in ("wordpiece", False, 0, [])}
