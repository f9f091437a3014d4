"""`bertdata doctor`: check this machine's setup before a run."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import click

from .. import __version__
from ..extras import EXTRAS, install, missing
from ..reports.words import count, size
from ..storage import cgroup
from ..storage.process import cores, usable_cpus
from .options import Command
from .output import echo

__all__ = ["command"]

_NEEDED = ("apache-beam", "msgspec", "numpy", "pyarrow", "tokenizers", "sentencex", "py3langid", "click", "rich", "requests")
_FAST_LIBRARIES = {"WordPiece": "nanotoken", "byte-level BPE": "gigatoken"}
_MIN_MEMORY = 2_000_000_000  # bytes: two workers and the driver
Line = tuple[str, str, str]  # name, value and suggested change, which may be empty


@click.command("doctor", cls=Command, writes=False)
def command() -> None:
    """Check this machine's setup: versions, optional packages, CPUs, memory and disk.

    Lines that begin with ! suggest a change. The command itself changes nothing and always exits with code 0.
    """
    lines = [*_versions(), *_machine(), *_extras()]
    for name, value, advice in lines:
        echo(f"{'!' if advice else ' '} {name:22} {value}{': ' if advice else ''}{advice}")
    lacking = sum(bool(advice) for *_, advice in lines)
    echo(f"{count(lacking, 'line')} with ! to look at" if lacking else "everything that a local run needs is installed")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _versions() -> Iterator[Line]:
    yield "bertdata", f"{__version__}, Python {platform.python_version()}, {os.uname().sysname} {os.uname().machine}", ""
    for name in _NEEDED:
        version = _version(name)
        yield name, version or "not installed", "" if version else f"pip install {name}"
    for model, library in _FAST_LIBRARIES.items():
        version = _version(library)
        slow = f"tokenizers, ten times slower than {library}: pip install {library}"
        yield model, f"encoded by {library} {version}" if version else f"encoded by {slow}", ""


def _machine() -> Iterator[Line]:
    limits = cgroup.limits()
    quota = "" if limits.cores is None else f", CPU quota {limits.cores:g}"
    yield "CPUs", f"{usable_cpus()} usable{quota}: up to {count(cores(), 'worker')} by default", ""
    total, free = _memory()
    limit = "" if limits.memory is None else f", limit of the container {size(limits.memory)}"
    is_little = min(free, limits.memory or free) < _MIN_MEMORY
    advice = "use fewer --workers: each needs about 300 MB, the driver 250 MB" if is_little else ""
    yield "memory", f"{size(total)}, {size(free)} free{limit}", advice
    for name, directory in (("disk here", Path.cwd()), ("disk of TMPDIR", Path(tempfile.gettempdir()))):
        disk = shutil.disk_usage(directory)
        yield name, f"{size(disk.free)} free of {size(disk.total)} in {directory}", ""


def _memory() -> tuple[int, int]:
    """Return total and free memory in bytes. Free is MemAvailable on Linux, and the total on other systems."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line)
        return total, int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return total, total


def _extras() -> Iterator[Line]:
    for extra, (purpose, _, modules) in EXTRAS.items():
        state = f"not installed ({install(extra)})" if missing(modules) else "installed"
        yield f"extra {extra}", f"{state}: {purpose}", ""
