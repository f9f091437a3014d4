"""Ranges of files: each is one request, of its own bytes and no others; several are on their way to a store at a time."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bertdata.dataset.shards import BatchRange, read_ranges, write_ranges
from bertdata.errors import VerificationError
from bertdata.io.files import digest, to_path

SCHEMA = pa.schema([("id", pa.string()), ("tokens", pa.binary()), ("numbers", pa.list_(pa.uint32()))])


def batches(count: int, first: int = 0) -> list[pa.RecordBatch]:
    rows = [
        {"id": f"d{n}", "tokens": bytes([n % 256]) * (n * 37 % 900), "numbers": [n] * (n % 4)}
        for n in range(first, first + count)
    ]
    return [pa.RecordBatch.from_pylist(rows[start : start + 3], SCHEMA) for start in range(0, count, 3)]


def test_pieces_are_read_in_any_order(tmp_path: Path) -> None:
    made = batches(30)
    entry, ranges = write_ranges(tmp_path, "work/a", iter(made))
    path = tmp_path / "work" / "a"
    assert entry == {"name": "work/a", "bytes": path.stat().st_size, "sha256": digest(path)}
    assert sum(range_.length for range_ in ranges) == entry["bytes"] and all(0 <= range_.digest < 1 << 62 for range_ in ranges)
    order = [7, 0, 9, 9, 3]
    assert list(read_ranges(SCHEMA, [(path, ranges[at]) for at in order])) == [made[at] for at in order]
    assert list(read_ranges(SCHEMA, [])) == [] and write_ranges(tmp_path, "b", [])[1] == []
    assert write_ranges(tmp_path, "again", batches(30))[0]["sha256"] == entry["sha256"]


@pytest.mark.parametrize("damage", ["changed", "cut", "missing", "moved"])
def test_a_piece_that_is_not_as_written_is_found(tmp_path: Path, damage: str) -> None:
    _, ranges = write_ranges(tmp_path, "a", batches(30))
    path, data, range_ = tmp_path / "a", bytearray((tmp_path / "a").read_bytes()), ranges[4]
    data[range_.start + range_.length // 2] ^= 1
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"changed": data, "cut": data[: range_.start + 9], "moved": data[8:] + data[:8]}[damage])
    with pytest.raises(VerificationError, match="missing or damaged: its bytes from"):
        list(read_ranges(SCHEMA, [(path, range_)]))


class Store:
    """A store's file system that notes its requests, each of which takes some time."""

    def __init__(self, data: dict[str, bytes]) -> None:
        self.data, self.requests, self.now, self.most = data, [], 0, 0  # type: ignore[var-annotated]
        self.lock = threading.Lock()

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        with self.lock:
            self.requests.append((path, start, end))
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.01)
        with self.lock:
            self.now -= 1
        return self.data[path][start:end]


def test_a_store_gets_one_request_for_each_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No HEAD, no index at a file's end; 16 are on their way, and no more are held than that."""
    pytest.importorskip("upath")
    files: dict[str, bytes] = {}
    refs: list[tuple[Any, BatchRange]] = []
    made = []
    for number in range(10):
        own = batches(30, number * 100)
        _, ranges = write_ranges(tmp_path, str(number), own)
        path: Any = to_path(f"memory://ranges/{number}")
        files[path.path] = (tmp_path / str(number)).read_bytes()
        refs += [(path, range_) for range_ in ranges]
        made += own
    store = Store(files)
    monkeypatch.setattr("bertdata.io.ranges.is_private", lambda _: False)
    monkeypatch.setattr(type(refs[0][0]), "fs", property(lambda _: store))
    started: list[int] = []
    for batch, wanted in zip(read_ranges(SCHEMA, refs), made, strict=True):
        assert batch == wanted
        started.append(len(store.requests))
    assert store.requests and sorted(store.requests) == sorted((p.path, q.start, q.start + q.length) for p, q in refs)
    assert 8 < store.most <= 16
    assert all(sent <= read + 16 for read, sent in enumerate(started, 1))
    with pytest.raises(VerificationError):
        list(read_ranges(SCHEMA, [*refs[:20], (refs[0][0], refs[0][1]._replace(digest=1)), *refs]))
