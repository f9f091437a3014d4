"""Define the type of manifest.json for each kind of dataset, and check the values of a manifest that is read.

The fields are written in this order. docs/reference/manifest.md describes the keys. A name that leads out of the dataset's
directory is refused before a file is opened. `verify` compares the rest with the files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

from ..codec import Count, Record, WrongValue, decode
from ..config import CONFIGS, CorpusConfig, ExportConfig, PairsConfig, VocabConfig
from ..errors import UsageError
from ..tally import StageCounts, stage_name
from .manifest_records import (
    CorpusInfo,
    Coverage,
    DroppedTemplates,
    File,
    Formulas,
    Input,
    LearnedTemplates,
    Pairing,
    RowFile,
    Sample,
    SourceEntry,
    Statistics,
)

FORMAT = 1  # increased when a reader of the old format would misread the new one
CARD = "README.md"
# The files of a WordPiece vocabulary as in BERT, and of every other vocabulary.
VOCABULARIES = (("vocab.txt", "tokenizer.json", "tokenizer_config.json"), ("tokenizer.json", "tokenizer_config.json"))
_FILE_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*")  # at most one folder deep, not hidden
_MAX_NAME = 255
_MIN_BATCH_BYTES = 256  # a safe lower bound: an empty record batch has 680


class Manifest(Record, frozen=True, kw_only=True, dict=True):
    """The fields that every manifest has.

    Attributes:
        bertdata: Format version.
        kind: Kind of dataset, a key of `KINDS`.
        versions: Versions of bertdata, Unicode and the libraries that determine the output bytes, by name.
        config: Options as stored, by name. `settings` has them as a configuration.
        inputs: The files that the dataset was made from.
        shards: The files of documents or rows.
        rows: Number of documents or rows in all shards.
        counts: Records that entered and left each stage, with those dropped and rejected by reason.
        card: README.md, the data card. A vocabulary has none, and of the exports only Parquet has one.
    """

    what: ClassVar = "a dataset"  # in messages
    bertdata: Count
    kind: str
    versions: dict[str, str]
    config: dict[str, Any]
    inputs: Sequence[Input]
    shards: Sequence[RowFile]
    rows: Count
    counts: Sequence[StageCounts]
    card: File | None = None

    @property
    def listed(self) -> list[File]:
        """All files of the dataset, except the manifest and the data card."""
        return [file for key in ("shards", "rejects", "drops", "files") for file in getattr(self, key, ())]


class CorpusManifest(Manifest, frozen=True, kw_only=True):
    """The manifest of documents.

    Attributes:
        sources: Documents and text of each source, such as ``wikipedia``.
        rejects: Lists of malformed records.
        drops: Lists of records that were filtered on purpose.
        dropped_templates: Calls of templates that have no entry in the template tables.
        learned_templates: Templates learned from the template pages of dumps.
        formulas: Counts of formulas.
        ignored_files: Number of files that no source reads, by kind of input and suffix.
    """

    what: ClassVar = "a corpus"
    sources: dict[str, SourceEntry]
    rejects: Sequence[RowFile]
    drops: Sequence[RowFile]
    dropped_templates: DroppedTemplates
    learned_templates: Sequence[LearnedTemplates] = ()
    formulas: Formulas
    ignored_files: dict[str, dict[str, Count]] = {}

    @cached_property
    def settings(self) -> CorpusConfig:
        """The options as a configuration."""
        return CorpusConfig.of(self.config)


class VocabManifest(Manifest, frozen=True, kw_only=True):
    """The manifest of a vocabulary.

    Attributes:
        accents: Whether accents are removed, and why, as text for a reader.
        files: Files of the vocabulary.
        size: Number of tokens.
        sample: The part of the corpus whose words were counted.
        coverage: How well the vocabulary covers the words of each language.
    """

    what: ClassVar = "a vocabulary"
    accents: str = ""
    files: Sequence[File]
    size: Count
    sample: Sample
    coverage: dict[str, Coverage]

    @cached_property
    def settings(self) -> VocabConfig:
        """The options as a configuration."""
        return VocabConfig.of(self.config)


class PairsManifest(Manifest, frozen=True, kw_only=True):
    """The manifest of rows: pairs or, for other objectives, single sequences.

    Attributes:
        corpus: The corpus from which the rows were made.
        files: Files of the vocabulary, which is stored with the rows.
        vocab_size: Number of tokens in the vocabulary.
        special_tokens: Special tokens by role.
        word_mark: Marker of word starts or continuations.
        statistics: Statistics of all rows.
        tokens: Tokens of the documents, by source and language.
        unknown_tokens: The number of [UNK] among them, by source and language.
        origins: The source and language for each number in the column ``origin``.
        pairings: Number of pairs by fact (language, script, source) and its value in A's document; only for nsp.
        splits: Statistics of the rows of ``train`` and ``validation``.
    """

    what: ClassVar = "rows of make-pairs"
    corpus: CorpusInfo
    files: Sequence[File]
    vocab_size: Count
    special_tokens: dict[str, str]
    word_mark: str
    statistics: Statistics
    tokens: dict[str, dict[str, Count]]
    unknown_tokens: dict[str, dict[str, Count]]
    origins: Sequence[tuple[str, str]]
    pairings: dict[str, dict[str, Pairing]] | None = None
    splits: dict[str, Statistics]

    @cached_property
    def settings(self) -> PairsConfig:
        """The options as a configuration."""
        return PairsConfig.of(self.config)

    def counts_of(self, stage: str) -> list[StageCounts]:
        """Return the counts of a stage, such as ``tokens``, in each split."""
        names = [stage_name(stage, split) for split in self.splits]
        return [counts for counts in self.counts if counts.stage in names]


class ExportManifest(Manifest, frozen=True, kw_only=True):
    """The manifest of an export.

    Attributes:
        of: Kind of the exported dataset, ``documents`` or ``pairs``.
        vocab_size: Number of tokens in the vocabulary of the exported ids; None without ids.
        special_tokens: Special tokens by role, as in `PairsManifest`.
        word_mark: Marker of word starts or continuations, as in `PairsManifest`.
        files: Files other than shards, such as an index.
    """

    what: ClassVar = "an export"
    of: str
    vocab_size: Count | None = None
    special_tokens: dict[str, str] | None = None
    word_mark: str | None = None
    files: Sequence[File]

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


def checked(contents: dict[str, object]) -> Manifest:
    """Decode a manifest and check it. Raise WrongValue for the first problem."""
    kind = contents.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise WrongValue("kind", f"is not one of {', '.join(KINDS)}")
    manifest = decode(contents, KINDS[kind])
    for problem in chain(_names(manifest), _options(manifest), _rows(manifest)):
        raise WrongValue("", problem)
    return manifest


def _names(manifest: Manifest) -> Iterator[str]:
    """Check that the names are valid paths inside the dataset and do not repeat."""
    names = Counter(file.name for file in manifest.listed)
    for name, count in names.items():
        if len(name) > _MAX_NAME or not _FILE_NAME.fullmatch(name):
            yield f"it names {ascii(name[:100])}, which is not a dataset file. Do not trust this dataset"
        if count > 1:
            yield "it names a file twice"
    if manifest.card and manifest.card.name != CARD:
        yield f"card.name is not {CARD}"
    known = sorted(file.name for file in manifest.files) if isinstance(manifest, VocabManifest | PairsManifest) else None
    if known is not None and known not in map(sorted, VOCABULARIES):
        yield f"files does not name {', '.join(VOCABULARIES[0])}, or the last two of them"


def _options(manifest: Manifest) -> Iterator[str]:
    """Check that the options are valid for the command."""
    if "bertdata" not in manifest.versions:
        yield "versions.bertdata is missing"
    try:
        CONFIGS[manifest.kind].of(manifest.config)
    except UsageError as error:
        yield f"config is invalid: {ascii(str(error))[1:-1][:200]}"


def _rows(manifest: Manifest) -> Iterator[str]:
    if manifest.rows != (total := sum(shard.rows for shard in manifest.shards)):
        yield f"rows is {manifest.rows:,}, but its shards have {total:,}"
    if isinstance(manifest, CorpusManifest | PairsManifest):
        for number, shard in enumerate(manifest.shards):
            if shard.batches * _MIN_BATCH_BYTES > shard.bytes:
                yield f"shards[{number}].batches is {shard.batches:,}, too many for {shard.bytes:,} bytes"
