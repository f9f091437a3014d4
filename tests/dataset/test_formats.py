"""Every format, end to end: what the command line writes is read by datasets, pyarrow and polars, and holds the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SAMPLE, Build, Load

from bertdata.config import FORMATS

KINDS = ("corpus", "pairs", "masked")


@pytest.fixture(scope="module")
def made(build: Build, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A corpus and pairs of the sample in each format; the pairs are made from the corpus of the same format."""
    roots = {}
    for name in FORMATS:
        root = roots[name] = tmp_path_factory.mktemp(name)
        options = ("--format", name)
        build("build-corpus", root / "corpus", "--wikipedia", SAMPLE, "--books", SAMPLE / "books", *options)
        for kind, masks in (("pairs", ()), ("masked", ("--masking", "static"))):
            build("make-pairs", root / kind, root / "corpus", "--vocab", sample_vocab, "--shards", 2, *options, *masks)
    return roots


def tables(root: Path, name: str, kind: str) -> pa.Table:
    """Read a dataset's shards with pyarrow alone."""
    parts = []
    for shard in json.loads((root / kind / "manifest.json").read_text())["shards"]:
        path = root / kind / shard["name"]
        if name == "parquet":
            parts.append(pq.read_table(path))
        elif name == "arrow-file":
            parts.append(pa.ipc.open_file(pa.memory_map(str(path))).read_all())
        else:
            parts.append(pa.ipc.open_stream(pa.memory_map(str(path))).read_all())
    return pa.concat_tables(parts)


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_holds_the_same_rows(made: dict[str, Path], kind: str) -> None:
    found = {name: tables(root, name, kind).to_pylist() for name, root in made.items()}
    assert found["arrow-stream"] == found["arrow-file"] == found["parquet"]
    assert len(found["parquet"]) > 50


@pytest.mark.long
@pytest.mark.parametrize("kind", ["corpus", "pairs"])
@pytest.mark.parametrize("name", FORMATS)
def test_datasets_reads_every_format(made: dict[str, Path], name: str, kind: str, load_datasets: Load) -> None:
    directory = made[name] / kind
    (found,) = load_datasets(directory)
    assert len(found["train"]) == json.loads((directory / "manifest.json").read_text())["rows"]
    assert ("input_ids" if kind == "pairs" else "sentences") in found["train"][0]


@pytest.mark.parametrize("kind", KINDS)
def test_datasets_maps_a_stream_as_it_lies(made: dict[str, Path], kind: str) -> None:
    datasets = pytest.importorskip("datasets")
    root = made["arrow-stream"]
    for shard in json.loads((root / kind / "manifest.json").read_text())["shards"]:
        assert datasets.Dataset.from_file(str(root / kind / shard["name"])).num_rows == shard["rows"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["arrow-file", "parquet"])
def test_polars_reads_the_formats_that_are_for_it(made: dict[str, Path], name: str, kind: str) -> None:
    polars: Any = pytest.importorskip("polars")
    root = made[name]
    read = polars.read_parquet if name == "parquet" else polars.read_ipc
    for shard in json.loads((root / kind / "manifest.json").read_text())["shards"]:
        frame = read(root / kind / shard["name"])
        assert frame.height == shard["rows"]
        assert frame.columns[0] == ("id" if kind == "corpus" else "input_ids")
