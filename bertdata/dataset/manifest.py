"""Create, write and read a dataset's manifest: its inputs, its outputs, and counts that must add up.

The manifest is the commit point: it is written last, and a directory without one is not a dataset.  It contains nothing that
depends on the machine, the time or the number of workers, so equal runs write equal manifests.  Its last key is the digest of
all the others.  All files it names are in its directory: a name that points elsewhere is refused before a file is opened.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypedDict, TypeVar, overload

from ..codec import WrongValue, encode
from ..config.base import Config
from ..errors import NoInputError, UsageError, VerificationError
from ..storage.files import OBJECT_STORES, digest, file_entry, is_local, size, write_json, write_text
from ..storage.storage import storage_errors
from ..tally import StageCounts, Tally
from .build import DATA, STATE, builds, is_complete
from .build import MANIFEST as NAME
from .manifest_records import File, FileEntry, ListEntry, RowFile, ShardInput
from .manifest_rules import CARD, FORMAT, LISTS, checked
from .manifest_types import KINDS, Manifest
from .versions import versions

__all__ = [
    "CARD",
    "FORMAT",
    "NAME",
    "as_inputs",
    "check_files",
    "check_inside",
    "check_rows",
    "descriptions",
    "entry",
    "head",
    "listed",
    "parse",
    "read",
    "read_again",
    "read_json",
    "steady",
    "store",
    "to_json",
    "write_list",
]

M = TypeVar("M", bound=Manifest)
_OWN_DIGEST = "sha256"  # key of the manifest's own digest
_MAX_BYTES = 1 << 28  # larger than a manifest of 99,999 shards and a million inputs
_OF_RUNS = ("metrics.jsonl", "state.json")  # files of a training run or a checkpoint, but not of a dataset
_RESTORE_ADVICE = "restore it from a copy, or build the dataset again with `overwrite`"


def entry(root: Path, name: str) -> FileEntry:
    """Return the entry of a file below `root`."""
    return FileEntry(**file_entry(root, name))


def write_list(root: Path, name: str, entries: Sequence[object]) -> ListEntry:
    """Write rejects or drops as JSON Lines. Return the file's entry."""
    write_text(root / name, "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries))
    return ListEntry(rows=len(entries), **file_entry(root, name))


class Head(TypedDict):
    """The fields at the beginning and end of every manifest."""

    bertdata: int
    kind: str
    versions: dict[str, str]
    config: dict[str, Any]
    rows: int
    counts: list[StageCounts]


def head(kind: str, config: Config, shards: Sequence[RowFile], tallies: list[Tally], packages: Sequence[str] = ()) -> Head:
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
        "rows": sum(shard.rows for shard in shards),
        "counts": [tally.counts() for tally in tallies],
    }


def to_json(manifest: Manifest) -> dict[str, object]:
    """Return a manifest as JSON, with its keys in written order."""
    contents = encode(manifest)
    last = {key: contents.pop(key) for key in ("inputs", "shards", "rows", "counts", "card") if key in contents}
    return {**contents, **last}


def as_inputs(manifest: Manifest, source: str) -> list[ShardInput]:
    """Return the shards of a dataset as inputs of a derived dataset. `source` describes their kind."""
    licences = ", ".join(sorted({entry.licence for entry in manifest.inputs}))
    return [
        ShardInput(name=shard.name, bytes=shard.bytes, sha256=shard.sha256, source=source, licence=licences)
        for shard in manifest.shards
    ]


def check_rows(manifest: Manifest, counted: int) -> None:
    """Raise an error if the shards and the stage counts disagree on the number of rows."""
    if manifest.rows != counted:
        raise VerificationError(f"the shards have {manifest.rows} rows, but {counted} were counted: please report this")


def store(directory: Path, manifest: Manifest | dict[str, object], card: str = "") -> None:
    """Commit a dataset: write its data card, if any, and last its manifest, with the digests of all files."""
    contents = manifest if isinstance(manifest, dict) else to_json(manifest)
    if card:
        write_text(directory / CARD, card)
        data = card.encode("utf-8")  # hash the text in memory: reading the file again would take a buffer of 512 kB
        contents = {**contents, "card": {"name": CARD, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}}
    write_json(directory / NAME, {**contents, _OWN_DIGEST: _own_digest(contents)})


def _own_digest(manifest: dict[str, object]) -> str:
    """Hash a manifest without this digest. Key order and whitespace do not matter."""
    rest = {key: value for key, value in manifest.items() if key != _OWN_DIGEST}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _is_as_written(manifest: dict[str, object]) -> bool:
    try:
        return bool(manifest.get(_OWN_DIGEST) == _own_digest(manifest))
    except RecursionError:
        return False


@overload
def read(directory: Path) -> Manifest: ...
@overload
def read(directory: Path, kind: type[M]) -> M: ...
def read(directory: Path, kind: type[Manifest] = Manifest) -> Manifest:
    """Read and check a dataset's manifest, of any kind or of one.

    Raise NoInputError if it is missing, UsageError for another kind or a newer bertdata, and VerificationError for a manifest
    that was modified, names files outside the directory, or has an invalid field.
    """
    return parse(directory, read_json(directory), kind)


def parse(directory: Path, contents: dict[str, object], kind: type[M]) -> M:
    """Convert the output of `read_json` to a manifest of a kind."""
    try:
        manifest = checked(contents)
    except WrongValue as error:
        raise VerificationError(f"{directory / NAME}: {error}: {_RESTORE_ADVICE}") from error
    if not isinstance(manifest, kind):
        name = next(name for name, each in KINDS.items() if each is kind)
        raise UsageError(f"{directory} contains {manifest.kind}, not {name}: pass another directory")
    return manifest


def read_json(directory: Path) -> dict[str, Any]:
    """Read an unmodified manifest. The values of its fields are not checked."""
    if not directory.is_dir():
        raise NoInputError(f"{directory} is not a directory. Pass a directory that bertdata has written")
    manifest = _parse(directory / NAME)
    if not isinstance(manifest, dict) or "bertdata" not in manifest:
        _refuse(directory, manifest)
    if not _is_as_written(manifest):  # first of all, for every format, including newer ones
        raise VerificationError(f"{directory / NAME} is not as it was written: {_RESTORE_ADVICE}")
    if type(manifest["bertdata"]) is int and manifest["bertdata"] > FORMAT:
        raise UsageError(f"{directory} was written by a newer bertdata: install that version")
    return manifest


def _refuse(directory: Path, manifest: Any) -> NoReturn:
    """Raise the error for a directory without a valid manifest. `manifest` is the content found instead."""
    if manifest is None and any((directory / name).exists() for name in _OF_RUNS):
        raise NoInputError(f"{directory} contains a training run, not a dataset. Show it with `bertdata report {directory}`")
    unfinished = (directory / STATE).is_dir()
    if manifest is not None and (unfinished or (isinstance(manifest, dict) and {"kind", "shards"} & manifest.keys())):
        raise VerificationError(f"{directory / NAME} is not a valid bertdata manifest any more: {_RESTORE_ADVICE}")
    if unfinished:
        if is_local(directory) and any(map(is_complete, builds(directory))):  # between the renames of a commit, or killed there
            raise NoInputError(f"{directory}: the new dataset is not in place yet. Run the command again")
        if is_local(directory) and any((directory / name).exists() for name in DATA):
            raise NoInputError(f"{directory}: manifest.json is missing. Restore it, or build the dataset again with `overwrite`")
        kept = builds(directory) or not is_local(directory)
        more = "It keeps its finished tasks. Run" if kept else "It kept nothing. Fix its error, then run"
        raise NoInputError(f"{directory}: the run that writes this dataset did not finish. {more} the command again")
    raise NoInputError(f"{directory} contains no bertdata dataset (no manifest.json): pass the `output` of a command")


@overload
def read_again(directory: Path, sha256: str) -> Manifest: ...
@overload
def read_again(directory: Path, sha256: str, kind: type[M]) -> M: ...
def read_again(directory: Path, sha256: str, kind: type[Manifest] = Manifest) -> Manifest:
    """Read the manifest that had this digest when the run began. Raise VerificationError if it has changed."""
    if digest(directory / NAME) != sha256:
        raise VerificationError(f"{directory / NAME} has changed since this run began: start again with `overwrite`")
    return read(directory, kind)


def _parse(path: Path) -> Any:
    """Read a manifest's file, or return None if it is missing."""
    with storage_errors(f"cannot read {path}"):
        if not path.is_file():
            return None
        if size(path) > _MAX_BYTES:
            raise VerificationError(f"{path} is larger than any manifest: {_RESTORE_ADVICE}")
        written = path.read_bytes()
    try:
        return json.loads(written.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise VerificationError(f"{path} is damaged ({' '.join(str(error).split())}): {_RESTORE_ADVICE}") from error


def listed(manifest: Manifest) -> Iterator[File]:
    """Yield the entries of all files except the manifest and its descriptions."""
    for key in LISTS:
        yield from getattr(manifest, key, ())


def descriptions(manifest: Manifest) -> list[FileEntry]:
    """Return the entry of the data card, if the dataset has one."""
    return [manifest.card] if manifest.card else []


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


def check_inside(directory: Path, name: str) -> None:
    """Raise VerificationError if a symbolic link points outside the dataset."""
    if is_local(directory):
        real, root = os.path.realpath(directory / name), os.path.realpath(directory)
        if os.path.commonpath([real, root]) != root:
            raise VerificationError(f"{directory / name} is a link that leads out of {directory}: put the file in its place")
