"""Check that a Dask cluster is reachable before a run, and report workers that it loses during the run."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from bertdata.errors import TransferError

from .connection import refusal

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

__all__ = ["check_reachable", "is_dask", "reporting_losses"]

_PAUSE_S = 0.2  # seconds between two attempts to reach a scheduler that is still starting
_DISCONNECT_S = 3  # seconds for a client to disconnect, also at the end of its process


def is_dask(runner: Any) -> bool:
    """Return True if a runner is Dask's, whose module exists only where apache-beam[dask] is installed."""
    return type(runner).__name__ == "DaskRunner"


def check_reachable(runner: Any, options: PipelineOptions) -> None:
    """Raise TransferError if the scheduler named by a DaskRunner's options refuses connections, or its host does not exist.

    With ``--dask_connection_timeout``, wait that long for a scheduler that is still starting. Raise ValueError for an invalid
    address. Without an address, the runner starts a local cluster.
    """
    if not is_dask(runner):
        return
    from apache_beam.runners.dask.dask_runner import DaskOptions

    comm: Any = importlib.import_module("distributed.comm")  # has no type hints
    dask = options.view_as(DaskOptions)
    end = time.monotonic() + (dask.timeout if isinstance(dask.timeout, int) else 0)
    while dask.address and (problem := refusal(*comm.get_address_host_port(dask.address))):
        if time.monotonic() >= end:
            raise TransferError(
                f"DaskRunner at {dask.address} cannot be reached: {problem}. Start the scheduler, or correct "
                "--dask_client_address after --"
            )
        time.sleep(_PAUSE_S)


@contextlib.contextmanager
def reporting_losses(client: Any, tell: Callable[[str], object]) -> Iterator[None]:
    """Call `tell`, in a thread of Dask's client, with a line for each worker that the cluster loses during the block.

    The scheduler publishes events under the topic "all". A lost worker is ``remove-worker``, which is `expected` for a worker
    that was asked to leave. At the end the client unsubscribes: otherwise the scheduler would try to notify it that it has left,
    and log a failure.
    """
    is_over = False

    def happened(event: tuple[float, Any]) -> None:
        _, what = event
        if not is_over and isinstance(what, dict) and what.get("action") == "remove-worker" and not what.get("expected"):
            tell(f"worker {what['worker']} was lost; its tasks are done again")

    client.subscribe_topic("all", happened)
    try:
        yield
    finally:
        is_over = True  # a cluster in this process loses its workers when the process ends
        with contextlib.suppress(Exception):  # if the scheduler is gone, the run has ended with a known result
            client.unsubscribe_topic("all")
            client.close(timeout=_DISCONNECT_S)
