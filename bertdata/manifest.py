"""A data set's manifest: what went in, what came out, and counts that must add up.

The manifest is the commit point: it is written last, and a directory without one is no data set.  It holds nothing that
depends on the machine, the time or the number of workers, so equal runs write equal manifests.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from . import __version__
from .errors import NoInputError, UsageError, VerificationError
from .files import digest, file_entry, read_json, write_text

__all__ = ["FORMAT", "NAME", "Tally", "check_files", "check_rows", "make", "read", "versions", "write_list"]

FORMAT = 1  # raised when a reader of the old form would misread the new one
NAME = "manifest.json"


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


def read(directory: Path, kind: str = "") -> dict[str, Any]:
    """Read and check a data set's manifest; `kind` is ``documents``, ``vocabulary`` or ``pairs``.

    Raise NoInputError where there is none, UsageError for one of another kind or of a newer bertdata.
    """
    if not directory.is_dir():
        raise NoInputError(f"{directory} is no directory: give one that bertdata has written")
    manifest = read_json(directory / NAME)
    if not isinstance(manifest, dict) or "bertdata" not in manifest:
        unfinished = (directory / ".bertdata").is_dir()
        problem = "an unfinished run: finish it with --resume" if unfinished else "no data set of bertdata (no manifest.json)"
        raise NoInputError(f"{directory} holds {problem}")
    if manifest["bertdata"] > FORMAT:
        raise UsageError(f"{directory} was written by a newer bertdata; upgrade with: pip install -U bertdata")
    if kind and manifest["kind"] != kind:
        raise UsageError(f"{directory} holds {manifest['kind']}, not {kind}: give another directory")
    return manifest


def check_files(directory: Path, manifest: dict[str, Any]) -> None:
    """Raise VerificationError for a file of the data set that is missing or has another size than its manifest says."""
    for file in [*manifest["shards"], *manifest.get("rejects", []), *manifest.get("drops", []), *manifest.get("files", [])]:
        path = directory / file["name"]
        if not path.is_file() or path.stat().st_size != file["bytes"]:
            raise VerificationError(f"{path} is missing or cut: build it again with --overwrite")


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
