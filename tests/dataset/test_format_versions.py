"""Datasets of every format version stay readable. `versions/N.tar.bz2` has a corpus, a vocabulary and pairs of version N."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

import bertdata
from bertdata.dataset.manifest import FORMAT, store
from bertdata.errors import UsageError

KEPT = sorted((Path(__file__).parent / "versions").glob("*.tar.bz2"))


def test_each_version_is_kept() -> None:
    assert [int(path.name.split(".")[0]) for path in KEPT] == list(range(1, FORMAT + 1)), "add a dataset of the new version"


@pytest.fixture
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name, indirect=True)
def test_a_dataset_of_an_older_version_is_read(kept: Path) -> None:
    corpus = bertdata.open(kept / "corpus")
    assert (corpus.kind, corpus.rows) == ("documents", 4)
    assert [document["title"] for document in bertdata.inspect(corpus.path)] == ["Kettles", "Harbours", "Gardens", "Clocks"]
    assert not bertdata.verify(corpus.path).problems
    rows = bertdata.Shards(kept / "pairs")
    assert len(rows) == 8 and rows.decode(0).startswith("[CLS] a kettle boils water for tea .")
    assert not bertdata.verify(kept / "pairs").problems


@pytest.mark.parametrize("kept", KEPT[-1:], ids=lambda path: path.name, indirect=True)
def test_a_newer_version_is_refused_by_name(kept: Path) -> None:
    contents = json.loads((kept / "pairs" / "manifest.json").read_text(encoding="utf-8"))
    store(kept / "pairs", {**contents, "bertdata": FORMAT + 1})
    with pytest.raises(UsageError, match="written by a newer bertdata"):
        bertdata.open(kept / "pairs")
