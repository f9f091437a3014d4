"""HDF5: h5py finds the arrays that NVIDIA's BERT reads: the pairs in their order, filled up, with labels and masks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from conftest import Build, digests, read_manifest, read_rows

import bertdata
from bertdata.errors import UsageError

TYPES = {
    "input_ids": "i4",
    "input_mask": "i1",
    "segment_ids": "i1",
    "masked_lm_positions": "i4",
    "masked_lm_ids": "i4",
    "next_sentence_labels": "i1",
}
STORED = {
    "input_ids": "input_ids",
    "segment_ids": "token_type_ids",
    "masked_lm_positions": "masked_lm_positions",
    "masked_lm_ids": "masked_lm_labels",
}


def test_arrays_are_the_pairs(parts: Path, build: Build, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    options = ["--vocab", parts / "train-vocab", "--masking", "static", "--shards", 3, "--max-seq-length", 64]
    pairs = build("make-pairs", tmp_path / "pairs", parts / "build-corpus", *options)
    one = build("export", tmp_path / "one", pairs, "--to", "hdf5")
    two = bertdata.export(pairs, to="hdf5", output=tmp_path / "two", workers=2)
    assert digests(one) == digests(two.path) and not bertdata.verify(one, workers=1).problems
    most = read_manifest(pairs)["statistics"]["max_predictions"]
    found = []
    for path in two.shards:
        with h5py.File(path) as file:
            assert {name: file[name].dtype for name in file} == {name: np.dtype(kind) for name, kind in TYPES.items()}
            arrays = {name: file[name][:] for name in file}
        assert arrays["input_ids"].shape[1] == 64 and arrays["masked_lm_ids"].shape[1] == most
        found += [{name: values[row].tolist() for name, values in arrays.items()} for row in range(len(arrays["input_ids"]))]
    rows = read_rows(pairs)
    assert len(rows) == len(found) == two.rows
    for row, own in zip(rows, found, strict=True):
        for name, stored in STORED.items():
            assert own[name] == row[stored] + [0] * (len(own[name]) - len(row[stored]))
        assert own["input_mask"] == [1] * len(row["input_ids"]) + [0] * (64 - len(row["input_ids"]))
        assert own["next_sentence_labels"] == row["next_sentence_label"]
    assert read_manifest(one)["versions"]["h5py"] == h5py.__version__


def test_without_h5py_it_is_said(parts: Path, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--vocab", parts / "train-vocab", "--masking", "static", "--shards", 1]
    pairs = build("make-pairs", tmp_path / "pairs", parts / "build-corpus", *options)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "h5py" else find(name, *more))
    with pytest.raises(UsageError, match=r"`to` hdf5 needs the package h5py: pip install h5py"):
        bertdata.export(pairs, to="hdf5", output=tmp_path / "out")
