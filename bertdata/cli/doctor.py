"""`bertdata doctor`: check this machine's setup before a run."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from importlib import metadata

import click

from .. import __version__
from ..extras import EXTRAS, install
from ..reports.summary import count, size
from ..storage import cgroup
from ..storage.process import cores, usable_cpus
from .console import echo
from .options import Command

_NAME = re.compile(r"[\w.-]+")  # of the package of a requirement
_MIN_MEMORY = 2_000_000_000  # bytes: two workers and the driver


@click.command("doctor", cls=Command, writes=False)
def command() -> None:
    """Check this machine's setup: versions, optional packages, CPUs, memory and disk.

    Lines that begin with ! suggest a change. The command changes nothing.
    """
    _show("bertdata", f"{__version__}, Python {platform.python_version()}, {os.uname().sysname} {os.uname().machine}")
    for requirement in (each for each in metadata.requires("bertdata") or () if ";" not in each):
        version = _version(requirement)
        _show(_name(requirement), version or "not installed", "" if version else f"pip install '{requirement}'")
    limits, total = cgroup.limits(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    _show("CPUs", f"{usable_cpus()} usable: up to {count(cores(), 'worker')} by default")
    limit = "" if limits.memory is None else f", limit of the container {size(limits.memory)}"
    is_little = min(total, limits.memory or total) < _MIN_MEMORY
    advice = "use fewer --workers: each needs about 300 MB, the driver 250 MB" if is_little else ""
    _show("memory", f"{size(total)}{limit}", advice)
    for name, directory in (("disk here", os.getcwd()), ("disk of TMPDIR", tempfile.gettempdir())):
        disk = shutil.disk_usage(directory)
        _show(name, f"{size(disk.free)} free of {size(disk.total)} in {directory}")
    for extra, libraries in EXTRAS.items():
        state = (
            f"installed: {', '.join(re.sub('[<>=].*', '', each) for each in libraries)}"
            if all(map(_version, libraries))
            else f"not installed: {install(extra)}"
        )
        _show(f"extra {extra}", state)


def _version(requirement: str) -> str:
    """Return the installed version of a requirement's package, or an empty string."""
    try:
        return metadata.version(_name(requirement))
    except metadata.PackageNotFoundError:
        return ""


def _name(requirement: str) -> str:
    return _NAME.match(requirement)[0]  # type: ignore[index]


def _show(name: str, value: str, advice: str = "") -> None:
    echo(f"{'!' if advice else ' '} {name:22} {value}{': ' if advice else ''}{advice}")
