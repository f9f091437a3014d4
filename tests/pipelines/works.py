"""Work for tests of local runs, which worker processes can import."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bertdata.errors import EmptyResultError
from bertdata.run.job import Stage


class Numbers(NamedTuple):
    """A job whose tasks are the numbers below `count`."""

    count: int
    work: Callable[..., object]
    arguments: tuple[Any, ...] = ()
    roots: tuple[Path, ...] = (Path("nothing"),)

    def stages(self, tasks: Sequence[Any]) -> list[Stage]:
        """Return the one stage."""
        return [Stage("work", partial(self.work, *self.arguments), range(self.count))]

    def commit(self) -> None:
        """Do nothing."""


def note(folder: Path, slow: float, number: int) -> None:
    """Write a file with the number of this process. The first task takes `slow` seconds."""
    time.sleep(0 if number else slow)
    (folder / str(number)).write_text(str(os.getpid()))


class Odd(Exception):
    """An exception that cannot be unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("odd")


ERRORS = {
    "ours": lambda: EmptyResultError("nothing in number 1"),
    "odd": lambda: Odd(1, 2),
    "end of a file": lambda: EOFError("the file ends early"),  # which the end of a pipe raises, too
    "key": lambda: KeyError("tea"),
    "interrupt": KeyboardInterrupt,
}


def fail(kind: str, busy: float, number: int) -> None:
    """Stay busy in the first task; raise in the second one."""
    if number == 0:
        time.sleep(busy)
    else:
        raise ERRORS[kind]()


def speak(number: int) -> bytes:
    """Print to both streams, and return more than a pipe holds at once."""
    print(f"said to stdout {number}\n", end="")
    os.write(1, b"written to 1\n")
    print("said to stderr\n", end="", file=sys.stderr)
    return bytes(1 << 20)


class Unreadable:
    """Work that no worker can unpickle."""

    def __call__(self, element: object) -> None:
        raise AssertionError("it was read")

    def __reduce__(self) -> tuple[object, ...]:
        return _missing, ()


def _missing() -> None:
    raise ModuleNotFoundError("no module of the user's")
