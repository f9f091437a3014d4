"""Look after this process: its cores, large imports, freed memory, its end with its parent, and the store of its group."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import math
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from multiprocessing import parent_process
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

from ..errors import StorageError
from . import cgroup

__all__ = [
    "FOR_PARENT",
    "import_arrow_without_pandas",
    "cores",
    "descendants",
    "end",
    "imports_frozen",
    "loopback_store",
    "obey_parent",
    "usable_cpus",
    "worker_count",
    "workers_for",
]

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
    quota = cgroup.limits().cores
    return usable_cpus() if quota is None else min(usable_cpus(), math.ceil(quota))


def workers_for(tasks: int, size: int) -> int:
    """Return the default number of workers for `tasks` that read `size` bytes.

    This is one per core, up to the number of tasks, or 1 if the input is too small to be worth starting a second process.
    """
    return max(1, min(tasks, cores())) if size >= _MIN_SHARED_BYTES else 1


def worker_count(workers: int | None, tasks: int, size: int = sys.maxsize) -> int:
    """Return the requested number of workers, or the default for these tasks and bytes of input.

    Raise StorageError if the limit of open files is too low for them.
    """
    count = workers or workers_for(tasks, size)
    if count > 1:
        _check_open_files(count)
    return count


def _check_open_files(workers: int) -> None:
    import resource

    limit, needed = resource.getrlimit(resource.RLIMIT_NOFILE)[0], 48 + 2 * workers
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise StorageError(
            f"{limit} open files are too few for {workers} workers, who take {needed}: raise the limit (ulimit -n 1024), or take "
            "fewer `workers`, then run the same command again"
        )


@contextlib.contextmanager
def imports_frozen() -> Iterator[None]:
    """Exclude the objects of a large import from garbage collection, during the import and later.

    Beam has a million of them. Scanning them takes 0.3 s during the import and 0.5 s when the process ends.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if collecting:
            gc.enable()


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
        with imports_frozen(), warnings.catch_warnings():
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


def descendants() -> list[int]:
    """Return descriptors (pidfd_open(2)) of all descendant processes. The list is empty on systems other than Linux.

    A descriptor keeps referring to its process, even if the process ends and its id is reused. The resource tracker of
    `multiprocessing` is excluded: it ends with the process, and freeing resources at exit would start it again.
    """
    import multiprocessing.resource_tracker as tracking

    if not hasattr(os, "pidfd_open"):
        return []
    # /proc/PID/stat is "PID (command) state parent ...". A command may contain spaces and brackets,
    # so split behind the last ")". Then follow parent -> children from this process on.
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # ended meanwhile
            children.setdefault(int(path.read_bytes().rpartition(b")")[2].split()[1]), []).append(int(path.parent.name))
    pids = list(children.get(os.getpid(), ()))
    if (tracker := getattr(tracking._resource_tracker, "_pid", None)) in pids:
        pids.remove(tracker)
    for number in pids:
        pids += children.get(number, ())
    descriptors: list[int] = []
    for number in pids:
        with contextlib.suppress(OSError):
            descriptors.append(os.pidfd_open(number))
    return descriptors


def end(processes: Iterable[int]) -> None:
    """Kill processes by their descriptors: what a child has started, such as the compiler of a compiler, may outlive it."""
    for descriptor in processes:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)


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
