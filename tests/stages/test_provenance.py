"""`provenance` names the documents of every row, whatever the objective, so that a loss can be told by source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build

from bertdata.dataset.rows import Shards

ROWS: dict[str, list[Any]] = {
    "documents": ["--objective", "documents", "--dupe-factor", 2, "--max-seq-length", 64],
    "packed": ["--objective", "documents", "--pack"],
    "packed causal": ["--objective", "causal", "--pack", "--max-seq-length", 64],
    "causal": ["--objective", "causal", "--dupe-factor", 2, "--max-seq-length", 300, "--shards", 2],
}


@pytest.fixture(scope="module")
def texts(build: Build, tmp_path_factory: pytest.TempPathFactory, sample_corpus: Path, sample_vocab: Path) -> dict[str, bytes]:
    """The tokens of each document, without special ones, from rows that hold a document each."""
    options = ["--vocab", sample_vocab, "--objective", "documents", "--max-seq-length", 65536, "--provenance"]
    rows = Shards(build("make-pairs", tmp_path_factory.mktemp("whole") / "rows", sample_corpus, *options))
    found = {document: row["input_ids"][1:-1].tobytes() for row in rows for document in row["documents"]}
    assert len(found) == len(rows) > 50
    return found


def _segments(row: dict[str, Any], rows: Shards) -> list[Any]:
    """The texts of the documents in a row, without special tokens."""
    ids = row["input_ids"]
    if "document_starts" in row:
        segments = np.split(ids, row["document_starts"][1:].astype(int))
    else:
        segments = np.split(ids, np.flatnonzero(ids == rows.special.sep) + 1)
        segments = [segment for segment in segments if len(segment)]
    return [segment[(segment != rows.special.sep) & (segment != rows.special.cls)] for segment in segments]


@pytest.mark.parametrize("kind", ROWS)
def test_each_text_is_of_the_document_that_is_named(
    build: Build, tmp_path: Path, sample_corpus: Path, sample_vocab: Path, texts: dict[str, bytes], kind: str
) -> None:
    made = build("make-pairs", tmp_path / "rows", sample_corpus, "--vocab", sample_vocab, "--provenance", *ROWS[kind])
    rows, named, several = Shards(made), set[str](), 0
    for row in rows:
        segments = _segments(row, rows)
        assert len(segments) == len(row["documents"])
        several += len(segments) > 1
        for document, segment in zip(row["documents"], segments, strict=True):
            assert segment.tobytes() in texts[document]
        named.update(row["documents"])
    assert named == texts.keys()
    assert bool(several) == kind.startswith("packed")
