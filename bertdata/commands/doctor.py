"""Check this machine's setup before a run."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from .. import __version__
from ..extras import EXTRAS, install, missing
from ..reports.summary import count, size
from ..storage import cgroup
from ..storage.process import cores, usable_cpus

__all__ = ["Check", "doctor"]

_NEEDED = ("apache-beam", "msgspec", "numpy", "pyarrow", "tokenizers", "sentencex", "py3langid", "click", "rich", "requests")
_FAST_LIBRARIES = {"WordPiece": "nanotoken", "byte-level BPE": "gigatoken"}
_MIN_MEMORY = 2_000_000_000  # bytes: two workers and the driver


class Check(NamedTuple):
    """One line of `doctor`: the checked item, the result, and a suggested change, or an empty string."""

    name: str
    value: str
    advice: str


def doctor() -> list[Check]:
    """Check this machine's setup: versions, optional packages, CPUs, memory and disk. Change nothing.

    Returns:
        The checks, each with its name, its value and a suggested change. An empty `advice` means that it is fine.

    Examples:
        >>> next(check.name for check in doctor())
        'bertdata'
    """
    return [*_versions(), *_machine(), *_extras()]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _versions() -> Iterator[Check]:
    yield Check("bertdata", f"{__version__}, Python {platform.python_version()}, {os.uname().sysname} {os.uname().machine}", "")
    for name in _NEEDED:
        version = _version(name)
        yield Check(name, version or "not installed", "" if version else f"pip install {name}")
    for model, library in _FAST_LIBRARIES.items():
        version = _version(library)
        slow = f"tokenizers, ten times slower than {library}: pip install {library}"
        yield Check(model, f"encoded by {library} {version}" if version else f"encoded by {slow}", "")


def _machine() -> Iterator[Check]:
    limits = cgroup.limits()
    quota = "" if limits.cores is None else f", CPU quota {limits.cores:g}"
    yield Check("CPUs", f"{usable_cpus()} usable{quota}: up to {count(cores(), 'worker')} by default", "")
    total, free = _memory()
    limit = "" if limits.memory is None else f", limit of the container {size(limits.memory)}"
    is_little = min(free, limits.memory or free) < _MIN_MEMORY
    advice = "use fewer --workers: each needs about 300 MB, the driver 250 MB" if is_little else ""
    yield Check("memory", f"{size(total)}, {size(free)} free{limit}", advice)
    for name, directory in (("disk here", Path.cwd()), ("disk of TMPDIR", Path(tempfile.gettempdir()))):
        disk = shutil.disk_usage(directory)
        yield Check(name, f"{size(disk.free)} free of {size(disk.total)} in {directory}", "")


def _memory() -> tuple[int, int]:
    """Return total and free memory in bytes. Free is MemAvailable on Linux, and the total on other systems."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line)
        return total, int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return total, total


def _extras() -> Iterator[Check]:
    for extra, (purpose, _, modules) in EXTRAS.items():
        state = f"not installed ({install(extra)})" if missing(modules) else "installed"
        yield Check(f"extra {extra}", f"{state}: {purpose}", "")
