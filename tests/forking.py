"""Commands of `bertdata` in processes forked from one that has imported it, which saves each some seconds of imports.

What runs is `bertdata.__main__.main` in a process of its own, up to the end of the interpreter; the imports were done before.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["Forks"]

_LONGEST = 1 << 20  # bytes of a command's arguments


class Forks:
    """A process that forks itself for each command."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self._socket, self._environment = ours, dict(os.environ)

    def takes(self, environment: dict[str, str]) -> bool:
        """Tell whether an environment differs from that of the process in nothing but where a store is."""
        changed = {name for name, _ in environment.items() ^ self._environment.items()}
        return all(name.startswith("AWS_") for name in changed - {"PYTEST_CURRENT_TEST"})

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait(60)

    def run(self, arguments: list[str], cwd: Path, env: dict[str, str], timeout: float) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, as `subprocess.run` does; `env` is its environment, which it takes."""
        status, status_in_child = os.pipe()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, os.fdopen(status, "rb") as answer:
            request = json.dumps({"arguments": arguments, "cwd": str(cwd), "env": env}).encode()
            socket.send_fds(self._socket, [request], [out.fileno(), err.fileno(), status_in_child])
            os.close(status_in_child)
            pid = int(answer.readline())
            if not select.select([answer], [], [], timeout)[0]:
                os.kill(pid, signal.SIGKILL)
            code = int(answer.readline())
            out.seek(0)
            err.seek(0)
            texts = [file.read().decode("utf-8", "backslashreplace").replace("\r\n", "\n") for file in (out, err)]
        return subprocess.CompletedProcess(["bertdata", *arguments], code, *texts)


def _serve(requests: socket.socket) -> None:
    """Fork for each request, until there are no more; return in a process that is to run a command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets those that have ended
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, _LONGEST, 3)
        if not request:
            sys.exit()
        if os.fork():
            for descriptor in descriptors:
                os.close(descriptor)
            continue
        requests.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        out, err, status = descriptors
        if not (pid := os.fork()):
            asked = json.loads(request)
            os.chdir(asked["cwd"])
            os.environ.clear()
            os.environ.update(asked["env"], PWD=asked["cwd"])
            os.dup2(out, 1)
            os.dup2(err, 2)
            for descriptor in descriptors:
                os.close(descriptor)
            sys.argv[1:], sys.path[0] = asked["arguments"], asked["cwd"]
            return
        with os.fdopen(status, "wb") as answer:
            answer.write(b"%d\n" % pid)
            answer.flush()
            answer.write(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)


if __name__ == "__main__":
    from bertdata.pipelines.engines import processes

    from bertdata.__main__ import main

    with processes.lean():
        from bertdata.pipelines.engines import engine, local  # noqa: F401

        from bertdata.cli import cli  # noqa: F401
        from bertdata.commands import build_corpus, export, make_pairs, train_vocab  # noqa: F401

    _serve(socket.socket(fileno=int(sys.argv[1])))
    main()
