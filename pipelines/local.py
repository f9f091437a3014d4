"""The local runner: Beam's `FnApiRunner` with worker processes that take work as they get done, and that may die.

Beam deals the input of a stage out to the workers beforehand, so that all wait for the slowest, and it waits for ever for one
that was killed.  Here a worker takes the next hand of tasks when it has done one, and what is asked of a dead worker fails.
What is overridden are Beam's own insides: tests/test_local.py and tests/test_resume.py tell when a new Beam has changed them.
"""

from __future__ import annotations

import contextlib
import copy
import json
import queue
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import chain
from typing import Any, NamedTuple, cast

import grpc
from apache_beam.metrics import monitoring_infos
from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import BundleManager
from apache_beam.runners.portability.fn_api_runner.worker_handlers import ControlConnection, GrpcWorkerHandler, WorkerHandler
from apache_beam.transforms.environments import Environment
from google.protobuf import json_format, text_format

from bertdata.errors import BertDataError

from . import processes

__all__ = ["LocalRunner"]

_URN = "bertdata:env:worker:v1"
_PARTS = 64  # of a stage's input, for each worker: while the last one is done the others wait
_DIED = "a worker process was killed, perhaps for want of memory: run again with --resume, with fewer --workers"


class LocalRunner(FnApiRunner):
    """Beam's local runner: of one worker in this process, of more in processes of their own, which speak only if `verbose`."""

    def __init__(self, workers: int, verbose: bool) -> None:
        super().__init__(default_environment=_Processes(b"verbose" if verbose else b"") if workers > 1 else None)
        if workers > 1 and not isinstance(threading.excepthook, _Hook):
            threading.excepthook = cast(Any, _Hook(threading.excepthook))

    def _get_bundle_manager(self, context: Any) -> BundleManager:
        return (BundleManager if context.num_workers == 1 else _Dealer)(context)


class _Hook(NamedTuple):
    """Says nothing of Beam's threads that lose the worker they listen to, some time after that has died; the watch tells."""

    other: Callable[[threading.ExceptHookArgs], Any]

    def __call__(self, args: threading.ExceptHookArgs, /) -> None:
        if not issubclass(args.exc_type, grpc.RpcError):
            self.other(args)


class _Dealer(BundleManager):
    """Deals the input of a stage out in small hands: a worker that is done takes the next."""

    def process_bundle(
        self, inputs: Any, expected_outputs: Any, fired_timers: Any, expected_output_timers: Any, dry_run: bool = False
    ) -> Any:
        context = self.bundle_context_manager
        _ = context.process_bundle_descriptor  # made when it is first asked for, by one thread
        free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for worker in context.worker_handlers:
            free.put(worker)

        def play(hand: dict[str, list[bytes]]) -> Any:
            worker, seat = free.get(), copy.copy(context)
            seat._worker_handlers = [worker]
            try:
                # Timers, which no pipeline of ours has, would be fired once for each hand.
                return BundleManager(seat).process_bundle(hand, expected_outputs, {}, expected_output_timers, dry_run)[0]
            except Exception:
                worker.check()
                raise
            finally:
                free.put(worker)  # also a dead one, whose next hand fails at once: none waits here for ever

        pool = ThreadPoolExecutor(context.num_workers)
        try:
            played = [pool.submit(play, hand) for hand in _deal(inputs, context.num_workers)]
            results = [future.result() for future in as_completed(played)]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after a failure the workers are ended, and their threads with them
        told = monitoring_infos.consolidate(chain.from_iterable(result.process_bundle.monitoring_infos for result in results))
        whole = beam_fn_api_pb2.ProcessBundleResponse(monitoring_infos=told)
        return beam_fn_api_pb2.InstructionResponse(process_bundle=whole), []


def _deal(inputs: Any, workers: int) -> list[dict[str, list[bytes]]]:
    """Cut a stage's input into hands, large ones first: half of what is left, shared by all workers, down to single parts.

    That is guided self-scheduling (Polychronopoulos and Kuck 1987): a hand costs some 10 ms, so there should be few, but at the
    end the others wait for the last.  A stage without input gets one hand, for it runs as well.
    """
    count = workers * _PARTS
    parts = list(zip(*(buffer.partition(count) for buffer in inputs.values()), strict=True))
    parts = [part for part in parts if any(map(any, part))] or parts[:1]
    hands: list[dict[str, list[bytes]]] = []
    while parts:
        size = max(1, len(parts) // (2 * workers))
        hands.append({name: sum(found, []) for name, found in zip(inputs, zip(*parts[:size], strict=True), strict=True)})
        del parts[:size]
    return hands


@Environment.register_urn(_URN, bytes)
class _Processes(Environment):
    """Names, in a pipeline, the workers below."""

    def __init__(self, payload: bytes, *more: Any) -> None:
        super().__init__(*more)
        self._payload = payload

    def to_runner_api_parameter(self, _context: Any) -> tuple[str, bytes]:
        return _URN, self._payload

    @staticmethod
    def from_runner_api_parameter(
        payload: bytes, capabilities: Any, artifacts: Any, resource_hints: Any, _context: Any
    ) -> _Processes:
        return _Processes(payload, capabilities, artifacts, resource_hints)


@WorkerHandler.register_environment(_URN, bytes)
class _Worker(GrpcWorkerHandler):
    """A worker process, as the runner sees it."""

    def __init__(self, payload: bytes, state: Any, provision_info: Any, grpc_server: Any) -> None:
        grpc_server.control_handler._connections_by_worker_id.default_factory = _Connection
        super().__init__(state, provision_info, grpc_server)
        self._verbose = bool(payload)

    def start_worker(self) -> None:
        """Take a process, and tell it where the runner is."""
        self._process = processes.take(self._verbose)
        threading.Thread(target=self._watch, name=f"watch {self.worker_id}", daemon=True).start()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # which the watch tells
            self._process.stdin.write(json.dumps(self._where()).encode() + b"\n")
            self._process.stdin.flush()

    def _where(self) -> dict[str, str]:
        """Return what Beam's worker looks for in its environment."""
        return {
            "WORKER_ID": self.worker_id,
            "CONTROL_API_SERVICE_DESCRIPTOR": text_format.MessageToString(self.control_api_service_descriptor()),
            "LOGGING_API_SERVICE_DESCRIPTOR": text_format.MessageToString(self.logging_api_service_descriptor()),
            "PIPELINE_OPTIONS": json_format.MessageToJson(self.provision_info.provision_info.pipeline_options),
        }

    def _watch(self) -> None:
        self._process.wait()
        self.control_conn.fail()

    def check(self) -> None:
        """Raise BertDataError if the process has died; what fails first then may be any of its connections."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
            raise BertDataError(_DIED)

    def close(self) -> None:
        """End the process: at once if it still works at something, for the run has failed."""
        if self.control_conn.pending():
            self._process.kill()
        try:
            super().close()
        except grpc.RpcError:  # from a connection that the process has left
            self.stop_worker()

    def stop_worker(self) -> None:
        """End the process, which has nothing left to do."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Connection(ControlConnection):
    """What is asked of a worker: all of it fails when that has died."""

    def __init__(self) -> None:
        super().__init__()
        self._dead = False

    def push(self, request: Any) -> Any:
        future = super().push(request)
        if self._dead:
            self.fail()
        return future

    def pending(self) -> bool:
        """Tell whether the worker still works at something."""
        return bool(self._futures_by_id)

    def fail(self) -> None:
        """Answer all that was asked, and all that will be, with an error."""
        self._dead = True
        for number, future in list(self._futures_by_id.items()):
            if not future.is_done():
                future.set(beam_fn_api_pb2.InstructionResponse(instruction_id=number, error=_DIED))
