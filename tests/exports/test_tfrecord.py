"""TFRecord: a reader of records and of Protocol Buffers' wire format, written here, finds the pairs, labels and masks."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, digests, read_manifest, read_rows

import bertdata
from bertdata.errors import UsageError


def masked_crc(data: bytes) -> int:
    """CRC-32C bit by bit, and as a record has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2, "all fields are of a length"
        size, at = varint(data, at)
        yield tag >> 3, data[at : at + size]
        at += size


def example(data: bytes) -> dict[str, list[Any]]:
    ((_, features),) = fields(data)
    found: dict[str, list[Any]] = {}
    for _, entry in fields(features):
        (_, name), (_, feature) = fields(entry)
        ((kind, values),) = fields(feature)
        ((_, packed),) = fields(values)
        if kind == 2:
            found[name.decode()] = list(struct.unpack(f"<{len(packed) // 4}f", packed))
            continue
        assert kind == 3
        numbers, at = [], 0
        while at < len(packed):
            number, at = varint(packed, at)
            numbers.append(number)
        found[name.decode()] = numbers
    return found


def read_records(path: Path, checked: int) -> Iterator[dict[str, list[Any]]]:
    data, at, seen = path.read_bytes(), 0, 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        body = data[at + 12 : at + 12 + size]
        if seen < checked:
            assert struct.unpack_from("<I", data, at + 8)[0] == masked_crc(data[at : at + 8])
            assert struct.unpack_from("<I", data, at + 12 + size)[0] == masked_crc(body)
        yield example(body)
        seen, at = seen + 1, at + 16 + size


@pytest.fixture(scope="module")
def static(parts: Path, build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("static") / "pairs"
    options = ["--masking", "static", "--shards", 3, "--max-seq-length", 64]
    return build("make-pairs", output, parts / "build-corpus", "--vocab", parts / "train-vocab", *options)


def test_examples_are_the_pairs(static: Path, build: Build, tmp_path: Path) -> None:
    one = build("export", tmp_path / "one", static, "--to", "tfrecord")
    two = bertdata.export(static, to="tfrecord", output=tmp_path / "two", workers=2)
    assert digests(one) == digests(two.path) and not bertdata.verify(one, workers=1).problems
    most = read_manifest(static)["statistics"]["max_predictions"]
    rows, found = read_rows(static), [row for path in two.shards for row in read_records(path, 20)]
    assert len(rows) == len(found) == two.rows

    def full(values: list[int], width: int) -> list[int]:
        return values + [0] * (width - len(values))

    for row, own in zip(rows, found, strict=True):
        count, masked = len(row["input_ids"]), len(row["masked_lm_positions"])
        assert own == {
            "input_ids": full(row["input_ids"], 64),
            "input_mask": full([1] * count, 64),
            "segment_ids": full(row["token_type_ids"], 64),
            "masked_lm_positions": full(row["masked_lm_positions"], most),
            "masked_lm_ids": full(row["masked_lm_labels"], most),
            "masked_lm_weights": full([1] * masked, most),
            "next_sentence_labels": [row["next_sentence_label"]],
        }


def test_other_rows_are_refused(parts: Path, build: Build, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="these are without: make them with `masking` static"):
        bertdata.export(parts / "make-pairs", to="tfrecord", output=tmp_path / "out")
    options = ["--vocab", parts / "train-vocab", "--shards", 1]
    packed = build("make-pairs", tmp_path / "packed", parts / "build-corpus", *options, "--pack")
    swapped = build("make-pairs", tmp_path / "sop", parts / "build-corpus", *options, "--objective", "sop")
    for to in ("tfrecord", "lddl"):
        with pytest.raises(UsageError, match="these are packed"):
            bertdata.export(packed, to=to, output=tmp_path / "out")
        with pytest.raises(UsageError, match="these are of objective sop"):
            bertdata.export(swapped, to=to, output=tmp_path / "out")
