"""Commands of bertdata, or other code, in new processes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

__all__ = ["COMMAND", "Started", "fsync", "skip_fsync", "start"]

COMMAND = [sys.executable, "-m", "bertdata"]
fsync = os.fsync


def skip_fsync() -> None:
    """Don't wait for the disk in this process: tests/storage/test_flushed.py tests what is flushed, and when."""
    os.fsync = lambda _: None


class Started(subprocess.Popen[bytes]):
    """`bertdata ARGUMENTS`, or `python -c CODE ARGUMENTS`, in a session of its own; its output goes to files, not to pipes."""

    def __init__(
        self, arguments: Sequence[object], cwd: Path | None = None, env: dict[str, str] | None = None, code: str = ""
    ) -> None:
        self._files = (TemporaryFile(), TemporaryFile())  # noqa: SIM115 - closed when the process has ended
        self._printed = (b"", b"")
        command = [*([sys.executable, "-c", code] if code else COMMAND), *map(str, arguments)]
        out, err = self._files
        super().__init__(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd, env=env, start_new_session=True)

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Wait for the end; return what was printed to standard output and to standard error."""
        self.wait(timeout)
        return self._printed

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit code."""
        code = super().wait(timeout)
        for number, file in enumerate(self._files):
            if not file.closed:
                file.seek(0)
                self._printed = (*self._printed[:number], file.read(), *self._printed[number + 1 :])
                file.close()
        return code

    def kill(self) -> None:
        """Kill the process and wait for its end."""
        super().kill()
        self.wait()


def start(*arguments: object) -> Started:
    """Start `bertdata ARGUMENTS`."""
    return Started(arguments)
