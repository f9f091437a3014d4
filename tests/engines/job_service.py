"""A job service of Beam's portability API for several workers, and before their pools a door that sends them work in turn.

`python job_service.py JOB_PORT DOOR_PORT POOL [POOL …]`: Beam's own local job service asks for one worker only; this one asks
for as many as there are pools, all at the door, and the door asks one pool after the other.
"""

from __future__ import annotations

import itertools
import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from apache_beam.portability.api import beam_fn_api_pb2_grpc, beam_job_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.local_job_service import BeamJob, LocalJobServicer


class Door(beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolServicer):
    """Ask the pools in turn to start a worker; a worker that ends asks its own."""

    def __init__(self, pools: list[str]) -> None:
        stubs = [beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(grpc.insecure_channel(pool)) for pool in pools]
        self._turns, self._of, self._mutex = itertools.cycle(stubs), {}, threading.Lock()

    def StartWorker(self, request: Any, _context: Any) -> Any:
        with self._mutex:
            stub = self._of[request.worker_id] = next(self._turns)
        return stub.StartWorker(request, wait_for_ready=True, timeout=60)

    def StopWorker(self, request: Any, _context: Any) -> Any:
        return self._of.pop(request.worker_id).StopWorker(request)


def main(job_port: int, door_port: int, pools: list[str]) -> None:
    """Serve until killed."""

    class Job(BeamJob):
        def _invoke_runner(self) -> Any:
            self.set_state(beam_job_api_pb2.JobState.RUNNING)
            runner = FnApiRunner(provision_info=self._provision_info)
            runner._num_workers = len(pools)  # what Beam's own run_pipeline sets, which a job service goes past
            return runner.run_via_runner_api(self._pipeline_proto, self.pipeline_options())

    door = grpc.server(ThreadPoolExecutor())
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(Door(pools), door)
    door.add_insecure_port(f"127.0.0.1:{door_port}")
    door.start()
    LocalJobServicer(beam_job_type=Job).start_grpc_server(job_port)
    print("serving", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
