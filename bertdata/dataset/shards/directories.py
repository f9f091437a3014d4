"""Open directories of rows: read their manifests and vocabularies, and check that several directories belong together."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ...errors import UsageError, VerificationError
from ...pieces import Special
from ...storage.files import is_local
from .. import manifest
from ..manifest_records import ShardEntry
from ..manifest_types import PairsManifest
from .stored_vocabulary import read_vocabulary
from .views import DIFFER, REMAKE
from .windows import ShardFile

__all__ = ["Directory", "agree", "read_directory", "shard_files"]


class Directory(NamedTuple):
    """A directory of rows: its manifest, the shards of one split, and its vocabulary."""

    path: Path
    manifest: PairsManifest
    shards: list[ShardEntry]
    pieces: list[str]
    special: Special


def shard_files(index: int, data: Directory, split: str) -> list[ShardFile]:
    """Return the shards of the directory number `index`."""
    config, statistics = data.manifest.settings, data.manifest.splits[split]
    here = is_local(data.path) and config.format != "parquet"
    if not any(shard.batches for shard in data.shards):
        raise VerificationError(f"{data.path} has no record batch of split {split}: {REMAKE}")
    count, paths = len(data.shards), [data.path / shard.name for shard in data.shards]
    size = len(data.pieces)
    entries = enumerate(zip(paths, data.shards, strict=True))
    return [ShardFile(index, (n + 0.5) / count, path, here, shard, config, statistics, size) for n, (path, shard) in entries]


def read_directory(path: Path, split: str) -> Directory:
    """Read a directory's manifest and vocabulary, and check the sizes of its files."""
    contents = manifest.read(path, PairsManifest)
    if split not in contents.splits:
        splits = ", ".join(contents.splits)
        raise UsageError(f"{path} has no split {split!r}, but {splits}: make-pairs `validation_fraction` makes one")
    of_split = [shard for shard in contents.shards if shard.name.startswith(f"data/{split}-")]
    manifest.check_files(path, [*contents.files, *of_split])
    return Directory(path, contents, of_split, *read_vocabulary(path, contents))


def agree(data: list[Directory], what: str, values: list[Any]) -> None:
    """Raise VerificationError unless all directories have the same value."""
    for one, value in zip(data, values, strict=True):
        if value != values[0]:
            raise VerificationError(f"{one.path} and {data[0].path} {DIFFER.format(what)}")
