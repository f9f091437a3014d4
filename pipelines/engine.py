"""Run a pipeline: pin the local runner, silence and guard its workers, and turn what Beam raises into our errors.

The local default is Beam's `FnApiRunner`, by name: plain `DirectRunner` first tries to download another runner.  One worker runs
in this process, several in processes of their own.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions
from apache_beam.runners import create_runner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms import environments

from bertdata import errors
from bertdata.errors import BertDataError, UsageError
from bertdata.files import TEMPORARY

__all__ = ["RUNNING", "default_workers", "run"]

RUNNING = f"{TEMPORARY}running"  # while this file is there workers go on; the next run sweeps one that a killed run has left

_OURS = re.compile(r"bertdata\.errors\.(\w+): ([^\n]*?)(?: \[while running|\n|$)")


def default_workers(tasks: int) -> int:
    """Return how many workers a run of so many tasks gets when the user names no number: one a core, none idle."""
    return max(1, min(tasks, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


def run(
    chain: beam.PTransform,
    *,
    tasks: int,
    workers: int | None = None,
    beam_args: Sequence[str] = (),
    state: Path,
    verbose: bool = False,
) -> None:
    """Run a chain of steps to its end; `beam_args` go to Beam unchanged, `state` is a directory of this machine.

    Raise the BertDataError that a step raised, on whatever engine, or BertDataError for a failure of the engine.
    """
    running = state / RUNNING
    options = PipelineOptions([*beam_args], save_main_session=False)
    try:
        pipeline = beam.Pipeline(runner=_runner(options, workers, tasks, running, verbose), options=options)
    except ValueError as error:  # the runner's own options are missing or wrong
        raise UsageError(f"options after --: {' '.join(str(error).split())}") from error
    _ = pipeline | chain
    try:
        with _worker_guard(running):
            pipeline.run().wait_until_finish()
    except Exception as error:
        raise _ours(error) from error
    finally:
        running.unlink(missing_ok=True)


def _runner(options: PipelineOptions, workers: int | None, tasks: int, running: Path, verbose: bool) -> Any:
    name = options.view_as(StandardOptions).runner
    if name:
        if workers is not None:
            raise UsageError("--workers is for the local runner: say how many workers in the runner's own options, after --")
        try:
            return create_runner(name)
        except (ValueError, ImportError, AttributeError) as error:
            raise UsageError(f"--runner={name}: {str(error).splitlines()[0]}") from error
    _refuse_strange(options)
    count = workers or default_workers(tasks)
    options.view_as(DirectOptions).direct_num_workers = count
    if count == 1:
        return FnApiRunner()
    running.touch()
    command = f"exec {shlex.join([sys.executable, '-m', 'bertdata.pipelines.worker', str(running)])}"
    # What a worker prints must not go to a disk that may be full: Beam waits for ever for a worker that fails in that.
    command = command if verbose else f"{command} 2>/dev/null"
    return FnApiRunner(default_environment=environments.SubprocessSDKEnvironment.from_command_string(command))


def _refuse_strange(options: PipelineOptions) -> None:
    """Refuse options that would do nothing here; other runners have options that only their servers know."""
    known = options.get_all_options(drop_default=True)
    if own := [name for name in ("direct_num_workers", "direct_running_mode") if name in known]:
        raise UsageError(f"--{own[0]}: use --workers")
    if unknown := sorted(options.get_all_options(retain_unknown_options=True).keys() - options.get_all_options().keys()):
        raise UsageError(f"--{unknown[0]}: Beam knows no such option for the local runner")


class _WorkerDied(Exception):
    """A worker process ended in the middle of the run; Beam alone would wait for it for ever."""


@contextlib.contextmanager
def _worker_guard(running: Path) -> Iterator[None]:
    """Raise _WorkerDied in the main thread when the thread that waits for a worker process reports its death.

    The other workers end as the file `running` goes: Beam waits for them before it gives up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only; a caller in another thread has no guard
        return
    old_hook, wake = threading.excepthook, signal.SIGUSR1

    def on_error(args: threading.ExceptHookArgs) -> None:
        if args.thread is not None and args.thread.name == "run_worker":
            running.unlink(missing_ok=True)
            signal.pthread_kill(threading.main_thread().ident or 0, wake)
        else:
            old_hook(args)

    def on_wake(_number: int, _frame: FrameType | None) -> None:
        signal.signal(wake, signal.SIG_IGN)
        raise _WorkerDied

    old_handler = signal.signal(wake, on_wake)
    threading.excepthook = on_error
    try:
        yield
    finally:
        threading.excepthook = old_hook
        signal.signal(wake, old_handler)


def _ours(error: BaseException) -> BertDataError:
    """Find the error that a step raised in what Beam made of it: on some engines only its text is left."""
    if isinstance(error, _WorkerDied):
        return BertDataError(
            "a worker process was killed, perhaps for want of memory: run again with --resume, with fewer --workers"
        )
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BertDataError):
            return type(cause)(str(cause).partition(" [while running")[0])
        if found := _OURS.search(str(cause)):
            kind = getattr(errors, found.group(1), BertDataError)
            return kind(found.group(2)) if issubclass(kind, BertDataError) else BertDataError(found.group(2))
        cause = cause.__cause__ or cause.__context__
    last = (str(error).strip() or repr(error)).splitlines()[-1]
    return BertDataError(f"the run failed: {last}: run again with --resume, with --verbose for more")
