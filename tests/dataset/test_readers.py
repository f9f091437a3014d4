"""Other programs read the Arrow files without our code: `datasets`, Polars, pandas, DuckDB and pyarrow, as the cards show."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from conftest import Build, Load, Rows, read_rows

READERS = ("polars.scan_ipc", "polars.read_ipc", "pandas.read_feather", "duckdb", "pyarrow.dataset", "pyarrow.ipc")


def read(reader: str, directory: Path) -> list[dict[str, Any]]:
    """Read the columns of rows with a reader."""
    library, names = pytest.importorskip(reader.partition(".")[0]), str(directory / "data" / "train-*.arrow")
    paths = sorted(glob.glob(names))
    rows = pyarrow.dataset.dataset(paths, format="ipc")
    if reader == "polars.scan_ipc":
        return list(library.scan_ipc(names).collect().to_dicts())
    if reader == "polars.read_ipc":
        return [row for path in paths for row in library.read_ipc(path).to_dicts()]
    if reader == "pandas.read_feather":
        frames = [library.read_feather(path).to_dict("records") for path in paths]
        return [{k: v.tolist() if hasattr(v, "tolist") else v for k, v in row.items()} for frame in frames for row in frame]
    if reader == "duckdb":
        return list(library.sql("SELECT * FROM rows").to_arrow_table().to_pylist())
    return list(rows.to_table().to_pylist()) if reader == "pyarrow.dataset" else read_rows(directory, "train")


@pytest.mark.parametrize("reader", READERS)
def test_rows_and_documents_are_read_without_our_code(sample_corpus: Path, sample_pairs: Path, reader: str) -> None:
    for directory in (sample_corpus, sample_pairs):
        assert read(reader, directory) == read_rows(directory, "train")


@pytest.mark.slow
def test_load_dataset_reads_the_rows_that_are_there_now(
    build: Build, load_datasets: Load, text: Path, sample_vocab: Path, tmp_path: Path
) -> None:
    """Also if its cache has another dataset of the same name, or the one before it was replaced."""
    lines = text.read_text(encoding="utf-8").splitlines()
    for number in range(2):
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines[number : number + 60]))

    def make(directory: Path, number: int, *more: object) -> Rows:
        corpus = build("build-corpus", directory / "corpus", "--text", tmp_path / f"{number}.jsonl", *more)
        options = ["--vocab", sample_vocab, "--shards", 1, "--validation-fraction", 0.3]
        pairs = build("make-pairs", directory / "pairs", corpus, *options, *more)
        return {split: read_rows(pairs, split) for split in ("train", "validation")}

    one, other = (make(tmp_path / name, number) for number, name in enumerate(("one", "other")))
    here, there = tmp_path / "one" / "pairs", tmp_path / "other" / "pairs"
    assert one != other and load_datasets(here, there, here) == [one, other, one]
    assert make(tmp_path / "one", 1, "--overwrite") == other and load_datasets(here) == [other]
    assert load_datasets(tmp_path / "one" / "corpus") == [{"train": read_rows(tmp_path / "one" / "corpus")}]
