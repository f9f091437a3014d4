"""The steps of a chain: done in this process they give what Beam gives, one element at a time, and their errors are ours."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from bertdata.pipelines.engines import engine, one_process
from bertdata.pipelines.engines.on_beam import on_beam
from bertdata.pipelines.steps import Create, FlatMap, GroupByKey, Here, Map, Step, Steps, ToList
from conftest import SAMPLE

from bertdata.errors import BertDataError, EmptyResultError


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
        return words | "All" >> ToList() | "Tell" >> Map(_tell, str(self._told))


def _pair(word: str, count: int) -> tuple[str, int]:
    return word, count


def _sum(group: tuple[str, Iterable[int]]) -> tuple[str, int]:
    return group[0], sum(group[1])


def _tell(found: list[tuple[str, int]], told: str) -> None:
    Path(told).write_text(repr(sorted(found)))


@pytest.mark.parametrize("sentences", [["tea and", "tea", "and tea"], []])
def test_beam_gives_the_same(tmp_path: Path, sentences: list[str]) -> None:
    one_process.run(Chain(sentences, tmp_path / "here"))
    engine.run(Chain(sentences, tmp_path / "beam"), tasks=1, beam_args=["--runner=FnApiRunner"])
    if sentences:
        assert (tmp_path / "here").read_text() == (tmp_path / "beam").read_text() == "[('and', 2), ('tea', 3)]"
    assert [path.name for path in tmp_path.iterdir()] in ([], ["here", "beam"], ["beam", "here"])


def test_a_label_is_of_one_place() -> None:
    step = Map(str)
    assert ("One" >> step).label == "One" and ("Two" >> step).label == "Two" and step.label == ""
    assert (on_beam("One" >> step)).label.startswith("Map")


def test_elements_come_one_at_a_time_up_to_the_next_grouping() -> None:
    seen: list[Any] = []

    def note(element: int, name: str) -> tuple[int, int]:
        seen.append((name, element))
        return element % 2, element

    def see(element: tuple[int, Any]) -> tuple[int, Any]:
        seen.append(("second", element[1]))
        return element

    found = Here() | "Create" >> Create([1, 2]) | "First" >> Map(note, "first") | "Second" >> Map(see)
    assert seen == [] and list((found | "Group" >> GroupByKey()).elements) == [(1, [1]), (0, [2])]
    assert seen == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]


class Failing(Step):
    """A step that raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def expand(self, found: Steps) -> Steps:
        return found | "Create" >> Create([1]) | "Raise" >> Map(self._raise)

    def _raise(self, element: int) -> None:
        raise self._error


def test_errors_of_steps_are_ours(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)  # commands that other tests ran in this process may have set another
    with pytest.raises(EmptyResultError, match="^nothing is left$"):
        one_process.run(Failing(EmptyResultError("nothing is left")))
    with pytest.raises(KeyboardInterrupt):
        one_process.run(Failing(KeyboardInterrupt()))
    assert not caplog.records
    with pytest.raises(BertDataError, match="^the run failed: KeyError: 'tea': run the same command again"):
        one_process.run(Failing(KeyError("tea")))
    assert caplog.records[0].levelno == logging.ERROR and caplog.records[0].exc_info, "--verbose shows where"


@pytest.mark.slow
def test_one_worker_needs_no_beam(tmp_path: Path) -> None:
    """It would take half of a small run's time; nor is pandas imported, for which pyarrow looks."""
    arguments = ["build-corpus", "--books", str(SAMPLE / "books"), "--output", str(tmp_path / "out"), "--workers", "1"]
    code = f"import sys; sys.argv[1:] = {arguments!r}\nfrom bertdata.__main__ import main\n"
    code += "try: main()\nfinally: print('loaded', *{'apache_beam', 'grpc', 'pandas', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded pyarrow"
