"""Exports whose digests are all right, but whose content breaks a law of its format or of the rows in it: verify finds each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import Build

from bertdata.dataset import manifest
from bertdata.io.files import file_entry
from bertdata.verification import verify
from bertdata.verification.exports.tfrecord import crc32c

FORMATS = ("jsonl", "parquet", "mds", "megatron", "hdf5", "tfrecord", "lddl")
Damage = Callable[[bytes], bytes]


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


def told(root: Path) -> list[str]:
    """Write the manifest anew, with the right digests of the files that lie there now; return the problems that are found."""
    made = manifest.read(root)
    for key in ("shards", "files"):
        made[key] = [{**entry, **file_entry(root, entry["name"])} for entry in made[key]]
    manifest.write(root, made)
    return [f"{problem.name}: {problem.what}" for problem in verify(root, workers=1).problems]


def flip(at: int, bit: int = 0) -> Damage:
    """Flip a bit, of the byte so many from the begin, or from the end."""

    def change(data: bytes) -> bytes:
        place = at % len(data)
        return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]

    return change


def cut(data: bytes) -> bytes:
    return data[:-1]


def swapped(old: bytes, new: bytes) -> Damage:
    def change(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new, 1)

    return change


BYTES: dict[str, tuple[str, str, Damage, str]] = {
    "a line is cut": ("jsonl", "*.jsonl", cut, "has no end"),
    "a line is no JSON": ("jsonl", "*.jsonl", flip(0), "line 1 is no JSON"),
    "a line less": ("jsonl", "*.jsonl", lambda data: data.partition(b"\n")[2], "rows, but"),
    "a field of another name": ("jsonl", "*.jsonl", swapped(b'"title"', b'"tilte"'), "line 1 is no object of the texts"),
    "no language": ("jsonl", "*.jsonl", swapped(b'"language": "en"', b'"language": ""'), "line 1 has no language"),
    "Parquet is cut": ("parquet", "*.parquet", cut, "can't be read as parquet"),
    "an MDS file is cut": ("mds", "*.mds", cut, "offsets that do not rise from its header to its end"),
    "an MDS offset": ("mds", "*.mds", flip(8, 3), "row 0 has"),
    "an MDS offset that falls": ("mds", "*.mds", flip(10, 6), "offsets that do not rise"),
    "an MDS id of a token": ("mds", "*.mds", flip(-1, 7), "row"),
    "an MDS header": ("mds", "*.mds", swapped(b'"ndarray:uint16"', b'"ndarray:uint32"'), "other columns in its header"),
    "an MDS index": ("mds", "index.json", swapped(b'"samples": ', b'"samples": 1'), "otherwise than the manifest"),
    "Megatron's ids are cut": ("megatron", "*.bin", cut, "does not end where the ids do"),
    "a Megatron id": ("megatron", "*.bin", flip(1, 7), "token 0 is none of"),
    "a special Megatron id": ("megatron", "*.bin", lambda data: b"\2\0" + data[2:], "token 0 is a special one"),
    "Megatron's index is cut": ("megatron", "*.idx", cut, "bytes do not hold"),
    "a Megatron length": ("megatron", "*.idx", flip(34), "offsets that are not those of its lengths"),
    "a Megatron bound": ("megatron", "*.idx", flip(-1, 2), "documents that do not rise"),
    "HDF5 is cut": ("hdf5", "*.hdf5", cut, "can't be read as HDF5"),
    "a TFRecord's size": ("tfrecord", "*.tfrecord", flip(0), "record 1 has a size that no example has"),
    "a TFRecord's example": ("tfrecord", "*.tfrecord", flip(400), "another CRC than its example"),
    "a TFRecord's sum": ("tfrecord", "*.tfrecord", flip(-1), "another CRC than its example"),
    "a TFRecord is cut": ("tfrecord", "*.tfrecord", cut, "ends after the file"),
    "LDDL's sizes": ("lddl", ".num_samples.json", swapped(b": ", b": 1"), "other files or numbers of rows"),
    "a piece is renamed": ("lddl", "vocab.txt", swapped(b"\nthe\n", b"\nteh\n"), "has other pieces or ids than vocab.txt"),
}


@pytest.mark.parametrize("law", BYTES)
def test_damage_with_right_digests(sets: dict[str, Path], tmp_path: Path, law: str) -> None:
    to, name, damage, what = BYTES[law]
    root = Path(shutil.copytree(sets[to], tmp_path / "set"))
    path = sorted(root.rglob(name))[0]
    path.write_bytes(damage(path.read_bytes()))
    assert any(what in problem for problem in told(root)), told(root)


def test_all_are_right_before(sets: dict[str, Path], tmp_path: Path) -> None:
    for to, root in sets.items():
        assert told(Path(shutil.copytree(root, tmp_path / to))) == []


HDF5: dict[str, tuple[str, tuple[Any, ...], int, str]] = {
    "no [CLS]": ("input_ids", (3, 0), 7, "row 3 does not begin with [CLS]"),
    "an id that is none": ("input_ids", (3, 4), 1 << 20, "row 3 has an id that is none"),
    "an id below 0": ("input_ids", (3, 4), -1, "row 3 has a input_ids below 0"),
    "a mask with a hole": ("input_mask", (2, 1), 0, "row 2 has a mask of input_ids that is not 1"),
    "a segment": ("segment_ids", (2, 1), 1, "row 2 has segment ids"),
    "a position after the end": ("masked_lm_positions", (1, 0), 63, "row 1 has"),
    "a label": ("next_sentence_labels", (5,), 2, "row 5 has a label other than 0 and 1"),
}


@pytest.mark.parametrize("law", HDF5)
def test_arrays(sets: dict[str, Path], tmp_path: Path, law: str) -> None:
    import h5py

    name, at, value, what = HDF5[law]
    root = Path(shutil.copytree(sets["hdf5"], tmp_path / "set"))
    with h5py.File(next(root.rglob("*.hdf5")), "r+") as file:
        file[name][at] = value
    (problem,) = told(root)
    assert what in problem


def test_arrays_of_other_lengths(sets: dict[str, Path], tmp_path: Path) -> None:
    import h5py

    root = Path(shutil.copytree(sets["hdf5"], tmp_path / "set"))
    with h5py.File(next(root.rglob("*.hdf5")), "r+") as file:
        short = file["segment_ids"][:-1]
        del file["segment_ids"]
        file["segment_ids"] = short
    (problem,) = told(root)
    assert "has arrays of" in problem


@pytest.mark.parametrize(
    "name,value,what",
    [
        ("A", "nosuchpiece", "row 0 has a piece that is not in vocab.txt"),
        ("num_tokens", 7, "but a num_tokens of 7"),
        ("masked_lm_positions", b"?", "that NumPy can't read"),
        ("masked_lm_labels", "[SEP]", "row 0 has"),
    ],
)
def test_pieces(sets: dict[str, Path], tmp_path: Path, name: str, value: Any, what: str) -> None:
    root = Path(shutil.copytree(sets["lddl"], tmp_path / "set"))
    path = next(root.rglob("*.parquet"))
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0][name] = value
    pq.write_table(type(table).from_pylist(rows, table.schema), path)
    (problem,) = told(root)
    assert what in problem


def test_the_sum_is_the_one_of_the_format() -> None:
    """The check values of RFC 3720, appendix B.4, of strings of several lengths at once."""
    texts = [bytes(32), b"\xff" * 32, bytes(range(32)), b"123456789"]
    assert [hex(own) for own in crc32c(texts).tolist()] == ["0x8a9136aa", "0x62a8ab43", "0x46dd794e", "0xe3069283"]


def test_a_manifest_says_what_rows_are_of(sets: dict[str, Path]) -> None:
    made = json.loads((sets["mds"] / "manifest.json").read_text(encoding="utf-8"))
    assert made["of_config"]["max_seq_length"] == 64 and made["vocab_size"] > 0
