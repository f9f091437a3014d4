"""Inputs and outputs in a store, by a real S3 server (moto): the same bytes, resumed after a kill, and named errors."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE, SECONDS, Build, Run, digests
from processes import Started

import bertdata
from bertdata import Shards, verify
from bertdata.config import CorpusConfig
from bertdata.dataset.build import MANIFEST, building, is_complete, work_directory
from bertdata.errors import OutputExistsError, OutputLockedError, ResumeError, StorageError, UsageError
from bertdata.run.job import Job
from bertdata.stages.corpus.extract import extract
from bertdata.stages.corpus.plan_tasks import plan
from bertdata.storage import files
from bertdata.storage.files import to_path, write_json, write_text

pytest.importorskip("upath")
pytest.importorskip("s3fs")
moto = pytest.importorskip("moto.server")
boto3 = pytest.importorskip("boto3")

BUCKET = "bucket"
IDENTITY: dict[str, Any] = {"command": "build-corpus", "config": {"seed": 1}}


class Bucket:
    """A bucket as another client sees it, and the environment in which bertdata finds it."""

    def __init__(self, url: str) -> None:
        self.environment = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "something",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            **dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), os.devnull),
        }
        keys = {"aws_access_key_id": "someone", "aws_secret_access_key": "something", "region_name": "us-east-1"}
        self.client = boto3.client("s3", endpoint_url=url, **keys)
        self.client.create_bucket(Bucket=BUCKET)

    def put(self, name: str, path: Path) -> None:
        self.client.put_object(Bucket=BUCKET, Key=name, Body=path.read_bytes())

    def keys(self, prefix: str) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [entry["Key"][len(prefix) :] for page in pages for entry in page.get("Contents", [])]

    def digests(self, prefix: str) -> dict[str, str]:
        """Hash what is below a prefix, without the state of runs."""
        names = [name for name in self.keys(prefix) if ".bertdata/" not in name]
        bodies = {name: self.client.get_object(Bucket=BUCKET, Key=prefix + name)["Body"].read() for name in names}
        return {name: hashlib.sha256(body).hexdigest() for name, body in bodies.items()}

    def state(self, prefix: str) -> list[str]:
        return [name.partition(".bertdata/")[2] for name in self.keys(prefix) if ".bertdata/" in name]


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    found = Bucket("http://{}:{}".format(*running.get_host_and_port()))
    yield found
    found.client.close()
    running.stop()


@pytest.fixture
def store(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A new directory in the bucket, which this process reaches."""
    import s3fs

    for name, value in {**bucket.environment, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    return to_path(f"s3://{BUCKET}/{tmp_path.name}")


@pytest.mark.nightly
def test_a_job_from_store_to_store_has_the_same_bytes(
    run: Run, bucket: Bucket, sample_corpus: Path, sample_vocab: Path, sample_pairs: Path, store: Path
) -> None:
    for path in SAMPLE.rglob("*"):
        if path.suffix in (".bz2", ".txt"):
            bucket.put(f"in/{path.relative_to(SAMPLE).as_posix()}", path)
    sources = ["--wikipedia", f"s3://{BUCKET}/in/*multistream.xml.bz2", "--books", f"s3://{BUCKET}/in/books"]
    corpus, vocab, pairs = (f"s3://{BUCKET}/out/{name}" for name in ("corpus", "vocab", "pairs"))
    run("build-corpus", *sources, "--output", corpus, "--workers", 2, **bucket.environment)
    run("train-vocab", corpus, "--size", 4000, "--output", vocab, "--workers", 1, **bucket.environment)
    run("make-pairs", corpus, "--vocab", vocab, "--provenance", "--output", pairs, "--workers", 1, **bucket.environment)
    for here, name in ((sample_corpus, "corpus"), (sample_vocab, "vocab"), (sample_pairs, "pairs")):
        assert bucket.digests(f"out/{name}/") == digests(here)
        assert sorted(bucket.state(f"out/{name}/")) == ["run.json", "run.sha256"]
        assert verify(f"s3://{BUCKET}/out/{name}", workers=1).problems == []
    assert Shards(pairs).identity == Shards(sample_pairs).identity


@pytest.mark.long
def test_a_killed_run_ends_with_the_same_bytes(build: Build, bucket: Bucket, text: Path, tmp_path: Path) -> None:
    bucket.put("in/text.jsonl", text)
    options = ["--task-bytes", "131072", "--workers", "2", "--output", f"s3://{BUCKET}/killed"]
    arguments = ["build-corpus", "--text", f"s3://{BUCKET}/in/text.jsonl", *options]
    environment, deadline = {**os.environ, **bucket.environment}, time.monotonic() + 100
    process = Started(arguments, tmp_path, environment)
    while sum(name.startswith("tasks/") for name in bucket.state("killed/")) < 2:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)  # the workers are of its group
    process.wait()
    assert MANIFEST not in bucket.digests("killed/")
    again = Started(arguments, tmp_path, environment)
    printed = again.communicate(timeout=SECONDS)[1].decode()
    assert again.returncode == 0, printed
    build("build-corpus", tmp_path / "local", "--text", text, "--task-bytes", 131072)
    assert bucket.digests("killed/") == digests(tmp_path / "local")


class Late(Job):
    """A job that writes a manifest."""

    def finish(self) -> None:
        for root in self.roots:
            write_json(root / MANIFEST, {"rows": 0})


def test_a_second_command_at_the_same_time_is_found_before_the_manifest(store: Path) -> None:
    with building(store, IDENTITY) as root:
        assert root is not None
        late = Late(roots=(root,))
        with building(store, IDENTITY) as newer:
            assert newer is not None
            with pytest.raises(OutputLockedError, match="a newer run replaced this one"):
                late.commit()
            assert not is_complete(store)
            Late(roots=(newer,)).commit()
    assert is_complete(store)


def test_an_output_in_a_store_is_refused_resumed_and_replaced(store: Path) -> None:
    with building(store, IDENTITY) as root:
        assert root == store
        write_text(store / "data" / "part", "done so far")
        write_json(store / ".bertdata" / "tasks" / "extract" / "00000.json", {})
    other = {**IDENTITY, "config": {"seed": 2}}
    with pytest.raises(ResumeError, match="`seed`: 1 then, 2 now"), building(store, other):
        pass
    with building(store, IDENTITY) as root:
        assert root is not None and (store / "data" / "part").read_text() == "done so far"
        Late(roots=(root,)).commit()
    with building(store, IDENTITY) as done:
        assert done is None
    with pytest.raises(OutputExistsError, match="a finished dataset with other settings"), building(store, other):
        pass
    with building(store, other, overwrite=True):
        assert not is_complete(store) and not (store / "data" / "part").exists()


def test_a_stopped_run_into_a_store_leaves_no_work_files(store: Path) -> None:
    with pytest.raises(KeyboardInterrupt), work_directory(store) as work:
        (work / "tokens").write_text("")
        raise KeyboardInterrupt
    assert not work.exists()


def test_a_failing_read_is_no_reject(store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import s3fs

    write_text(store / "a.txt", "A line of a story.\n" * 1000)
    config = CorpusConfig(max_rejects=1)
    planned = plan(config, {"books": [("a.txt", str(store / "a.txt"))]})

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Internal Server Error")

    monkeypatch.setattr(s3fs.S3File, "_fetch_range", fail)
    with pytest.raises(StorageError, match=r"^cannot read s3://.*/a\.txt: Internal Server Error. .*same command"):
        extract(tmp_path, config, len(planned.tasks), False, planned.tasks[0])


def test_a_missing_bucket_is_named(store: Path) -> None:
    with pytest.raises(StorageError, match="bucket does not exist. Check the name") as caught:
        bertdata.build_corpus(books=SAMPLE / "books", output="s3://no-such-bucket/out", workers=1)
    assert caught.value.exit_code == 4


NAMES = {"corpus": "corpus", "./odd://name": "odd:/name", "C://corpus": "C:/corpus", "file:///a%20b": "/a b"}


def test_names_of_this_machine_are_plain_paths_and_other_stores_name_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in NAMES.items():
        assert to_path(name) == Path(path) and files.is_local(name)
    with pytest.raises(UsageError, match=r"nowhere://bucket/corpus: .*'nowhere'.*write \./nowhere://bucket/corpus"):
        to_path("nowhere://bucket/corpus")
    for name in ("hf://datasets/ada", "hf://rows"):
        with pytest.raises(UsageError, match="is not the name of a dataset: write hf://datasets/OWNER/NAME"):
            to_path(name)
    monkeypatch.setitem(sys.modules, "upath", None)
    with pytest.raises(UsageError, match=r"hf://datasets/ada/books: .*pip install universal_pathlib datasets huggingface_hub"):
        to_path("hf://datasets/ada/books")
    with pytest.raises(UsageError, match=r"s3://bucket/corpus: .*pip install universal_pathlib s3fs"):
        to_path("s3://bucket/corpus")
