"""Rows keep the source and language of their first document, as a number that the manifest names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Build

from bertdata.dataset import manifest
from bertdata.dataset.manifest_types import CorpusManifest
from bertdata.dataset.rows import Origin, Shards
from bertdata.dataset.shards import read_batches
from bertdata.verification.check import verify

ROWS = {"pairs": [], "packed pairs": ["--pack"], "packed": ["--objective", "documents", "--pack"]}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROWS)
def test_a_row_has_the_origin_of_its_first_document(
    build: Build, tmp_path: Path, sample_corpus: Path, sample_vocab: Path, kind: str
) -> None:
    options = ["--vocab", sample_vocab, "--provenance", "--validation-fraction", 0.1, "--pair-across-languages"]
    made = build("make-pairs", tmp_path / "rows", sample_corpus, *(options if "pairs" in kind else options[:-1]), *ROWS[kind])
    corpus, expected = manifest.read(sample_corpus, CorpusManifest), {}
    for shard in corpus.shards:
        for batch in read_batches(sample_corpus / shard.name):
            columns = (batch.column(name).to_pylist() for name in ("id", "source", "language"))
            expected.update({document: Origin(*rest) for document, *rest in zip(*columns, strict=True)})
    for split in ("train", "validation"):
        rows = Shards(made, split=split)
        assert rows.origins == sorted(set(expected.values()))
        found = [rows.origins[number] for number in rows.origins_of(np.arange(len(rows)))]
        documents = [row["a_document"] if "a_document" in row else row["documents"] for row in rows]
        assert found == [expected[each if isinstance(each, str) else each[0]] for each in documents]
        assert split == "validation" or len(set(found)) > 2
    assert verify(made, workers=1).problems == []
