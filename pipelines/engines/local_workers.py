"""Serve the worker processes of the local runner, which talk to their server through a Unix socket.

Beam's own server listens on four TCP ports of all addresses, and believes whoever connects: such a peer gets any file of the
user and sends pickles.  So this one listens on one Unix socket, in a directory that only the user can enter.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import grpc
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc
from apache_beam.runners.portability.fn_api_runner.worker_handlers import (
    BasicLoggingService,
    BeamFnControlServicer,
    ControlConnection,
    GrpcStateServicer,
    GrpcWorkerHandler,
    WorkerHandler,
    WorkerHandlerManager,
)
from apache_beam.runners.worker.data_plane import BeamFnDataServicer
from apache_beam.transforms.environments import Environment
from apache_beam.utils import thread_pool_executor
from google.protobuf import json_format, text_format

from bertdata.credentials import hand_over
from bertdata.errors import BertDataError

from . import processes

__all__ = ["Processes", "Workers"]

_URN = "bertdata:env:worker:v1"
_DIED = "a worker process was killed, perhaps for want of memory: run the same command again, with fewer `workers`"
_CLOSING = 5  # seconds for calls that are under way when the server stops
_OPTIONS = [
    ("grpc.max_receive_message_length", -1),  # no limit
    ("grpc.max_send_message_length", -1),
    ("grpc.http2.max_ping_strikes", 0),  # Beam's workers ping every 20 s, which a server takes for an attack
]


@Environment.register_urn(_URN, bytes)
class Processes(Environment):
    """The environment of a pipeline whose workers are the processes below."""

    def __init__(self, payload: bytes, *more: Any) -> None:
        super().__init__(*more)
        self._payload = payload

    def to_runner_api_parameter(self, _context: Any) -> tuple[str, bytes]:
        return _URN, self._payload

    @staticmethod
    def from_runner_api_parameter(
        payload: bytes, capabilities: Any, artifacts: Any, resource_hints: Any, _context: Any
    ) -> Processes:
        return Processes(payload, capabilities, artifacts, resource_hints)


class Workers(WorkerHandlerManager):
    """The workers of one run, whose server listens on the socket at `path`."""

    _grpc_server: Any  # Beam's name: None until the first workers start

    def __init__(self, path: str, *more: Any) -> None:
        super().__init__(*more)
        self._path = path

    def get_worker_handlers(self, environment_id: Any, num_workers: int) -> Any:
        """Return the workers, started if they are not yet; Beam makes its own server only where there is none."""
        if self._grpc_server is None:
            self._grpc_server = _Server(self._path, self)
        return super().get_worker_handlers(environment_id, num_workers)


class _Server:
    """What Beam's `GrpcServer` offers to a run: control, data, state and logging, here on one Unix socket."""

    def __init__(self, path: str, workers: Workers) -> None:
        self.control_handler, self.data_plane_handler = _Control(workers), _Data()
        self._server = grpc.server(thread_pool_executor.shared_unbounded_instance(), options=_OPTIONS)
        beam_fn_api_pb2_grpc.add_BeamFnControlServicer_to_server(self.control_handler, self._server)
        beam_fn_api_pb2_grpc.add_BeamFnDataServicer_to_server(self.data_plane_handler, self._server)
        beam_fn_api_pb2_grpc.add_BeamFnStateServicer_to_server(GrpcStateServicer(workers.state_servicer), self._server)
        beam_fn_api_pb2_grpc.add_BeamFnLoggingServicer_to_server(BasicLoggingService(), self._server)
        address = "unix:" + quote(os.fsencode(path))
        self._server.add_insecure_port(address)
        self.control_port = self.data_port = self.state_port = self.logging_port = address
        self._server.start()

    def close(self) -> None:
        self.control_handler.done()
        self._server.stop(_CLOSING).wait()


def _until_lost(messages: Any) -> Iterator[Any]:
    """Yield what a worker sends, until it ends or dies: the thread that watches its process reports a death."""
    with contextlib.suppress(grpc.RpcError):
        yield from messages


class _Data(BeamFnDataServicer):
    """Carries elements to workers and back."""

    def Data(self, elements_iterator: Any, context: Any) -> Any:
        return super().Data(_until_lost(elements_iterator), context)


class _Control(BeamFnControlServicer):
    """Carries what is asked of workers, and their answers."""

    def __init__(self, workers: Workers) -> None:
        super().__init__(workers)
        self._connections: dict[str, _Connection] = {}

    def get_conn_by_worker_id(self, worker_id: str) -> _Connection:
        return self._connections.setdefault(worker_id, _Connection())

    def Control(self, iterator: Any, context: Any) -> Any:
        return super().Control(_until_lost(iterator), context)


class _Connection(ControlConnection):
    """What is asked of a worker: all of it fails when that has died."""

    def __init__(self) -> None:
        super().__init__()
        self._dead = False

    def push(self, request: Any) -> Any:
        future = super().push(request)
        if self._dead:
            self.fail()
        return future

    def pending(self) -> bool:
        """Tell whether the worker still works at something."""
        return bool(self._futures_by_id)

    def fail(self) -> None:
        """Answer all that was asked, and all that will be, with an error."""
        self._dead = True
        for number, future in list(self._futures_by_id.items()):
            if not future.is_done():
                future.set(beam_fn_api_pb2.InstructionResponse(instruction_id=number, error=_DIED))


@WorkerHandler.register_environment(_URN, bytes)
class _Worker(GrpcWorkerHandler):
    """A worker process, as the runner sees it."""

    def __init__(self, payload: bytes, state: Any, provision_info: Any, grpc_server: Any) -> None:
        super().__init__(state, provision_info, grpc_server)
        self._verbose = bool(payload)

    def port_from_worker(self, port: str) -> str:
        """Return the address of one of the server's services: that of its socket."""
        return port

    def start_worker(self) -> None:
        """Take a process, and tell it where the runner is."""
        self._process = processes.take(self._verbose)
        threading.Thread(target=self._watch, name=f"watch {self.worker_id}", daemon=True).start()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # which the watch tells
            self._process.stdin.write(json.dumps(self._where()).encode() + b"\n")
            self._process.stdin.flush()

    def _where(self) -> dict[str, str]:
        """Return what Beam's worker looks for in its environment."""
        return {
            "WORKER_ID": self.worker_id,
            "CONTROL_API_SERVICE_DESCRIPTOR": text_format.MessageToString(self.control_api_service_descriptor()),
            "LOGGING_API_SERVICE_DESCRIPTOR": text_format.MessageToString(self.logging_api_service_descriptor()),
            "PIPELINE_OPTIONS": json_format.MessageToJson(self.provision_info.provision_info.pipeline_options),
            **hand_over(),
        }

    def _watch(self) -> None:
        self._process.wait()
        self.control_conn.fail()

    def check(self) -> None:
        """Raise BertDataError if the process has died; what fails first then may be any of its connections."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
            raise BertDataError(_DIED)

    def close(self) -> None:
        """End the process: at once if it still works at something, for the run has failed."""
        if self.control_conn.pending():
            self._process.kill()
        super().close()

    def stop_worker(self) -> None:
        """End the process, which has nothing left to do."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
