"""Reach a Dask cluster before a run begins there, and tell of the workers that it loses meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bertdata.errors import TransferError, UsageError

from .losses import refusal

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

__all__ = ["is_dask", "reach", "reporting_losses"]

_SOON = 1.0  # seconds in which a scheduler that runs answers; later it is asked what keeps it
_END = 3  # seconds in which a client has to leave, as at the end of its process


def is_dask(runner: Any) -> bool:
    """Return True if a runner is Dask's, whose module exists only where apache-beam[dask] is installed."""
    return type(runner).__name__ == "DaskRunner"


def reach(runner: Any, options: PipelineOptions) -> None:
    """Connect to the scheduler that the options of a DaskRunner name, and leave it; raise OSError where it does not answer.

    Raise TransferError at once where the connection is refused or there is no such host: Dask itself tries again until its time
    is over, which is done here where ``--dask_connection_timeout`` gives one.  Raise ValueError for an address that is none.
    Without one the runner starts a cluster on this machine.
    """
    if not is_dask(runner):
        return
    from apache_beam.runners.dask.dask_runner import DaskOptions

    dask: Any = importlib.import_module("distributed")  # which has no types
    given, security = options.view_as(DaskOptions), dask.Security()
    seconds = given.timeout if isinstance(given.timeout, int) else None  # Dask's own, where none is given

    async def look() -> None:  # a `Client` that cannot connect holds up the end of its process for a minute
        trying = asyncio.ensure_future(
            dask.comm.connect(given.address, timeout=seconds, **security.get_connection_args("client"))
        )
        await asyncio.wait([trying], timeout=None if seconds else _SOON)
        is_late = not trying.done() or isinstance(trying.exception(), OSError)
        if is_late and (wrong := refusal(*dask.comm.get_address_host_port(given.address))):
            trying.cancel()
            raise TransferError(
                f"DaskRunner at {given.address} cannot be reached: {wrong}. Start the scheduler, or correct "
                "--dask_client_address after --"
            )
        try:
            await (await trying).close()
        except TypeError as error:  # tls:// and no certificate
            raise UsageError(
                f"--dask_client_address={given.address}: {error}: docs/how-to/engines.md says how to name it"
            ) from error

    if given.address:
        with ThreadPoolExecutor(1) as pool:  # this thread may have an event loop of its own
            pool.submit(lambda: asyncio.run(look())).result()


@contextlib.contextmanager
def reporting_losses(client: Any, tell: Callable[[str], object]) -> Iterator[None]:
    """Call `tell`, in a thread of Dask's client, with a line for each worker that its cluster loses during the block.

    The scheduler sends what happens to it under the topic "all": a worker that is gone is ``remove-worker``, which is `expected`
    of one that was told to leave.  At the end the client leaves: to one that still listens the scheduler would send that it has
    left, and log that it could not.
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
        is_over = True  # a cluster of this process loses its workers when the process ends
        with contextlib.suppress(Exception):  # a scheduler that is gone: the run has ended, and how is known
            client.unsubscribe_topic("all")
            client.close(timeout=_END)
