"""The steps of a chain: done in this process they give what Beam gives, one element at a time, and their errors are ours."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bertdata.chains import local
from bertdata.chains.steps import Create, GroupByKey, Map
from bertdata.pipelines.engines import engine
from bertdata.pipelines.engines.on_beam import on_beam
from conftest import SAMPLE
from works import Chain, Failing

from bertdata.errors import BertDataError, EmptyResultError


@pytest.mark.parametrize("sentences", [["tea and", "tea", "and tea"], []])
def test_workers_and_beam_give_the_same(tmp_path: Path, sentences: list[str]) -> None:
    local.run(Chain(sentences, tmp_path / "one"))
    local.run(Chain(sentences, tmp_path / "two"), 2)
    engine.run(Chain(sentences, tmp_path / "beam"), beam_args=["--runner=FnApiRunner"])
    told = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert told == (dict.fromkeys(("one", "two", "beam"), "[('and', 2), ('tea', 3)]") if sentences else {})


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

    stage = local.Stage(local._InProcess(lambda _: None))
    found = stage | "Create" >> Create([1, 2]) | "First" >> Map(note, "first") | "Second" >> Map(see)
    assert seen == [] and list((found | "Group" >> GroupByKey()).results()) == [(1, [1]), (0, [2])]
    assert seen == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_of_steps_are_ours(caplog: pytest.LogCaptureFixture, workers: int) -> None:
    caplog.set_level(logging.ERROR)  # commands that other tests ran in this process may have set another
    with pytest.raises(EmptyResultError, match="^nothing is left$"):
        local.run(Failing(EmptyResultError("nothing is left")), workers)
    with pytest.raises(KeyboardInterrupt):
        local.run(Failing(KeyboardInterrupt()), workers)
    assert not caplog.records
    with pytest.raises(BertDataError, match="^the run failed: KeyError: 'tea': run the same command again"):
        local.run(Failing(KeyError("tea")), workers)
    assert caplog.records[0].levelno == logging.ERROR and caplog.records[0].exc_info, "--verbose shows where"


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_local_run_needs_no_beam(tmp_path: Path, workers: str) -> None:
    """It would take half of a small run's time; nor is pandas imported, for which pyarrow looks."""
    arguments = ["build-corpus", "--books", str(SAMPLE / "books"), "--output", str(tmp_path / "out"), "--workers", workers]
    code = f"import sys; sys.argv[1:] = {arguments!r}\nfrom bertdata.__main__ import main\n"
    code += "try: main()\nfinally: print('loaded', *{'apache_beam', 'grpc', 'pandas', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded pyarrow"
