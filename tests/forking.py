"""Commands of `bertdata` in processes forked from one that has imported it, which saves each some seconds of imports.

What runs is `bertdata.__main__.main` in a process of its own, up to the end of the interpreter; the imports were done before.
A command that `run` waits for leaves to the system what others' modules hold then, and asks this process for its workers too.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO

from bertdata.io.process import FOR_PARENT, arrow_alone, imports_frozen

__all__ = ["Forks", "Started", "forks", "fsync", "leave_to_system", "start", "trainers"]

_LONGEST = 1 << 20  # bytes of a command's arguments
_TAKEN_APART = {"builtins", "sys", "__main__", "bertdata"}  # at the end of any command
_left: set[str] = set()  # the other modules, in a process that runs a command
_BLOCK = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {}); "
_UNREAD = ("AWS_", "HF_", "_BERTDATA_", "COMP_")  # of variables that nothing reads which the process imports
_CHANGED = {  # by pytest, tests, polars, bertdata.tokens, torch and lightning; read, if at all, when what it tells is needed
    "PYTEST_CURRENT_TEST",
    "NETRC",
    "NO_PROXY",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
    "_RJEM_MALLOC_CONF",
    "TOKENIZERS_PARALLELISM",
    "TORCHINDUCTOR_CACHE_DIR",
    "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR",
}
fsync = os.fsync


def leave_to_system() -> None:
    """Wait for no disk here: what is flushed, and when, tests/io/test_flushed.py sees; only a power cut could tell more."""
    os.fsync = lambda _: None


class Forks:
    """A process that forks itself for each command; `trainer`: one that has imported torch too, and computes in one thread."""

    def __init__(self, trainer: bool = False) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno()), *(["trainer"] if trainer else [])]
        self._socket, self._environment = ours, {**os.environ, **({"OMP_NUM_THREADS": "1"} if trainer else {})}
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=self._environment)
        theirs.close()

    def changed(self, environment: dict[str, str]) -> set[str]:
        """Return the variables that an environment has otherwise than the process, of those which that may have read."""
        differ = {name for name, _ in environment.items() ^ self._environment.items()} - _CHANGED
        return {name for name in differ if not name.startswith(_UNREAD)}

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait(60)

    def run(
        self, arguments: list[str], cwd: Path, env: dict[str, str], timeout: float, code: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, as `subprocess.run` does; `env` is its environment, which it takes; its workers are forks."""
        process = self.start(arguments, cwd, env, code, forked_workers=True)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        texts = (text.decode("utf-8", "backslashreplace").replace("\r\n", "\n") for text in process.communicate())
        return subprocess.CompletedProcess(["bertdata", *arguments], process.wait(), *texts)

    def start(
        self, arguments: list[str], cwd: Path, env: dict[str, str], code: str = "", forked_workers: bool = False
    ) -> Started:
        """Start a command in a session of its own; `code`: what is run with these arguments instead.

        With `forked_workers` its workers are no children of it, but forks of this process too, by `start_worker`.
        """
        said = (tempfile.TemporaryFile(), tempfile.TemporaryFile())  # noqa: SIM115 - closed when it has ended
        request = {"arguments": arguments, "cwd": str(cwd), "env": env, "code": code}
        with open(os.devnull, "rb") as nothing:
            streams = [each.fileno() for each in (nothing, *said)]
            return Started(_ask(self._socket, request, streams, forked_workers), said)

    def start_worker(self, verbose: bool) -> tuple[Started, Connection]:
        """Do what `workers.start` does, by a fork: start a worker of a local run, here in a session of its own."""
        return _start_worker(self._socket, verbose)


def _ask(server: socket.socket, request: dict[str, object], streams: list[int], forked_workers: bool) -> BinaryIO:
    """Ask a process of `Forks` for a fork with these standard streams; return the pipe that tells its number and exit code."""
    status, status_in_child = os.pipe()
    with os.fdopen(status_in_child, "wb", 0) as theirs:
        more = [server.fileno()] if forked_workers else []
        socket.send_fds(server, [json.dumps(request).encode()], [*streams, theirs.fileno(), *more])
    return os.fdopen(status, "rb", 0)


def _start_worker(server: socket.socket, verbose: bool) -> tuple[Started, Connection]:
    from bertdata.io import workers

    code = _BLOCK.format([*map(int, FOR_PARENT)])
    code += workers._START.format(path=sys.path, module=f"{workers.__package__}.worker")
    request: dict[str, object] = {"arguments": [], "cwd": os.getcwd(), "env": dict(os.environ), "code": code}
    ours, theirs = Pipe()
    with open(os.devnull, "wb") as nothing, theirs:
        said = 2 if verbose else nothing.fileno()
        return Started(_ask(server, request, [theirs.fileno(), said, said], False)), ours


class Started:
    """A process that runs a command: what the tests use of `subprocess.Popen`."""

    def __init__(self, status: BinaryIO, said: tuple[BinaryIO, ...] = ()) -> None:
        self._status, self._files, self._one_at_a_time = status, said, threading.Lock()
        self._said: tuple[bytes, ...] = (b"", b"")
        self.pid = int(status.readline())
        self.returncode: int | None = None
        self.cpu = 0.0  # seconds of it and those it waited for, once it has ended

    def poll(self) -> int | None:
        """Return its exit code, None as long as it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its exit code; raise TimeoutExpired."""
        while self.returncode is None:
            with contextlib.suppress(ValueError):  # another thread has waited, and closed it
                if not select.select([self._status], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired("bertdata", timeout or 0)
            with self._one_at_a_time:
                self._end()
        return self.returncode

    def _end(self) -> None:
        if self.returncode is None:
            with contextlib.ExitStack() as closing:
                for file in (self._status, *self._files):
                    closing.enter_context(file)
                code, self.cpu = int(self._status.readline()), float(self._status.readline())
                self._said = tuple(map(_read, self._files))
            self.returncode = code

    def communicate(self, timeout: float | None = None) -> tuple[bytes, ...]:
        """Wait for its end, and return what it wrote to its standard output and to its standard error."""
        self.wait(timeout)
        return self._said

    def send_signal(self, number: int) -> None:
        """Send it a signal as long as it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@functools.cache
def forks() -> Forks:
    """Return what runs the commands of this process's tests; conftest.py closes it."""
    return Forks()


@functools.cache
def trainers() -> Forks:
    """Return what runs those that train; conftest.py closes it."""
    return Forks(trainer=True)


def start(*arguments: object) -> Started:
    """Start `bertdata ARGUMENTS`."""
    return forks().start([*map(str, arguments)], Path.cwd(), dict(os.environ))


def _read(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def _leave() -> None:
    """Keep modules out of the end of the interpreter: to take them apart takes as long as a short command."""
    kept = {name: sys.modules.pop(name) for name in _left & sys.modules.keys()}
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _serve(requests: socket.socket) -> str:
    """Fork for each request, until there are no more; in a process that is to run a command, return what it runs instead."""
    while True:
        with contextlib.suppress(ChildProcessError):  # none at all
            while os.waitpid(-1, os.WNOHANG)[0]:  # those that have ended: their CPU time is counted as this process's
                pass
        request, descriptors, _, _ = socket.recv_fds(requests, _LONGEST, 5)
        if not request:
            sys.exit()
        if os.fork():
            for descriptor in descriptors:
                os.close(descriptor)
            continue
        requests.close()
        stdin, out, err, status, *server = descriptors
        if not (pid := os.fork()):
            os.setsid()
            asked = json.loads(request)
            os.chdir(asked["cwd"])
            os.environ.clear()
            os.environ.update(asked["env"], PWD=asked["cwd"])
            tempfile.tempdir = None  # that of TMPDIR
            os.dup2(stdin, 0)
            os.dup2(out, 1)
            os.dup2(err, 2)
            for descriptor in descriptors[:4]:
                os.close(descriptor)
            if server:
                _left.update(name for name in sys.modules if name.partition(".")[0] not in _TAKEN_APART)
                workers.start = functools.partial(_start_worker, socket.socket(fileno=server[0]))  # type: ignore[assignment]
            sys.argv[1:], sys.path[0] = asked["arguments"], asked["cwd"]
            return str(asked["code"])
        for descriptor in (stdin, *server):
            os.close(descriptor)
        with os.fdopen(status, "wb") as answer:
            answer.write(b"%d\n" % pid)
            answer.flush()
            _, ended, usage = os.wait4(pid, 0)
            answer.write(b"%d\n%f\n" % (os.waitstatus_to_exitcode(ended), usage.ru_utime + usage.ru_stime))
        os._exit(0)


if __name__ == "__main__":
    leave_to_system()
    atexit.register(_leave)  # first, so that it is called last
    arrow_alone()
    with imports_frozen():
        from bertdata.pipelines.engines import local  # noqa: F401

        from bertdata.io import worker, workers  # noqa: F401

        with contextlib.suppress(ImportError):
            import s3fs  # noqa: F401 - it reads `AWS_…` when it connects
            import upath  # noqa: F401

        from bertdata.__main__ import main
        from bertdata.cli import cli  # noqa: F401
        from bertdata.commands import build_corpus, export, make_pairs, train_vocab  # noqa: F401

    if sys.argv[2:]:
        import torch._dynamo  # noqa: F401 - as DistributedDataParallel does

        from bertdata.training.trainer import train  # noqa: F401

    if code := _serve(socket.socket(fileno=int(sys.argv[1]))):
        exec(code, {"__name__": "__main__"})
    else:
        main()
