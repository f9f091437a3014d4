"""Real clusters for the tests: a Dask scheduler with its workers, Beam's job service with pools of workers, hosts on a network.

Every process has a directory of its own, so that a relative path is another one there, and every worker a umask of its own,
so that the mode of a file tells which of them wrote it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

UMASKS = (0o022, 0o026)  # of the first worker and of the second
MODES = {0o644, 0o640}  # of the files that they write
DASK = "apache_beam.runners.dask.dask_runner.DaskRunner"
_HERE = Path(__file__).resolve().parent
_SECONDS = 60  # that a server may take to come up
_SHORT = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}  # a worker asks a dead one for so long, and not for half a minute


@dataclass
class Host:
    """A machine: this one, or one in a network namespace; `before` are the words before each command on it."""

    address: str = "127.0.0.1"
    before: list[str] = field(default_factory=list)

    def start(self, directory: Path, *command: object, umask: int = 0o022, unseen: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a process with its own directory, whose log is a file there; it sees an empty directory as `unseen`."""
        directory.mkdir(parents=True, exist_ok=True)
        words = [*self.before, *(hiding(unseen) if unseen else []), *map(str, command)]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # a pool starts its workers as `python`
        with (directory / "log").open("wb") as log:
            return subprocess.Popen(
                words,
                cwd=directory,
                stdout=log,
                stderr=log,
                umask=umask,
                env={**os.environ, "PATH": path, **_SHORT},
                start_new_session=True,
            )


def hiding(path: Path) -> list[str]:
    """Return the words that start a command which sees an empty directory in place of `path`."""
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *root, "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(path)]


def can_hide(path: Path) -> bool:
    """Tell whether the system lets us do that."""
    return subprocess.run([*hiding(path), "true"], capture_output=True, check=False).returncode == 0


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(log: Path, text: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has logged a text."""
    limit = time.monotonic() + _SECONDS
    while text not in (said := log.read_text(errors="replace")):
        assert process.poll() is None, f"{log} ended early:\n{said}"
        assert time.monotonic() < limit, f"{log} does not say {text!r}:\n{said}"
        time.sleep(0.05)


def modes(directory: Path) -> set[int]:
    """Return the modes of the files below a directory."""
    return {path.stat().st_mode & 0o777 for path in directory.rglob("*") if path.is_file()}


@dataclass
class Cluster:
    """What runs, and the words after ``--`` that send a run there."""

    options: list[str]
    workers: list[subprocess.Popen[bytes]]
    servers: list[subprocess.Popen[bytes]]
    driver: Host = field(default_factory=Host)


@contextlib.contextmanager
def dask_cluster(root: Path, *, unseen: Path | None = None) -> Iterator[Cluster]:
    """Run a scheduler and two workers of one thread; the second sees an empty directory in place of `unseen`."""
    python, local, known = sys.executable, Host(), root / "scheduler.json"
    quiet = ("--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", known)
    with contextlib.ExitStack() as stack:
        scheduler = local.start(root / "scheduler", python, "-m", "distributed.cli.dask_scheduler", "--port", 0, *quiet)
        stack.callback(end, scheduler)
        wait_for(root / "scheduler" / "log", "Scheduler at:", scheduler)
        address = next(
            line.split()[-1] for line in (root / "scheduler" / "log").read_text().splitlines() if "Scheduler at:" in line
        )
        workers = []
        for number, umask in enumerate(UMASKS):
            place = root / f"worker-{number}"
            options = (*quiet, "--no-nanny", "--nthreads", 1, "--local-directory", place)
            hidden = unseen if number else None
            workers.append(local.start(place, python, "-m", "distributed.cli.dask_worker", *options, umask=umask, unseen=hidden))
            stack.callback(end, workers[-1])
        for number, worker in enumerate(workers):
            wait_for(root / f"worker-{number}" / "log", "Registered to:", worker)
        yield Cluster([f"--runner={DASK}", f"--dask_client_address={address}", "--dask_partition_size=1"], workers, [scheduler])


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens at."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


@contextlib.contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """Make so many hosts, the first of which has a cable to each other; raise where the system does not let us.

    Each is a network namespace, with a host name of its own that is its address: Beam's job service tells its workers to come
    back to the host name.
    """
    names, net = [f"bd{os.getpid()}-{number}" for number in range(count)], "10.77"
    addresses = [f"{net}.1.1", *(f"{net}.{number}.2" for number in range(1, count))]
    with contextlib.ExitStack() as stack:
        for name in names:
            _ip(f"netns add {name}")
            stack.callback(_ip, f"netns del {name}")
            _ip(f"-n {name} link set lo up")
        for number, name in enumerate(names[1:], 1):
            _ip(f"-n {names[0]} link add v{number} type veth peer name v0")
            _ip(f"-n {names[0]} link set v0 netns {name}")
            for at, cable, address in ((names[0], f"v{number}", f"{net}.{number}.1"), (name, "v0", f"{net}.{number}.2")):
                _ip(f"-n {at} addr add {address}/24 dev {cable}")
                _ip(f"-n {at} link set {cable} up")
            _ip(f"-n {name} route add default via {net}.{number}.1")
        own_name = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']
        yield [Host(a, ["ip", "netns", "exec", name, *own_name, a]) for a, name in zip(addresses, names, strict=True)]


@contextlib.contextmanager
def portable_cluster(root: Path, machines: list[Host], *, unseen: Path | None = None) -> Iterator[Cluster]:
    """Run Beam's job service on the first host and a pool of workers on each other; the last does not see `unseen`."""
    python, (driver, *others) = sys.executable, machines
    job, door, *ports = free_ports(2 + len(others))
    with contextlib.ExitStack() as stack:
        workers = []
        for number, (host, port) in enumerate(zip(others, ports, strict=True)):
            pool = ("-m", "apache_beam.runners.worker.worker_pool_main", "--service_port", port)
            hidden = unseen if host is others[-1] else None
            workers.append(host.start(root / f"pool-{number}", python, *pool, umask=UMASKS[number], unseen=hidden))
            stack.callback(end, workers[-1])
        pools = [f"{host.address}:{port}" for host, port in zip(others, ports, strict=True)]
        service = driver.start(root / "service", python, _HERE / "job_service.py", job, door, *pools)
        stack.callback(end, service)
        wait_for(root / "service" / "log", "serving", service)
        environment = ["--environment_type=EXTERNAL", f"--environment_config=127.0.0.1:{door}"]
        yield Cluster(["--runner=PortableRunner", f"--job_endpoint=127.0.0.1:{job}", *environment], workers, [service], driver)
