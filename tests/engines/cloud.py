"""Google's cloud on this machine: a server of Cloud Storage, and one of Dataflow that takes jobs and carries them out.

The server of Dataflow keeps what it is sent.  It runs a job as the service would, from what the job names in the bucket alone.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import logging
import os
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apache_beam.portability.api import beam_runner_api_pb2
from loopback import listening

BUCKET, IMAGE = "bucket", "europe-west4-docker.pkg.dev/my-project/images/bertdata:1"
_CARRY_OUT = """
import sys
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms import environments

pipeline = beam_runner_api_pb2.Pipeline.FromString(open(sys.argv[1], "rb").read())
for environment in pipeline.components.environments.values():
    environment.CopyFrom(environments.EmbeddedPythonEnvironment.default().to_runner_api(None))
print(FnApiRunner().run_via_runner_api(pipeline, PipelineOptions([])).wait_until_finish())
"""


@dataclass
class Cloud:
    """A project with one bucket, and the jobs that were submitted."""

    storage: str
    dataflow: str
    jobs: list[dict[str, Any]] = field(default_factory=list)
    state: str = "JOB_STATE_RUNNING"  # of every job

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which gcsfs and Google's own client find the store."""
        return {"STORAGE_EMULATOR_HOST": self.storage, "GOOGLE_CLOUD_PROJECT": "my-project"}

    @property
    def options(self) -> list[str]:
        """The words after ``--`` that send a job here."""
        where = ("--project=my-project", "--region=europe-west4", f"--temp_location=gs://{BUCKET}/temp")
        return [
            "--runner=DataflowRunner",
            *where,
            "--no_auth",
            f"--dataflow_endpoint={self.dataflow}",
            f"--sdk_container_image={IMAGE}",
        ]

    def put(self, key: str, data: bytes) -> None:
        """Store an object."""
        address = f"{self.storage}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={urllib.parse.quote(key, safe='')}"
        request = urllib.request.Request(address, data, {"Content-Type": "application/octet-stream"})
        urllib.request.urlopen(request, timeout=10).close()

    def get(self, key: str) -> bytes:
        """Return an object."""
        address = f"{self.storage}/storage/v1/b/{BUCKET}/o/{urllib.parse.quote(key, safe='')}?alt=media"
        with urllib.request.urlopen(address, timeout=10) as answer:
            return answer.read()  # type: ignore[no-any-return]

    def keys(self, prefix: str) -> list[str]:
        """Name the objects below a prefix."""
        with urllib.request.urlopen(f"{self.storage}/storage/v1/b/{BUCKET}/o?prefix={prefix}", timeout=10) as answer:
            return sorted(item["name"] for item in json.load(answer).get("items", []))

    def staged(self) -> bytes:
        """Return the pipeline that the last job names, as the service reads it."""
        names = self.jobs[-1]["environment"]["sdkPipelineOptions"]["options"]
        key: str = names["pipelineUrl"].removeprefix(f"gs://{BUCKET}/")
        return self.get(key)

    def pipeline(self) -> Any:
        """Return that pipeline, read."""
        return beam_runner_api_pb2.Pipeline.FromString(self.staged())

    def carry_out(self, directory: Path) -> str:
        """Run the last job in a process that has nothing of the command's but what it staged."""
        path = directory / "pipeline.pb"
        path.write_bytes(self.staged())
        words = [sys.executable, "-c", _CARRY_OUT, path]
        done = subprocess.run(
            words, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=200, check=False, cwd=directory
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@contextlib.contextmanager
def cloud() -> Iterator[Cloud]:
    """Run both servers."""
    from gcp_storage_emulator.server import create_server

    logging.getLogger("gcp_storage_emulator").setLevel(logging.CRITICAL)
    found = Cloud("", "")

    class Dataflow(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.jobs.append(job)
            self.answer({**job, "id": f"2026-11-22_{len(found.jobs)}", "currentState": found.state})

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            job = {"id": path.rpartition("/")[2], "currentState": found.state}
            self.answer({} if path.endswith("messages") else job)

        def answer(self, value: Any) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = create_server("127.0.0.1", 0, in_memory=True, default_bucket=BUCKET)
    server.start()
    server._api._httpd.handle_error = lambda *_: None  # a client that has read enough hangs up
    try:
        with listening(Dataflow) as address:
            found.storage = f"http://127.0.0.1:{server._api._httpd.server_address[1]}"
            found.dataflow = address.replace("127.0.0.1", "localhost")  # by which Beam's client knows that it is no TLS
            yield found
    finally:
        server.stop()
