"""A data set's manifest: what went in, what came out, and counts that must add up.

The manifest is the commit point: it is written last, and a directory without one is no data set.  It holds nothing that
depends on the machine, the time or the number of workers, so equal runs write equal manifests.  Its last key is the digest of
all the others.  What it names lies in its directory: a name that leads elsewhere is refused before a file is opened.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from . import __version__
from .errors import NoInputError, UsageError, VerificationError
from .files import digest, file_entry, is_local, size, write_json, write_text
from .lock import holder
from .storage import storage_errors

__all__ = [
    "CARD",
    "FORMAT",
    "NAME",
    "Tally",
    "check_files",
    "check_inside",
    "check_rows",
    "listed",
    "make",
    "read",
    "versions",
    "write",
    "write_list",
]

FORMAT = 1  # raised when a reader of the old form would misread the new one
NAME, CARD = "manifest.json", "README.md"
_OWN = "sha256"  # the key of the manifest's digest of itself
_LISTS = ("shards", "rejects", "drops", "files")  # keys that hold the entries of files
_FILE_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*")  # in one folder at most, none hidden
_KINDS = {str: "text", int: "a whole number", float: "a number", list: "a list", dict: "an object"}
_FORM: dict[str, type] = {"bertdata": int, "kind": str, "versions": dict, "config": dict, "rows": int}  # what it must have
_ENTRIES: dict[str, dict[str, type]] = {  # and the entries of its lists
    "shards": {"name": str, "rows": int, "bytes": int, "sha256": str},
    "rejects": {"name": str, "rows": int, "bytes": int, "sha256": str},
    "drops": {"name": str, "rows": int, "bytes": int, "sha256": str},
    "files": {"name": str, "bytes": int, "sha256": str},
    "inputs": {"name": str, "bytes": int},
    "counts": {"stage": str, "in": int, "out": int, "dropped": dict, "rejected": dict},
}
_MOST = 1 << 28  # bytes of a manifest: that of 99,999 shards and a million inputs has less
_RESTORE = "restore it from a copy, or build the data set again with --overwrite"


@dataclass
class Tally:
    """Count what a stage took, kept, dropped on purpose and rejected as broken.

    >>> tally = Tally("pages", entered=3, left=1)
    >>> tally.dropped["redirect"] += 2
    >>> tally.check()
    """

    stage: str
    entered: int = 0
    left: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Tally) -> None:
        """Add the counts of another part of the same stage."""
        self.entered += other.entered
        self.left += other.left
        self.dropped.update(other.dropped)
        self.rejected.update(other.rejected)

    def check(self) -> None:
        """Raise unless what entered is what left, was dropped or was rejected; no count is below zero."""
        gone = sum(self.dropped.values()) + sum(self.rejected.values())
        least = min([0, *self.dropped.values(), *self.rejected.values()])
        if self.entered != self.left + gone or least < 0:
            raise VerificationError(
                f"the counts of {self.stage} do not add up: {self.entered} went in, {self.left} came out, {gone} were dropped or "
                "rejected: this is a fault in bertdata, please report it"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the counts with reasons in order of name."""
        dropped, rejected = ({k: n for k, n in sorted(counter.items()) if n} for counter in (self.dropped, self.rejected))
        return {"stage": self.stage, "in": self.entered, "out": self.left, "dropped": dropped, "rejected": rejected}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Tally:
        """Read what `to_json` returned."""
        return cls(value["stage"], value["in"], value["out"], Counter(value["dropped"]), Counter(value["rejected"]))


def write_list(root: Path, name: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Write rejects or drops as lines of JSON; return the file's entry."""
    write_text(root / name, "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries))
    return {"name": name, "rows": len(entries), **file_entry(root, name)}


def make(
    kind: str,
    *,
    config: dict[str, Any],
    inputs: list[dict[str, Any]],
    shards: list[dict[str, Any]],
    tallies: list[Tally],
    packages: Sequence[str] = (),
    **more: Any,
) -> dict[str, Any]:
    """Put a manifest together; raise VerificationError if a stage's counts do not add up.

    `packages` are optional ones that were used.
    """
    for tally in tallies:
        tally.check()
    return {
        "bertdata": FORMAT,
        "kind": kind,
        "versions": versions(packages),
        "config": config,
        **more,
        "inputs": inputs,
        "shards": shards,
        "rows": sum(shard["rows"] for shard in shards),
        "counts": [tally.to_json() for tally in tallies],
    }


def check_rows(manifest: dict[str, Any], counted: int) -> None:
    """Raise unless the shards hold as many rows as the stages counted."""
    if manifest["rows"] != counted:
        raise VerificationError(f"the shards hold {manifest['rows']} rows, but {counted} were counted: please report this")


def write(directory: Path, made: dict[str, Any], card: str = "") -> None:
    """Commit a data set: write its data card, where it has one, and last of all its manifest, with the digests of both."""
    if card:
        write_text(directory / CARD, card)
        told = card.encode("utf-8")
        made = {**made, "card": {"name": CARD, "bytes": len(told), "sha256": hashlib.sha256(told).hexdigest()}}
    write_json(directory / NAME, {**made, _OWN: _own_digest(made)})


def _own_digest(manifest: dict[str, Any]) -> str:
    """Hash all that a manifest says, but for this digest; the order of its keys and its white space do not matter."""
    rest = {key: value for key, value in manifest.items() if key != _OWN}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read(directory: Path, kind: str = "") -> dict[str, Any]:
    """Read and check a data set's manifest; `kind` is ``documents``, ``vocabulary`` or ``pairs``.

    Raise NoInputError where there is none, UsageError for one of another kind or of a newer bertdata, VerificationError for one
    that was changed since it was written, or that names files elsewhere.
    """
    if not directory.is_dir():
        raise NoInputError(f"{directory} is no directory: give one that bertdata has written")
    manifest = _parse(directory / NAME)
    if not isinstance(manifest, dict) or "bertdata" not in manifest:
        if job := holder(directory / ".bertdata"):
            raise NoInputError(f"{directory} is being written by {job}: wait until that has ended")
        unfinished = (directory / ".bertdata").is_dir()
        if manifest is not None and (unfinished or (isinstance(manifest, dict) and {"kind", "shards"} & manifest.keys())):
            raise VerificationError(f"{directory / NAME} is no manifest of bertdata any more: {_RESTORE}")
        problem = "an unfinished run: finish it with --resume" if unfinished else "no data set of bertdata (no manifest.json)"
        raise NoInputError(f"{directory} holds {problem}")
    if type(manifest["bertdata"]) is int and manifest["bertdata"] > FORMAT:
        raise UsageError(f"{directory} was written by a newer bertdata; upgrade with: pip install -U bertdata")
    if _OWN in manifest and manifest[_OWN] != _own_digest(manifest):
        raise VerificationError(f"{directory / NAME} is not as it was written: {_RESTORE}")
    if problem := _misfit(manifest):
        raise VerificationError(f"{directory / NAME}: {problem}: {_RESTORE}")
    if kind and manifest["kind"] != kind:
        raise UsageError(f"{directory} holds {manifest['kind']}, not {kind}: give another directory")
    return manifest


def _parse(path: Path) -> Any:
    """Read a manifest's file; None where there is none."""
    with storage_errors(f"cannot read {path}"):
        if not path.is_file():
            return None
        if size(path) > _MOST:
            raise VerificationError(f"{path} is larger than any manifest: {_RESTORE}")
        written = path.read_bytes()
    try:
        return json.loads(written.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise VerificationError(f"{path} is damaged ({' '.join(str(error).split())}): {_RESTORE}") from error


def _misfit(manifest: dict[str, Any]) -> str:
    """Say what no manifest has: a value of another type, or a name that leads out of the directory; nothing if it is one."""
    forms = [("", manifest, _FORM)]
    for key, form in _ENTRIES.items():
        values = manifest.get(key, [] if key in ("rejects", "drops", "files") else None)
        if type(values) is not list:
            return f"{key} is not a list"
        forms += [(f"{key}[{number}].", value, form) for number, value in enumerate(values)]
    for where, value, form in forms:
        if type(value) is not dict:
            return f"{where.rstrip('.')} is not an object"
        for key, kind in form.items():
            if type(value.get(key)) is not kind or (kind is int and value[key] < 0):
                return f"{where}{key} is not {_KINDS[kind]}"
    names = [file["name"] for file in listed(manifest)]
    for name in names:
        if len(name) > 255 or not _FILE_NAME.fullmatch(name):
            return f"it names {ascii(name[:100])}, which is no file of a data set; trust nothing of this one"
    return "" if len(set(names)) == len(names) else "it names a file twice"


def listed(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the entries of all files but the manifest and the card."""
    for key in _LISTS:
        yield from manifest.get(key, [])


def check_files(directory: Path, manifest: dict[str, Any]) -> None:
    """Raise VerificationError for a file of a data set that is missing, leads out of it, or has another size than it should."""
    for file in listed(manifest):
        path = directory / file["name"]
        if not path.is_file() or path.stat().st_size != file["bytes"]:
            raise VerificationError(f"{path} is missing or cut: build it again with --overwrite")
        check_inside(directory, file["name"])


def check_inside(directory: Path, name: str) -> None:
    """Raise VerificationError where a symbolic link leads out of a data set."""
    if is_local(directory):
        real, root = os.path.realpath(directory / name), os.path.realpath(directory)
        if os.path.commonpath([real, root]) != root:
            raise VerificationError(f"{directory / name} is a link that leads out of {directory}: put the file in its place")


def versions(optional: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions that the bytes of a data set can depend on, those of `optional` packages too."""
    packages = ("apache-beam", "numpy", "pyarrow", "sentencex", "tokenizers", *optional)
    found = {name: _version(name) for name in packages}
    python = ".".join(platform.python_version_tuple()[:2])
    return {"bertdata": __version__, "python": python, "unicode": unicodedata.unidata_version, **found}


def _version(name: str) -> str:
    """Return the version of a package or of the one that a module is of; of a module that is in none, its file's SHA-256."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        if found := metadata.packages_distributions().get(name.partition(".")[0]):
            return metadata.version(found[0])
        spec = importlib.util.find_spec(name)
        return f"sha256:{digest(Path(spec.origin))}" if spec and spec.origin and os.path.isfile(spec.origin) else "unknown"
