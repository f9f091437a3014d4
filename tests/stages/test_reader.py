"""What a run makes of dumps: checked against their checksum and index, each page once, the same at any cut of one stream."""

from __future__ import annotations

import bz2
import hashlib
import json
import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bertdata.chains import local
from bertdata.chains.build_corpus import BuildCorpus
from conftest import Run, digests

from bertdata.config import CorpusConfig
from bertdata.dataset.build import STATE
from bertdata.dataset.shards import read_batches
from bertdata.errors import StorageError, VerificationError
from bertdata.sources import SUFFIXES
from bertdata.sources.inputs import find
from bertdata.stages.corpus import commit as commit_module
from bertdata.stages.corpus.commit import CorpusCommit
from bertdata.stages.corpus.plan_tasks import plan
from bertdata.stages.corpus_report import CorpusReport
from bertdata.stages.selection.rewrite import Rewrite
from bertdata.storage.files import write_json

HEAD = (
    '<mediawiki version="0.11" xml:lang="en"><siteinfo><dbname>xwiki</dbname>'
    "<base>https://en.wikipedia.org/wiki/Main_Page</base></siteinfo>\n"
)
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


def write_dump(directory: Path, numbers: Sequence[int], *, name: str = NAME, seed: int = 0, index: bool = False) -> Path:
    """Write a dump with twenty pages a stream, and its index."""
    directory.mkdir(parents=True, exist_ok=True)
    data, lines = bz2.compress(HEAD.encode()), ""
    for start in range(0, len(numbers), 20):
        group = numbers[start : start + 20]
        lines += "".join(f"{len(data)}:{number}:Page {number}\n" for number in group)
        data += bz2.compress("".join(page(number, seed) for number in group).encode())
    data += bz2.compress(b"</mediawiki>\n")
    (directory / name).write_bytes(data)
    if index:
        (directory / name.replace(".xml", "-index.txt")).write_bytes(bz2.compress(lines.encode()))
    return directory / name


def write_sums(path: Path) -> None:
    (path.parent / "xwiki-20260101-md5sums.txt").write_text(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.name}\n")


def build(output: Path, dumps: Path, **options: Any) -> dict[str, Any]:
    """Run build-corpus in this process, or go on with what a run before has left; return the manifest."""
    config = CorpusConfig(**{"task_bytes": 1 << 16, **options})
    planned = plan(config, {"wikipedia": find([str(dumps)], SUFFIXES["wikipedia"], "--wikipedia")})
    write_json(output / STATE / "run.json", {})
    local.run(BuildCorpus(planned, config, output))
    found: dict[str, Any] = json.loads((output / "manifest.json").read_text())
    return found


def rows(output: Path) -> list[dict[str, Any]]:
    return [row for path in sorted((output / "data").iterdir()) for b in read_batches(path) for row in b.to_pylist()]


def ids(output: Path) -> list[int]:
    return [int(row["id"].removeprefix("xwiki:")) for row in rows(output)]


def rejects(output: Path) -> list[dict[str, Any]]:
    files = sorted((output / "rejects").glob("*")) if (output / "rejects").is_dir() else []
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


# --- one stream ---


@pytest.mark.slow
def test_one_stream_gives_the_documents_of_many_at_any_cut(tmp_path: Path) -> None:
    many = write_dump(tmp_path / "many", range(1, 500))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / NAME).write_bytes(bz2.compress(bz2.decompress(many.read_bytes()), 1))
    by_streams, by_blocks = build(tmp_path / "a", tmp_path / "many"), build(tmp_path / "b", tmp_path / "one")
    whole = build(tmp_path / "c", tmp_path / "one", task_bytes=1 << 30)
    assert [made["inputs"][0]["cut"] for made in (by_streams, by_blocks, whole)] == ["blocks", "blocks", "whole"]
    assert len(by_blocks["shards"]) > 3
    assert rows(tmp_path / "a") == rows(tmp_path / "b") == rows(tmp_path / "c") and len(rows(tmp_path / "c")) == 499
    assert by_streams["counts"] == by_blocks["counts"] == whole["counts"]


# --- the checksum ---


@pytest.mark.slow
def test_a_checksum_beside_the_dump_is_checked_and_told(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dumps", range(1, 100))
    without = build(tmp_path / "without", tmp_path / "dumps")
    write_sums(dump)
    checked = build(tmp_path / "checked", tmp_path / "dumps")
    assert checked["inputs"][0].pop("checksum") == f"md5:{hashlib.md5(dump.read_bytes()).hexdigest()}"
    assert {**checked, "sha256": ""} == {**without, "sha256": ""}


@pytest.mark.slow
def test_a_dump_that_is_not_what_was_published(tmp_path: Path) -> None:
    write_dump(tmp_path / "dumps", range(1, 100))
    expected = build(tmp_path / "expected", tmp_path / "dumps")
    (tmp_path / "dumps" / "md5sums.txt").write_text(f"{'0' * 32}  {NAME}\n")
    with pytest.raises(VerificationError, match=f"{NAME} does not match its checksum.*fetch it again"):
        build(tmp_path / "out", tmp_path / "dumps")
    assert not (tmp_path / "out" / "manifest.json").exists()
    (tmp_path / "dumps" / "md5sums.txt").unlink()
    assert build(tmp_path / "out", tmp_path / "dumps") == expected


# --- repeated ids ---

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
    assert rows(tmp_path / "cut") == rows(tmp_path / "whole"), "the first one, whatever the size of tasks"
    assert cut["counts"] == whole["counts"]
    (stage,) = cut["counts"]
    assert stage["dropped"] == {"repeated id": stage["in"] - stage["out"]} and stage["out"] == cut["rows"]
    assert all(" of edition 0." in row["sentences"][0] for row in rows(tmp_path / "cut"))
    for shard in cut["shards"]:
        batches = list(read_batches(tmp_path / "cut" / shard["name"]))
        text = sum(len(s.encode()) for b in batches for row in b.column("sentences").to_pylist() for s in row)
        assert (shard["rows"], shard["text_bytes"]) == (sum(b.num_rows for b in batches), text)
        assert shard["sha256"] == hashlib.sha256((tmp_path / "cut" / shard["name"]).read_bytes()).hexdigest()


def test_other_wikis_have_the_same_numbers(tmp_path: Path) -> None:
    write_dump(tmp_path / "dumps", range(1, 60), name="a.xml.bz2")
    other = bz2.decompress((tmp_path / "dumps" / "a.xml.bz2").read_bytes()).replace(b"xwiki", b"ywiki")
    other = other.replace(b"edition 0", b"edition 1")  # or the pages would go as duplicates
    (tmp_path / "dumps" / "b.xml.bz2").write_bytes(bz2.compress(other))
    assert build(tmp_path / "out", tmp_path / "dumps")["counts"][0]["dropped"] == {}


@pytest.mark.parametrize("again", ["engine", "resume", "half"])
@pytest.mark.slow
def test_a_commit_that_was_broken_off_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str) -> None:
    """Between the new shards and the manifest: the engine may try again with the old reports, or the user."""
    REPEATS["in two editions"](tmp_path / "dumps")
    build(tmp_path / "whole", tmp_path / "dumps")
    output, commit = tmp_path / "out", CorpusCommit.__call__

    def full(*_: object) -> None:
        raise StorageError("no space")

    def twice(self: CorpusCommit, reports: Iterable[list[Any]]) -> None:
        received = list(reports)
        with monkeypatch.context() as patch, pytest.raises(StorageError):
            patch.setattr(commit_module.manifest, "store", full)
            commit(self, received)
        if again == "engine":
            commit(self, received)
        else:
            full()

    with monkeypatch.context() as patch:
        patch.setattr(CorpusCommit, "__call__", twice)
        if again == "engine":
            build(output, tmp_path / "dumps")
        else:
            with pytest.raises(StorageError):
                build(output, tmp_path / "dumps")
            assert not (output / "manifest.json").exists()
    if again == "half":
        sorted((output / "data").iterdir())[-1].unlink()
    if again != "engine":
        build(output, tmp_path / "dumps")
    assert digests(output) == digests(tmp_path / "whole")


@pytest.mark.slow
def test_a_shard_that_nobody_wrote_is_not_amended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    REPEATS["in two editions"](tmp_path / "dumps")
    rewrite = Rewrite._rewrite

    def changed(self: Rewrite, task: int, report: CorpusReport, *more: Any) -> CorpusReport:
        shutil.copy(sorted((self.root / "data").iterdir())[0], self.root / report.files[0].name)
        return rewrite(self, task, report, *more)

    monkeypatch.setattr(Rewrite, "_rewrite", changed)
    with pytest.raises(VerificationError, match="run the same command again"):
        build(tmp_path / "out", tmp_path / "dumps")


def test_one_stream_and_repeated_pages_by_two_workers_in_any_order(run: Run, tmp_path: Path) -> None:
    REPEATS["in parts that overlap"](tmp_path / "dumps")
    one, two = tmp_path / "dumps" / "a.xml.bz2", tmp_path / "dumps" / "b.xml.bz2"
    one.write_bytes(bz2.compress(bz2.decompress(one.read_bytes()), 1))  # in one stream, which is cut at blocks
    for workers, dumps in ((1, (one, two)), (2, (two, one))):
        inputs = [item for dump in dumps for item in ("--wikipedia", dump)]
        run("build-corpus", *inputs, "--task-bytes", 1 << 16, "--output", tmp_path / str(workers), "--workers", workers)
    assert digests(tmp_path / "1") == digests(tmp_path / "2")
    assert not (tmp_path / "1" / ".bertdata" / "work").exists()
    assert sorted(ids(tmp_path / "1")) == list(range(1, 200))


@pytest.mark.slow
def test_a_dump_in_order_is_not_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> None:
        raise AssertionError("no shard loses a page")

    write_dump(tmp_path / "dumps", range(1, 200))
    monkeypatch.setattr(Rewrite, "_rewrite", look)
    assert len(build(tmp_path / "out", tmp_path / "dumps")["shards"]) > 2


@pytest.mark.slow
def test_a_shard_with_an_emptied_batch_reads(tmp_path: Path) -> None:
    write_dump(tmp_path / "dumps", range(1, 30), name="a.xml.bz2")
    write_dump(tmp_path / "dumps", range(1, 30), name="b.xml.bz2", seed=1)
    made = build(tmp_path / "out", tmp_path / "dumps")
    assert [shard["rows"] for shard in made["shards"]] == [29, 0]
    with pa.memory_map(str(tmp_path / "out" / made["shards"][1]["name"])) as source:
        assert pa.ipc.open_file(source).read_all().num_rows == 0
