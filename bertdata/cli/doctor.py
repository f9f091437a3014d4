"""`bertdata doctor`: check this machine's setup before a run."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from importlib import metadata

import click
from packaging.requirements import Requirement

from .. import __version__
from ..extras import EXTRAS, install
from ..reports.summary import count, size
from ..storage import cgroup
from ..storage.process import cores, usable_cpus
from .console import echo
from .options import Command

_MIN_MEMORY = 2_000_000_000  # bytes: two workers and the driver


@click.command("doctor", cls=Command, writes=False)
def command() -> None:
    """Check this machine's setup: versions, optional packages, CPUs, memory and disk.

    Lines that begin with ! suggest a change. The command changes nothing.
    """
    _show("bertdata", f"{__version__}, Python {platform.python_version()}, {os.uname().sysname} {os.uname().machine}")
    for needed in map(Requirement, metadata.requires("bertdata") or ()):
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            version = _version(needed.name)
            _show(needed.name, version or "not installed", "" if version else f"pip install '{needed.name}{needed.specifier}'")
    limits, total = cgroup.limits(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    _show("CPUs", f"{usable_cpus()} usable: up to {count(cores(), 'worker')} by default")
    is_little = min(total, limits.memory or total) < _MIN_MEMORY
    advice = "use fewer --workers: each needs about 300 MB, the driver 250 MB" if is_little else ""
    _show("memory", size(min(total, limits.memory or total)), advice)
    for name, directory in (("disk here", os.getcwd()), ("disk of TMPDIR", tempfile.gettempdir())):
        disk = shutil.disk_usage(directory)
        _show(name, f"{size(disk.free)} free of {size(disk.total)} in {directory}")
    for extra, libraries in EXTRAS.items():
        lacking = [name for library in libraries for name in _lacking(Requirement(library))]
        _show(f"extra {extra}", f"not installed: {install(extra)}" if lacking else "installed")


def _lacking(requirement: Requirement) -> list[str]:
    """Return the packages of a requirement and of its extras that are not installed."""
    if not _version(requirement.name):
        return [requirement.name]
    inner = [*map(Requirement, metadata.requires(requirement.name) or ())] if requirement.extras else []
    of_extras = (each for extra in requirement.extras for each in inner if each.marker and each.marker.evaluate({"extra": extra}))
    return [each.name for each in of_extras if not _version(each.name)]


def _version(name: str) -> str:
    """Return the installed version of a package, or an empty string."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _show(name: str, value: str, advice: str = "") -> None:
    echo(f"{'!' if advice else ' '} {name:22} {value}{': ' if advice else ''}{advice}")
