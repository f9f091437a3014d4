"""Check a decoded manifest: file names, options, sums and splits.

After `checked`, code can use all values without checking them again. The files themselves are not read here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ..codec import WrongValue, decode
from ..config import CONFIGS, LABEL_1_COUNTS, PairsConfig
from ..config.base import type_problem
from ..errors import UsageError
from .manifest_records import FileEntry, Statistics
from .manifest_types import KINDS, CorpusManifest, ExportManifest, Manifest, PairsManifest, VocabManifest

__all__ = ["CARD", "FORMAT", "LISTS", "VOCABULARIES", "checked"]

FORMAT = 1  # increased when a reader of the old format would misread the new one
CARD = "README.md"
LISTS = ("shards", "rejects", "drops", "files")  # keys with lists of file entries
# The files of a WordPiece vocabulary as in BERT, and of every other vocabulary.
VOCABULARIES = (("vocab.txt", "tokenizer.json", "tokenizer_config.json"), ("tokenizer.json", "tokenizer_config.json"))
_FILE_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*|data/\.num_samples\.json")
# at most one folder deep, not hidden except LDDL's file list
_MIN_BATCH_BYTES = 256  # a safe lower bound: an empty record batch has 680
_FIRST_OPTIONS = {  # options of the first manifests; a later option may be missing and then has its default
    "documents": ("definition_lists", "variant", "language", "filters", "exclude", "choice"),
    "vocabulary": ("size", "lowercase", "strip_accents", "layout", "seed"),
    "pairs": ("objective", "max_seq_length", "dupe_factor", "provenance", "masking", "chinese_words", "seed"),
    "export": ("to", "split"),
}


def checked(contents: dict[str, object]) -> Manifest:
    """Decode a manifest and check it. Raise WrongValue for the first problem."""
    if contents["bertdata"] != FORMAT or type(contents["bertdata"]) is not int:
        raise WrongValue("bertdata", f"is not {FORMAT}")
    kind = contents.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise WrongValue("kind", f"is not one of {', '.join(KINDS)}")
    manifest = decode(contents, KINDS[kind])
    # The order matters: the rules of a kind use options that `_config` has checked, and no generator
    # runs on after its first problem.
    for problem in chain(_names(contents, manifest), _config(manifest), _rows(manifest), _kind_rules(manifest)):
        raise WrongValue("", problem)
    return manifest


def _kind_rules(manifest: Manifest) -> Iterator[str]:
    if isinstance(manifest, PairsManifest):
        yield from _pairs(manifest)
    elif isinstance(manifest, ExportManifest):
        yield from _export(manifest)


def _names(contents: dict[str, object], manifest: Manifest) -> Iterator[str]:
    """Check that the names are valid paths inside the dataset and do not repeat."""
    seen: Counter[str] = Counter()
    for key in LISTS:
        entries: Sequence[Any] = getattr(manifest, key, ())
        if key in contents and not hasattr(manifest, key):
            entries = decode({key: contents[key]}, dict[str, list[FileEntry]])[key]
        for entry in entries:
            if len(entry.name) > 255 or not _FILE_NAME.fullmatch(entry.name):
                yield f"it names {ascii(entry.name[:100])}, which is not a dataset file. Do not trust this dataset"
            seen[entry.name] += 1
    if seen and seen.most_common(1)[0][1] > 1:
        yield "it names a file twice"
    if isinstance(manifest, VocabManifest | ExportManifest):
        if manifest.card:
            yield f"card is present, but a dataset of kind {manifest.kind} has none"
    elif manifest.card is None:
        yield "card is missing"
    elif manifest.card.name != CARD:
        yield f"card.name is not {CARD}"
    known = sorted(file.name for file in manifest.files) if isinstance(manifest, VocabManifest | PairsManifest) else None
    if known is not None and known not in map(sorted, VOCABULARIES):
        yield f"files does not name {', '.join(VOCABULARIES[0])}, or the last two of them"


def _config(manifest: Manifest) -> Iterator[str]:
    """Check that the options are valid for the command."""
    if "bertdata" not in manifest.versions:
        yield "versions.bertdata is missing"
    yield from _options(manifest.kind, manifest.config)


def _options(name: str, config: dict[str, object]) -> Iterator[str]:
    kind = CONFIGS[name]
    if missing := next((option for option in _FIRST_OPTIONS[name] if option not in config), ""):
        yield f"config.{missing} is missing"
    elif problem := type_problem(kind, config):
        yield f"config.{problem}"
    else:
        try:
            kind.of(config)
        except UsageError as error:
            yield f"config is invalid: {ascii(str(error))[1:-1][:200]}"


def _rows(manifest: Manifest) -> Iterator[str]:
    if manifest.rows != (total := sum(shard.rows for shard in manifest.shards)):
        yield f"rows is {manifest.rows:,}, but its shards have {total:,}"
    if isinstance(manifest, CorpusManifest | PairsManifest):
        for number, shard in enumerate(manifest.shards):
            if shard.batches * _MIN_BATCH_BYTES > shard.bytes:
                yield f"shards[{number}].batches is {shard.batches:,}, too many for {shard.bytes:,} bytes"


def _export(manifest: ExportManifest) -> Iterator[str]:
    """Check that the kind, the options and the vocabulary size of the exported dataset are present."""
    if manifest.of not in ("documents", "pairs"):
        yield "of is neither documents nor pairs"
    of_rows = manifest.of == "pairs"
    if manifest.vocab_size is None and (of_rows or manifest.config["to"] == "megatron"):
        yield "vocab_size is missing"
    if of_rows and manifest.of_config is None:
        yield "of_config is missing"
    elif of_rows and manifest.of_config is not None:
        yield from (each.replace("config", "of_config", 1) for each in _options("pairs", manifest.of_config))


def _pairs(manifest: PairsManifest) -> Iterator[str]:
    """Check the counts of pairs, total and by split, and that each shard belongs to a split."""
    config = PairsConfig.of(manifest.config)
    needed = ["parts"] if config.pack else []
    if name := LABEL_1_COUNTS.get(config.objective):
        needed += [name, f"{name}_share"]
    if config.masking == "static":
        needed += ["masked", "masked_share", "max_predictions"]
    splits = {f"splits.{split}": statistics for split, statistics in manifest.splits.items()}
    for key, statistics in {"statistics": manifest.statistics, **splits}.items():
        yield from _statistics(key, statistics, [*needed, "shards"] if key in splits else needed, config)
    if unknown := sorted(manifest.splits.keys() - {"train", "validation"}):
        yield f"splits has {ascii(unknown[0])[:100]}, which is neither train nor validation"
    counts = {split: statistics.shards or 0 for split, statistics in manifest.splits.items()}
    if sum(counts.values()) != len(manifest.shards):
        yield f"splits have {sum(counts.values()):,} shards, but {len(manifest.shards):,} are listed"
        return
    wanted = {f"data/{split}-{i:05d}-of-{n:05d}.arrow" for split, n in counts.items() for i in range(n)}
    if unknown := sorted(wanted.symmetric_difference(shard.name for shard in manifest.shards)):
        yield f"shards are not those of splits: {ascii(unknown[0])}"


def _statistics(key: str, statistics: Statistics, needed: list[str], config: PairsConfig) -> Iterator[str]:
    key = ascii(key)[1:-1][:100]
    if missing := next((name for name in needed if getattr(statistics, name) is None), ""):
        yield f"{key}.{missing} is missing"
    if (statistics.max_predictions or 0) > config.max_seq_length:
        yield f"{key}.max_predictions is over config.max_seq_length, {config.max_seq_length}"
