"""Configure `train-vocab`: model, size, text normalization and training sample."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from ..pieces import BERT_TOKENS
from .base import Config, Positive, Seed, option


@dataclass(frozen=True, kw_only=True)
class VocabConfig(Config):
    """Settings for training a vocabulary. The defaults match bert-base-uncased: lowercase WordPiece with 30,522 tokens.

    `model` is ``wordpiece`` or ``bpe`` (byte-level, so it can encode any text). `lowercase` None means True for ``wordpiece`` and
    False for ``bpe``, which always keeps accents.

    `sample_bytes` limits the training text, and so memory and time. `alphabet` limits the number of single characters. Its
    default keeps the characters of a Chinese corpus (`tokenizers` keeps 1,000 by default). `layout` is ``compact`` ([PAD] 0,
    [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4) or ``bert`` ([PAD] 0, [unused0-98], [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103,
    [unused99-993]). `strip_accents` removes marks from letters, as bert-base-uncased does. Its default, None, means True if
    `lowercase` is set and at least 98 % of the text is English. In most scripts marks are part of the letters (vowel signs,
    voiced kana), and in others they distinguish words.
    """

    packages: ClassVar[tuple[str, ...]] = ("tokenizers",)  # whose versions affect the output's bytes
    model: Literal["wordpiece", "bpe"] = option("wordpiece", "Tokenizer model.", first=True)
    size: Annotated[int, Meta(ge=64, le=1 << 20)] = option(30522, "Vocabulary size, including special tokens.", first=True)
    pad_to_multiple_of: Annotated[int, Meta(ge=0, le=4096)] = option(
        0,
        "Pad the vocabulary size to a multiple of this with [unusedN] tokens. 64 speeds up training on GPUs.",
        unset="no padding",
    )
    extra_tokens: tuple[str, ...] = option((), "Additional special tokens, separated by commas.", metavar="TOKEN,…")
    lowercase: bool | None = option(
        None,
        "Lowercase all text, as in bert-base-uncased.",
        flags="--lowercase/--cased",
        unset="lowercase for wordpiece, cased for bpe",
        first=True,
    )
    strip_accents: bool | None = option(
        None,
        "Strip accents and other marks from letters, which damages most non-Latin scripts.",
        flags="--strip-accents/--no-strip-accents",
        unset="on if lowercase and at least 98 % of the text is English",
        first=True,
    )
    layout: Literal["compact", "bert"] = option(
        "compact",
        "Ids of the special tokens. compact: 0 to 4. bert: 0 and 100 to 103, as in BERT, with [unused0-993] around them.",
    )
    min_frequency: Positive = option(2, "Minimum number of occurrences of a token.")
    alphabet: Positive = option(10000, "Maximum number of single characters; the most frequent are kept.")
    sample_bytes: Annotated[int, Meta(ge=1 << 10, le=1 << 62)] = option(
        256 << 20, "Bytes of randomly sampled text to train on.", first=True
    )
    seed: Seed = option(12345, "Random seed of the sample.", first=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.layout == "compact" or self.size >= 2048, "`size`: use 2,048 or more with `layout` bert", field="size")
        wordpiece = self.model == "wordpiece"
        if self.lowercase is None:
            object.__setattr__(self, "lowercase", wordpiece)
        self._require(
            wordpiece or not self.strip_accents,
            "`strip_accents` is for wordpiece: bpe keeps accents",
            field="strip_accents",
        )
        self._require(
            wordpiece or self.layout == "compact",
            "`layout` bert is for wordpiece: bpe has special tokens at ids 0 to 4",
            field="layout",
        )
        least = 5 + len(self.extra_tokens) + 256 + 32
        self._require(wordpiece or self.size >= least, f"`size`: use {least:,} or more with this `model`", field="size")
        form = re.compile(r"\[\S{1,98}\]" if wordpiece else r"\S{1,100}")
        for token in self.extra_tokens:
            problem = ""
            if not token.isprintable() or not form.fullmatch(token):
                more = ", for wordpiece in square brackets: [NAME]" if wordpiece else ""
                problem = f"{token!r} is not a valid token: use 1 to 100 printable characters without spaces{more}"
            elif token in BERT_TOKENS.values() or token.startswith("[unused") or self.extra_tokens.count(token) > 1:
                problem = f"{token!r} is repeated or reserved. List each token once, without BERT's own and [unusedN]"
            self._require(not problem, f"`extra_tokens`: {problem}", field="extra_tokens")
        if self.strip_accents is None and not (wordpiece and self.lowercase):
            object.__setattr__(self, "strip_accents", False)
