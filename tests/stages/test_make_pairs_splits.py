"""make-pairs --validation-fraction: a split that shares no document with the other, and errors that say what to do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from conftest import Build, Run, digests, read_manifest, read_rows
from hypothesis import given
from hypothesis import strategies as st

from bertdata.stages.rows.partitions import Layout


def test_a_validation_split_shares_nothing_with_train(
    build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (
        sample_corpus,
        "--vocab",
        sample_vocab,
        "--validation-fraction",
        0.3,
        "--shards",
        2,
        "--dupe-factor",
        2,
        "--provenance",
    )
    pairs = build("make-pairs", tmp_path / "p", *options)
    manifest, train, held_out = read_manifest(pairs), read_rows(pairs, "train"), read_rows(pairs, "validation")
    files = [Path(shard["name"]).stem for shard in manifest["shards"]]
    assert files == ["train-00000-of-00002", "train-00001-of-00002", "validation-00000-of-00001"]
    splits = manifest["splits"]
    assert [splits["train"]["rows"], splits["validation"]["rows"]] == [len(train), len(held_out)]
    assert manifest["rows"] == len(train) + len(held_out)
    documents = [{row[f"{side}_document"] for row in rows for side in "ab"} for rows in (train, held_out)]
    assert documents[0] and documents[1] and not documents[0] & documents[1]
    ids = {row["id"] for row in read_rows(sample_corpus)}
    assert splits["train"]["documents"] + splits["validation"]["documents"] == len(ids)
    assert documents[1] <= {i for i in ids if Layout(1, 2, 0.3).of_documents([i], [""])[0] == 2}
    stages = [stage["stage"] for stage in manifest["counts"]]
    assert stages == ["documents", "chunks", "tokens", "validation documents", "validation chunks", "validation tokens"]
    for rows in (train, held_out):
        assert abs(2 * sum(row["next_sentence_label"] for row in rows) - len(rows)) <= 8
        assert all((row["a_document"] == row["b_document"]) == (row["next_sentence_label"] == 0) for row in rows)
    assert "split: validation" in (pairs / "README.md").read_text()
    again = build("make-pairs", tmp_path / "again", *options, "--", "--runner=FnApiRunner")
    assert digests(again) == digests(pairs)


def test_a_split_without_a_document_says_what_to_do(run: Run, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    arguments = ("make-pairs", sample_corpus, "--vocab", sample_vocab, "--output", tmp_path / "p", "--shards", 1)
    done = run(*arguments, "--workers", 1, "--validation-fraction", "0.0000001", code=3)
    assert "no document of validation produced a row" in done.stderr and "larger --validation-fraction" in done.stderr


@given(st.text(max_size=20), st.integers(0, 9), st.integers(1, 50), st.floats(0.01, 0.5))
def test_a_document_keeps_its_split(doc_id: str, seed: int, shards: int, fraction: float) -> None:
    """Whatever the seed and the number of shards; and what is held out at one share is at any larger one."""
    here = Layout(seed, shards, fraction)
    split, number, count = here.split_of(here.of_documents([doc_id], [""])[0])
    assert 0 <= number < count and count == (shards if split == "train" else here.validation)
    other = Layout(seed + 1, shards + 3, fraction)
    assert other.split_of(other.of_documents([doc_id], [""])[0])[0] == split
    more = Layout(seed, shards, fraction + 0.1)
    assert split == "train" or more.split_of(more.of_documents([doc_id], [""])[0])[0] == "validation"


def test_shares_of_documents() -> None:
    layout = Layout(1, 4, 0.1)
    splits = Counter(layout.split_of(layout.of_documents([f"w:{i}"], [""])[0])[0] for i in range(20000))
    assert 0.09 < splits["validation"] / 20000 < 0.11
    assert [Layout(1, n, 0.1).validation for n in (1, 9, 90)] == [1, 1, 10] and Layout(1, 9, 0.0).validation == 0
