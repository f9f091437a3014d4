"""A run on this machine whose output is in a store keeps what it moves between steps on a local disk."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from conftest import digests
from s3_server import Bucket, environment, reach, serving

import bertdata
from bertdata.config import CorpusConfig, PairsConfig
from bertdata.dataset import run, spilled
from bertdata.errors import OutputExistsError, StorageError
from bertdata.stages.rows.build_rows import BuildPartition
from bertdata.storage.files import to_path


def _run(store: Bucket, corpus: Path, vocab: Path, **more: str) -> None:
    config = PairsConfig(max_seq_length=64, shards=3)
    bertdata.make_pairs(corpus, vocab=vocab, output="s3://bucket/pairs", config=config, workers=1, **more)


def test_files_for_a_store_lie_on_a_local_disk_and_a_run_goes_on_with_them(
    monkeypatch: pytest.MonkeyPatch, sample_corpus: Path, sample_vocab: Path, tmp_path: Path
) -> None:
    pytest.importorskip("s3fs")
    (local := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(local))
    config = PairsConfig(max_seq_length=64, shards=3)
    bertdata.make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "here", config=config, workers=1)

    def fail(*_: object) -> None:
        raise StorageError("enough")

    with serving() as store:
        reach(monkeypatch, environment(store.url))
        with monkeypatch.context() as broken:
            broken.setattr(BuildPartition, "__call__", fail)
            with pytest.raises(StorageError, match="enough"):
                _run(store, sample_corpus, sample_vocab)
        (build,) = local.iterdir()
        assert build.stat().st_mode & 0o777 == 0o700
        files = {path: path.stat().st_mtime_ns for path in build.rglob("*.pieces")}
        assert len(files) == len(list(build.glob(".bertdata/tasks/tokenize/*.json"))) > 0
        done = run.count_done(build, "tokenize")
        with monkeypatch.context() as seen:
            seen.setattr("bertdata.stages.rows.partitions.WriteTokens.__call__", fail)
            _run(store, sample_corpus, sample_vocab)
        assert done == len(files) and list(local.iterdir()) == []
        assert not [key for key in store.written if "/work/tokens" in key or "/tasks/tokenize/" in key]
        own = {key.removeprefix("pairs/"): body for key, body in store.objects.items() if "/.bertdata/" not in key}
        here = digests(tmp_path / "here")
        assert set(own) == set(here)
        assert own["manifest.json"] == (tmp_path / "here" / "manifest.json").read_bytes()


def test_claims_for_a_store_lie_on_a_local_disk(monkeypatch: pytest.MonkeyPatch, text: Path, tmp_path: Path) -> None:
    pytest.importorskip("s3fs")
    (local := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(local))
    here = bertdata.build_corpus(text=[text, text], output=tmp_path / "here", workers=1)
    with serving() as store:
        reach(monkeypatch, environment(store.url))
        bertdata.build_corpus(text=[text, text], output="s3://bucket/corpus", workers=1)
        own = {key.removeprefix("corpus/") for key in store.objects if "/.bertdata/" not in key}
        assert own == set(digests(here.path)) and list(local.iterdir()) == []
        assert store.objects["corpus/manifest.json"] == (here.path / "manifest.json").read_bytes()
        assert not [key for key in store.written if "-claims-" in key or "-losses-" in key]


def test_a_place_that_others_may_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    root = to_path("memory://others/out")
    (place := spilled.work_root(root)).mkdir(mode=0o700)
    place.chmod(0o777)
    with pytest.raises(OutputExistsError, match="may be written by other users"), spilled.spilling(root):
        pass


def test_a_run_in_a_store_asks_for_little(monkeypatch: pytest.MonkeyPatch, text: Path) -> None:
    """For a task 23 requests, of which 5 look at the token; 47 before, when each look and each read asked for the size too."""
    pytest.importorskip("s3fs")
    config = CorpusConfig(task_bytes=1 << 16)
    with serving() as store:
        reach(monkeypatch, environment(store.url))
        asked: list[str] = []
        answer = store.answer
        monkeypatch.setattr(store, "answer", lambda method, *rest: asked.append(f"{method} {rest[0]}") or answer(method, *rest))
        corpus = bertdata.build_corpus(text=text, output="s3://bucket/corpus", config=config, workers=1)
        tasks, tokens = len(corpus.shards), sum("run.sha256" in line for line in asked)
        assert tasks >= 8
        assert not any(line.startswith("HEAD") and ("run.sha256" in line or "/tasks/" in line) for line in asked)
        assert tokens <= 8 * tasks and store.requests <= 23 * tasks + 120
