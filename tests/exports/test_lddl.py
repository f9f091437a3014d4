"""LDDL's Parquet files: A and B are the pieces of each pair, in order; masks where rows have them; the list of sizes is true."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import Build, digests, read_rows

import bertdata


def read_lddl(directory: Path) -> list[dict[str, Any]]:
    sizes = json.loads((directory / ".num_samples.json").read_text())
    tables = {path.name: pq.read_table(path) for path in directory.glob("*.parquet")}
    assert sizes == {name: table.num_rows for name, table in tables.items()}
    return [row for number in range(len(tables)) for row in tables[f"shard-{number}.parquet"].to_pylist()]


@pytest.mark.parametrize("masking", ["none", "static"])
def test_pieces_are_those_of_the_pairs(parts: Path, build: Build, tmp_path: Path, masking: str) -> None:
    options = ["--vocab", parts / "train-vocab", "--shards", 3, "--masking", masking]
    pairs = build("make-pairs", tmp_path / "pairs", parts / "build-corpus", *options)
    one = build("export", tmp_path / "one", pairs, "--to", "lddl")
    two = bertdata.export(pairs, to="lddl", output=tmp_path / "two", workers=2)
    assert digests(one) == digests(two.path) and not bertdata.verify(one, workers=1).problems
    pieces = (pairs / "vocab.txt").read_text(encoding="utf-8").split("\n")
    numbers = {piece: number for number, piece in enumerate(pieces)}
    rows, found = read_rows(pairs), read_lddl(one / "data")
    assert len(rows) == len(found)
    for row, own in zip(rows, found, strict=True):
        a, b = ([numbers[piece] for piece in own[name].split(" ")] for name in "AB")
        cls, sep = numbers["[CLS]"], numbers["[SEP]"]
        assert [cls, *a, sep, *b, sep] == row["input_ids"] and own["num_tokens"] == len(row["input_ids"])
        assert row["token_type_ids"] == [0] * (len(a) + 2) + [1] * (len(b) + 1)
        assert own["is_random_next"] is (row["next_sentence_label"] == 1)
        assert ("masked_lm_positions" in own) is (masking == "static")
        if masking == "static":
            positions = np.load(io.BytesIO(own["masked_lm_positions"]))
            assert positions.dtype == np.uint16 and positions.tolist() == row["masked_lm_positions"]
            assert [numbers[piece] for piece in own["masked_lm_labels"].split(" ")] == row["masked_lm_labels"]
