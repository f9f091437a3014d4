"""List the versions that affect the bytes of a dataset: bertdata's code, Unicode's tables, and the libraries it used.

They are part of a run's identity, its manifest, and each worker's check. A version that does not affect the bytes, such
as NumPy's or Beam's, is omitted, so that an update does not prevent resuming a run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from .. import __version__
from ..storage.files import digest

CODE_DIGITS = 16  # digits of the SHA-256 of the code: 64 bits distinguish versions
NOT_IN_A_RUN = frozenset(("cli", "pipelines", "sample", "training", "verification"))  # their code does not affect any bytes
_SOURCE_SUFFIXES = (".py", ".toml", ".html", ".md")  # code, the tables it reads, and the templates of the card and the report


def versions(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions that affect a dataset's bytes. `packages` are the libraries and modules that its command uses."""
    installed = {name: _version(name) for name in packages}
    return {"bertdata": __version__, "code": code_digest(), "unicode": unicodedata.unidata_version, **installed}


@cache
def code_digest() -> str:
    """Hash the source of bertdata that builds datasets: two clones of one version number can have different code."""
    hashed = hashlib.sha256()
    for name, path in sorted(_sources()):
        with open(path, "rb", buffering=0) as file:
            contents = file.read()
        hashed.update(f"{name} {len(contents)}\n".encode() + contents)
    return hashed.hexdigest()[:CODE_DIGITS]


def _sources() -> Iterator[tuple[str, str]]:
    """Yield each source file: its name in the package, and its path."""
    package = str(Path(__file__).parents[1])
    for folder, folders, names in os.walk(package):
        if folder == package:
            folders[:] = [name for name in folders if name not in NOT_IN_A_RUN]
        for name in names:
            if name.endswith(_SOURCE_SUFFIXES):
                path = os.path.join(folder, name)
                yield os.path.relpath(path, package), path


def _version(name: str) -> str:
    """Return the version of a package, or for a module outside packages the SHA-256 of its source."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        spec = importlib.util.find_spec(name)
        return f"sha256:{digest(Path(spec.origin))}" if spec and spec.origin and os.path.isfile(spec.origin) else "unknown"
