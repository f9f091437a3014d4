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

__all__ = ["FORMATS", "CorpusConfig", "PairsConfig", "VocabConfig", "read_toml"]

FORMATS = ("arrow-stream", "arrow-file", "parquet")
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

    `task_bytes` is the compressed input of one task and so of one shard; plain XML and JSONL count four times as much.
    `max_page_bytes` bounds a page, line or book in memory.  `max_rejects` is a share of the records.
    """

    definition_lists: str = "drop"
    variant: str = ""
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
    """Sentence pairs for next sentence prediction; `short_seq_prob` and `seed` are google-research/bert's defaults.

    `shards` is the number of buckets and of files; 0 chooses it from the size of the corpus: `bucket_bytes` of text each.
    """

    max_seq_length: int = 128
    short_seq_prob: float = 0.1
    shards: int = 0
    bucket_bytes: int = field(default=16 << 20, metadata=_FREE)  # the number of shards chosen by it is in the identity
    provenance: bool = False
    format: str = "arrow-stream"
    seed: int = 12345

    def __post_init__(self) -> None:
        self._require(self.format in FORMATS, f"--format {self.format}: use one of {', '.join(FORMATS)}")
        self._require(16 <= self.max_seq_length <= 65536, "--max-seq-length: use 16 to 65536")
        self._require(0 <= self.short_seq_prob <= 1, "--short-seq-prob: use a share between 0 and 1")
        self._require(0 <= self.shards <= 99999, "--shards: use 1 to 99999, or 0 to choose by size")


def read_toml(path: Path) -> dict[str, Any]:
    """Read a configuration file: a table per command, with the names of its options."""
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        return table
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the configuration {path}: {error}") from error
