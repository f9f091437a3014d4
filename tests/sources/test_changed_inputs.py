"""Inputs that are changed in place, keeping size and time: the digests in a manifest are those of the bytes that were read."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, digests

from bertdata.dataset import shards
from bertdata.dataset.manifest import read
from bertdata.errors import VerificationError
from bertdata.stages import corpus_reader as corpus
from bertdata.stages.corpus import source_records
from bertdata.storage import stamp
from bertdata.storage.files import to_path

DUMP = "xwiki-20260101-pages-articles.xml"


def flip(path: Path, at: int = -1000) -> None:
    """Change a byte of a file where it lies; its size and its time of modification stay."""
    about = path.stat()
    with path.open("r+b") as file:
        file.seek(at, os.SEEK_END)
        byte = file.read(1)
        file.seek(at, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def changing(path: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Change the input after its first record is read, so many times."""
    real, changes = source_records.read, []

    def read(*arguments: Any) -> Iterator[Any]:
        for number, record in enumerate(real(*arguments)):
            yield record
            if not number and len(changes) < times:
                time.sleep(0.06)  # more than the clock of the file system takes to tick
                flip(path, -20)
                changes.append(number)

    monkeypatch.setattr(source_records, "read", read)
    return changes


@pytest.fixture
def story(tmp_path: Path, text: Path) -> Path:
    path = tmp_path / "story.jsonl"
    path.write_text("".join(text.read_text(encoding="utf-8").splitlines(True)[:30]))
    return path


def test_a_file_that_changes_while_it_is_read_is_read_again(
    build: Build, story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        assert len(changing(story, 1, patch)) == 0
        made = build("build-corpus", tmp_path / "corpus", "--text", story)
    assert read(made).inputs[0].sha256 == hashlib.sha256(story.read_bytes()).hexdigest()
    assert digests(build("build-corpus", tmp_path / "again", "--text", story)) == digests(made)


def test_a_file_that_keeps_changing_is_refused(
    build: Build, story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = changing(story, 99, monkeypatch)
    with pytest.raises(VerificationError, match="story.jsonl is changed while it is read: wait until nothing writes there"):
        build("build-corpus", tmp_path / "corpus", "--text", story)
    assert len(changes) == 3


def test_a_stamp_tells_every_change(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(5000))
    seen = [stamp.stamp(path)]
    assert stamp.stamp(path) == seen[0]
    for change in (lambda: flip(path), lambda: flip(path), lambda: os.utime(path, ns=(0, 0)), lambda: flip(path)):
        change()
        assert stamp.stamp(path) not in seen
        seen.append(stamp.stamp(path))


def test_a_stamp_of_a_store(tmp_path: Path) -> None:
    pytest.importorskip("upath")
    path = to_path("memory://stamps/file")
    path.write_bytes(b"one")
    before = stamp.stamp(path)
    assert before and stamp.stamp(path) == before
    path.write_bytes(b"other")
    assert stamp.stamp(path) != before


def test_a_shard_of_a_corpus_that_is_changed_later(sample_corpus: Path, tmp_path: Path) -> None:
    """Also a task that begins in the middle of a shard, which no other task of this run may have checked, sees that."""
    root = Path(shutil.copytree(sample_corpus, tmp_path / "corpus"))
    os.utime(root / "manifest.json")
    source = corpus.read(root)
    (part,) = source.tasks[0].parts
    later = source.tasks[0]._replace(parts=(part._replace(start=1, end=1),))
    assert list(source.reader.columns(later, "id")) == []
    flip(root / part.name)
    with pytest.raises(VerificationError, match="does not match the SHA-256 in the manifest"):
        list(source.reader.columns(later, "id"))


def test_a_shard_of_a_corpus_that_changes_while_it_is_read(
    sample_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(sample_corpus, tmp_path / "corpus"))
    source, real = corpus.read(root), shards.read_batches

    def changed(path: Path, *arguments: Any) -> Iterator[Any]:
        yield from real(path, *arguments)
        flip(path)

    monkeypatch.setattr(shards, "read_batches", changed)
    with pytest.raises(VerificationError, match="does not match the SHA-256 in the manifest"):
        list(source.reader.columns(source.tasks[0], "id"))
