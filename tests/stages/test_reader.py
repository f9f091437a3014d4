"""A dump becomes the same documents at any division, each page once, also after a commit that was interrupted."""

from __future__ import annotations

import bz2
import hashlib
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import digests, read_manifest, read_rows
from mixed_inputs import HEAD
from mixed_inputs import build as build_files

from bertdata.dataset.shards import read_batches
from bertdata.errors import StorageError, VerificationError
from bertdata.stages.corpus import commit as commit_module
from bertdata.stages.corpus import job

NAME = "xwiki-20260101-pages-articles-multistream.xml.bz2"


@cache
def page(number: int, seed: int = 0) -> str:
    draw = random.Random(1000 * number + seed)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randrange(3, 9))) for _ in range(240)]
    text = " ".join(" ".join(words[i : i + 12]).capitalize() + "." for i in range(0, 240, 12))
    return (
        f"<page><title>Page {number}</title><ns>0</ns><id>{number}</id><revision><id>9</id>"
        f"<text>Page {number} of edition {seed}. {text}</text></revision></page>\n"
    )


def write_dump(directory: Path, numbers: Sequence[int], *, name: str = NAME, seed: int = 0) -> Path:
    """Write a dump with twenty pages per stream."""
    directory.mkdir(parents=True, exist_ok=True)
    data = bz2.compress(HEAD.encode())
    for start in range(0, len(numbers), 20):
        group = numbers[start : start + 20]
        data += bz2.compress("".join(page(number, seed) for number in group).encode())
    data += bz2.compress(b"</mediawiki>\n")
    (directory / name).write_bytes(data)
    return directory / name


def build(output: Path, dumps: Path, **options: Any) -> dict[str, Any]:
    """Build a corpus of dumps, or continue an earlier run. Return the manifest."""
    return read_manifest(build_files(output, {"wikipedia": [dumps]}, **options))


def ids(output: Path) -> list[int]:
    return [int(row["id"].removeprefix("xwiki:")) for row in read_rows(output)]


@pytest.mark.slow
def test_one_stream_gives_the_documents_of_many_at_any_cut(tmp_path: Path) -> None:
    many = write_dump(tmp_path / "many", range(1, 500))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / NAME).write_bytes(bz2.compress(bz2.decompress(many.read_bytes()), 1))
    by_streams, by_blocks = build(tmp_path / "a", tmp_path / "many"), build(tmp_path / "b", tmp_path / "one")
    whole = build(tmp_path / "c", tmp_path / "one", task_bytes=1 << 30)
    assert [made["inputs"][0]["cut"] for made in (by_streams, by_blocks, whole)] == ["blocks", "blocks", "whole"]
    assert len(by_blocks["shards"]) > 3
    assert (
        read_rows(tmp_path / "a") == read_rows(tmp_path / "b") == read_rows(tmp_path / "c")
        and len(read_rows(tmp_path / "c")) == 499
    )
    assert by_streams["counts"] == by_blocks["counts"] == whole["counts"]


REPEATS: dict[str, Callable[[Path], object]] = {
    "in a stream": lambda path: write_dump(path, [1, 2, 3, 2, 1, *range(4, 100), 7]),
    "far apart in a dump": lambda path: write_dump(path, [*range(1, 150), 7, 5, *range(150, 200), 3]),
    "in parts that overlap": lambda path: (
        write_dump(path, range(1, 120), name="a.xml.bz2"),
        write_dump(path, range(100, 200), name="b.xml.bz2"),
    ),
    "in two editions": lambda path: (
        write_dump(path, range(1, 200), name="a.xml.bz2"),
        write_dump(path, range(199, 0, -1), name="b.xml.bz2", seed=1),
    ),
    "thrice": lambda path: [write_dump(path, range(1, 200), name=f"{name}.xml.bz2", seed=i) for i, name in enumerate("abc")],
}


@pytest.mark.parametrize("how", REPEATS)
@pytest.mark.slow
def test_a_repeated_page_is_kept_once_and_counted(tmp_path: Path, how: str) -> None:
    REPEATS[how](tmp_path / "dumps")
    cut = build(tmp_path / "cut", tmp_path / "dumps")
    whole = build(tmp_path / "whole", tmp_path / "dumps", task_bytes=1 << 30)
    assert sorted(ids(tmp_path / "cut")) == list(range(1, max(ids(tmp_path / "cut")) + 1))
    assert read_rows(tmp_path / "cut") == read_rows(tmp_path / "whole"), "the first one, whatever the size of tasks"
    assert cut["counts"] == whole["counts"]
    (stage,) = cut["counts"]
    assert stage["dropped"] == {"repeated id": stage["in"] - stage["out"]} and stage["out"] == cut["rows"]
    assert all(" of edition 0." in row["sentences"][0] for row in read_rows(tmp_path / "cut"))
    for shard in cut["shards"]:
        batches = list(read_batches(tmp_path / "cut" / shard["name"]))
        text = sum(len(s.encode()) for b in batches for row in b.column("sentences").to_pylist() for s in row)
        assert (shard["rows"], shard.get("text_bytes", 0)) == (sum(b.num_rows for b in batches), text)
        assert shard["sha256"] == hashlib.sha256((tmp_path / "cut" / shard["name"]).read_bytes()).hexdigest()


def test_other_wikis_have_the_same_numbers(tmp_path: Path) -> None:
    write_dump(tmp_path / "dumps", range(1, 60), name="a.xml.bz2")
    other = bz2.decompress((tmp_path / "dumps" / "a.xml.bz2").read_bytes()).replace(b"xwiki", b"ywiki")
    other = other.replace(b"edition 0", b"edition 1")  # or the pages would go as duplicates
    (tmp_path / "dumps" / "b.xml.bz2").write_bytes(bz2.compress(other))
    assert build(tmp_path / "out", tmp_path / "dumps")["counts"][0]["dropped"] == {}


@pytest.mark.parametrize("again", ["engine", "resume", "half"])
def test_an_interrupted_commit_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str) -> None:
    """The run ends between the new shards and the manifest. The engine tries again at once, or the user later."""
    REPEATS["in two editions"](tmp_path / "dumps")
    build(tmp_path / "whole", tmp_path / "dumps")
    output, commit = tmp_path / "out", job.commit

    def full(*_: object) -> None:
        raise StorageError("no space")

    def twice(root: Path, config: Any, inputs: Any, ignored: Any, reports: Any) -> None:
        received = (root, config, inputs, ignored, list(reports))
        with monkeypatch.context() as patch, pytest.raises(StorageError):
            patch.setattr(commit_module.manifest, "store", full)
            commit(*received)
        if again == "half":
            sorted((root / "data").iterdir())[-1].unlink()
        if again != "engine":
            full()
        commit(*received)

    with monkeypatch.context() as patch:
        patch.setattr(job, "commit", twice)
        if again == "engine":
            build(output, tmp_path / "dumps")
        else:
            with pytest.raises(StorageError):
                build(output, tmp_path / "dumps")
            assert not (output / "manifest.json").exists()
    build(output, tmp_path / "dumps")
    assert digests(output) == digests(tmp_path / "whole")


def test_a_shard_that_changed_after_its_task_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    REPEATS["in two editions"](tmp_path / "dumps")
    rewrite = job.rewrite

    def changed(root: Path, drops: str, report: Any, lost: Any) -> Any:
        first = sorted((root / "data").iterdir())[0]
        (root / report.files[0].name).write_bytes(first.read_bytes())
        return rewrite(root, drops, report, lost)

    monkeypatch.setattr(job, "rewrite", changed)
    with pytest.raises(VerificationError, match="run the same command again"):
        build(tmp_path / "out", tmp_path / "dumps")


def test_a_dump_without_copies_is_not_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("no shard loses a page")

    write_dump(tmp_path / "dumps", range(1, 200))
    monkeypatch.setattr(job, "rewrite", fail)
    assert len(build(tmp_path / "out", tmp_path / "dumps")["shards"]) > 2
