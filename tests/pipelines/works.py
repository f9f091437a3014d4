"""Chains of steps for tests, whose functions worker processes can import."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bertdata.chains.steps import Create, FlatMap, GroupByKey, Map, Step, Steps, ToList

from bertdata.errors import EmptyResultError

Group = tuple[int, Iterable[int]]


class Work(Step):
    """Do `work` with each of so many numbers."""

    def __init__(self, count: int, work: Callable[..., Any], *arguments: Any) -> None:
        self._count, self._work = count, Map(work, *arguments)

    def expand(self, begin: Steps) -> Steps:
        numbers = begin | "Create" >> Create([(number, number) for number in range(self._count)])
        return numbers | "Spread" >> GroupByKey() | "Work" >> self._work


def note(group: Group, folder: Path, slow: float = 0) -> None:
    """Leave a file with the process that does it; for the first number that takes `slow` seconds."""
    number = group[0]
    time.sleep(0 if number else slow)
    (folder / str(number)).write_text(str(os.getpid()))


def die_beside(group: Group, folder: Path) -> None:
    """Be busy for the first number; for the second, die while the other is busy."""
    if group[0] == 0:
        (folder / "busy").write_text(str(os.getpid()))
        time.sleep(300)
    while not (folder / "busy").exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(group: Group, folder: Path) -> None:
    """Leave a file for each number; the first time that number 3 comes, die."""
    number = group[0]
    if number == 3 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    with (folder / str(number)).open("a") as file:
        file.write("done\n")


def fail_beside(group: Group) -> None:
    """Be busy for the first number; for the second, raise."""
    if group[0] == 0:
        time.sleep(300)
    raise EmptyResultError("nothing in number 1")


class Odd(Exception):
    """An exception that no other process can make again."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("odd")


def fail_oddly(group: Group) -> None:
    raise Odd(1, 2)


def end_early(group: Group) -> None:
    """Raise what also the end of a pipe raises."""
    raise EOFError("the file ends early")


def speak(group: Group) -> bytes:
    """Print to both streams, and return more than a pipe holds at a time."""
    print(f"said to stdout {group[0]}\n", end="")  # in one write: another worker may print at the same moment
    os.write(1, b"written to 1\n")
    print("said to stderr\n", end="", file=sys.stderr)
    return bytes(1 << 20)


def touch(path: Path) -> None:
    path.touch()


class Unreadable:
    """Work that no worker can be told of."""

    def __call__(self, element: object) -> None:
        raise AssertionError("it was read")

    def __reduce__(self) -> tuple[object, ...]:
        return _raise, (None, ModuleNotFoundError("no module of the user's"))


class Long(Step):
    """Two stages with large elements, whose number of bytes goes to `told`."""

    def __init__(self, told: Path) -> None:
        self._told = told

    def expand(self, begin: Steps) -> Steps:
        return Work(5, speak).expand(begin) | "Count" >> Map(len) | "All" >> ToList() | "Tell" >> Map(_tell, self._told)


class Words(Step):
    """Sentences -> how often each word stands in them."""

    def expand(self, found: Steps) -> Steps:
        return found | "Split" >> FlatMap(str.split) | "Pair" >> Map(_pair, 1) | "By word" >> GroupByKey() | "Sum" >> Map(_sum)


class Chain(Step):
    """Numbers of words, in one list, which goes to `told`."""

    def __init__(self, sentences: list[str], told: Path) -> None:
        self._sentences, self._told = sentences, told

    def expand(self, found: Steps) -> Steps:
        words = found | "Sentences" >> Create(self._sentences) | "Words" >> Words()
        return words | "All" >> ToList() | "Tell" >> Map(_tell, self._told)


def _pair(word: str, count: int) -> tuple[str, int]:
    return word, count


def _sum(group: tuple[str, Iterable[int]]) -> tuple[str, int]:
    return group[0], sum(group[1])


def _tell(found: list[Any], told: Path) -> None:
    told.write_text(repr(sorted(found)))


class Failing(Step):
    """A step that raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def expand(self, found: Steps) -> Steps:
        return found | "Create" >> Create([1]) | "Raise" >> Map(_raise, self._error)


def _raise(element: int, error: BaseException) -> None:
    raise error
