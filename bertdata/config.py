"""What a run does, as frozen values: the defaults are BERT's, and a value that cannot work is refused when it is made.

`identity()` is what the bytes of the output depend on; an unfinished run is only resumed under an equal identity.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

__all__ = [
    "FORMATS",
    "LABEL_1",
    "MASKINGS",
    "OBJECTIVES",
    "SEGMENTERS",
    "CorpusConfig",
    "PairsConfig",
    "VocabConfig",
    "parse_toml",
    "read_toml",
]

FORMATS = ("arrow-stream", "arrow-file", "parquet")
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
_FREE: dict[str, Any] = {"identity": False}  # marks a field that the output's bytes do not depend on


@dataclass(frozen=True, kw_only=True)
class _Config:
    def identity(self) -> dict[str, Any]:
        """Return the fields that the output's bytes depend on."""
        fields = dataclasses.fields(self)
        values = {f.name: getattr(self, f.name) for f in fields if f.metadata.get("identity", True)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def sha256(self) -> str:
        """Hash the identity."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()

    def _require(self, condition: bool, problem: str) -> None:
        if not condition:
            raise UsageError(problem)


@dataclass(frozen=True, kw_only=True)
class CorpusConfig(_Config):
    """Documents from dumps, books and other text.

    `inline_templates` tells whether templates that carry words give them; `templates` are the user's tables of them, by the
    file's name its text; their digests are in the identity.  `task_bytes` is the compressed input of one task and so of one
    shard; plain XML and JSONL count four times as much.  `max_page_bytes` bounds a page, line or book in memory.
    `max_rejects` is a share of the records.
    """

    definition_lists: str = "drop"
    variant: str = ""
    inline_templates: bool = True
    templates: tuple[tuple[str, str], ...] = ()
    drop_disambiguation: bool = False
    text_column: str = "text"
    title_column: str = "title"
    id_column: str = ""
    language: str = ""
    task_bytes: int = 16 << 20
    max_page_bytes: int = 16 << 20
    format: str = "arrow-stream"
    max_rejects: float = field(default=0.1, metadata=_FREE)

    def __post_init__(self) -> None:
        self._require(self.format in FORMATS, f"--format {self.format}: use one of {', '.join(FORMATS)}")
        self._require(self.definition_lists in ("drop", "keep"), "--definition-lists: use drop or keep")
        self._require(self.task_bytes >= 1 << 16, "--task-bytes: use at least 65536")
        self._require(self.max_page_bytes >= 1 << 10, "--max-page-bytes: use at least 1024")
        self._require(0 <= self.max_rejects <= 1, "--max-rejects: use a share between 0 and 1")
        self._require(self.inline_templates or not self.templates, "--templates does nothing with --no-inline-templates")

    def identity(self) -> dict[str, Any]:
        """Return the fields that the output's bytes depend on; of the user's tables their digests."""
        tables = [{"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest()} for name, text in self.templates]
        return {**super().identity(), "templates": tables}


@dataclass(frozen=True, kw_only=True)
class VocabConfig(_Config):
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


@dataclass(frozen=True, kw_only=True)
class PairsConfig(_Config):
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
    bucket_bytes: int = field(default=12 << 20, metadata=_FREE)  # the number of shards chosen by it is in the identity
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


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; raise UsageError for one that cannot be read."""
    try:
        return parse_toml(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def parse_toml(name: str, text: str) -> dict[str, Any]:
    """Parse the text of a TOML file; raise UsageError, with the file's name, for what is none."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"{name} is no TOML: {error}") from error
    return table
