"""How make-pairs moves documents to their shards: by runner and output, on a local disk for a store, as the record says."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from conftest import digests
from s3_server import Bucket, environment, reach, serving

import bertdata
from bertdata.build.rows.bucket import BuildBucket
from bertdata.commands import make_pairs
from bertdata.config import CorpusConfig, PairsConfig
from bertdata.dataset import run
from bertdata.errors import OutputExistsError, StorageError

DASK = ("--dask_partition_size=1", "--runner=apache_beam.runners.dask.dask_runner.DaskRunner")


@pytest.mark.parametrize(
    ("asked", "beam_args", "is_far", "chosen", "is_spilled"),
    [
        ("auto", (), False, "files", False),
        ("auto", (), True, "files", True),
        ("auto", ("--runner", "DirectRunner"), True, "files", True),
        ("auto", ("--runner=directrunner",), True, "files", True),
        ("auto", ("--job_name=x", "--runner=Direct"), True, "files", True),
        ("auto", ("--runner=apache_beam.runners.direct.DirectRunner",), True, "files", True),
        ("auto", ("--runner=dask",), True, "engine", False),
        ("auto", DASK, True, "engine", False),
        ("auto", DASK, False, "files", False),
        ("files", DASK, True, "files", False),
        ("engine", (), True, "engine", False),
    ],
)
def test_the_choice(
    asked: str,
    beam_args: tuple[str, ...],
    is_far: bool,
    chosen: str,
    is_spilled: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(make_pairs, "recorded", lambda *_: None)
    monkeypatch.setattr(make_pairs, "is_local", lambda _: not is_far)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found, spill = make_pairs._shuffle(asked, beam_args, tmp_path / "out", {"command": "make-pairs"})
    assert (found, spill is not None and spill.parent == tmp_path) == (chosen, is_spilled)


def _run(store: Bucket, corpus: Path, vocab: Path, **more: str) -> None:
    config = PairsConfig(max_seq_length=64, shards=3)
    bertdata.make_pairs(corpus, vocab=vocab, output="s3://bucket/pairs", config=config, workers=1, **more)


def test_files_for_a_store_lie_on_a_local_disk_and_a_run_goes_on_with_them(
    monkeypatch: pytest.MonkeyPatch, sample_corpus: Path, sample_vocab: Path, tmp_path: Path
) -> None:
    pytest.importorskip("s3fs")
    (spilled := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spilled))
    config = PairsConfig(max_seq_length=64, shards=3)
    bertdata.make_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "here", config=config, workers=1)

    def fail(*_: object) -> None:
        raise StorageError("enough")

    with serving() as store:
        reach(monkeypatch, environment(store.url))
        with monkeypatch.context() as broken:
            broken.setattr(BuildBucket, "__call__", fail)
            with pytest.raises(StorageError, match="enough"):
                _run(store, sample_corpus, sample_vocab)
        (build,) = spilled.iterdir()
        assert build.stat().st_mode & 0o777 == 0o700
        files = {path: path.stat().st_mtime_ns for path in build.rglob("*.arrow")}
        assert len(files) == len(list(build.glob(".bertdata/tasks/tokenize/*.json"))) > 0
        done = run.count_done(build, "tokenize")
        monkeypatch.setattr(make_pairs, "_HERE", ())  # elsewhere the engine would be chosen: the record says files
        with monkeypatch.context() as seen:
            seen.setattr(make_pairs, "_HERE", ("",))
            seen.setattr("bertdata.build.rows.buckets.Tokenize.__call__", fail)
            _run(store, sample_corpus, sample_vocab)
        assert done == len(files) and list(spilled.iterdir()) == []
        assert not [key for key in store.written if "/work/tokens" in key or "/tasks/tokenize/" in key]
        own = {key.removeprefix("pairs/"): body for key, body in store.objects.items() if "/.bertdata/" not in key}
        here = digests(tmp_path / "here")
        assert set(own) == set(here)
        assert own["manifest.json"] == (tmp_path / "here" / "manifest.json").read_bytes()


def test_a_choice_that_is_recorded_is_kept_and_no_difference(tmp_path: Path) -> None:
    identity = {"command": "make-pairs", "config": {"seed": 1}}
    with run.building(tmp_path / "out", {**identity, "shuffle": "engine"}) as root:
        (root / ".bertdata" / "tasks" / "pairs").mkdir(parents=True)
        assert run.recorded(tmp_path / "out", identity, "shuffle") == "engine"
        assert run.recorded(tmp_path / "out", {**identity, "config": {"seed": 2}}, "shuffle") is None
        chosen = make_pairs._shuffle("auto", (), tmp_path / "out", identity)
        assert chosen == ("engine", None) and make_pairs._shuffle("files", (), tmp_path / "out", identity) == ("files", None)
    with run.building(tmp_path / "out", {**identity, "shuffle": "files"}) as again:
        assert again == root


def test_a_place_that_others_may_write_is_refused(tmp_path: Path) -> None:
    from bertdata.dataset.spilled import spilling

    (tmp_path / "spill").mkdir(mode=0o700)
    (tmp_path / "spill").chmod(0o777)
    with pytest.raises(OutputExistsError, match="may be written by other users"), spilling(tmp_path / "spill"):
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
