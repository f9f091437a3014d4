"""Check the laws of MDS: index and headers agree, offsets rise to the file's end, a sample's columns are of the sizes stated."""

from __future__ import annotations

import json
import mmap
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...config import read_small
from ...errors import UsageError
from ..files import CheckFailed
from .rows import ROWS, Read, lists

__all__ = ["index", "read"]

_INDEX = "data/index.json"
_MOST = 1 << 28  # bytes of the index
_ID = re.compile(r"(\d{5,9})-(\d{9,12})")
_SHAPES = {0: "<B", 1: "<H", 2: "<I"}
_BOTH = {"column_names", "column_encodings", "column_sizes", "compression", "format", "hashes", "size_limit", "version"}


def index(directory: Path, contents: dict[str, Any]) -> tuple[str, str]:
    """Return the index' name, and what in it is not what the manifest says."""
    try:
        parsed = json.loads(read_small(directory / _INDEX, _MOST).decode("utf-8"))
        listed = [
            (f"data/{described['raw_data']['basename']}", described["raw_data"]["bytes"], described["samples"])
            for described in parsed["shards"]
        ]
        plain = all(described["zip_data"] is None and described["compression"] is None for described in parsed["shards"])
    except (OSError, UsageError, ValueError, KeyError, TypeError, RecursionError) as error:
        return _INDEX, f"is no index of MDS: {' '.join(str(error).split())}"
    wanted = [(shard["name"], shard["bytes"], shard["rows"]) for shard in contents["shards"]]
    if wrong := next((described[0] for described, other in zip(listed, wanted, strict=False) if described != other), ""):
        return _INDEX, f"tells of {ascii(wrong)[:100]} otherwise than the manifest does"
    same = len(listed) == len(wanted) and parsed.get("version") == 2 and plain
    return _INDEX, "" if same else "is not of the manifest's shards, version 2, without compression"


def read(path: Path, needed: Read) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a shard."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            offsets, columns = _header(data, needed)
            for start in range(0, len(offsets) - 1, ROWS):
                yield _batch(data, offsets[start : start + ROWS + 1], start, columns)
        except (struct.error, ValueError, KeyError, TypeError, IndexError) as error:
            raise CheckFailed(f"is no shard of MDS: {' '.join(str(error).split())}") from error


def _header(data: mmap.mmap, needed: Read) -> tuple[list[int], dict[str, tuple[str, int | None]]]:
    """Return where samples begin and the last one ends, and the columns: their encodings and sizes."""
    (count,) = struct.unpack_from("<I", data)
    if 8 + 4 * count > len(data):
        raise CheckFailed(f"tells of {count:,} samples, whose offsets lie after its end")
    offsets = np.array(struct.unpack_from(f"<{count + 1}I", data, 4), np.int64)
    if (np.diff(offsets) <= 0).any() or offsets[0] < 8 + 4 * count or offsets[-1] != len(data):
        raise CheckFailed("has offsets that do not rise from its header to its end")
    header = json.loads(data[8 + 4 * count : offsets[0]])
    listed = json.loads(read_small(needed.directory / _INDEX, _MOST))["shards"]
    name = needed.entry["name"].removeprefix("data/")
    entry = next(shard for shard in listed if shard["raw_data"]["basename"] == name)
    if {key: entry[key] for key in _BOTH} != header:
        raise CheckFailed("has other columns in its header than in the index")
    columns = dict(zip(header["column_names"], zip(header["column_encodings"], header["column_sizes"], strict=True), strict=True))
    if list(columns) != sorted(columns) or not {"id", "len", "input_ids", "token_type_ids"} <= columns.keys():
        raise CheckFailed("has not id, len, input_ids and token_type_ids, in order, as its columns")
    return offsets.tolist(), columns


def _batch(data: mmap.mmap, offsets: list[int], first: int, columns: dict[str, tuple[str, int | None]]) -> pa.RecordBatch:
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for row, (start, end) in enumerate(zip(offsets, offsets[1:], strict=False), first):
        varies = [size is None for _, size in columns.values()]
        sizes = iter(struct.unpack_from(f"<{sum(varies)}I", data, start))
        at = start + 4 * sum(varies)
        for name, (encoding, size) in columns.items():
            length = next(sizes) if size is None else size
            if at + length > end:
                raise CheckFailed(f"row {row} has a {name} that ends after it")
            values[name].append(_value(data[at : at + length], encoding, f"row {row} has a {name}"))
            at += length
        if at != end:
            raise CheckFailed(f"row {row} has {end - at} bytes more than its columns")
        if values["len"][-1] != len(values["input_ids"][-1]):
            raise CheckFailed(f"row {row} has {len(values['input_ids'][-1])} tokens, but a len of {values['len'][-1]}")
        number = _ID.fullmatch(values["id"][-1])
        if not number or int(number[2]) != row:
            raise CheckFailed(f"row {row} has the id {ascii(values['id'][-1])[:100]}")
    return pa.RecordBatch.from_pydict({name: _column(name, values[name]) for name in columns if name not in ("id", "len")})


def _value(data: bytes, encoding: str, what: str) -> Any:
    if encoding == "str":
        return data.decode("utf-8")
    kind = np.dtype(encoding.removeprefix("ndarray:")).newbyteorder("<")
    if not encoding.startswith("ndarray:"):
        return int.from_bytes(data, "little", signed=kind.kind == "i")
    if not data or data[0] >> 2 != 1 or data[0] & 3 not in _SHAPES:
        raise CheckFailed(f"{what} that is no array of one dimension")
    form = _SHAPES[data[0] & 3]
    (count,) = struct.unpack_from(form, data, 1)
    begin = 1 + struct.calcsize(form)
    if not count or begin + count * kind.itemsize != len(data):
        raise CheckFailed(f"{what} of {count} values in {len(data)} bytes")
    return np.frombuffer(data, kind, offset=begin)


def _column(name: str, values: list[Any]) -> pa.Array:
    if not isinstance(values[0], np.ndarray):
        return pa.array(values)
    joined = np.concatenate(values)
    if name == "continues_word":
        if (joined > 1).any():
            raise CheckFailed("has a continues_word other than 0 and 1")
        joined = joined.astype(bool)
    return lists(joined, np.array([len(value) for value in values]))
