"""A real S3 server, moto's, on this machine: the whole job, a kill in the middle of it, few requests, and what errors say."""

from __future__ import annotations

import base64
import bz2
import errno
import functools
import hashlib
import logging
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE, SECONDS, Build, Run, digests
from processes import Started
from s3_server import environment, reach

from bertdata.config import CorpusConfig
from bertdata.errors import StorageError
from bertdata.records import FileRange, Page, Reject
from bertdata.sources import dumps
from bertdata.stages.corpus.extract import Extract
from bertdata.stages.corpus.plan_tasks import plan
from bertdata.storage import files

pytestmark = pytest.mark.long

pytest.importorskip("upath")
pytest.importorskip("s3fs")
moto = pytest.importorskip("moto.server")
boto3 = pytest.importorskip("boto3")

BUCKET = "bucket"
AWAY = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}  # no store is there


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """Start a server with one bucket; return the environment in which bertdata finds it."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield environment(f"http://{host}:{port}")
    running.stop()


class Bucket:
    """The bucket as another client sees it."""

    def __init__(self, client: Any) -> None:
        self._call = {name: functools.partial(getattr(client, name), Bucket=BUCKET) for name in ("get_object", "put_object")}
        self._client = client

    def put(self, key: str, data: bytes) -> None:
        self._call["put_object"](Key=key, Body=data)

    def keys(self, prefix: str = "") -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def digests(self, prefix: str) -> dict[str, str]:
        """Hash what lies below a prefix, but for the state of runs."""
        own = [key for key in self.keys(prefix) if "/.bertdata/" not in key]
        bodies = {key[len(prefix) :]: self._call["get_object"](Key=key)["Body"].read() for key in own}
        return {name: hashlib.sha256(body).hexdigest() for name, body in bodies.items()}

    def state(self, prefix: str) -> list[str]:
        return [key.partition("/.bertdata/")[2] for key in self.keys(prefix) if "/.bertdata/" in key]

    def unfinished_uploads(self) -> list[Any]:
        return self._client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def bucket(server: dict[str, str]) -> Iterator[Bucket]:
    client = boto3.client(
        "s3",
        endpoint_url=server["AWS_ENDPOINT_URL"],
        aws_access_key_id="someone",
        aws_secret_access_key="something",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=BUCKET)
    yield Bucket(client)
    client.close()


@pytest.mark.slow
def test_the_whole_job_from_store_to_store(
    run: Run, server: dict[str, str], bucket: Bucket, sample_corpus: Path, sample_vocab: Path, sample_pairs: Path
) -> None:
    for path in SAMPLE.rglob("*"):
        if path.suffix in (".bz2", ".txt"):
            bucket.put(f"in/{path.relative_to(SAMPLE).as_posix()}", path.read_bytes())
    sources = ["--wikipedia", f"s3://{BUCKET}/in/*multistream.xml.bz2", "--books", f"s3://{BUCKET}/in/books"]
    corpus, vocab, pairs = (f"s3://{BUCKET}/out/{name}" for name in ("corpus", "vocab", "pairs"))
    run("build-corpus", *sources, "--output", corpus, "--workers", 2, **server)
    run("train-vocab", corpus, "--size", 4000, "--output", vocab, "--workers", 1, **server)
    run("make-pairs", corpus, "--vocab", vocab, "--provenance", "--output", pairs, "--workers", 2, **server)
    for here, name in ((sample_corpus, "corpus"), (sample_vocab, "vocab"), (sample_pairs, "pairs")):
        assert bucket.digests(f"out/{name}/") == digests(here)
        assert bucket.state(f"out/{name}/") == ["run.json", "run.sha256"]
    assert f"{pairs}: " in run("inspect", pairs, "--n", 1, **server).stdout
    assert run("verify", corpus, vocab, pairs, "--workers", 2, **server).stdout.count("all as written") == 3
    said = run("build-corpus", *sources, "--output", corpus, "--dedup", "none", code=5, **server).stderr
    assert "contains a finished dataset" in said
    assert "nothing to do" in run("build-corpus", *sources, "--output", corpus, **server).stdout
    assert not bucket.unfinished_uploads()


def _wait(until: Callable[[], Any], process: Started) -> None:
    end = time.monotonic() + 100
    while not until():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)  # each look costs the server as much as a request of the run


@pytest.mark.long
def test_a_run_that_is_killed_is_finished_with_the_same_bytes(
    build: Build, server: dict[str, str], bucket: Bucket, text: Path, tmp_path: Path
) -> None:
    bucket.put("in/text.jsonl", text.read_bytes())
    options = ["--task-bytes", "131072", "--workers", "2", "--output", f"s3://{BUCKET}/killed"]
    arguments = ["build-corpus", "--text", f"s3://{BUCKET}/in/text.jsonl", *options]
    process = Started(arguments, tmp_path, {**os.environ, **server})
    try:
        _wait(lambda: sum(name.startswith("tasks/") for name in bucket.state("killed/")) >= 2, process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # the workers are of its group
        process.wait()
    state = bucket.state("killed/")
    assert "run.sha256" in state and "manifest.json" not in bucket.digests("killed/")
    again = Started(arguments, tmp_path, {**os.environ, **server})
    printed = again.communicate(timeout=SECONDS)[1].decode()
    assert again.returncode == 0, printed
    build("build-corpus", tmp_path / "local", "--text", text, "--task-bytes", 131072)
    assert bucket.digests("killed/") == digests(tmp_path / "local")
    assert bucket.state("killed/") == ["run.json", "run.sha256"]
    assert not bucket.unfinished_uploads()


def _dump(pages: int, page_bytes: int) -> bytes:
    """Make a dump of streams that hardly pack."""
    noise = random.Random(7)
    head = "<mediawiki><siteinfo><dbname>testwiki</dbname></siteinfo>"
    streams = [head.encode()]
    for number in range(pages):
        text = base64.b64encode(noise.randbytes(page_bytes)).decode()
        fields = f"<title>Page {number}</title><ns>0</ns><id>{number + 1}</id><revision><text>{text}</text></revision>"
        streams.append(f"<page>{fields}</page>".encode())
    return b"".join(map(bz2.compress, [*streams, b"</mediawiki>"]))


@pytest.mark.slow
def test_a_dump_is_read_in_ranges_and_hardly_more_than_once(
    monkeypatch: pytest.MonkeyPatch, server: dict[str, str], bucket: Bucket, tmp_path: Path
) -> None:
    import s3fs

    reach(monkeypatch, server)
    packed, target = _dump(20, 600_000), 4 << 20
    bucket.put("in/testwiki.xml.bz2", packed)
    (tmp_path / "testwiki.xml.bz2").write_bytes(packed)
    asked: list[int] = []
    fetch = s3fs.S3File._fetch_range
    monkeypatch.setattr(
        s3fs.S3File, "_fetch_range", lambda self, start, end: asked.append(end - start) or fetch(self, start, end)
    )

    def read(path: str) -> tuple[list[tuple[int, int]], list[list[Page | Reject]], str]:
        ranges = dumps.split(path, target)
        site = dumps.read_site(path)
        pages = [list(dumps.read_pages(FileRange("x", path, start, end), site, 1 << 24)) for start, end in ranges]
        return ranges, pages, files.digest(path)

    here = read(str(tmp_path / "testwiki.xml.bz2"))
    assert not asked and len(here[0]) == 3 and sum(map(len, here[1])) == 20
    assert read(f"s3://{BUCKET}/in/testwiki.xml.bz2") == here
    again = sum(asked)  # the cuts, the header, all parts, and the digest, which is the whole file once more
    assert again < 2.9 * len(packed) and len(asked) < 30


@pytest.mark.parametrize("name", ["a.txt", "a.epub", "a.parquet"])
@pytest.mark.slow
def test_a_store_that_fails_in_the_middle_is_no_broken_book(
    monkeypatch: pytest.MonkeyPatch, server: dict[str, str], bucket: Bucket, tmp_path: Path, name: str
) -> None:
    import s3fs

    reach(monkeypatch, server)
    bucket.put(f"failing/{name}", b"A line of a story.\n" * 1000)
    config = CorpusConfig(max_rejects=1)

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Internal Server Error")

    async def fail_at_once(*_: object, **__: object) -> bytes:  # of the first block of a file
        return fail()

    monkeypatch.setattr(s3fs.S3FileSystem, "_cat_file", fail_at_once)  # before a file system is made, which keeps its methods
    planned = plan(config, {"books": [(name, f"s3://{BUCKET}/failing/{name}")]})
    monkeypatch.setattr(s3fs.S3File, "_fetch_range", fail)
    with pytest.raises(StorageError, match=f"^cannot read s3://{BUCKET}/failing/{name}: Internal Server Error: .*same command"):
        Extract(tmp_path, config, planned.shard_count)(planned.tasks[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "output", "change", "says"),
    [
        (f"s3://{BUCKET}/nothing", "{tmp}/out", {}, "no file of this name"),
        ("s3://no-such-bucket/books", "{tmp}/out", {}, "bucket does not exist"),
        ("{books}", "s3://no-such-bucket/out", {}, "bucket does not exist: check the name"),
        ("{books}", f"s3://{BUCKET}/out", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "and the credentials"),
        (f"s3://{BUCKET}/books", "{tmp}/out", AWAY, "Could not connect to the endpoint"),
    ],
)
def test_what_goes_wrong_in_a_store_is_one_line(
    run: Run, server: dict[str, str], bucket: Bucket, tmp_path: Path, source: str, output: str, change: dict[str, str], says: str
) -> None:
    names = {"tmp": tmp_path, "books": SAMPLE / "books"}
    code = 2 if "no file" in says else 4
    arguments = ["--books", source.format(**names), "--output", output.format(**names), "--workers", 1]
    done = run("build-corpus", *arguments, code=code, **{**server, **change})
    assert says in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr
