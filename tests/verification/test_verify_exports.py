"""`verify` finds a damaged, lost, foreign or miscounted file of an export by the manifest's names, sizes, digests and counts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Build

from bertdata.dataset import manifest
from bertdata.verification import verify

FORMATS = ("jsonl", "parquet", "mds", "megatron", "hdf5", "tfrecord", "lddl")


@pytest.fixture(scope="module")
def sets(parts: Path, build: Build, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small export of each format."""
    pytest.importorskip("h5py")
    root, corpus = tmp_path_factory.mktemp("exports"), parts / "build-corpus"
    vocab = ["--vocab", parts / "train-vocab"]
    pairs = build("make-pairs", root / "pairs", corpus, *vocab, "--masking", "static", "--shards", 1, "--max-seq-length", 64)
    found = {}
    for to in FORMATS:
        source = corpus if to in ("jsonl", "parquet", "megatron") else pairs
        found[to] = build("export", root / to, source, "--to", to, *(vocab if to == "megatron" else []))
    return found


def problems(root: Path) -> dict[str, str]:
    return {problem.name: problem.what for problem in verify(root, workers=1).problems}


@pytest.mark.parametrize("to", FORMATS)
def test_verify_finds_damage_in_each_file(sets: dict[str, Path], tmp_path: Path, to: str) -> None:
    whole = verify(sets[to], workers=1)
    names = [entry.name for entry in manifest.read(sets[to]).listed]
    assert (whole.kind, whole.problems, whole.notes) == ("export", [], []) and whole.rows > 0
    assert whole.files > len(names) and whole.bytes >= sum((sets[to] / name).stat().st_size for name in names)
    for number, name in enumerate(names):
        root = Path(shutil.copytree(sets[to], tmp_path / str(number)))
        data = bytearray((root / name).read_bytes())
        data[len(data) // 2] ^= 1
        (root / name).write_bytes(data)
        assert problems(root) == {name: "has changed since it was written (its SHA-256 differs)"}


@pytest.mark.parametrize("to", FORMATS)
def test_verify_finds_lost_short_and_foreign_files(sets: dict[str, Path], tmp_path: Path, to: str) -> None:
    root = Path(shutil.copytree(sets[to], tmp_path / "set"))
    lost, *_, short = [entry.name for entry in manifest.read(root).listed]
    (root / "data" / "foreign.bin").write_bytes(b"?")
    if short != lost:
        (root / short).write_bytes((root / short).read_bytes()[:-1])
    (root / lost).unlink()
    found = problems(root)
    assert found.keys() == {lost, short, "data/foreign.bin"} and found[lost] == "is missing"
    assert short == lost or "bytes, but" in found[short]


def test_verify_compares_the_counts_of_an_export(sets: dict[str, Path], tmp_path: Path) -> None:
    root = Path(shutil.copytree(sets["mds"], tmp_path / "set"))
    made = manifest.read_json(root)
    made["counts"][-1]["out"] += 1
    manifest.store(root, made)
    assert "rows that came out" in problems(root)["manifest.json"] or "do not add up" in problems(root)["manifest.json"]
