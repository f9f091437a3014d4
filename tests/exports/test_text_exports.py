"""A corpus' text as JSON lines and Parquet: every document, in order, by any number of workers; resumed; refused for rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import Build, digests, leftovers, read_manifest, read_rows

import bertdata
from bertdata.cli.options import options_of
from bertdata.config import ExportConfig
from bertdata.errors import OutputExistsError, UsageError
from bertdata.exports import FORMATS


def json_rows(directory: Path) -> list[dict[str, Any]]:
    paths = sorted((directory / "data").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def parquet_rows(directory: Path) -> list[dict[str, Any]]:
    return [row for path in sorted((directory / "data").glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def test_the_table_has_what_the_option_names() -> None:
    assert tuple(FORMATS) == tuple(options_of(ExportConfig)["to"].choices)


@pytest.mark.parametrize("to,read", [("jsonl", json_rows), ("parquet", parquet_rows)])
def test_every_document_is_there_in_order(sample_corpus: Path, tmp_path: Path, to: str, read: Any) -> None:
    made = bertdata.export(sample_corpus, to=to, output=tmp_path / "out", workers=1)
    documents, rows = read_rows(sample_corpus), read(tmp_path / "out")
    assert [row["id"] for row in rows] == [document["id"] for document in documents]
    for row, document in zip(rows, documents, strict=True):
        licence = {"wikipedia": "CC BY-SA, as the wiki states", "books": "as each book states"}[document["source"]]
        assert {**document, **row, "text": ""} == {**document, "licence": licence, "text": ""}
        assert "".join(row["text"].split()) == "".join("".join(document["sentences"]).split())
        assert len(row["text"].split("\n\n")) == max(1, len(document["paragraph_starts"]))
    assert made.rows == len(rows) and len(made.shards) == len(read_manifest(sample_corpus)["shards"])
    assert not bertdata.verify(made.path, workers=1).problems
    with made.shards[0].open("r+b") as file:
        file.write(b"?")
    assert [problem.name for problem in bertdata.verify(made.path, workers=1).problems] == [
        read_manifest(made.path)["shards"][0]["name"]
    ]


def test_the_same_bytes_by_two_workers_and_the_same_command_again(parts: Path, build: Build, tmp_path: Path) -> None:
    corpus = parts / "build-corpus"
    one = build("export", tmp_path / "one", corpus, "--to", "jsonl")
    two = bertdata.export(corpus, to="jsonl", output=tmp_path / "two", workers=2)
    assert digests(one) == digests(two.path) and not leftovers(one)
    assert not bertdata.export(corpus, to="jsonl", output=one, workers=1).new
    with pytest.raises(OutputExistsError, match="config.to: 'jsonl' then, 'parquet' now"):
        bertdata.export(corpus, to="parquet", output=one, workers=1)


def test_a_run_that_broke_goes_on(parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done is not done again."""
    from bertdata.exports import plain_text

    corpus, seen, join = parts / "build-corpus", [], plain_text._join

    def broken(sentences: list[str]) -> str:
        seen.append(sentences)
        if len(seen) == 300:
            raise OSError("no")
        return join(sentences)

    with monkeypatch.context() as patched:
        patched.setattr(plain_text, "_join", broken)
        with pytest.raises(Exception, match="no"):
            bertdata.export(corpus, to="jsonl", output=tmp_path / "out", workers=1)
    assert not (tmp_path / "out" / "data").exists()
    (done,) = [len(list(p.iterdir())) for p in (tmp_path / "out").glob(".bertdata/build-*/.bertdata/tasks/export")]
    assert done
    before = len(seen)
    bertdata.export(corpus, to="jsonl", output=tmp_path / "out", workers=1)
    assert len(seen) == before
    bertdata.export(corpus, to="jsonl", output=tmp_path / "whole", workers=1)
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


def test_what_cannot_be_is_said(parts: Path, tmp_path: Path) -> None:
    pairs, corpus = parts / "make-pairs", parts / "build-corpus"
    with pytest.raises(UsageError, match="contains pairs, but jsonl needs a corpus"):
        bertdata.export(pairs, to="jsonl", output=tmp_path / "out")
    with pytest.raises(UsageError, match="contains vocabulary: use a corpus or rows"):
        bertdata.export(parts / "train-vocab", to="jsonl", output=tmp_path / "out")
    with pytest.raises(UsageError, match="`to` tar: use one of jsonl"):
        bertdata.export(corpus, to="tar", output=tmp_path / "out")
    with pytest.raises(UsageError, match="no split validation"):
        bertdata.export(corpus, to="jsonl", split="validation", output=tmp_path / "out")
    with pytest.raises(UsageError, match="omit it"):
        bertdata.export(corpus, to="jsonl", vocab=parts / "train-vocab", output=tmp_path / "out")
    with pytest.raises(UsageError, match="is also an input"):
        bertdata.export(corpus, to="jsonl", output=corpus)
    assert not (tmp_path / "out").exists()
