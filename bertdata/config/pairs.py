"""Configure `make-pairs`: the objective, the length of rows, copies, splits and static masks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from ..errors import UsageError
from ..extras import install
from .base import FREE, Config, Count, Positive, Seed, Share, option
from .objectives import OBJECTIVES

_ROWS_SECTION, _MASKING, _OUTPUT = "Rows", "Masks", "Output"  # the sections of `--help`


def mask_shares(text: str) -> tuple[float, float]:
    """Parse shares such as ``80/10/10`` into the cumulative probabilities of [MASK] and of a random word, both in ``[0, 1]``.

    Raise UsageError if the text does not consist of three shares that add up to 100.

    >>> mask_shares("80/10/10"), mask_shares("100/0/0")
    ((0.8, 0.9), (1.0, 1.0))
    """
    try:
        masked, random, kept = (float(share) for share in text.split("/"))
    except ValueError:
        masked = random = kept = -1.0
    if not (min(masked, random, kept) >= 0 and abs(masked + random + kept - 100) <= 1e-9):  # of NaN, each comparison is false
        raise UsageError(
            f"`mask_shares` {text}: use three shares that add up to 100, such as 80/10/10 for [MASK], random and kept",
            field="mask_shares",
            value=text,
        )
    return masked / 100, (masked + random) / 100


@dataclass(frozen=True, kw_only=True)
class PairsConfig(Config):
    """Settings for building training rows of any objective.

    The defaults of `seed`, and of `short_seq_prob` for pairs, are those of google-research/bert. `shards` is the number of
    shuffle partitions and of ``train`` files. Its default, 0, allots `bucket_bytes` of text to each shard, with all
    `dupe_factor` copies counted.

    With `masking` ``static``, rows are masked when they are built. `masked_lm_prob` then defaults to BERT's 0.15, and
    `max_predictions` to a number large enough for every row's full share. With `chinese_words`, Chinese words are not cut
    or partly masked.
    """

    objective: Literal["nsp", "sop", "documents", "causal"] = option(
        "nsp",
        "Training objective. nsp: next sentence prediction (BERT). sop: sentence order prediction (ALBERT). documents: text of "
        "one document per row (RoBERTa, ModernBERT). causal: the same without [CLS], "
        "for models that predict the next token (GPT).",
        section=_ROWS_SECTION,
        first=True,
    )
    max_seq_length: Annotated[int, Meta(ge=16, le=65536)] = option(
        128,
        "Row length in tokens, including [CLS] and [SEP]. Repeat the option to write one dataset per length.",
        section=_ROWS_SECTION,
        first=True,
    )
    pack: bool = option(
        False,
        "Pack several rows into one of `max_seq_length` tokens, by best fit. The column document_starts stores the segment "
        "starts, so that the model can mask attention between segments.",
        section=_ROWS_SECTION,
        first=True,
    )
    short_seq_prob: Share | None = option(
        None,
        "Probability that a pair gets a random shorter length.",
        section=_ROWS_SECTION,
        unset="0.1 for pairs, 0 for other rows",
    )
    dupe_factor: Annotated[int, Meta(ge=1, le=1000)] = option(
        1,
        "Number of passes over the corpus. Each pass uses different chunk boundaries and pairs.",
        section=_ROWS_SECTION,
        first=True,
    )
    validation_fraction: Annotated[float, Meta(ge=0, le=0.5)] = option(
        0.0,
        "Share of documents in the validation split. The split does not depend on the seed.",
        section=_ROWS_SECTION,
        first=True,
    )
    shards: Annotated[int, Meta(ge=0, le=99999)] = option(
        0, "Number of shards.", section=_OUTPUT, unset="one per 12 MB of text, counting all copies"
    )
    bucket_bytes: Positive = field(default=12 << 20, metadata=FREE)  # the identity has the resulting number of shards
    provenance: bool = option(False, "Store the document ids of each row.", section=_ROWS_SECTION)
    pair_across_languages: bool = option(
        False,
        "Allow NotNext pairs across languages or scripts. The languages then reveal the label.",
        section=_ROWS_SECTION,
    )
    pair_within: Literal["none", "source"] = option(
        "none",
        "Source of B in NotNext pairs. source: that of A, so that style does not reveal the label. none: any source, as in BERT.",
        section=_ROWS_SECTION,
    )
    masking: Literal["none", "static"] = option(
        "none",
        "Whether to store masks. none: rows are masked during loading, differently in each epoch. static: rows are stored with "
        "masks, which differ between the copies of `dupe_factor`.",
        section=_MASKING,
        first=True,
    )
    masked_lm_prob: Share | None = option(
        None, "Share of tokens to mask in each row, for static masks.", section=_MASKING, unset="0.15"
    )
    max_predictions: Count = option(
        0,
        "Maximum number of masked tokens per row, for static masks.",
        section=_MASKING,
        unset="enough for the full share of each row",
    )
    whole_word: bool = option(
        False,
        "Mask whole words, for static masks. A word is a token and the ## tokens after it. For Chinese words, add "
        "`chinese_words`. In other text without spaces, such as Japanese, words are only these ## groups.",
        section=_MASKING,
    )
    mask_shares: str = option(
        "80/10/10",
        "Percentages of selected tokens that become [MASK], become a random token, or stay unchanged, for static masks.",
        section=_MASKING,
    )
    chinese_words: Literal["none", "jieba"] = option(
        "none",
        "Segment Chinese text into words, for whole-word masks. Adds the column continues_word. Needs "
        f"{install('chinese')}. Traditional text is converted to simplified for segmentation.",
        section=_MASKING,
    )
    special_tokens: str = option(
        "",
        "Special tokens of a vocabulary that is not BERT's, if its files do not define them. Missing tokens are added. Example: "
        "cls=<s>,sep=</s>,pad=<pad>,mask=<mask>,unk=<unk>.",
        section=_ROWS_SECTION,
        metavar="ROLE=TOKEN,…",
    )
    seed: Seed = option(12345, "Random seed.", section=_OUTPUT, first=True)

    @property
    def unit(self) -> str:
        """The masking unit: ``piece`` or ``word``."""
        return "word" if self.whole_word else "piece"

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose versions affect the output's bytes."""
        chinese = () if self.chinese_words == "none" else (self.chinese_words, "opencc")
        return ("tokenizers", *chinese)

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = bool(OBJECTIVES[self.objective].labels)
        if self.short_seq_prob is None:
            object.__setattr__(self, "short_seq_prob", 0.1 if pairs else 0.0)
        self._require(
            pairs or not self.short_seq_prob,
            f"`short_seq_prob` is for pairs: rows of {self.objective} are never made shorter",
            field="short_seq_prob",
        )
        for name, reason in self._unused().items():
            self._require(getattr(self, name) == getattr(PairsConfig, name), f"`{name}` does nothing with {reason}", field=name)
        static, words = self.masking == "static", self.chinese_words != "none"
        needed_by = "`masking` static" if static else "`chinese_words`"
        self._require(
            OBJECTIVES[self.objective].masks or not (static or words),
            f"{needed_by} does nothing with `objective` {self.objective}: it has no masks",
        )
        mask_shares(self.mask_shares)
        self._require(
            self.whole_word or not (static and words),
            "`chinese_words` has no effect on masks of single tokens: add `whole_word`",
            field="chinese_words",
        )
        if static and self.masked_lm_prob is None:
            object.__setattr__(self, "masked_lm_prob", 0.15)
        self._require(
            not static or self.masked_lm_prob != 0,
            "`masked_lm_prob`: use a share over 0, up to 1",
            field="masked_lm_prob",
        )
        self._require(
            self.max_predictions <= self.max_seq_length,
            "`max_predictions`: use 1 to `max_seq_length`",
            field="max_predictions",
        )

    def identity(self) -> dict[str, object]:
        """Return the fields that affect the output's bytes. Fields that do not apply to the rows are omitted."""
        left_out = {*self._unused(), *(() if self.special_tokens else ("special_tokens",))}
        return {name: value for name, value in super().identity().items() if name not in left_out}

    def _unused(self) -> dict[str, str]:
        """Return the options that do not apply to the rows, and why."""
        partners, masks = (
            ("pair_across_languages", "pair_within"),
            ("masked_lm_prob", "max_predictions", "whole_word", "mask_shares"),
        )
        no_partners = f"`objective` {self.objective}: only nsp joins text of two documents. Omit it"
        no_masks = "`masking` none, where rows are masked when they are read: use `masking` static"
        unused = {} if self.objective == "nsp" else dict.fromkeys(partners, no_partners)
        return unused if self.masking == "static" else unused | dict.fromkeys(masks, no_masks)
