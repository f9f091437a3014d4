"""Let benchmarks/measured.py run commands in forks, which are started sooner, and measure them as it measures any process."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import REPOSITORY
from forking import forks

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import measured  # noqa: E402

__all__ = ["ForkedCommand", "fork_commands"]


class ForkedCommand(measured.Command):
    """A fork that runs `bertdata ARGUMENTS`; its workers are processes that start anew."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._started = forks().start([*arguments], Path.cwd(), dict(os.environ))
        self.pid, self.code, self.cpu, self.said = self._started.pid, 0, 0.0, b""

    def poll(self) -> bool:
        """Tell whether it has ended."""
        if (code := self._started.poll()) is None:
            return False
        self.code, self.cpu, self.said = code, self._started.cpu, self._started.communicate()[1]
        return True


def fork_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `measured.run` fork commands, of a process that has the environment as it is now."""
    forks()
    monkeypatch.setattr(measured, "Command", ForkedCommand)
