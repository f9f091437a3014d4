"""Run the pipeline of a job on the engine that Beam's options name, and raise bertdata's errors.

A job's methods are the work, and a pipeline says in which order an engine calls them. Beam sends the job, 2 kB, to the workers,
which must see the input and the output under the same names as the command.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from collections.abc import Iterator, Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

from bertdata import errors
from bertdata.dataset.build import is_in_place
from bertdata.errors import BertDataError, TransferError, UsageError
from bertdata.records import Task
from bertdata.run.job import Job
from bertdata.stages.corpus.job import CorpusJob
from bertdata.stages.rows.job import PairsJob
from bertdata.stages.vocab import VocabJob

from .build_corpus import BuildCorpus
from .make_pairs import MakePairs
from .train_vocab import TrainVocab

_PIPELINES = {CorpusJob: BuildCorpus, VocabJob: TrainVocab, PairsJob: MakePairs}
_DASK = "apache_beam.runners.dask.dask_runner.DaskRunner"  # Beam does not know it by its short name
_DASK_PARTITIONS = 256  # by default, Beam puts up to 128 tasks into one partition, which one worker does
_LOCAL = ("FnApiRunner", "DirectRunner", "DaskRunner")  # all their options are Beam's; job services have options of their own
_OURS = re.compile(r"bertdata\.errors\.(\w+): ([^\n]*?)(?: \[while running|\n|$)")


def parse(arguments: Sequence[str]) -> PipelineOptions:
    """Return the options of Beam, which name a runner. Raise UsageError for a wrong one."""
    with _as_usage():
        options = PipelineOptions([*arguments], save_main_session=False)
        chosen = options.view_as(StandardOptions)
        if not chosen.runner:
            raise UsageError(f"{arguments[0]}: a local run takes no options of Beam. Omit it, or name a --runner, too")
        if _name(options).lower() in ("dask", "daskrunner"):
            from apache_beam.runners.dask.dask_runner import DaskOptions

            chosen.runner, dask = _DASK, options.view_as(DaskOptions)
            if dask.npartitions is None and dask.partition_size is None:
                dask.npartitions = _DASK_PARTITIONS
        known = options.get_all_options()  # parses all of them
        if _name(options) in _LOCAL and (unknown := options.get_all_options(retain_unknown_options=True).keys() - known.keys()):
            raise UsageError(f"options after --: Beam does not know {', '.join(sorted(unknown))} for {_name(options)}")
        _pipeline(options)
    return options


def run(job: Job, tasks: Sequence[Task], options: PipelineOptions) -> None:
    """Run the pipeline of a job to its end. Raise the BertDataError of a task, or TransferError if the engine failed."""
    pipeline, runner = _pipeline(options), _name(options)
    _ = pipeline | _PIPELINES[type(job)](job, tasks)
    result = None
    try:
        result = pipeline.run()
        result.wait_until_finish()
    except Exception as error:
        raise _original(error, runner) from error
    finally:
        if client := getattr(result, "client", None):
            client.close()  # of Dask; its local cluster ends with it
    if not all(map(is_in_place, job.roots)):  # a job that was cancelled
        raise TransferError(f"{runner} ended before the run was complete. Run the same command again")


def _pipeline(options: PipelineOptions) -> beam.Pipeline:
    """Return an empty pipeline. Remove its directory for jars, which Beam would leave in TMPDIR after some errors."""
    pipeline = beam.Pipeline(options=options)
    shutil.rmtree(pipeline.local_tempdir, ignore_errors=True)
    return pipeline


def _name(options: PipelineOptions) -> str:
    """Return the short name of the runner."""
    return str(options.view_as(StandardOptions).runner).rpartition(".")[2]


@contextlib.contextmanager
def _as_usage() -> Iterator[None]:
    """Convert Beam's reaction to a wrong option, an error or an exit with a usage page, to a UsageError."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            yield
    except SystemExit as error:
        raise UsageError(f"options after --: {output.getvalue().strip().rpartition('error: ')[2]}") from error
    except (AttributeError, ImportError, RuntimeError, ValueError) as error:
        raise UsageError(f"options after --: {' '.join(str(error).split())}") from error


def _original(error: BaseException, runner: str) -> BertDataError:
    """Find the error that a task raised in the engine's exception. Some engines keep only its text."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BertDataError):
            return type(cause)(str(cause).partition(" [while running")[0])
        if matches := _OURS.findall(str(cause)):
            name, message = matches[-1]
            return getattr(errors, name, BertDataError)(message)
        cause = cause.__cause__ or cause.__context__
    last_line = (str(error).strip() or repr(error)).splitlines()[-1]
    return TransferError(f"the run failed on {runner}: {last_line}. Run the same command again, with --verbose for more")
