"""MDS: a reader of its own, written from the format's description, finds the same columns in the same order."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build, digests, read_manifest, read_rows

import bertdata
from bertdata.cli import cli


def value(data: bytes, encoding: str) -> Any:
    if encoding == "str":
        return data.decode()
    if encoding in ("int", "int8", "uint16"):
        return int.from_bytes(data, "little", signed=encoding != "uint16")
    first, kind = data[0], np.dtype(encoding.removeprefix("ndarray:"))
    assert first >> 2 == 1, "of one dimension"
    width = (1, 2, 4)[first & 3]
    found = np.frombuffer(data[1 + width :], kind).tolist()
    assert found and len(found) == int.from_bytes(data[1 : 1 + width], "little"), "empty arrays are forbidden"
    return found


def read_mds(directory: Path) -> Iterator[dict[str, Any]]:
    index = json.loads((directory / "index.json").read_text())
    assert index["version"] == 2
    for shard in index["shards"]:
        data = (directory / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"] and shard["format"] == "mds" and shard["zip_data"] is None
        (count,) = struct.unpack_from("<I", data)
        offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
        assert count == shard["samples"] and offsets[-1] == len(data)
        told = json.loads(data[8 + 4 * count : offsets[0]])
        assert told == {key: shard[key] for key in told} and told["column_names"] == sorted(told["column_names"])
        for start, end in zip(offsets, offsets[1:], strict=False):
            sizes = list(told["column_sizes"])
            for place in [i for i, size in enumerate(sizes) if size is None]:
                (sizes[place],) = struct.unpack_from("<I", data, start)
                start += 4
            row = {}
            for name, encoding, size in zip(told["column_names"], told["column_encodings"], sizes, strict=True):
                row[name] = value(data[start : start + size], encoding)
                start += size
            assert start == end
            yield row


ROWS: dict[str, list[object]] = {
    "pairs": [],
    "static masks": ["--masking", "static", "--provenance"],
    "packed documents": ["--objective", "documents", "--pack", "--provenance", "--max-seq-length", 300],
    "running text": ["--objective", "causal", "--provenance", "--max-seq-length", 300],
    "packed pairs": ["--pack", "--provenance"],
    "Chinese words": ["--chinese-words", "jieba"],
}


@pytest.mark.parametrize("options", ROWS.values(), ids=ROWS.keys())
def test_rows_of_every_kind(parts: Path, build: Build, tmp_path: Path, options: list[object]) -> None:
    arguments = [parts / "build-corpus", "--vocab", parts / "train-vocab", "--shards", 3, *options]
    rows = build("make-pairs", tmp_path / "rows", *arguments)
    made = bertdata.export(rows, to="mds", output=tmp_path / "mds", workers=1)
    stored, found = read_rows(rows), list(read_mds(tmp_path / "mds" / "data"))
    assert len(stored) == len(found) == made.rows
    for own, other in zip(stored, found, strict=True):
        assert other.pop("len") == len(own["input_ids"])
        other.pop("id")
        for name in ("a_document", "b_document", "documents"):
            if isinstance(own.get(name), list):
                own[name] = "\n".join(own[name])
        assert own == other
    ids = [row["id"] for row in read_mds(tmp_path / "mds" / "data")]
    assert ids == sorted(set(ids))
    assert not bertdata.verify(made.path, workers=1).problems


@pytest.mark.parametrize("pack", [True, False])
def test_an_export_of_packed_rows_names_their_readers(
    parts: Path, build: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str], pack: bool
) -> None:
    options = ["--objective", "documents", "--shards", 1, *(["--pack"] if pack else [])]
    rows = build("make-pairs", tmp_path / "rows", parts / "build-corpus", "--vocab", parts / "train-vocab", *options)
    capsys.readouterr()
    for more in (["--dry-run"], []):
        words = ["export", rows, "--to", "mds", "--output", tmp_path / "mds", "--workers", 1, *more]
        cli.main([*map(str, words)], prog_name="bertdata", standalone_mode=False)
        shown = " ".join(capsys.readouterr().err.split())
        wanted = "packed rows: only for readers that separate documents by `document_starts`"
        assert (wanted in shown and "ModernBERT's, need rows made without --pack" in shown) == pack
    assert ("need rows made without `--pack`" in (rows / "README.md").read_text(encoding="utf-8")) == pack
    for file in read_manifest(rows)["files"]:
        assert (tmp_path / "mds" / file["name"]).read_bytes() == (rows / file["name"]).read_bytes()


def test_the_same_bytes_by_two_workers_and_a_split(parts: Path, build: Build, tmp_path: Path) -> None:
    arguments = [parts / "build-corpus", "--vocab", parts / "train-vocab", "--shards", 4, "--validation-fraction", 0.2]
    rows = build("make-pairs", tmp_path / "rows", *arguments)
    one = build("export", tmp_path / "one", rows, "--to", "mds", "--split", "validation")
    two = bertdata.export(rows, to="mds", split="validation", output=tmp_path / "two", workers=2)
    assert digests(one) == digests(two.path)
    assert [r["input_ids"] for r in read_mds(one / "data")] == [r["input_ids"] for r in read_rows(rows, "validation")]
