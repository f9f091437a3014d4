"""Run a chain of steps with Beam, on the engine named by its options. Convert Beam's errors to bertdata's."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions, StandardOptions
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.transforms import environments

from bertdata import errors
from bertdata.chains.steps import Step
from bertdata.chains.transforms import Chain
from bertdata.errors import BertDataError, TransferError, UsageError
from bertdata.storage.storage import storage_error

from . import connection, dask_cluster, jobs, runners
from .on_beam import on_beam

__all__ = ["check", "check_reachable", "ended_early", "run"]

_OURS = re.compile(r"bertdata\.errors\.(\w+): ([^\n]*?)(?: \[while running|\n|$)")


def run(
    chain: Step,
    *,
    beam_args: Sequence[str],
    wait: bool = True,
    states: Sequence[Path] = (),
    warn: Callable[[str], object] = warnings.warn,
) -> None:
    """Run a chain of steps to its end. `beam_args`, which name a runner, are passed to Beam unchanged.

    A job that continues without this process reserves the outputs with these `states` until it ends. This call waits for it only
    with `wait`. `warn` gets a line for each worker that Dask loses.
    Raise the BertDataError that a step raised on any engine, TransferError if the engine or its workers are lost, BertDataError
    for another failure of the engine, or KeyboardInterrupt if this process is interrupted.
    """
    # First the values that workers need are written to the output directory, then the job is
    # submitted, whose size does not depend on the input.
    options, runner = _read(beam_args)
    jobs.check_service(runner, options)
    if isinstance(chain, Chain) and not jobs.is_dry_run(runner, options):
        chain.write_plan()
    pipeline = beam.Pipeline(runner=runner, options=options)
    with _without_cell_names():
        _ = pipeline | on_beam(chain)  # named after its class in the UI
    try:
        if jobs.is_elsewhere(runner, options):
            jobs.submit(lambda: _submit(pipeline), runner, options, states, wait)
        else:
            _await(runner, _submit(pipeline), warn)
    except KeyboardInterrupt as stopped:
        interrupt = stopped.args
    except Exception as error:
        raise _original(error, connection.engine_name(runner, options)) from error
    else:
        return
    raise KeyboardInterrupt(*interrupt)  # a new exception, without Beam's stack frames


@contextlib.contextmanager
def _without_cell_names() -> Iterator[None]:
    """Keep Beam from naming steps after a notebook's cell, for which it imports its own data frames, which fail with pandas 3."""
    name = "alter_label_if_ipython"
    kept = getattr(beam.pipeline, name, None)
    setattr(beam.pipeline, name, lambda transform, values: None)
    try:
        yield
    finally:
        setattr(beam.pipeline, name, kept)


def check(beam_args: Sequence[str], workers: int | None, wait: bool = True, paths: Iterable[str | Path] = ()) -> bool:
    """Raise UsageError for invalid options before anything is written. Return True if this is a dry run of a job."""
    options, runner = _read(beam_args, workers)
    if not wait and not jobs.is_elsewhere(runner, options):
        name = options.view_as(StandardOptions).runner
        ends = f"a job of {name} ends" if name else "a local run ends"
        raise UsageError(
            f"`wait`: {ends} with this process: omit it, or name an engine that continues without it after --, such as "
            "--runner=DataflowRunner",
            field="wait",
        )
    dry_run = jobs.is_dry_run(runner, options)
    jobs.check_options(runner, options)
    jobs.check_workers(runner, options, paths)
    with _as_usage():
        beam.Pipeline(runner=runner, options=options)
        if isinstance(runner, PortableRunner):
            environments.Environment.from_options(options.view_as(PortableOptions))
    return dry_run


def check_reachable(beam_args: Sequence[str]) -> None:
    """Raise TransferError if the engine is unreachable. An engine started by the run, or as a service, is not checked."""
    options, runner = _read(beam_args)
    jobs.check_service(runner, options)
    try:
        with _as_usage():
            dask_cluster.check_reachable(runner, options)
            connection.check_spark(runner, options)
    except BertDataError:
        raise
    except Exception as error:
        raise _original(error, connection.engine_name(runner, options), "cannot be reached") from error


def ended_early(beam_args: Sequence[str]) -> TransferError:
    """Return the error for an engine that reports no failure although the last step did not run."""
    options, runner = _read(beam_args)
    return TransferError(f"{connection.engine_name(runner, options)} was lost: it ended before the run was complete")


@contextlib.contextmanager
def _as_usage() -> Iterator[None]:
    """Convert Beam's reaction to a wrong option, an error or an exit with a usage page, to a UsageError."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            yield
    except SystemExit as error:
        raise UsageError(f"options after --: {output.getvalue().strip().rpartition('error: ')[2]}") from error
    except ValueError as error:
        raise UsageError(f"options after --: {' '.join(str(error).split())}") from error


def _read(beam_args: Sequence[str], workers: int | None = None) -> tuple[PipelineOptions, Any]:
    """Parse Beam's options and create their runner, or None without options. Raise UsageError if they name no runner."""
    with _as_usage():
        options = PipelineOptions([*beam_args], save_main_session=False)
        name = options.view_as(StandardOptions).runner
        if name and workers is not None:
            raise UsageError(
                "`workers` is for a local run: say how many workers in the runner's own options, after --", field="workers"
            )
        runner = runners.make(name) if name else None  # importing a runner registers its options
        known = options.get_all_options(drop_default=True)
    if runner is None and (options_given := [name for name in ("direct_num_workers", "direct_running_mode") if name in known]):
        raise UsageError(f"--{options_given[0]}: use `workers`")
    unknown = sorted(options.get_all_options(retain_unknown_options=True).keys() - options.get_all_options().keys())
    if unknown and not isinstance(runner, PortableRunner):  # its server may have options that only it knows
        of, near = f" for --runner={name}" if name else "", runners.meant(f"--{unknown[0]}", options)
        raise UsageError(f"--{unknown[0]}: Beam knows no such option{of}{near}")
    if beam_args and runner is None:
        raise UsageError(f"{beam_args[0]}: a local run takes no options of Beam: omit it, or name a --runner too")
    return options, runner


def _submit(pipeline: beam.Pipeline) -> Any:
    """Submit a pipeline to an engine, which checks some of its options only now."""
    try:
        return pipeline.run()
    except (ValueError, NotImplementedError) as error:
        raise UsageError(f"options after --: {' '.join(str(error).split())}") from error


def _await(runner: Any, result: Any, warn: Callable[[str], object]) -> None:
    """Wait for the end of a job that ends with this process."""
    with dask_cluster.reporting_losses(result.client, warn) if dask_cluster.is_dask(runner) else contextlib.nullcontext():
        result.wait_until_finish()


def _original(error: BaseException, engine: str, failure: str = "was lost") -> BertDataError:
    """Find the error that a step raised in Beam's exception. Some engines keep only its text.

    `engine` is the engine's name and address. `failure` describes a failure of the engine itself.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BertDataError):
            return type(cause)(str(cause).partition(" [while running")[0])
        # Some engines pass exceptions between processes as text. Find "bertdata.errors.X: message"
        # in it, so that the user gets the same message and exit code as from a local run.
        if matches := _OURS.findall(str(cause)):
            name, message = matches[-1]  # the first match in a traceback is the first cause
            kind = getattr(errors, name, BertDataError)
            return kind(message) if issubclass(kind, BertDataError) else BertDataError(message)
        if errors.system_limit(cause) and (limit := storage_error(cause)):
            return limit
        if connection.is_loss(cause):
            return TransferError(f"{engine} {failure}: {connection.reason(cause)}")
        cause = cause.__cause__ or cause.__context__
    last_line = (str(error).strip() or repr(error)).splitlines()[-1]
    return BertDataError(f"the run failed on {engine}: {last_line}: run the same command again, with --verbose for more")
