"""A manifest with long lists: they lie in files beside it, and everybody who reads it finds it whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny import write_pairs

from bertdata import DataSet, Shards
from bertdata.dataset import lists, manifest
from bertdata.dataset.manifest_types import PairsManifest
from bertdata.errors import StorageError, VerificationError
from bertdata.exports.base import read as read_data_set
from bertdata.reports import card
from bertdata.stages import documents as corpus
from bertdata.verification.check import verify


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pairs of five shards, of whose entries two are in each file, but for the last."""
    monkeypatch.setattr(lists, "MAX_FILE_ENTRIES", 2)
    return write_pairs(tmp_path / "pairs", {"train": [[9], [12, 20], [7], [30]], "validation": [[11]]})


def _stored(directory: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((directory / manifest.NAME).read_text())
    return made


def test_long_lists_are_in_files_and_read_whole(whole: Path) -> None:
    stored, made = _stored(whole), manifest.read_json(whole)
    assert stored["bertdata"] == 2 and made["bertdata"] == 1
    assert [part["entries"] for part in stored["shards"]["parts"]] == [2, 2, 1]
    names = [f"files-{number:05d}-of-00002.jsonl" for number in range(2)]
    assert {path.name for path in (whole / "lists").iterdir()} >= {*names, "shards-00002-of-00003.jsonl"}
    assert [shard["rows"] for shard in made["shards"]] == [1, 2, 1, 1, 1]
    assert [shard.rows for shard in manifest.read(whole, PairsManifest).shards] == [1, 2, 1, 1, 1]


def test_a_short_manifest_is_as_it_was(tmp_path: Path) -> None:
    made = _stored(write_pairs(tmp_path / "pairs", {"train": [[9], [12]]}))
    assert made == manifest.read_json(tmp_path / "pairs") and made["bertdata"] == 1
    assert not (tmp_path / "pairs" / "lists").exists()


def test_everybody_reads_it(whole: Path) -> None:
    assert Shards(whole).rows == [5]
    assert len(DataSet.read(whole).shards) == 5
    assert card.write(manifest.read(whole, PairsManifest))
    assert len(read_data_set(whole, "train")[1]) == 4


@pytest.mark.parametrize("damage", ["cut", "missing", "other", "more"])
def test_a_file_of_entries_that_is_not_as_written_is_found(whole: Path, damage: str) -> None:
    path = whole / "lists" / "shards-00001-of-00003.jsonl"
    text = path.read_text()
    if damage == "missing":
        path.unlink()
    else:
        path.write_text({"cut": text[:-5], "other": text.replace("train-00002", "train-00001"), "more": text * 2}[damage])
    with pytest.raises((VerificationError, StorageError), match=r"shards-00001-of-00003\.jsonl"):
        manifest.read(whole)


def test_a_file_of_entries_that_leads_out_is_refused(whole: Path, tmp_path: Path) -> None:
    path = whole / "lists" / "shards-00001-of-00003.jsonl"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VerificationError, match="is a link that leads out"):
        manifest.read(whole)


def test_a_stray_file_of_entries_is_none_of_this_data_set(whole: Path) -> None:
    (whole / "lists" / "shards-00000-of-00009.jsonl").write_text("")
    names = [problem.name for problem in verify(whole, workers=1).problems]
    assert [name for name in names if name != manifest.NAME] == ["lists/shards-00000-of-00009.jsonl"]


def test_a_corpus_of_many_shards_goes_through_all_commands(build: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From build-corpus to pairs and an export, put in place by renames, and found complete by the same command."""
    monkeypatch.setattr(lists, "MAX_FILE_ENTRIES", 3)
    for number in range(8):
        lines = [json.dumps({"text": f"Boat {number} {line} came in. It had herring. The quay was full."}) for line in range(20)]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    out = build("build-corpus", tmp_path / "corpus", "--text", tmp_path / "*.jsonl", "--task-bytes", 1 << 16)
    assert corpus.read(out).manifest.rows == 160
    assert isinstance(_stored(out)["inputs"], dict) and len(manifest.read(out).inputs) == 8
    assert verify(out, workers=1).problems == []
