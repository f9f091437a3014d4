"""Run a bertdata command and measure its wall time, CPU time, and the peak memory of each of its processes."""

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

_INTERVAL = 0.05  # seconds between two samples of the processes
_PEAK = re.compile(rb"^VmHWM:\s+(\d+)", re.MULTILINE)


def numbers(text: str) -> list[int]:
    """Parse comma-separated numbers without repeats, in order. Raise ValueError for a number below 1."""
    found = sorted({int(part) for part in text.split(",")})
    if found[0] < 1:
        raise ValueError
    return found


@contextlib.contextmanager
def workplace(parent: Path | None) -> Iterator[Path]:
    """Create a directory for files that a benchmark writes, below the user's directory, and remove it at the end."""
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"bertdata-{Path(sys.argv[0]).stem}-", dir=parent) as directory:
        yield Path(directory)


class Run(NamedTuple):
    """Resources of a command: seconds, CPU seconds of all its processes, and peak bytes of the driver and of every other process.

    A peak is VmHWM, the maximum resident memory of a process, including pages of mapped files and shared libraries.
    """

    seconds: float
    cpu: float
    driver: int
    workers: list[int]

    @property
    def worker(self) -> int:
        """The largest peak of a worker process, or of the driver if it has no workers."""
        return max(self.workers, default=self.driver)


class Command:
    """A process that runs `bertdata ARGUMENTS`. After `poll` returns True, its exit code and output are available."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._said = TemporaryFile()  # noqa: SIM115 - closed at its end
        command = [str(Path(sys.executable).with_name("bertdata")), *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self._said)
        self.pid, self.code, self.cpu, self.said = self._process.pid, 0, 0.0, b""

    def poll(self) -> bool:
        """Return True if it has ended. `cpu` is then its CPU time with its children's."""
        ended, status, usage = os.wait4(self.pid, os.WNOHANG)
        if ended:
            self._process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self.cpu = usage.ru_utime + usage.ru_stime
            with self._said:
                self._said.seek(0)
                self.said = self._said.read()
        return bool(ended)


def run(arguments: Sequence[str]) -> Run:
    """Run a command to its end and watch all its processes. Exit with its output if it fails."""
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
    """Return a process and all its descendants."""
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
