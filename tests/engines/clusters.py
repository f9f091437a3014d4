"""Real clusters for the tests: a Dask scheduler with its workers, Beam's job service with pools of workers, hosts on a network.

Every process ends with the one that runs the test, however that ends.  It has a directory of its own, so that a relative path is
another one there, and every worker a umask of its own, so that the mode of a file tells which of them wrote it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

UMASKS = (0o022, 0o026)  # of the first worker and of the second
MODES = {0o644, 0o640}  # of the files that they write
DASK = "apache_beam.runners.dask.dask_runner.DaskRunner"
_HERE = Path(__file__).resolve().parent
SECONDS = 600  # that anything may take on a busy machine
TIED = ["setpriv", "--pdeathsig", "KILL"]  # the words before a command that dies with the process which starts it
_SHORT = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s",  # a worker asks a dead one for so long, and not for half a minute
    "DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT": "5s",  # a run without workers waits for so long, and not for ever
}


@dataclass
class Host:
    """A machine: this one, or one in a network namespace; `before` are the words before each command on it."""

    address: str = "127.0.0.1"
    before: list[str] = field(default_factory=list)

    def start(self, directory: Path, *command: object, umask: int = 0o022, unseen: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a process with its own directory, whose log is a file there; it sees an empty directory as `unseen`."""
        directory.mkdir(parents=True, exist_ok=True)
        words = [*self.before, *(hiding(unseen) if unseen else []), *TIED, *map(str, command)]
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
    """Return True if the system lets us do that."""
    return subprocess.run([*hiding(path), "true"], capture_output=True, check=False).returncode == 0


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(log: Path, text: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has logged a text."""
    limit = time.monotonic() + SECONDS
    while text not in (said := log.read_text(errors="replace")):
        assert process.poll() is None, f"{log} ended early:\n{said}"
        assert time.monotonic() < limit, f"{log} does not say {text!r}:\n{said}"
        time.sleep(0.05)


def wait_until(so: Callable[[], object], process: subprocess.Popen[Any]) -> None:
    """Wait until something is so, which a process is at."""
    limit = time.monotonic() + SECONDS
    while not so():
        assert process.poll() is None, "it ended early"
        assert time.monotonic() < limit
        time.sleep(0.005)


def modes(files: Iterable[Path]) -> set[int]:
    """Return the modes of files."""
    return {path.stat().st_mode & 0o777 for path in files}


def written_by(records: Iterable[Path]) -> set[int]:
    """Return the modes of the files that these records of finished tasks name; the records themselves are private."""
    found = set()
    for record in records:
        with contextlib.suppress(FileNotFoundError):  # committed since
            report = json.loads(record.read_text(encoding="utf-8"))["report"]
            entries = [value for key, value in report.items() if key != "inputs"]  # a file, or a list of files
            files = [file for entry in entries for file in (entry if isinstance(entry, list) else [entry])]
            named = [file["name"] for file in files if isinstance(file, dict) and "sha256" in file]
            found |= modes(record.parents[3] / name for name in named)
    return found


@dataclass
class Cluster:
    """What runs, and the words after ``--`` that send a run there."""

    options: list[str]
    workers: list[subprocess.Popen[bytes]]
    servers: list[subprocess.Popen[bytes]]
    driver: Host = field(default_factory=Host)

    @property
    def address(self) -> str:
        """The address of the scheduler, from the options."""
        return next(option for option in self.options if "address=" in option).partition("=")[2]


@contextlib.contextmanager
def standing_still(cluster: Cluster) -> Iterator[None]:
    """Stop the workers: a job that is submitted waits for them until they go on."""
    for worker in cluster.workers:
        os.killpg(worker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        go_on(cluster)


def go_on(cluster: Cluster) -> None:
    """Let the workers go on."""
    for worker in cluster.workers:
        os.killpg(worker.pid, signal.SIGCONT)


@contextlib.contextmanager
def dask_cluster(root: Path, *, unseen: Path | None = None) -> Iterator[Cluster]:
    """Run a scheduler and two workers of one thread, which see an empty directory in place of `unseen`."""
    python, local, known = sys.executable, Host(), root / "scheduler.json"
    quiet = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--host", "127.0.0.1", "--scheduler-file", known)
    with contextlib.ExitStack() as stack:
        scheduler = local.start(root / "scheduler", python, "-m", "distributed.cli.dask_scheduler", "--port", 0, *quiet)
        stack.callback(end, scheduler)
        wait_for(root / "scheduler" / "log", "Scheduler at:", scheduler)
        address = next(
            line.split()[-1] for line in (root / "scheduler" / "log").read_text().splitlines() if "Scheduler at:" in line
        )
        workers = []
        for number, umask in enumerate(UMASKS):
            directory = root / f"worker-{number}"
            options = (*quiet, "--no-nanny", "--nthreads", 1, "--local-directory", directory)
            workers.append(
                local.start(directory, python, "-m", "distributed.cli.dask_worker", *options, umask=umask, unseen=unseen)
            )
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


def can_make_hosts() -> bool:
    """Return True if the system lets us make network namespaces: the user is root, and not shut in."""
    return subprocess.run(["unshare", "--net", "--uts", "true"], capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """Make so many hosts, the first of which has a cable to each other.

    Each is a network namespace, which is there as long as a process in it, with a host name of its own that is its address:
    Beam's job service tells its workers to come back to the host name.
    """
    net = "10.77"
    addresses = [f"{net}.1.1", *(f"{net}.{number}.2" for number in range(1, count))]
    with contextlib.ExitStack() as stack:
        made = [_machine(stack, address, address) for address in addresses]
        for number, host in enumerate(made[1:], 1):
            _ip(made[0], f"link add v{number} type veth peer name v0 netns {host.before[2]}")
            for at, cable, address in ((made[0], f"v{number}", f"{net}.{number}.1"), (host, "v0", f"{net}.{number}.2")):
                _ip(at, f"addr add {address}/24 dev {cable}")
                _ip(at, f"link set {cable} up")
            _ip(host, f"route add default via {net}.{number}.1")
        yield made


@contextlib.contextmanager
def networks(root: Path, members: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Host]]:
    """Make hosts by name, each on so many networks, where it finds the others by name; no packet leaves a network.

    A network is a bridge in a namespace of its own, without an address.  A host's `address` is that on its first network.
    """
    known = sorted({network for joined in members.values() for network in joined})
    addresses = {
        (name, network): f"10.78.{known.index(network)}.{number}"
        for number, (name, joined) in enumerate(members.items(), 2)
        for network in joined
    }
    with contextlib.ExitStack() as stack:
        switch = _machine(stack, "switch", "")
        for number in range(len(known)):
            _ip(switch, f"link add name bridge{number} type bridge")
            _ip(switch, f"link set bridge{number} up")
        made = {}
        for at, (name, joined) in enumerate(members.items()):
            host = _machine(stack, name, addresses[name, joined[0]])
            for network in joined:
                number = known.index(network)
                _ip(switch, f"link add name port{at}-{number} type veth peer name v{number} netns {host.before[2]}")
                _ip(switch, f"link set port{at}-{number} master bridge{number} up")
                _ip(host, f"addr add {addresses[name, network]}/24 dev v{number}")
                _ip(host, f"link set v{number} up")
            seen = {
                other: addresses[other, network]
                for network in reversed(joined)
                for other in members
                if (other, network) in addresses
            }
            file = root / f"hosts-{name}"
            file.write_text("".join(f"{address} {other}\n" for other, address in {"localhost": "127.0.0.1", **seen}.items()))
            named = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(file)]
            made[name] = Host(host.address, [*host.before, *named])
        yield made


def _machine(stack: contextlib.ExitStack, name: str, address: str) -> Host:
    """Make a network namespace with a host name, which is there until the stack is closed."""
    up = ["unshare", "--net", "--uts", "sh", "-c", 'hostname "$0" && ip link set lo up && echo up && exec "$@"', name]
    asleep = subprocess.Popen([*up, *TIED, "sleep", "infinity"], stdout=subprocess.PIPE, start_new_session=True)
    stack.callback(end, asleep)
    assert asleep.stdout is not None
    assert asleep.stdout.readline() == b"up\n"
    stack.callback(asleep.stdout.close)
    return Host(address, ["nsenter", "--target", str(asleep.pid), "--net", "--uts"])


def _ip(at: Host, words: str) -> None:
    subprocess.run([*at.before, "ip", *words.split()], check=True, capture_output=True)


def _module(host: Host, module: str | Path) -> list[str | Path]:
    """Return the words that run a module of Beam's, which listens on loopback alone unless the host is one of our own."""
    if host.before:
        return ["-m", module] if isinstance(module, str) else [module]
    return [_HERE / "on_loopback.py", module]


@contextlib.contextmanager
def portable_cluster(root: Path, machines: list[Host], *, unseen: Path | None = None) -> Iterator[Cluster]:
    """Run Beam's job service on the first host and a pool of workers on each other, which do not see `unseen`."""
    python, (driver, *others) = sys.executable, machines
    job, door, *ports = free_ports(2 + len(others))
    with contextlib.ExitStack() as stack:
        workers = []
        for number, (host, port) in enumerate(zip(others, ports, strict=True)):
            pool = (*_module(host, "apache_beam.runners.worker.worker_pool_main"), "--service_port", port)
            workers.append(host.start(root / f"pool-{number}", python, *pool, umask=UMASKS[number], unseen=unseen))
            stack.callback(end, workers[-1])
        pools = [f"{host.address}:{port}" for host, port in zip(others, ports, strict=True)]
        service = driver.start(root / "service", python, *_module(driver, _HERE / "job_service.py"), job, door, *pools)
        stack.callback(end, service)
        wait_for(root / "service" / "log", "serving", service)
        environment = ["--environment_type=EXTERNAL", f"--environment_config=127.0.0.1:{door}"]
        yield Cluster(["--runner=PortableRunner", f"--job_endpoint=127.0.0.1:{job}", *environment], workers, [service], driver)
