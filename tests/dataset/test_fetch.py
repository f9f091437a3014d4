"""Rows in a store are copied to the local disk once, and checked."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny import write_pairs

from bertdata import Shards
from bertdata.dataset import fetch
from bertdata.errors import StorageError, VerificationError

pytest.importorskip("upath")
LENGTHS = {"train": [[8, 30, 64, 9], [11]], "validation": [[12, 13]]}
URL = "memory://test-fetch/pairs"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A store with pairs, which are in ``pairs`` on the disk, too."""
    import fsspec

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    memory: Any = fsspec.filesystem("memory", use_listings_cache=False)
    root = write_pairs(tmp_path / "pairs", LENGTHS)
    for path in root.rglob("*.*"):
        if path.is_file():
            memory.pipe_file(f"/test-fetch/pairs/{path.relative_to(root).as_posix()}", path.read_bytes())
    yield memory
    memory.rm("/test-fetch", recursive=True)


def test_rows_of_a_store_are_those_of_the_disk(store: Any, tmp_path: Path) -> None:
    here, there = Shards(tmp_path / "pairs"), Shards(URL)
    assert there.identity == here.identity and str(there.paths[0]) == URL
    rows = np.array([4, 0, 2])
    assert all((there.gather(rows, 64)[name] == values).all() for name, values in here.gather(rows, 64).items())
    again = pickle.loads(pickle.dumps(there))  # as for a worker of the loader, which needs no store
    assert again.identity == here.identity and again.paths == there.directories


def test_only_missing_files_of_the_split_are_copied(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    download = fetch._download
    monkeypatch.setattr(fetch, "_download", lambda path, target: (copied.append(path.name), download(path, target)))
    (directory,) = Shards(URL).directories
    assert {name for name in copied if name.endswith(".arrow")} == {f"train-0000{n}-of-00002.arrow" for n in range(2)}
    copied.clear()
    Shards(URL)
    assert copied == []
    (directory / "data" / ".tmp-killed").write_text("part of a file")
    (directory / "data" / "train-00001-of-00002.arrow").unlink()
    Shards(URL)
    assert copied == ["train-00001-of-00002.arrow"] and not (directory / "data" / ".tmp-killed").exists()


def test_damaged_file_is_named_and_not_kept(store: Any, tmp_path: Path) -> None:
    name = "/test-fetch/pairs/data/train-00001-of-00002.arrow"
    whole = store.cat_file(name)
    store.pipe_file(name, whole[:-9] + b"x" + whole[-8:])
    with pytest.raises(VerificationError, match=r"train-00001-of-00002\.arrow differs from its manifest"):
        Shards(URL)
    assert not [*(tmp_path / "cache").rglob("train-00001*")]
    store.pipe_file(name, whole)
    assert len(Shards(URL)) == 5


def test_full_disk_is_an_error_before_any_file(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(StorageError, match="has room for 10 bytes, but the copy needs"):
        Shards(URL)
    assert not [*(tmp_path / "cache").rglob("*.arrow")]
