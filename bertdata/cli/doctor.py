"""`bertdata doctor`: what this machine has for a run, and what it lacks."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from .. import __version__
from ..config.engines import ENGINES, Engine
from ..extras import EXTRAS, install
from ..io import cgroup, machine
from ..io.process import cores, usable_cpus
from ..report.words import count, size
from .options import Command
from .output import echo

__all__ = ["command"]

_NEEDED = ("apache-beam", "numpy", "pyarrow", "tokenizers", "sentencex", "click", "rich", "requests")
_ENGINE_EXTRAS = ("dask", "spark", "gcp")  # shown with the engines
_JARS = "~/.apache_beam/cache/jars"  # where Beam keeps those that it has fetched: utils/subprocess_server.py, JAR_CACHE
_HOSTS = {  # of downloads: what takes their place
    "dumps.wikimedia.org": "bertdata download wikipedia takes --base-url of a mirror",
    "huggingface.co": "bertdata download hub takes --base-url, or HF_ENDPOINT, of a mirror",
}
_SECONDS = 3.0  # for a host to answer
_FEW_FILES, _LITTLE = 256, 2_000_000_000  # open files of some twenty workers; bytes of memory of two workers and the driver


class Finding(NamedTuple):
    """A line: what was looked at, what was found out, and what to do where that is too little."""

    name: str
    found_out: str
    advice: str = ""


@click.command("doctor", cls=Command, writes=False)
@click.option("--offline", is_flag=True, help="Do not look whether the hosts of downloads can be reached.")
def command(offline: bool) -> None:
    """Check this machine: versions, optional packages, CPUs, memory, disk, limits, engines, hosts.

    A line that begins with ! says what is missing or little, and what to do; nothing is changed.  The exit code is 0 in any case.
    """
    findings = [*_versions(), *_machine(), *_limits(), *_extras(), *_engines(), *(() if offline else _hosts())]
    for finding in findings:
        advice = f": {finding.advice}" if finding.advice else ""
        echo(f"{'!' if finding.advice else ' '} {finding.name:22} {finding.found_out}{advice}")
    lacking = sum(bool(finding.advice) for finding in findings)
    echo(f"{count(lacking, 'line')} with ! to look at" if lacking else "all that a local run needs is here")


def _versions() -> Iterator[Finding]:
    yield Finding("bertdata", f"{__version__}, Python {platform.python_version()}, {os.uname().sysname} {os.uname().machine}")
    for name in _NEEDED:
        version = machine.installed(name)
        yield Finding(name, version or "not installed", "" if version else f"pip install {name}")
    for model, library in (("WordPiece", "nanotoken"), ("byte-level BPE", "gigatoken")):
        version = machine.installed(library)
        slow = f"tokenizers, ten times slower than {library}: pip install {library}"
        yield Finding(f"{model}", f"encoded by {library} {version}" if version else f"encoded by {slow}")


def _machine() -> Iterator[Finding]:
    limits = cgroup.limits()
    quota = "" if limits.cores is None else f", CPU quota {limits.cores:g}"
    yield Finding("CPUs", f"{usable_cpus()} usable{quota}: up to {count(cores(), 'worker')} by default")
    total, free = machine.memory()
    limit = "" if limits.memory is None else f", limit of the container {size(limits.memory)}"
    few = "use fewer --workers: each needs about 300 MB, the driver 250 MB" if min(free, limits.memory or free) < _LITTLE else ""
    yield Finding("memory", f"{size(total)}, {size(free)} free{limit}", few)
    for name, where in (("space here", Path.cwd()), ("space of TMPDIR", Path(tempfile.gettempdir()))):
        disk = shutil.disk_usage(where)
        yield Finding(name, f"{size(disk.free)} free of {size(disk.total)} in {where}")


def _limits() -> Iterator[Finding]:
    soft, hard = machine.open_files()
    yield Finding("open files", f"{soft:,}, at most {hard:,}", "ulimit -n 1024" if 0 < soft < _FEW_FILES else "")


def _extras() -> Iterator[Finding]:
    for extra, (purpose, _, modules) in EXTRAS.items():
        if extra in _ENGINE_EXTRAS:
            continue
        lost = machine.missing(modules)
        yield Finding(f"extra {extra}", f"not here ({install(extra)}): {purpose}" if lost else f"here: {purpose}")


def _engines() -> Iterator[Finding]:
    for engine in (Engine("local"), *ENGINES.values()):
        if not engine.title:
            continue
        lost = machine.missing(("apache_beam", *engine.modules))
        lost += [engine.program] if engine.program and not shutil.which(engine.program) else []
        found = f"needs {', '.join(lost)} (docs/how-to/engines.md)" if lost else "can be used"
        yield Finding(
            f"engine {engine.title}", found if not engine.jar or lost else f"{engine.program} is here; {_jar(engine.jar)}"
        )


def _jar(start: str) -> str:
    """Say whether the job server of an engine is here, as Beam keeps it, or would be fetched when a run begins."""
    jar = f"{start}-{machine.installed('apache-beam')}.jar"
    if (Path(_JARS).expanduser() / jar).exists():
        return f"{jar} is in {_JARS}: can be used"
    return f"{jar} is not: a run fetches it from Maven Central, unless it is named (docs/how-to/engines.md)"


def _hosts() -> Iterator[Finding]:
    for host, problem in machine.reachable(tuple(_HOSTS), _SECONDS).items():
        yield Finding(host, f"cannot be reached ({problem})" if problem else "can be reached", _HOSTS[host] if problem else "")
