"""Create, write and read a dataset's manifest: its inputs, its outputs, and counts that must add up.

The manifest is the commit point: it is written last, and a directory without one is not a dataset. It contains nothing that
depends on the machine, the time or the number of workers, so equal runs write equal manifests. Its last key is the digest of
all the others.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar, overload

from ..codec import WrongValue, encode
from ..config.base import Config
from ..errors import NoInputError, UsageError, VerificationError
from ..storage.files import OBJECT_STORES, digest, is_local, size, write_json, write_text
from ..storage.problems import storage_errors
from ..tally import Tally
from .build import DATA, MANIFEST, STATE, builds
from .manifest_records import File, Input, RowFile
from .manifest_types import CARD, FORMAT, Manifest, checked
from .versions import versions

M = TypeVar("M", bound=Manifest)
NAME = MANIFEST
_OWN_DIGEST = "sha256"  # key of the manifest's own digest
_MAX_BYTES = 1 << 28  # larger than a manifest of 99,999 shards and a million inputs
_TRAINING_FILES = ("metrics.jsonl", "state.json")  # files of a training run or a checkpoint, but not of a dataset
_RESTORE_ADVICE = "restore it from a copy, or build the dataset again with `overwrite`"


def entry(root: Path, name: str) -> File:
    """Describe a file below `root`: its name, bytes and SHA-256."""
    return File(name=name, bytes=(root / name).stat().st_size, sha256=digest(root / name))


def head(
    kind: str, config: Config, shards: Sequence[RowFile], tallies: list[Tally], packages: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the fields common to all manifests. Raise VerificationError if a stage's counts do not add up.

    `packages` are the packages whose versions affect the output bytes.
    """
    for tally in tallies:
        tally.check()
    return {
        "bertdata": FORMAT,
        "kind": kind,
        "versions": versions(packages),
        "config": config.identity(),
        "shards": shards,
        "rows": sum(shard.rows for shard in shards),
        "counts": [tally.counts() for tally in tallies],
    }


def as_inputs(manifest: Manifest, source: str) -> list[Input]:
    """Return the shards of a dataset as inputs of a derived dataset. `source` describes their kind."""
    licences = ", ".join(sorted({entry.licence for entry in manifest.inputs}))
    return [
        Input(name=shard.name, source=source, licence=licences, bytes=shard.bytes, sha256=shard.sha256)
        for shard in manifest.shards
    ]


def check_rows(manifest: Manifest, counted: int) -> None:
    """Raise an error if the shards and the stage counts disagree on the number of rows."""
    if manifest.rows != counted:
        raise VerificationError(f"the shards have {manifest.rows} rows, but {counted} were counted: please report this")


def store(directory: Path, manifest: Manifest | dict[str, object], card: str = "") -> None:
    """Commit a dataset: write its data card, if any, and last its manifest, with the digests of all files."""
    contents = manifest if isinstance(manifest, dict) else encode(manifest)
    if card:
        write_text(directory / CARD, card)
        contents = {**contents, "card": encode(entry(directory, CARD))}
    write_json(directory / NAME, {**contents, _OWN_DIGEST: _own_digest(contents)})


def _own_digest(manifest: dict[str, object]) -> str:
    """Hash a manifest without this digest. Key order and whitespace do not matter."""
    rest = {key: value for key, value in manifest.items() if key != _OWN_DIGEST}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@overload
def read(directory: Path, *, sha256: str = "") -> Manifest: ...
@overload
def read(directory: Path, kind: type[M], *, sha256: str = "") -> M: ...
def read(directory: Path, kind: type[Manifest] = Manifest, *, sha256: str = "") -> Manifest:
    """Read and check a dataset's manifest, of any kind or of one.

    Raise NoInputError if it is missing, UsageError for another kind or a newer bertdata, and VerificationError for a manifest
    that was modified, names files outside the directory, has an invalid field, or differs from `sha256`, its digest when the run
    began.
    """
    path, data = directory / NAME, read_bytes(directory)
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        raise VerificationError(f"{path} has changed since this run began: start again with `overwrite`")
    try:
        manifest = checked(_parsed(path, data))
    except WrongValue as error:
        raise VerificationError(f"{path} is wrong ({error}): {_RESTORE_ADVICE}") from error
    if not isinstance(manifest, kind):
        raise UsageError(f"{directory} contains {manifest.what}, not {kind.what}: pass another directory")
    return manifest


def read_bytes(directory: Path) -> bytes:
    """Read the file of a manifest. Raise NoInputError if it is missing."""
    path = directory / NAME
    with storage_errors(f"cannot read {path}"):
        if not path.is_file():
            _refuse(directory)
        if size(path) > _MAX_BYTES:
            raise VerificationError(f"{path} is larger than any manifest: {_RESTORE_ADVICE}")
        return path.read_bytes()


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    """Return the fields of an unmodified manifest. Their values are not checked."""
    try:
        contents = json.loads(data.decode("utf-8"))
        if not isinstance(contents, dict) or "bertdata" not in contents:
            raise VerificationError(f"{path} is not a bertdata manifest: {_RESTORE_ADVICE}")
        if contents.get(_OWN_DIGEST) != _own_digest(contents):  # first of all, for every format, including newer ones
            raise VerificationError(f"{path} is not as it was written: {_RESTORE_ADVICE}")
    except (ValueError, RecursionError) as error:
        raise VerificationError(f"{path} is damaged ({' '.join(str(error).split())}): {_RESTORE_ADVICE}") from error
    if (written := contents["bertdata"]) != FORMAT or type(written) is not int:
        advice = "install that version" if type(written) is int and written > FORMAT else _RESTORE_ADVICE
        raise UsageError(f"{path} has format {ascii(written)[:20]}, but this bertdata reads {FORMAT}: {advice}")
    return contents


def _refuse(directory: Path) -> NoReturn:
    """Raise the error for a directory without a manifest."""
    if not directory.is_dir():
        raise NoInputError(f"{directory} is not a directory. Pass a directory that bertdata has written")
    if any((directory / name).exists() for name in _TRAINING_FILES):
        raise NoInputError(f"{directory} contains a training run, not a dataset. Show it with `bertdata report {directory}`")
    if not (directory / STATE).is_dir():
        raise NoInputError(f"{directory} contains no bertdata dataset (no manifest.json): pass the output directory of a command")
    if not builds(directory) and any((directory / name).exists() for name in DATA):
        raise NoInputError(f"{directory}: manifest.json is missing. Restore it, or build the dataset again with `overwrite`")
    raise NoInputError(f"{directory}: the run that writes this dataset did not finish. Run the same command again to continue it")


def check_files(directory: Path, files: Iterable[File]) -> None:
    """Raise VerificationError if a dataset's file is missing, is outside the directory, or has the wrong size.

    In an object store, this lists all files, because one request per file would be slow.
    """
    objects: Any = None if is_local(directory) else directory
    known = objects is not None and objects.protocol in OBJECT_STORES
    with storage_errors(f"cannot read {directory}"):
        sizes = {name: info["size"] for name, info in objects.fs.find(objects.path, detail=True).items()} if known else {}
    for file in files:
        path: Any = directory / file.name
        if (sizes.get(path.path) if known else path.stat().st_size if path.is_file() else None) != file.bytes:
            raise VerificationError(f"{path} is missing or cut: build it again with `overwrite`")
        check_inside(directory, file.name)


def check_inside(directory: Path, name: str) -> None:
    """Raise VerificationError if a symbolic link points outside the dataset."""
    if is_local(directory):
        real, root = os.path.realpath(directory / name), os.path.realpath(directory)
        if os.path.commonpath([real, root]) != root:
            raise VerificationError(f"{directory / name} is a link that leads out of {directory}: put the file in its place")


@contextlib.contextmanager
def steady(*directories: Path) -> Iterator[None]:
    """Raise VerificationError if a dataset is replaced while the block opens its files, which would mix old and new ones."""

    def look() -> list[Any]:
        # The inode and time of a manifest change with each commit, because a commit renames a new file into place.
        stats = []
        for path in (directory / NAME for directory in directories if is_local(directory)):
            with contextlib.suppress(OSError):
                status = path.stat()
                stats.append((str(path), status.st_ino, status.st_mtime_ns, status.st_size))
        return stats

    before = look()
    try:
        yield
    finally:
        if before != look():
            raise VerificationError(f"{directories[0]} was replaced while it was read: read it again")
