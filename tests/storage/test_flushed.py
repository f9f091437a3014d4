"""Files are on the disk before they have their names, and their names before the work goes on: a power cut leaves old or new."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from processes import fsync

from bertdata.storage import files

Seen = list[tuple[str, str]]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What is flushed, by the real call, and what is renamed, in order; a file with its bytes on the disk."""
    found: Seen = []
    rename, replace = os.rename, os.replace

    def flush(descriptor: int) -> None:
        fsync(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        found.append(("flushed", path.name if path.is_dir() else path.read_text()))

    def named(source: Path, target: Path) -> None:
        found.append(("named", target.name))
        (rename if source.is_dir() else replace)(source, target)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "rename", named)
    monkeypatch.setattr(os, "replace", named)
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not tell which file a descriptor is of")
def test_a_file_is_flushed_before_it_is_named(tmp_path: Path, seen: Seen) -> None:
    files.write_text(tmp_path / "a.txt", "words")
    assert seen == [("flushed", "words"), ("named", "a.txt"), ("flushed", tmp_path.name)]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not tell which file a descriptor is of")
def test_a_directory_is_flushed_with_its_files_before_it_is_named(tmp_path: Path, seen: Seen) -> None:
    with files.replacing_directory(tmp_path / "shards") as directory:
        for word in ("one", "two"):
            (directory / word).write_text(word)
    assert sorted(seen[:2]) == [("flushed", "one"), ("flushed", "two")]
    assert seen[2:] == [("flushed", directory.name), ("named", "shards"), ("flushed", tmp_path.name)]
