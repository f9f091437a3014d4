"""Run a module or a file of Python whose gRPC servers listen on loopback, for Beam's listen on all addresses.

`python on_loopback.py MODULE|FILE.py [ARGUMENTS …]`
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

from apache_beam.runners.portability.fn_api_runner.worker_handlers import ExternalWorkerHandler
from grpc import _server

_real = _server._Server.add_insecure_port


def add_insecure_port(server: Any, address: str) -> Any:
    """Listen on loopback where all addresses are asked for."""
    return _real(server, address.replace("[::]:", "127.0.0.1:"))


if __name__ == "__main__":
    _server._Server.add_insecure_port = add_insecure_port
    ExternalWorkerHandler.host_from_worker = lambda self: "127.0.0.1"  # where workers come back to
    del sys.argv[0]
    if sys.argv[0].endswith(".py"):
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
