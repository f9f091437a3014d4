"""Look after this process: its cores, large imports, freed memory, its end with its parent, and the processes it trains with."""

from __future__ import annotations

import ipaddress
import math
import os
import signal
import socket
import sys
import threading
import warnings
from multiprocessing import parent_process
from types import ModuleType, SimpleNamespace
from typing import cast

from ..errors import UsageError
from . import cgroup

FOR_PARENT = (signal.SIGINT, signal.SIGHUP)  # Ctrl-C and a closed terminal, which all processes of a terminal get
# A compressed dump of 6 MB takes 1.5 s of a core, as much as the start of a second worker and of Beam.
_MIN_SHARED_BYTES = 8 << 20
_THREADS_VARIABLE = "OPENBLAS_NUM_THREADS"  # which OpenBLAS reads when NumPy loads it


def usable_cpus() -> int:
    """Return how many CPUs this process may run on, as `os.process_cpu_count` counts them (Python 3.13)."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores() -> int:
    """Return how many processes can compute at once: the usable CPUs, or the CPU quota of a container, rounded up."""
    # In a container with 2 of 64 cores, the system still lists 64 CPUs. 64 workers would share 2
    # cores, and take the memory of 64.
    quota, _ = cgroup.limits()
    return usable_cpus() if quota is None else min(usable_cpus(), math.ceil(quota))


def worker_count(workers: int | None, tasks: int, size: int = sys.maxsize) -> int:
    """Return the requested number of workers. The default is one per core and task, or 1 if `size` bytes of input are too few."""
    if workers is not None and (type(workers) is not int or workers < 1):
        problem = f"`workers` is {workers!r}: use an integer of 1 or more, or None to let the command choose"
        raise UsageError(problem, field="workers", value=workers)
    return workers or (max(1, min(tasks, cores())) if size >= _MIN_SHARED_BYTES else 1)


def import_arrow_without_pandas() -> None:
    """Import pyarrow without pandas and with one NumPy thread, and return its freed memory to the system.

    Use this only in bertdata's own processes.

    pyarrow imports pandas for its first array, and NumPy starts a thread per core for matrices, which bertdata does not use: 0.4
    of 0.6 CPU seconds. A pandas of version 0 makes pyarrow go on without it. Arrow's default pool keeps 15 MB of freed memory.
    """
    # Pretend that pandas is too old while pyarrow looks for it, then restore the real state.
    known, sys.modules["pandas"] = sys.modules.get("pandas"), cast(ModuleType, SimpleNamespace(__version__="0"))
    is_asked = _THREADS_VARIABLE in os.environ
    os.environ.setdefault(_THREADS_VARIABLE, "1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pyarrow

            pyarrow.array([])
    finally:
        del sys.modules["pandas"]
        if known is not None:
            sys.modules["pandas"] = known
        if not is_asked:
            del os.environ[_THREADS_VARIABLE]
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())


def obey_parent(worker: int) -> None:
    """Leave signals to the parent of this process, a reader of a DataLoader, which ends it with SIGTERM.

    A SIGTERM from elsewhere is ignored: a scheduler signals all processes, and the parent may have to save first. torch ends a
    reader within some seconds after its parent.
    """
    parent = parent_process()
    if parent is None:
        return
    for number in FOR_PARENT:
        signal.signal(number, signal.SIG_IGN)
    if not hasattr(signal, "sigwaitinfo"):  # macOS does not report the sender of a signal
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # first: a thread takes the mask of the one that starts it
    sender = parent.pid

    def wait() -> None:
        while signal.sigwaitinfo([signal.SIGTERM]).si_pid != sender:
            pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def loopback_store(rank: int, size: int) -> tuple[int, int | None] | None:
    """Keep processes of one machine that train together, as torch's environment variables name them, to its loopback interface.

    Return the port of torch's store and, for rank 0, a socket on loopback: torch itself listens on all addresses.
    Return None where torchrun has a store already, or where there are more machines.
    """
    environment = os.environ
    one_machine = environment.get("LOCAL_WORLD_SIZE") == str(size)  # what torchrun says
    if not one_machine and not _is_loopback(environment.get("MASTER_ADDR", "")):
        return None
    for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        environment.setdefault(name, "lo" if sys.platform == "linux" else "lo0")
    if environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return None
    port = int(environment["MASTER_PORT"])
    return port, None if rank else socket.create_server(("127.0.0.1", port)).detach()


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
