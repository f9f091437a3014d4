"""Reach a Dask cluster before a run begins there, and tell of the workers that it loses meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

__all__ = ["is_dask", "losses_told", "reach"]


def is_dask(runner: Any) -> bool:
    """Tell whether a runner is Dask's, whose module is there only with bertdata[dask]."""
    return type(runner).__name__ == "DaskRunner"


def reach(runner: Any, options: PipelineOptions) -> None:
    """Connect to the scheduler that the options of a DaskRunner name, and leave it; raise OSError where it does not answer.

    Raise ValueError for an address that is none.  Without one the runner starts a cluster on this machine.
    """
    if not is_dask(runner):
        return
    from apache_beam.runners.dask.dask_runner import DaskOptions
    from distributed.comm import connect
    from distributed.security import Security

    given = options.view_as(DaskOptions)
    seconds = given.timeout if isinstance(given.timeout, int) else None  # Dask's own, where none is given

    async def look() -> None:  # a `Client` that cannot connect holds up the end of its process for a minute
        comm = await connect(given.address, timeout=seconds, **Security().get_connection_args("client"))
        await comm.close()

    if given.address:
        with ThreadPoolExecutor(1) as pool:  # this thread may have an event loop of its own
            pool.submit(lambda: asyncio.run(look())).result()


@contextlib.contextmanager
def losses_told(client: Any, tell: Callable[[str], object]) -> Iterator[None]:
    """Call `tell`, in a thread of Dask's client, with a line for each worker that its cluster loses during the block.

    The scheduler sends what happens to it under the topic "all": a worker that is gone is ``remove-worker``, which is `expected`
    of one that was told to leave.
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
