"""`bertdata doctor`: check this machine's setup before a run."""

from __future__ import annotations

import os
import platform
import shutil
import sys
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


@click.command("doctor", cls=Command, writes=False)
def command() -> None:
    """Check this machine's setup, and change nothing. Lines that begin with ! suggest a change."""
    _show("bertdata", f"{__version__}, Python {platform.python_version()}, {os.uname().sysname} {os.uname().machine}")
    for needed in map(Requirement, metadata.requires("bertdata") or ()):
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            version = _version(needed.name)
            _show(needed.name, version or "not installed", "" if version else f"pip install '{needed.name}{needed.specifier}'")
    _show("CPUs", f"{usable_cpus()} usable: up to {count(cores(), 'worker')} by default")
    memory = min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), cgroup.limits()[1] or sys.maxsize)
    _show("memory", size(memory), "use fewer --workers: each needs 300 MB, the driver 250 MB" if memory < 2e9 else "")
    for name, directory in (("disk here", os.getcwd()), ("disk of TMPDIR", tempfile.gettempdir())):
        disk = shutil.disk_usage(directory)
        _show(name, f"{size(disk.free)} free of {size(disk.total)} in {directory}")
    for extra, libraries in EXTRAS.items():
        missing = "" if all(map(_is_installed, map(Requirement, libraries))) else f"not installed: {install(extra)}"
        _show(f"extra {extra}", missing or "installed")


def _is_installed(requirement: Requirement) -> bool:
    """Return True if a package is installed, and all packages of its requested extras, such as Dask's for apache-beam[dask]."""
    if not _version(requirement.name):
        return False
    needed = [Requirement(line) for line in (metadata.requires(requirement.name) or () if requirement.extras else ())]
    environments = [{"extra": extra} for extra in requirement.extras]
    return all(_version(each.name) for each in needed if each.marker and any(map(each.marker.evaluate, environments)))


def _version(name: str) -> str:
    """Return the installed version of a package, or an empty string."""
    return next((found.version for found in metadata.distributions(name=name)), "")


def _show(name: str, value: str, advice: str = "") -> None:
    echo(f"{'!' if advice else ' '} {name:22} {value}{': ' if advice else ''}{advice}")
