"""A job on an engine elsewhere: when its directory is held for it, and when it is released."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineState
from bertdata.pipelines.engines import jobs

from bertdata.errors import BertDataError
from bertdata.storage.lock import Job

BEFORE, AFTER = Job("", "PortableRunner", "localhost:8099"), Job("7", "PortableRunner", "localhost:8099")
PortableRunner = type("PortableRunner", (), {})


class Result:
    """What a service says of a job that it was given; `end` is what waiting for it returns or raises."""

    _job_id = "7"

    def __init__(self, end: str | Exception, state: str = PipelineState.RUNNING) -> None:
        self.end, self.state = end, state

    def wait_until_finish(self) -> str:
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


def _submit(monkeypatch: pytest.MonkeyPatch, start: Callable[[], Any], wait: bool = True) -> list[Job | str]:
    """Return what happened to the directory, in order."""
    events: list[Job | str] = []
    monkeypatch.setattr(jobs, "reserve", lambda state, job: events.append(job))
    monkeypatch.setattr(jobs, "release", lambda state: events.append("released"))
    options = PipelineOptions(["--job_endpoint=localhost:8099"])
    try:
        jobs.submit(start, PortableRunner(), options, [Path("state")], wait)
    except (BertDataError, OSError) as error:
        events.append(type(error).__name__)
    return events


@pytest.mark.parametrize(
    ("result", "happened"),
    [
        (Result(PipelineState.DONE), ["released"]),
        (Result(PipelineState.FAILED), ["released", "BertDataError"]),
        (Result(OSError(), PipelineState.FAILED), ["released", "OSError"]),
        (Result(OSError()), ["OSError"]),  # this command has lost sight of it
    ],
)
def test_a_directory_is_held_for_a_job_until_it_is_over(
    monkeypatch: pytest.MonkeyPatch, result: Result, happened: list[str]
) -> None:
    assert _submit(monkeypatch, lambda: result) == [BEFORE, AFTER, *happened]


def test_a_job_that_is_not_waited_for_stays_held(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _submit(monkeypatch, lambda: Result(PipelineState.DONE), wait=False) == [BEFORE, AFTER]


def test_a_job_that_no_service_takes_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> Any:
        raise OSError

    assert _submit(monkeypatch, refused) == [BEFORE, "released", "OSError"]
