"""A sample of a large corpus: as much is read however large it is, from many places, and the counts are of all documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import SAMPLE, Build
from tiny import corpus_manifest

from bertdata import train_vocab
from bertdata.codec import decode
from bertdata.config import VocabConfig
from bertdata.dataset import shards
from bertdata.dataset.manifest_types import CorpusManifest
from bertdata.records import FileRange, Task
from bertdata.stages import corpus_reader as corpus
from bertdata.stages import vocab
from bertdata.stages.corpus_reader import Corpus, DocumentReader
from bertdata.stages.vocab import Sample


def large(shard_count: int, batches: int = 8) -> Corpus:
    """A corpus of so many shards of 16 MB, none of which is there."""
    names = [f"data/train-{number:05d}.arrow" for number in range(shard_count)]
    tasks = [Task(n, "documents", (FileRange(name, f"/{name}", 0, batches),)) for n, name in enumerate(names)]
    entries = [{"name": name, "rows": 1, "batches": batches, "bytes": 1 << 24, "sha256": "", "text_bytes": 1} for name in names]
    manifest = decode(corpus_manifest(entries), CorpusManifest)
    return Corpus(manifest, tasks, shard_count << 24, DocumentReader("/", ""))


@pytest.mark.parametrize("count", [200, 2000])
def test_as_much_is_read_of_any_corpus(count: int) -> None:
    """A GB for a sample of 256 MB: 512 batches of 2 MB, of which a quarter of the documents are taken."""
    found = Sample.of(large(count), VocabConfig())
    parts = [part for task in found.tasks for part in task.parts]
    assert 430 < len(parts) < 600
    assert all(part.end - part.start == 1 for part in parts) and len(set(parts)) == len(parts)
    assert len({part.name for part in parts}) > 0.8 * min(count, 400), "from many places"
    assert (found.share_of_read, found.share) == (0.25, pytest.approx((256 << 20) / (count << 24)))
    assert [part for task in Sample.of(large(count), VocabConfig(seed=7)).tasks for part in task.parts] != parts


@pytest.mark.parametrize(("source", "config"), [(large(64), VocabConfig()), (large(8), VocabConfig(sample_bytes=1 << 20))])
def test_a_small_corpus_is_read_whole(source: Corpus, config: VocabConfig) -> None:
    """So a sample of up to a quarter, or of a corpus of 128 MB, has the documents that it always had."""
    found = Sample.of(source, config)
    assert found.tasks == source.tasks and found.share_of_read == found.share


def test_the_counts_are_of_all_documents(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some batches are read; how many documents there are, and of which languages, the corpus tells."""
    monkeypatch.setattr(shards, "BATCH_BYTES", 1 << 12)
    words = ("--wikipedia", SAMPLE / "*multistream.xml.bz2", "--books", SAMPLE / "books")
    source = corpus.read(build("build-corpus", tmp_path / "corpus", *words))
    monkeypatch.setattr(vocab, "_MIN_BATCHES", 4)
    config = VocabConfig(size=300, layout="compact", sample_bytes=source.text_bytes // 16)
    sample = Sample.of(source, config)
    read = sum(len(ids) for task in sample.tasks for (ids,) in source.reader.columns(task, "id", whole=False))
    assert 0 < read < source.manifest.rows
    train_vocab(source.reader.directory, output=tmp_path / "vocab", config=config, workers=1)
    made = json.loads((tmp_path / "vocab" / "manifest.json").read_text())
    (counts,) = made["counts"]
    assert counts["in"] == source.manifest.rows == counts["out"] + counts["dropped"]["not in the sample"]
    assert 0 < counts["out"] < read
