"""Check a decoded manifest: the names of its files, its options, and the sum of its rows.

A name that leads out of the dataset's directory is refused before a file is opened. `verify` compares the rest with the files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from ..codec import WrongValue, decode
from ..config import CONFIGS
from ..errors import UsageError
from .manifest_types import KINDS, CorpusManifest, Manifest, PairsManifest, VocabManifest

FORMAT = 1  # increased when a reader of the old format would misread the new one
CARD = "README.md"
# The files of a WordPiece vocabulary as in BERT, and of every other vocabulary.
VOCABULARIES = (("vocab.txt", "tokenizer.json", "tokenizer_config.json"), ("tokenizer.json", "tokenizer_config.json"))
_FILE_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*")  # at most one folder deep, not hidden
_MAX_NAME = 255
_MIN_BATCH_BYTES = 256  # a safe lower bound: an empty record batch has 680


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
