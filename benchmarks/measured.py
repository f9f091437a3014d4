"""Run a command of bertdata and measure it: seconds, processor time, and the peak memory of each of its processes; and where."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import NamedTuple

__all__ = ["Run", "numbers", "run", "workplace"]

_INTERVAL = 0.05  # seconds between two looks at the processes
_PEAK = re.compile(rb"^VmHWM:\s+(\d+)", re.MULTILINE)


def numbers(text: str) -> list[int]:
    """Read numbers with commas between them, each once, in order; raise ValueError for one that is not above 0."""
    found = sorted({int(part) for part in text.split(",")})
    if found[0] < 1:
        raise ValueError
    return found


@contextlib.contextmanager
def workplace(parent: Path | None) -> Iterator[Path]:
    """Make a directory for what a benchmark grows and writes, in the one that the user names, and remove it at the end."""
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"bertdata-{Path(sys.argv[0]).stem}-", dir=parent) as directory:
        yield Path(directory)


class Run(NamedTuple):
    """What a command took: seconds, processor seconds of all its processes, and the peak bytes of the driver and of each other.

    A peak is VmHWM, the most that a process ever held; pages of mapped files and of shared libraries count too.
    """

    seconds: float
    cpu: float
    driver: int
    workers: list[int]

    @property
    def worker(self) -> int:
        """The peak of the process that does the work and held most: the driver itself where it has no workers."""
        return max(self.workers, default=self.driver)


def run(arguments: Sequence[str]) -> Run:
    """Run a command to its end, and watch all its processes; exit with what it said if it fails."""
    command = [str(Path(sys.executable).with_name("bertdata")), *arguments]
    print(f"bertdata {arguments[0]} …", file=sys.stderr, flush=True)
    started, peaks = time.monotonic(), dict[int, int]()
    with TemporaryFile() as said, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said) as process:
        ended = 0
        while not ended:
            for pid in _family(process.pid):
                peaks[pid] = max(_peak(pid), peaks.get(pid, 0))
            time.sleep(_INTERVAL)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            text, name = said.read().decode(errors="replace"), Path(sys.argv[0]).name
            sys.exit(f"{name}: {' '.join(command)} ended with exit code {process.returncode}:\n{text}")
    driver = peaks.pop(process.pid)
    return Run(seconds, usage.ru_utime + usage.ru_stime, driver, list(peaks.values()))


def _family(root: int) -> list[int]:
    """Return a process and all below it."""
    found = [root]
    for pid in found:
        try:
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, children.read_bytes().split())
        except OSError:
            continue  # it has ended in the meantime
    return found


def _peak(pid: int) -> int:
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_bytes())
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0
