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


class Command:
    """A process that runs `bertdata ARGUMENTS`: once `poll` says so it has ended, with this exit code and so much said."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._said = TemporaryFile()  # noqa: SIM115 - closed when it has ended
        command = [str(Path(sys.executable).with_name("bertdata")), *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self._said)
        self.pid, self.code, self.cpu, self.said = self._process.pid, 0, 0.0, b""

    def poll(self) -> bool:
        """Return True if it has ended; `cpu` is what it and those it waited for took."""
        ended, status, usage = os.wait4(self.pid, os.WNOHANG)
        if ended:
            self._process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self.cpu = usage.ru_utime + usage.ru_stime
            with self._said:
                self._said.seek(0)
                self.said = self._said.read()
        return bool(ended)


def run(arguments: Sequence[str]) -> Run:
    """Run a command to its end, and watch all its processes; exit with what it said if it fails."""
    print(f"bertdata {arguments[0]} …", file=sys.stderr, flush=True)
    started, peaks, command = time.monotonic(), dict[int, int](), Command(arguments)
    while True:
        for pid in _family(command.pid):
            peaks[pid] = max(_peak(pid), peaks.get(pid, 0))
        time.sleep(_INTERVAL)
        if command.poll():
            break
    seconds = time.monotonic() - started
    if command.code:
        text, name = command.said.decode(errors="replace"), Path(sys.argv[0]).name
        sys.exit(f"{name}: bertdata {' '.join(arguments)} ended with exit code {command.code}:\n{text}")
    driver = peaks.pop(command.pid)
    return Run(seconds, command.cpu, driver, list(peaks.values()))


def _family(root: int) -> list[int]:
    """Return a process and all below it."""
    found = [root]
    for pid in found:
        with contextlib.suppress(OSError):  # it has ended in the meantime
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", "rb", 0) as children:
                    found += map(int, children.read().split())
    return found


def _peak(pid: int) -> int:
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_bytes())
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0
