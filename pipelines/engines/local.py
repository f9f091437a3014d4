"""Run on several local workers: Beam's `FnApiRunner` with dynamic scheduling, which notices worker processes that die.

Beam assigns the input of a stage to the workers beforehand, so that all wait for the slowest, and it waits for ever for a worker
that was killed.  Here an idle worker takes the next bundle, and requests to a dead worker fail.  This overrides private names of
Beam, which beam_names.py lists: importing this module raises ImportError where one is missing.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import chain
from typing import Any

from apache_beam.metrics import monitoring_infos
from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, fn_runner
from apache_beam.runners.portability.fn_api_runner.fn_runner import BundleManager

from . import beam_names

beam_names.check()  # before classes of Beam are extended

from .local_workers import Processes, Workers  # noqa: E402

__all__ = ["LocalRunner"]

_PARTS = 64  # of a stage's input, for each worker: the other workers wait while the last part is processed
_one_at_a_time = threading.Lock()  # for what is replaced in Beam's module while a runner runs


class LocalRunner(FnApiRunner):
    """Beam's local runner with workers in processes of their own, which connect to `socket` and speak only if `verbose`."""

    def __init__(self, socket: str, verbose: bool) -> None:
        super().__init__(default_environment=Processes(b"verbose" if verbose else b""))
        self._socket = socket

    def run_stages(self, *arguments: Any) -> Any:
        with _replaced(fn_runner, "WorkerHandlerManager", functools.partial(Workers, self._socket)):
            return super().run_stages(*arguments)

    def _get_bundle_manager(self, context: Any) -> BundleManager:
        return _DynamicBundleManager(context)


@contextlib.contextmanager
def _replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    """Set a name of a module, and restore it at the end; another thread that does the same waits until then."""
    with _one_at_a_time:
        old = getattr(module, name)
        setattr(module, name, value)
        try:
            yield
        finally:
            setattr(module, name, old)


class _DynamicBundleManager(BundleManager):
    """Cuts the input of a stage into small bundles: an idle worker takes the next one."""

    def process_bundle(
        self, inputs: Any, expected_outputs: Any, fired_timers: Any, expected_output_timers: Any, dry_run: bool = False
    ) -> Any:
        context = self.bundle_context_manager
        _ = context.process_bundle_descriptor  # a cached property: compute it here, before several threads ask for it
        idle: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for worker in context.worker_handlers:
            idle.put(worker)

        def process(bundle: dict[str, list[bytes]]) -> Any:
            worker, own_context = idle.get(), copy.copy(context)
            own_context._worker_handlers = [worker]
            try:
                # No timers: no pipeline of ours has one, and they would be fired once for each bundle.
                return BundleManager(own_context).process_bundle(bundle, expected_outputs, {}, expected_output_timers, dry_run)[0]
            except Exception:
                worker.check()
                raise
            finally:
                idle.put(worker)  # also a dead one, whose next bundle fails at once: so no thread waits here for ever

        pool = ThreadPoolExecutor(context.num_workers)
        try:
            futures = [pool.submit(process, bundle) for bundle in _bundles(inputs, context.num_workers)]
            results = [future.result() for future in as_completed(futures)]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after a failure the workers are ended, and their threads with them
        infos = monitoring_infos.consolidate(chain.from_iterable(result.process_bundle.monitoring_infos for result in results))
        response = beam_fn_api_pb2.ProcessBundleResponse(monitoring_infos=infos)
        return beam_fn_api_pb2.InstructionResponse(process_bundle=response), []


def _bundles(inputs: Any, workers: int) -> list[dict[str, list[bytes]]]:
    """Cut a stage's input into bundles, each a share of half of what is left, so that they get smaller, down to single parts.

    That is guided self-scheduling (Polychronopoulos and Kuck 1987): a bundle costs some 10 ms, so there should be few, but the
    last ones should be small, for the other workers wait for them.  A stage without input gets one bundle, so that it runs too.
    With 2 workers and 128 parts the bundles have 32, 24, 18, 13, ... and at the end 1.
    """
    count = workers * _PARTS
    parts = list(zip(*(buffer.partition(count) for buffer in inputs.values()), strict=True))
    parts = [part for part in parts if any(map(any, part))] or parts[:1]
    bundles: list[dict[str, list[bytes]]] = []
    while parts:
        size = max(1, len(parts) // (2 * workers))
        bundles.append(
            {name: sum(parts_of_input, []) for name, parts_of_input in zip(inputs, zip(*parts[:size], strict=True), strict=True)}
        )
        del parts[:size]
    return bundles
