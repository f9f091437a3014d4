"""The tasks of a run lie in a file: a job is small with any number of them, they are spread evenly, and only its own are read."""

from __future__ import annotations

import json
import os
import pickle
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apache_beam as beam
import pytest
from bertdata.chains import local, transforms
from bertdata.chains.build_corpus import BuildCorpus
from bertdata.chains.export import Export
from bertdata.chains.make_pairs import MakePairs
from bertdata.chains.steps import Map, Steps
from bertdata.chains.train_vocab import TrainVocab
from bertdata.chains.transforms import Chain, Tasks
from bertdata.pipelines.engines.on_beam import on_beam
from google.protobuf.json_format import MessageToJson
from tiny import corpus_manifest

from bertdata.codec import decode
from bertdata.config import ChoiceConfig, CorpusConfig, ExportConfig, PairsConfig, VocabConfig
from bertdata.dataset import plan_files
from bertdata.dataset.manifest_records import Input
from bertdata.dataset.manifest_types import CorpusManifest
from bertdata.dataset.tasks import StoredValue
from bertdata.errors import StorageError, VerificationError
from bertdata.exports.base import ExportSource
from bertdata.records import FileRange, ReportReference, Task
from bertdata.stages.corpus.plan_tasks import CorpusPlan
from bertdata.stages.corpus_reader import Corpus, DocumentReader
from bertdata.stages.rows.partitions import Tokens, to_piece
from bertdata.stages.rows.partners import DocumentOrigin
from bertdata.storage.files import write_json
from bertdata.tokens.vocab import Vocabulary

pytestmark = pytest.mark.long

MOST = 200_000  # bytes of any job
# Dataflow takes a job's graph of 10 MB, and a request with it, in JSON, of 20 MB
# (https://docs.cloud.google.com/dataflow/docs/request-quotas, read in November 2026).  It names no bound on steps.
GRAPH, REQUEST, STEPS = 10_000_000, 20_000_000, 100
ELEMENT = 80_000_000  # bytes of one that crosses a shuffle; the least bound of Dataflow's that we have heard of is of 80 MB
PARTS = (FileRange(name := "enwiki-20261101-pages-articles-multistream7.xml-p1p2.bz2", f"gs://dumps/{name}", 0, 1 << 24),)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Make the job of each command with a million tasks, as Beam hands it to an engine."""
    tmp_path, monkeypatch = tmp_path_factory.mktemp("jobs"), pytest.MonkeyPatch()
    tasks = [Task(9_999_999, "wikipedia", PARTS)] * 700_000 + [Task(9_999_999, "text", PARTS)] * 300_000
    monkeypatch.setattr(plan_files, "json", SimpleNamespace(dumps=cache(json.dumps)))  # there are two tasks, each many times
    found = plan_files.ranges(tasks)
    monkeypatch.undo()
    assert len(found) == 256 and found[-1].start + found[-1].length > 100_000_000
    monkeypatch.setattr(transforms, "ranges", lambda _: found)
    inputs = [Input(name=f"{number:064x}.jsonl", source="text", bytes=1 << 29, licence="?") for number in range(20_000)]
    pieces = Vocabulary([f"{number * 7919 % 1_000_003:x}" for number in range(100_000)], True, True)
    choice = ChoiceConfig(dedup="near", dedup_paragraphs=True, mix="wikipedia=1,text=2", sample_documents=9, max_words="text=9")
    entry = {"rows": 1, "batches": 500, "bytes": 1, "sha256": "", "text_bytes": 1}
    shards = [{"name": f"data/train-{number:05d}-of-10000.arrow", **entry} for number in range(10_000)]
    corpus = Corpus(decode(corpus_manifest(shards), CorpusManifest), tasks, 1 << 40, DocumentReader("/corpus", "0" * 64))
    plan = CorpusPlan(tasks, inputs)
    roots = {length: tmp_path / str(length) for length in (64, 128, 256, 512)}
    chains = {
        "build-corpus": BuildCorpus(plan, CorpusConfig(), tmp_path),
        "build-corpus choosing": BuildCorpus(plan, CorpusConfig(choice=choice), tmp_path),
        "train-vocab": TrainVocab(corpus, VocabConfig(), tmp_path),
        "make-pairs": MakePairs(corpus, pieces, PairsConfig(shards=9999), roots),
        "export": Export(tasks, ExportSource("/corpus", "0" * 64), ExportConfig(), pieces, tmp_path),
    }
    made = {}
    for name, chain in chains.items():
        pipeline = beam.Pipeline()
        _ = pipeline | on_beam(chain)
        made[name] = pipeline.to_runner_api()
    monkeypatch.undo()
    yield made


@pytest.mark.slow
def test_any_job_is_small_with_a_million_tasks(jobs: dict[str, Any]) -> None:
    """Neither tasks, nor input files, nor a vocabulary are in the graph."""
    sizes = {name: len(job.SerializeToString()) for name, job in jobs.items()}
    assert {name: size for name, size in sizes.items() if size > MOST} == {} and len(sizes) == 5


def test_any_job_is_within_the_limits_of_dataflow(jobs: dict[str, Any]) -> None:
    for name, job in jobs.items():
        leaves = [each for each in job.components.transforms.values() if not each.subtransforms]
        assert len(MessageToJson(job)) < REQUEST / 10 and len(job.SerializeToString()) < GRAPH / 10, name
        assert 5 < len(leaves) < STEPS, name


def test_the_largest_elements_are_within_its_limits() -> None:
    """A document whose every byte is a token, and a thousand reports of tasks."""
    size = CorpusConfig().max_page_bytes  # in ids of two bytes: with a larger vocabulary a token has several bytes of text
    document = Tokens(
        ["id"], [DocumentOrigin("wikipedia", "en")], [[2 * size], [size // 25], [0]], [bytes(2 * size), bytes(size // 25), b""]
    )
    assert len(pickle.dumps((1, to_piece(document)))) < ELEMENT
    report = ReportReference(999_999, "extract choose", 1 << 61)
    assert 1000 * len(pickle.dumps(report)) < ELEMENT / 100, "as many come to a worker that adds them up"


class Work(Chain):
    """Do each task, which writes down who did it."""

    def expand(self, begin: Steps) -> Steps:
        return begin | "Tasks" >> Tasks(self._root, self._tasks) | "Work" >> Map(_note, str(self._root))


_waited: list[bool] = []  # of this process


def _note(task: Task, root: str) -> None:
    """Note who does a task; before its first one ends, a worker waits for the other, which may start later."""
    Path(root, f"done-{task.number}-{os.getpid()}").touch()
    end = time.monotonic() + 60 * (not _waited and Path(root, "together").exists())
    _waited.append(True)
    while time.monotonic() < end and len({path.name.split("-")[2] for path in Path(root).glob("done-*")}) < 2:
        time.sleep(0.02)
    time.sleep(0.05)


def _tasks(count: int) -> list[Task]:
    return [Task(number, "text", PARTS) for number in range(count)]


def _run(root: Path, tasks: Sequence[Task], workers: int) -> list[list[str]]:
    write_json(root / ".bertdata" / "run.json", {})
    local.run(Work(root, tasks), workers)
    return [path.name.split("-")[1:] for path in root.glob("done-*")]


@pytest.mark.slow
def test_twenty_tasks_are_shared_by_two_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in one range, which one worker expands: it must not keep them."""
    monkeypatch.setattr(plan_files, "_MAX_RANGES", 1)
    (tmp_path / "together").touch()
    done = _run(tmp_path, _tasks(20), 2)
    assert sorted(int(number) for number, _ in done) == list(range(20))
    assert min(Counter(worker for _, worker in done).values()) >= 3 and len({worker for _, worker in done}) == 2


def test_tasks_of_several_ranges_come_once_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_files, "_MAX_RANGES", 4)
    assert [found.start > 0 for found in plan_files.ranges(_tasks(10))] == [False, True, True, True]
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert sorted(int(number) for number, _ in _run(tmp_path, _tasks(10), 1)) == list(range(10))


def test_the_file_of_another_job_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_files, "_MAX_RANGES", 1)
    plan_files.write_tasks(tmp_path, _tasks(5))
    with pytest.raises(VerificationError, match=r"plan-tasks\.jsonl is missing or damaged: its bytes from 0 to"):
        list(plan_files.ranges(_tasks(6))[0].tasks(tmp_path))
    assert list(plan_files.ranges(_tasks(5))[0].tasks(tmp_path)) == _tasks(5)
    value: Any = {"a": ["tea \udce9"]}
    given = StoredValue.of(tmp_path, "inputs", value)
    with pytest.raises(StorageError, match=r"plan-inputs\.json"):
        given.read()
    given.write(value)
    assert given.read() == value
