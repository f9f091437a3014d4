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
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms import environments

from bertdata import errors
from bertdata.errors import BertDataError, UsageError

__all__ = ["default_workers", "run"]

_OURS = re.compile(r"bertdata\.errors\.(\w+): ([^\n]*?)(?: \[while running|\n|$)")


def default_workers(tasks: int) -> int:
    """Return how many workers a run of so many tasks gets when the user names no number: one a core, none idle."""
    return max(1, min(tasks, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


def run(chain: beam.PTransform, *, tasks: int, workers: int | None = None, beam_args: Sequence[str] = (), log: Path) -> None:
    """Run a chain of steps to its end; `beam_args` go to Beam unchanged, `log` takes what worker processes print.

    Raise the BertDataError that a step raised, on whatever engine, or BertDataError for a failure of the engine.
    """
    options = PipelineOptions([*beam_args], save_main_session=False)
    pipeline = beam.Pipeline(runner=_runner(options, workers, tasks, log), options=options)
    _ = pipeline | chain
    try:
        with _worker_guard(_stop_file(log)):
            pipeline.run().wait_until_finish()
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        raise _ours(error, log) from error


def _runner(options: PipelineOptions, workers: int | None, tasks: int, log: Path) -> Any:
    name = options.view_as(StandardOptions).runner
    if name:
        if workers is not None:
            raise UsageError("--workers is for the local runner: say how many workers in the runner's own options, after --")
        return name
    count = workers or default_workers(tasks)
    options.view_as(DirectOptions).direct_num_workers = count
    if count == 1:
        return FnApiRunner()
    stop = _stop_file(log)
    log.parent.mkdir(parents=True, exist_ok=True)
    stop.unlink(missing_ok=True)
    command = shlex.join([sys.executable, "-m", "bertdata.pipelines.worker", str(stop)])
    command = f"exec {command} 2>>{shlex.quote(str(log))}"
    return FnApiRunner(default_environment=environments.SubprocessSDKEnvironment.from_command_string(command))


def _stop_file(log: Path) -> Path:
    """Name the file whose presence tells worker processes to end: Beam waits for the others when one has died."""
    return log.with_suffix(".stop")


class _WorkerDied(Exception):
    """A worker process ended in the middle of the run; Beam alone would wait for it for ever."""


@contextlib.contextmanager
def _worker_guard(stop: Path) -> Iterator[None]:
    """Raise _WorkerDied in the main thread when the thread that waits for a worker process reports its death.

    Whatever ends the run ends the workers: a run that fails makes their stop file.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only; a caller in another thread has no guard
        return
    old_hook, wake = threading.excepthook, signal.SIGUSR1

    def on_error(args: threading.ExceptHookArgs) -> None:
        if args.thread is not None and args.thread.name == "run_worker":
            stop.touch()
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


def _ours(error: BaseException, log: Path) -> BertDataError:
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
    where = f"; the workers' log is {log}" if log.exists() else ""
    return BertDataError(f"the run failed: {last}{where}: run again with --resume, with --verbose for more")
