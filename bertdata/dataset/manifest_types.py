"""Define the types of manifest.json: one record per kind of dataset, with its fields in written order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ..codec import Count, Record
from ..config import CorpusConfig, ExportConfig, PairsConfig, VocabConfig
from ..pieces import BERT_TOKENS
from ..tally import StageCounts
from .manifest_records import (
    CorpusInfo,
    CorpusShard,
    Coverage,
    DifferentIds,
    DroppedTemplates,
    ExportedShard,
    FileEntry,
    Formulas,
    InputEntry,
    InputFile,
    LearnedTemplates,
    ListEntry,
    Pairing,
    RowFile,
    Sample,
    ShardEntry,
    ShardInput,
    SourceEntry,
    Statistics,
)

__all__ = ["KINDS", "CorpusManifest", "ExportManifest", "Manifest", "PairsManifest", "ReadableManifest", "VocabManifest"]


class Manifest(Record, frozen=True, kw_only=True, dict=True):
    """The fields common to all manifests. `config` has the stored options by name."""

    bertdata: Count
    kind: str
    versions: dict[str, str]
    config: dict[str, Any]
    inputs: Sequence[InputFile]
    shards: Sequence[RowFile]
    rows: Count
    counts: Sequence[StageCounts]
    card: FileEntry | None = None
    croissant: FileEntry | None = None


class CorpusManifest(Manifest, frozen=True, kw_only=True):
    """The manifest of documents."""

    sources: dict[str, SourceEntry]
    rejects: Sequence[ListEntry]
    drops: Sequence[ListEntry]
    dropped_templates: DroppedTemplates
    learned_templates: Sequence[LearnedTemplates] = ()
    formulas: Formulas
    ignored_files: dict[str, dict[str, Count]] = {}
    inputs: Sequence[InputEntry]
    shards: Sequence[CorpusShard]

    @cached_property
    def settings(self) -> CorpusConfig:
        """The options as a configuration."""
        return CorpusConfig.of(self.config)


class VocabManifest(Manifest, frozen=True, kw_only=True):
    """The manifest of a vocabulary."""

    accents: str = ""
    files: Sequence[FileEntry]
    size: Count
    sample: Sample
    coverage: dict[str, Coverage]
    inputs: Sequence[ShardInput]
    shards: Sequence[ExportedShard]  # always empty

    @cached_property
    def settings(self) -> VocabConfig:
        """The options as a configuration."""
        return VocabConfig.of(self.config)

    @property
    def pieces(self) -> int:
        """The number of tokens in the vocabulary."""
        return self.size


class PairsManifest(Manifest, frozen=True, kw_only=True):
    """The manifest of rows."""

    corpus: CorpusInfo | None = None
    files: Sequence[FileEntry]
    vocab_size: Count
    special_tokens: dict[str, str] | None = None
    word_mark: str | None = None
    different_ids: DifferentIds | None = None
    statistics: Statistics
    tokens: dict[str, dict[str, Count]] | None = None
    unknown_tokens: dict[str, dict[str, Count]] | None = None
    origins: Sequence[tuple[str, str]] | None = None
    pairings: dict[str, dict[str, Pairing]] | None = None
    splits: dict[str, Statistics]
    inputs: Sequence[ShardInput]
    shards: Sequence[ShardEntry]

    @cached_property
    def settings(self) -> PairsConfig:
        """The options as a configuration."""
        return PairsConfig.of(self.config)

    @property
    def pieces(self) -> int:
        """The number of tokens in the vocabulary."""
        return self.vocab_size

    @property
    def roles(self) -> dict[str, str]:
        """The special tokens by role. For BERT's vocabulary, the manifest does not name them."""
        return BERT_TOKENS if self.special_tokens is None else self.special_tokens

    @property
    def mark(self) -> str:
        """The marker of word starts or continuations."""
        return "##" if self.word_mark is None else self.word_mark


class ExportManifest(Manifest, frozen=True, kw_only=True):
    """The manifest of an export. `of_config` has the options of the exported dataset."""

    of: str
    of_config: dict[str, Any] | None = None
    vocab_size: Count | None = None
    special_tokens: dict[str, str] | None = None
    word_mark: str | None = None
    files: Sequence[FileEntry]
    inputs: Sequence[ShardInput]
    shards: Sequence[ExportedShard]

    @cached_property
    def settings(self) -> ExportConfig:
        """The options as a configuration."""
        return ExportConfig.of(self.config)


KINDS: dict[str, type[Manifest]] = {
    "documents": CorpusManifest,
    "vocabulary": VocabManifest,
    "pairs": PairsManifest,
    "export": ExportManifest,
}
ReadableManifest = CorpusManifest | PairsManifest  # datasets whose shards this package can read
