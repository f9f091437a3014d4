"""Configure `make-pairs`: the objective, the length of rows, copies, splits and static masks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from ..extras import install
from .base import FORMATS, FREE, Config, format_packages, option
from .objectives import OBJECTIVES, PACKED

__all__ = ["MASKINGS", "SEGMENTERS", "PairsConfig", "mask_shares"]

MASKINGS = ("none", "static")
SEGMENTERS = ("none", "jieba")
PAIR_WITHIN = ("none", "source")
_ROWS, _MASKING, _OUTPUT = "Rows", "Masks", "Output"  # the sections of `--help`
# Fields of PairsConfig that are for NotNext pairs alone.
_PARTNERS = ("pair_across_languages", "pair_within")
# Fields of PairsConfig that are of static masks alone.
_MASKS = ("masked_lm_prob", "max_predictions", "whole_word", "span", "per_piece", "mask_shares")


def mask_shares(text: str) -> tuple[float, float]:
    """Read of ``80/10/10`` up to where [MASK], and up to where random words reach, in ``[0, 1]``; raise UsageError for no shares.

    >>> mask_shares("80/10/10"), mask_shares("100/0/0")
    ((0.8, 0.9), (1.0, 1.0))
    """
    try:
        masked, random, kept = (float(share) for share in text.split("/"))
    except ValueError:
        masked = random = kept = -1.0
    if min(masked, random, kept) < 0 or abs(masked + random + kept - 100) > 1e-9:
        raise UsageError(
            f"`mask_shares` {text}: use three shares that make 100, as 80/10/10: [MASK], random, kept",
            field="mask_shares",
            value=text,
        )
    return masked / 100, (masked + random) / 100


@dataclass(frozen=True, kw_only=True)
class PairsConfig(Config):
    """Rows to train on; `short_seq_prob` of pairs and `seed` are google-research/bert's defaults.

    `short_seq_prob` None stands for what suits the objective: 0.1 for pairs, 0 for the others.
    `dupe_factor` is in how many copies, each cut and paired anew, the text is used.  `validation_fraction` is the share of the
    documents that go into a split of their own.  `shards` is the number of buckets and of files (of ``train``); 0 chooses it
    from the size of the corpus: `bucket_bytes` of text each, all copies counted.

    With `masking` ``static`` rows are masked when they are built: `masked_lm_prob` None stands for BERT's 0.15, `max_predictions`
    0 for the number that gives every row its full share.  `chinese_words` names the segmenter, ``jieba``, that finds the words of
    Chinese text, which are then neither cut nor masked in part.
    """

    objective: str = option(
        "nsp",
        "nsp: is B what follows A (BERT)?  sop: are A and B in order (ALBERT)?  documents: text of one document (ModernBERT).  "
        "full-sentences: rows filled with sentences, across documents (RoBERTa).  causal: running text cut to length (GPT).",
        section=_ROWS,
        choices=tuple(OBJECTIVES),
    )
    max_seq_length: int = option(
        128,
        "Tokens in a row, [CLS] and [SEP] included; several lengths make a directory each.",
        section=_ROWS,
        least=16,
        most=65536,
    )
    pack: bool = option(
        False,
        "Put several rows into one of `max_seq_length` tokens, by best fit; the column document_starts tells where each begins, "
        "and models are to see each by itself.  Rows of causal then are of one document each.",
        section=_ROWS,
    )
    short_seq_prob: float | None = option(
        None, "Share of pairs made shorter, by chance.", section=_ROWS, least=0, most=1, unset="0.1 for pairs, 0 for other rows"
    )
    dupe_factor: int = option(
        1, "Use the text this many times, each time cut and paired anew.", section=_ROWS, least=1, most=1000
    )
    validation_fraction: float = option(
        0.0,
        "Share of the documents that make a validation split, the same ones for any seed.",
        section=_ROWS,
        least=0,
        most=0.5,
    )
    shards: int = option(0, "Number of shards.", section=_OUTPUT, least=1, most=99999, unset="one for 12 MB of all copies' text")
    bucket_bytes: int = field(default=12 << 20, metadata=FREE)  # the number of shards chosen by it is in the identity
    provenance: bool = option(False, "Add the ids of the documents that each row came from.", section=_ROWS)
    pair_across_languages: bool = option(
        False,
        "Let NotNext pairs join text of two languages or scripts. Then two languages in a row give the label away.",
        section=_ROWS,
    )
    pair_within: str = option(
        "none",
        "source: NotNext pairs join text of one source only, so that style does not give the label away. none: of any source, "
        "as in BERT.",
        section=_ROWS,
        choices=PAIR_WITHIN,
    )
    masking: str = option(
        "none",
        "none: rows are masked when they are read, anew each epoch.  static: rows are masked now, those of each copy of "
        "`dupe_factor` by themselves.",
        section=_MASKING,
        choices=MASKINGS,
    )
    masked_lm_prob: float | None = option(
        None, "Static masks: share of a row's tokens that are masked.", section=_MASKING, unset="0.15"
    )
    max_predictions: int = option(
        0,
        "Static masks: most tokens that are masked in a row.",
        section=_MASKING,
        least=1,
        unset="as many as give each row its share",
    )
    whole_word: bool = option(
        False,
        "Static masks: mask whole words.  Pieces that continue a word begin with ##; for Chinese see `chinese_words`; in "
        "Japanese and other text without spaces ## tells no more than this.",
        section=_MASKING,
    )
    span: bool = option(False, "Static masks: mask spans of words, 3.8 long on average (SpanBERT).", section=_MASKING)
    per_piece: bool = option(
        False,
        "With `whole_word` or `span`: each piece by itself becomes [MASK], a random word or stays, not all of them alike.",
        section=_MASKING,
    )
    mask_shares: str = option(
        "80/10/10",
        "Static masks: of 100 chosen tokens, how many become [MASK], become a random word, and stay.",
        section=_MASKING,
    )
    chinese_words: str = option(
        "none",
        "Tell the words of Chinese documents, so that masks take them whole: adds the column continues_word.  Needs "
        f"{install('chinese')}. Traditional text is cut as its simplified form is.",
        section=_MASKING,
        choices=SEGMENTERS,
    )
    special_tokens: str = option(
        "",
        "Name special tokens of a vocabulary that is not BERT's, as cls=<s>,sep=</s>,pad=<pad>,mask=<mask>,unk=<unk>, where its "
        "own files do not; one that it lacks is added.",
        section=_ROWS,
        metavar="ROLE=TOKEN,…",
    )
    format: str = option("arrow-stream", "Format of the shards.", section=_OUTPUT, choices=FORMATS)
    seed: int = option(12345, "Seed of every choice.", section=_OUTPUT)

    @property
    def unit(self) -> str:
        """What is masked as one: ``piece``, ``word`` or ``span``."""
        return "word" if self.whole_word else "span" if self.span else "piece"

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose versions decide the output's bytes."""
        chinese = () if self.chinese_words == "none" else (self.chinese_words, "opencc")
        return ("tokenizers", *format_packages(self.format), *chinese)

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
        for name in _PARTNERS:
            self._require(
                self.objective == "nsp" or getattr(self, name) == getattr(PairsConfig, name),
                f"`{name}` does nothing with `objective` {self.objective}: only nsp joins text of two documents. Omit it",
                field=name,
            )
        self._require(
            not self.pack or self.objective in PACKED,
            f"`pack` is for {', '.join(PACKED)}: a row of {self.objective} is of several documents, and full, already",
            field="pack",
        )
        self._check_masks()

    def _check_masks(self) -> None:
        """Refuse masks that can't be, and what would do nothing."""
        static, words = self.masking == "static", self.chinese_words != "none"
        for name in _MASKS:
            self._require(
                static or getattr(self, name) == getattr(PairsConfig, name),
                f"`{name}` does nothing with `masking` none, where rows are masked when they are read: use `masking` static",
                field=name,
            )
        asked = "`masking` static" if static else "`chinese_words`"
        self._require(
            OBJECTIVES[self.objective].masks or not (static or words),
            f"{asked} does nothing with `objective` {self.objective}: it has no masks",
        )
        self._require(not (self.whole_word and self.span), "`whole_word` and `span`: use one of them", field="whole_word")
        mask_shares(self.mask_shares)
        whole = self.unit != "piece"
        self._require(
            whole or not self.per_piece,
            "`per_piece` is for `whole_word` or `span`: a piece is always drawn by itself",
            field="per_piece",
        )
        self._require(
            whole or not (static and words),
            "`chinese_words` does nothing to masks of pieces: add `whole_word` or `span`",
            field="chinese_words",
        )
        if static and self.masked_lm_prob is None:
            object.__setattr__(self, "masked_lm_prob", 0.15)
        self._require(
            not static or 0 < (self.masked_lm_prob or 0) <= 1,
            "`masked_lm_prob`: use a share over 0, up to 1",
            field="masked_lm_prob",
        )
        self._require(
            0 <= self.max_predictions <= self.max_seq_length,
            "`max_predictions`: use 1 to `max_seq_length`",
            field="max_predictions",
        )

    def identity(self) -> dict[str, Any]:
        """Return the fields that the output's bytes depend on; masks only where rows have some, special tokens where named."""
        values = super().identity()
        left_out = {*(() if self.masking == "static" else _MASKS), *(() if self.special_tokens else ("special_tokens",))}
        left_out |= {*(() if self.objective == "nsp" else _PARTNERS)}
        return {name: value for name, value in values.items() if name not in left_out}
