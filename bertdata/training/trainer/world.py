"""Join the processes of a distributed run, one per GPU, as started by `torchrun`, or train in a single process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, distributed

from ...storage.process import loopback_store


class World(NamedTuple):
    """The number of this process, the number of processes, and the device."""

    rank: int
    size: int
    device: torch.device

    def sum_(self, values: Tensor) -> Tensor:
        """Add up a tensor over all processes, in place, and return it."""
        if self.size > 1:
            distributed.all_reduce(values)
        return values

    def wait(self) -> None:
        """Wait until all processes reach this call."""
        self.sum_(torch.zeros((), device=self.device)).item()


@contextlib.contextmanager
def joined() -> Iterator[World]:
    """Join the processes named by the environment, with NCCL on GPUs and gloo elsewhere."""
    # torchrun sets these variables: RANK over all machines, LOCAL_RANK on this machine, WORLD_SIZE.
    cuda, size = torch.cuda.is_available(), int(os.environ.get("WORLD_SIZE", 1))
    rank = int(os.environ.get("RANK", 0)) if size > 1 else 0
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
    torch.cuda.set_device(device if cuda else -1)  # -1: no effect
    with contextlib.ExitStack() as stack:
        if size > 1:
            port, listening = loopback_store(rank, size) or (0, None)
            store = distributed.TCPStore("127.0.0.1", port, size, rank == 0, master_listen_fd=listening) if port else None  # type: ignore[attr-defined]
            distributed.init_process_group("nccl" if cuda else "gloo", store=store, rank=rank, world_size=size)
            stack.callback(distributed.destroy_process_group)
        yield World(rank, size, device)
