"""Check that a Dask cluster is reachable before a run, and report workers that it loses during the run."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bertdata.errors import TransferError, UsageError

from .connection import refusal

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

__all__ = ["check_reachable", "is_dask", "reporting_losses"]

_ANSWER_S = 1.0  # seconds in which a running scheduler answers; after that, find out why it does not
_DISCONNECT_S = 3  # seconds for a client to disconnect, also at the end of its process


def is_dask(runner: Any) -> bool:
    """Return True if a runner is Dask's, whose module exists only where apache-beam[dask] is installed."""
    return type(runner).__name__ == "DaskRunner"


def check_reachable(runner: Any, options: PipelineOptions) -> None:
    """Connect to and disconnect from the scheduler named by a DaskRunner's options. Raise OSError if it does not answer.

    Raise TransferError at once if the connection is refused or the host does not exist: Dask itself retries until its timeout,
    which also happens here if ``--dask_connection_timeout`` is set. Raise ValueError for an invalid address. Without an address,
    the runner starts a local cluster.
    """
    if not is_dask(runner):
        return
    from apache_beam.runners.dask.dask_runner import DaskOptions

    dask: Any = importlib.import_module("distributed")  # has no type hints
    dask_options, security = options.view_as(DaskOptions), dask.Security()
    seconds = dask_options.timeout if isinstance(dask_options.timeout, int) else None  # None: Dask's default

    async def look() -> None:  # a `Client` that cannot connect delays the end of its process by a minute
        trying = asyncio.ensure_future(
            dask.comm.connect(dask_options.address, timeout=seconds, **security.get_connection_args("client"))
        )
        await asyncio.wait([trying], timeout=None if seconds else _ANSWER_S)
        is_late = not trying.done() or isinstance(trying.exception(), OSError)
        # Dask retries a refused connection until its timeout. Look at the port ourselves
        # after a second: a refusal means that no scheduler is there, no answer means that it may
        # still come.
        if is_late and (wrong := refusal(*dask.comm.get_address_host_port(dask_options.address))):
            trying.cancel()
            raise TransferError(
                f"DaskRunner at {dask_options.address} cannot be reached: {wrong}. Start the scheduler, or correct "
                "--dask_client_address after --"
            )
        try:
            await (await trying).close()
        except TypeError as error:  # tls:// without a certificate
            raise UsageError(
                f"--dask_client_address={dask_options.address}: {error}: docs/how-to/engines.md says how to name it"
            ) from error

    if dask_options.address:
        with ThreadPoolExecutor(1) as pool:  # this thread may already have an event loop
            pool.submit(lambda: asyncio.run(look())).result()


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
