"""Local stages and Beam pipelines write the same bytes, in any order and when an engine repeats tasks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import digests, read_manifest

from bertdata import build_corpus, export, make_pairs, train_vocab
from bertdata.sample import sample

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore:share of words")]
HOW: dict[str, dict[str, Any]] = {
    "one process": {"workers": 1},
    "two workers": {"workers": 2},
    "FnApiRunner": {"beam_args": ("--runner=FnApiRunner", "--direct_runner_bundle_repeat=1")},  # each bundle runs twice
}
CHOICE = {"dedup": "near", "dedup_paragraphs": True, "sample_documents": 60, "task_bytes": 1 << 16}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Build a corpus, a vocabulary, rows of two lengths and an export in each way; return the digests of all files."""
    root = tmp_path_factory.mktemp("made")
    for name in "ab":  # two books with the same text
        (root / f"{name}.txt").write_text("The kettle sings on the hearth. Tea is ready for all of them now.\n\n" * 9)
    books = [sample() / "books", root / "a.txt", root / "b.txt"]
    for way, how in HOW.items():
        corpus, vocab, rows, text = (root / way / name for name in ("corpus", "vocab", "{length}", "text"))
        build_corpus(wikipedia=sample(), books=books, output=corpus, **CHOICE, **how)
        train_vocab(corpus, output=vocab, size=2000, **how)
        make_pairs(corpus, vocab=vocab, output=rows, max_seq_length=(64, 128), shards=2, validation_fraction=0.3, **how)
        export(corpus, to="jsonl", output=text, workers=how.get("workers", 1))
    return {way: digests(root / way) for way in HOW}


@pytest.mark.parametrize("way", [way for way in HOW if way != "one process"])
def test_same_bytes(made: dict[str, dict[str, str]], way: str) -> None:
    assert made[way] == made["one process"]
    assert sum(name.endswith(".arrow") for name in made[way]) > 6


@pytest.mark.parametrize("way", ["one process", "FnApiRunner"])
def test_partitions_without_documents_write_a_shard(way: str, parts: Path, tmp_path: Path) -> None:
    """400 documents in 700 partitions leave more than 300 empty."""
    options = {"vocab": parts / "train-vocab", "objective": "documents", "max_seq_length": 64, "shards": 700}
    (rows,) = make_pairs(parts / "build-corpus", output=tmp_path / "rows", **options, **HOW[way])
    shards = read_manifest(rows.path)["shards"]
    assert len(shards) == 700 and sum(shard["rows"] == 0 for shard in shards) > 300
    assert rows.rows == sum(shard["rows"] for shard in shards) > 400


@pytest.mark.parametrize("text", ["The kettle sings. Tea is ready.", "***"])
def test_no_run_leaves_a_temporary_directory(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beam makes one per pipeline. The second text is not a document, so its run fails."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    (tmp_path / "book.txt").write_text(text)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    try:
        build_corpus(books=tmp_path / "book.txt", output=tmp_path / "corpus", beam_args=("--runner=FnApiRunner",))
    except Exception as error:
        assert "became a document" in str(error) and text == "***"
    assert os.listdir(temporary) == []
