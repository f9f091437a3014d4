"""The real dumps and books: every whole page is there, what is broken is named, and all counts add up."""

from __future__ import annotations

import bz2
import json
import re
from pathlib import Path

import pytest
from conftest import Run, read_manifest


def rejects(directory: Path) -> list[dict[str, str]]:
    files = sorted((directory / "rejects").glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]


def pages(path: Path) -> list[str]:
    """List a dump's pages, found without bertdata."""
    data = path.read_bytes()
    text = (bz2.decompress(data) if path.suffix == ".bz2" else data).decode()
    return re.findall(r"<page>.*?</page>", text, re.S)


@pytest.mark.nightly
def test_all_samples_and_books(run: Run, shared: Path, tmp_path: Path) -> None:
    wiki = [
        path for path in sorted((shared / "data" / "wiki").iterdir()) if "broken" not in path.name and "index" not in path.name
    ]
    inputs = [item for path in wiki for item in ("--wikipedia", path)]
    run("build-corpus", *inputs, "--books", shared / "data" / "books", "--output", tmp_path / "corpus", "--workers", 1)
    made = read_manifest(tmp_path / "corpus")
    stages = {stage["stage"]: stage for stage in made["counts"]}
    cut = sum(1 for reject in rejects(tmp_path / "corpus"))
    given = [page for path in wiki for page in pages(path)]
    assert stages["wikipedia pages"]["in"] == len(given) + cut
    assert {reject["reason"] for reject in rejects(tmp_path / "corpus")} == {"truncated-dump"}
    assert stages["books"]["in"] == stages["books"]["out"] == 10
    redirects = sum("<redirect" in page and not re.search("<ns>-?[1-9]", page) for page in given)
    assert stages["wikipedia pages"]["dropped"]["redirect"] >= redirects
    for stage in made["counts"]:
        assert stage["in"] == stage["out"] + sum(stage["dropped"].values()) + sum(stage["rejected"].values())
    run("train-vocab", tmp_path / "corpus", "--output", tmp_path / "vocab", "--workers", 1)
    assert read_manifest(tmp_path / "vocab")["size"] == 30522
    lengths = ("--max-seq-length", 128, "--max-seq-length", 512)
    run(
        "make-pairs", tmp_path / "corpus", "--vocab", tmp_path / "vocab", *lengths, "--output", tmp_path / "pairs", "--workers", 1
    )
    for length in (128, 512):
        pairs = read_manifest(tmp_path / f"pairs-{length}")
        assert abs(pairs["statistics"]["not_next"] - pairs["rows"] / 2) <= len(pairs["shards"])
        assert pairs["counts"][0]["in"] == made["rows"]
        for stage in pairs["counts"]:
            assert stage["in"] == stage["out"] + sum(stage["dropped"].values()) + sum(stage["rejected"].values())


@pytest.mark.parametrize(("number", "reason"), [(1, "no-title"), (2, None), (3, "no-text"), (4, None)])
def test_broken_dumps(run: Run, shared: Path, tmp_path: Path, number: int, reason: str | None) -> None:
    """1 lacks a title, 2 lacks <ns>, 3 has <texts>, 4 has an empty page: counted, with the whole sample beside it."""
    wiki = shared / "data" / "wiki"
    inputs = ("--wikipedia", wiki / f"zhwiki-broken-{number}.xml", "--wikipedia", wiki / "zhwiki-sample.xml")
    run("build-corpus", *inputs, "--output", tmp_path / "corpus", "--workers", 1)
    (stage,) = read_manifest(tmp_path / "corpus")["counts"]
    assert stage["in"] == 33 + 3
    assert stage["rejected"] == ({reason: 1} if reason else {})
    assert [(r["id"], r["reason"]) for r in rejects(tmp_path / "corpus")] == ([("zhwiki:13", reason)] if reason else [])
    assert stage["dropped"].get("empty page", 0) == (number == 4)
