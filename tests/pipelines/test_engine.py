"""Beam's options, jobs that workers can take, and the errors of engines."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.runners.dask.dask_runner import DaskOptions
from conftest import SAMPLE, Build

from bertdata import build_corpus, make_pairs
from bertdata.dataset import versions
from bertdata.errors import BertDataError, EmptyResultError, StorageError, TransferError, UsageError
from bertdata.pipelines import engine
from bertdata.pipelines.make_pairs import MakePairs
from bertdata.records import FileRange, Task
from bertdata.run import job
from bertdata.stages.rows.partitions import Layout

FN_API = ("--runner=FnApiRunner",)


@pytest.mark.parametrize(
    ("words", "partitions"),
    [
        ("--runner=DaskRunner", 256),
        ("--runner dask --dask_client_address tcp://127.0.0.1:1", 256),
        (f"--runner={engine._DASK}", 256),
        ("--runner=DaskRunner --dask_npartitions=7", 7),
        ("--runner=DaskRunner --dask_partition_size=1", None),
    ],
)
def test_dask_spreads_tasks_over_partitions(words: str, partitions: int | None) -> None:
    """With Beam's own default, one worker gets up to 128 tasks before another one gets the next."""
    options = engine.parse(words.split())
    assert options.view_as(DaskOptions).npartitions == partitions
    assert isinstance(engine._pipeline(options).runner, beam.runners.dask.dask_runner.DaskRunner)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--direct_num_workers=2", "^--direct_num_workers=2: a local run takes no options of Beam"),
        ("--runner=FnApiRunner --direct_num_workers=x", "direct_num_workers: invalid int value: 'x'"),
        ("--runner=DaskRunner --dask_npartitions=many", "dask_npartitions: invalid int value: 'many'"),
        ("--runner=DaskRunner --dask_client_adress=tcp://a:1", "does not know dask_client_adress for DaskRunner"),
        ("--runner=Nope", "Unexpected pipeline runner: Nope"),
        ("--runner=no.such.Runner", "No module named 'no'"),
        ("--runner=DataflowRunner", "Missing required option: project"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(words: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        build_corpus(books=SAMPLE / "books", output=tmp_path / "corpus", beam_args=tuple(words.split()))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_a_runner_is_named_in_two_words(build: Build, tmp_path: Path) -> None:
    assert (build("build-corpus", tmp_path / "corpus", "--books", SAMPLE / "books", "--", "--runner", "FnApiRunner")).exists()


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (lambda: EmptyResultError("no text [while running 'Commit']"), EmptyResultError, "^no text$"),
        (
            lambda: RuntimeError("Traceback …\nbertdata.errors.StorageError: disk full [while running"),
            StorageError,
            "^disk full$",
        ),
        (
            lambda: ValueError("line 1\nline 2"),
            TransferError,
            "^the run failed on FnApiRunner: line 2. Run the same command again",
        ),
        (TimeoutError, TransferError, r"^the run failed on FnApiRunner: TimeoutError\(\)"),
    ],
)
def test_errors_of_engines(
    raised: Callable[[], Exception], kind: type[BertDataError], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A task's own error is raised as it is. Any other failure names the runner, and has exit code 4."""

    def fail(self: Any) -> None:
        raise RuntimeError("the engine's own words") from raised()

    error = raised()
    monkeypatch.setattr(beam.Pipeline, "run", lambda self: _raise(error) if kind is TransferError else fail(self))
    with pytest.raises(kind, match=message):
        build_corpus(books=SAMPLE / "books", output=tmp_path / "corpus", beam_args=FN_API)
    assert kind is not TransferError or kind.exit_code == 4


def _raise(error: Exception) -> None:
    raise error


def test_a_job_that_ends_early_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(beam.Pipeline, "run", lambda self: SimpleNamespace(wait_until_finish=lambda: "CANCELLED"))
    with pytest.raises(TransferError, match="^FnApiRunner ended before the run was complete. Run the same command again"):
        build_corpus(books=SAMPLE / "books", output=tmp_path / "corpus", beam_args=FN_API)


def test_a_job_is_small_for_any_number_of_tasks(
    sample_corpus: Path, sample_vocab: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """Dataflow takes a pipeline of 10 MB. Each worker gets the job with each stage."""
    made: list[Any] = []
    monkeypatch.setattr(engine, "run", lambda job, tasks, options: made.append(job))
    with pytest.raises(BertDataError):  # nothing is run
        make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "rows", beam_args=FN_API)
    (pairs,) = made
    assert len(pickle.dumps(pairs)) < 4000
    object.__setattr__(pairs, "layout", Layout(0, 1700, 0.0))
    parts = (FileRange("train-00000-of-40000.arrow", "gs://bucket/corpus/data/train-00000-of-40000.arrow", 0, 1 << 24),)
    pipeline = engine._pipeline(engine.parse(FN_API))
    _ = pipeline | MakePairs(pairs, [Task(number, "documents", parts) for number in range(8_000)])
    assert len(pipeline.to_runner_api().SerializeToString()) < 400_000


@pytest.mark.parametrize("change", ["package", "code"])
def test_a_worker_with_other_versions_is_refused(change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It would write other bytes. All stages check, because a worker may get no task of the first one."""
    checked = partial(build_corpus, books=SAMPLE / "books", output=tmp_path / "corpus", workers=1)
    known = versions.versions(())

    def other(packages: tuple[str, ...]) -> dict[str, str]:
        found = versions.versions(packages)
        return {**found, "code": "0f"} if change == "code" else {**found, next(iter(found)): "1.0"}

    assert known
    monkeypatch.setattr(job, "installed", other)
    with pytest.raises(UsageError, match=r"a worker on .* has .* (1\.0|0f), not .*\. Install the same versions on all hosts"):
        checked()
