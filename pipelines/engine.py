"""Run a pipeline on the engine that Beam's options name, and convert its errors to bertdata's."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

from bertdata import errors
from bertdata.errors import BertDataError, UsageError
from bertdata.exports.work import ExportJob
from bertdata.records import Task
from bertdata.run.job import Job
from bertdata.stages.corpus.job import CorpusJob
from bertdata.stages.rows.job import PairsJob
from bertdata.stages.vocab import VocabJob
from bertdata.storage.storage import storage_error

from .build_corpus import BuildCorpus
from .export import Export
from .make_pairs import MakePairs
from .train_vocab import TrainVocab

__all__ = ["run"]

_PIPELINES = {CorpusJob: BuildCorpus, VocabJob: TrainVocab, PairsJob: MakePairs, ExportJob: Export}
# Beam does not know DaskRunner by its short name. By default, it puts 128 tasks into one partition, which one worker does.
_DASK = ("--runner=apache_beam.runners.dask.dask_runner.DaskRunner", "--dask_npartitions=256")
_OURS = re.compile(r"bertdata\.errors\.(\w+): ([^\n]*?)(?: \[while running|\n|$)")


def run(job: Job, tasks: Sequence[Task], arguments: Sequence[str]) -> None:
    """Run the pipeline of a job to its end. Beam gets these arguments, which name a runner.

    Raise the BertDataError that a task raised on any engine, or BertDataError for a failure of the engine.
    """
    if "--runner=DaskRunner" in arguments:
        arguments = [*_DASK, *(argument for argument in arguments if argument != "--runner=DaskRunner")]
    with _as_usage():
        options = PipelineOptions([*arguments], save_main_session=False)
        options.get_all_options()  # parses all of them
        if not (runner := options.view_as(StandardOptions).runner):
            raise UsageError(f"{arguments[0]}: a local run takes no options of Beam: omit it, or name a --runner too")
        pipeline = beam.Pipeline(options=options)
    _ = pipeline | _PIPELINES[type(job)](job, tasks)
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:
        raise _original(error, runner) from error


@contextlib.contextmanager
def _as_usage() -> Iterator[None]:
    """Convert Beam's reaction to a wrong option, an error or an exit with a usage page, to a UsageError."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            yield
    except SystemExit as error:
        raise UsageError(f"options after --: {output.getvalue().strip().rpartition('error: ')[2]}") from error
    except (ValueError, ImportError) as error:
        raise UsageError(f"options after --: {' '.join(str(error).split())}") from error


def _original(error: BaseException, runner: str) -> BertDataError:
    """Find the error that a task raised in Beam's exception. Some engines keep only its text."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BertDataError):
            return type(cause)(str(cause).partition(" [while running")[0])
        if matches := _OURS.findall(str(cause)):
            name, message = matches[-1]  # the first match in a traceback is the first cause
            kind = getattr(errors, name, BertDataError)
            return kind(message) if issubclass(kind, BertDataError) else BertDataError(message)
        if errors.system_limit(cause) and (limit := storage_error(cause)):
            return limit
        cause = cause.__cause__ or cause.__context__
    last_line = (str(error).strip() or repr(error)).splitlines()[-1]
    return BertDataError(f"the run failed on {runner}: {last_line}: run the same command again, with --verbose for more")
