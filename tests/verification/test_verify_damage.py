"""Damage of every kind to every file of a dataset is found, and the file named: flips, cuts, what is gone, added, exchanged."""

from __future__ import annotations

import itertools
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, Run

from bertdata.dataset.build import REPORT
from bertdata.dataset.manifest import NAME
from bertdata.errors import NoInputError
from bertdata.verification import verify

pytestmark = pytest.mark.long

KINDS = ("documents", "vocabulary", "pairs")
Find = Callable[[Path], bool]


@pytest.fixture(scope="module")
def sets(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A dataset of each kind, of some ten kilobytes in a few shards; corpora have rejects and drops."""
    root = tmp_path_factory.mktemp("sets")
    lines = text.read_text(encoding="utf-8").splitlines()[:80]
    (root / "text.jsonl").write_text("\n".join([lines[0][:-2], lines[2], *lines[1:]]))
    found = {}
    found["documents"] = build("build-corpus", root / "documents", "--text", root / "text.jsonl", "--task-bytes", 1 << 16)
    found["vocabulary"] = build("train-vocab", root / "vocabulary", found["documents"], "--size", 600)
    options = ["--vocab", found["vocabulary"], "--shards", 3, "--masking", "static", "--provenance"]
    found["pairs"] = build("make-pairs", root / "pairs", found["documents"], *options)
    assert set(found) == set(KINDS)
    return found


@pytest.fixture
def damaged(sets: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the dataset that the test is about, in which nothing is wrong yet."""
    copy = Path(shutil.copytree(sets[request.param], tmp_path / "set"))
    assert verify(copy, workers=1).problems == []
    return copy


def files(directory: Path) -> list[Path]:
    """The files of a dataset, but for its hidden state and the report, which is not among the digests."""
    found = sorted(path for path in directory.rglob("*") if path.is_file() and ".bertdata" not in path.parts)
    return [path for path in found if path.name != REPORT]


def found(directory: Path, name: str) -> bool:
    """Return True if verify names this file."""
    return name in [problem.name for problem in verify(directory, workers=1).problems]


def sweep(directory: Path, damage: Callable[[bytes], Iterator[bytes]]) -> Counter[str]:
    """Write every damaged form of every file; count those that are found, and list the others."""
    counts: Counter[str] = Counter()
    for path in files(directory):
        whole, name = path.read_bytes(), path.relative_to(directory).as_posix()
        for broken in damage(whole):
            if broken != whole:
                path.write_bytes(broken)
                counts["tried"] += 1
                counts["found"] += found(directory, name)
        path.write_bytes(whole)
    assert verify(directory, workers=1).problems == []
    return counts


def flips(every: int, least: int) -> Callable[[bytes], Iterator[bytes]]:
    """Flip one bit of every so many bytes, each time another, and of at least so many places of a file."""

    def damage(whole: bytes) -> Iterator[bytes]:
        step = max(1, min(every, len(whole) // least))
        for number, at in enumerate(range(0, len(whole), step)):
            yield whole[:at] + bytes([whole[at] ^ (1 << number % 8)]) + whole[at + 1 :]

    return damage


def cuts(count: int) -> Callable[[bytes], Iterator[bytes]]:
    """Cut a file at so many places, its begin and the byte before its end among them."""

    def damage(whole: bytes) -> Iterator[bytes]:
        for end in sorted({len(whole) * number // count for number in range(count)} | {max(0, len(whole) - 1)}):
            yield whole[:end]

    return damage


@pytest.mark.parametrize("damaged", KINDS, indirect=True)
def test_some_flips_and_cuts_of_every_file(damaged: Path) -> None:
    for damage in (flips(10**9, 2), cuts(3)):
        counts = sweep(damaged, damage)
        assert counts["found"] == counts["tried"] >= 8


@pytest.mark.long
@pytest.mark.parametrize("damaged", KINDS, indirect=True)
def test_flips_everywhere(damaged: Path) -> None:
    counts = sweep(damaged, flips(1000, 20))
    print(f"flips: {counts['found']} of {counts['tried']} found")
    assert counts["found"] == counts["tried"] > 80


@pytest.mark.long
@pytest.mark.parametrize("damaged", KINDS, indirect=True)
def test_cuts_everywhere(damaged: Path) -> None:
    counts = sweep(damaged, cuts(50))
    print(f"cuts: {counts['found']} of {counts['tried']} found")
    assert counts["found"] == counts["tried"] > 150


@pytest.mark.parametrize("damaged", KINDS, indirect=True)
def test_every_file_that_is_gone_or_something_else(damaged: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    for path in files(damaged):
        name = path.relative_to(damaged).as_posix()
        path.rename(aside)
        if name == NAME:
            with pytest.raises(NoInputError, match="manifest.json is missing"):
                verify(damaged, workers=1)
        else:
            assert found(damaged, name)
            for make in (path.mkdir, lambda path=path: os.mkfifo(path), lambda path=path: path.symlink_to(aside)):
                make()
                assert found(damaged, name)
                path.rmdir() if path.is_dir() else path.unlink()
        aside.rename(path)
    assert verify(damaged, workers=1).problems == []


@pytest.mark.parametrize("damaged", KINDS, indirect=True)
def test_files_that_the_manifest_does_not_know(damaged: Path) -> None:
    folders = ["", "new/", *(f"{path.name}/" for path in damaged.iterdir() if path.is_dir() and path.name != ".bertdata")]
    for folder in folders:
        for name in ("train-00009-of-00010.arrow", ".hidden", ".tmp-train-00000-of-00001.arrow-0a", "a b\n.txt"):
            strange = damaged / folder / name
            strange.parent.mkdir(exist_ok=True)
            strange.write_bytes(b"x")
            problems = dict(verify(damaged, workers=1).problems)
            told = "left over from a run that was killed" if name.startswith(".tmp-") else "does not belong to this dataset"
            assert list(problems) == [f"{folder}{name}"] and told in problems[f"{folder}{name}"]
            strange.unlink()
    for name in ("state.bin", "tasks", "lock/x", "more/run.json", "a b\x1b.txt"):
        strange = damaged / ".bertdata" / name
        (damaged / ".bertdata" / "lock").unlink(missing_ok=True)
        strange.parent.mkdir(exist_ok=True)
        strange.write_bytes(b"x")
        assert dict(verify(damaged, workers=1).problems) == {f".bertdata/{name}": "does not belong to this dataset"}
        strange.unlink()
        if strange.parent.name != ".bertdata":
            strange.parent.rmdir()
    for name in ("tasks/extract/00000.json", "tasks/extract/00001.json", "work/words-00000.arrow"):  # killed at its very end
        (damaged / ".bertdata" / name).parent.mkdir(parents=True, exist_ok=True)
        (damaged / ".bertdata" / name).touch()
    state = verify(damaged, workers=1)
    assert state.problems == [] and [note.split(".bertdata/")[1].split()[0] for note in state.notes] == ["tasks", "work"]
    shutil.rmtree(damaged / ".bertdata" / "tasks")
    shutil.rmtree(damaged / ".bertdata" / "work")
    (damaged / ".bertdata" / ".tmp-run.json-0a").write_bytes(b"x")
    (damaged / ".bertdata" / "lock").touch()
    state = verify(damaged, workers=1)
    assert state.problems == [] and len(state.notes) == 1 and ".tmp-run.json-0a is left over" in state.notes[0]


@pytest.mark.parametrize("damaged", KINDS, indirect=True)
def test_two_files_exchanged(damaged: Path) -> None:
    tried = 0
    for one, other in itertools.combinations(files(damaged), 2):
        contents = one.read_bytes(), other.read_bytes()
        if contents[0] == contents[1]:
            continue
        one.write_bytes(contents[1])
        other.write_bytes(contents[0])
        names = {problem.name for problem in verify(damaged, workers=1).problems}
        assert (
            NAME in names
            if NAME in (one.name, other.name)
            else names == {p.relative_to(damaged).as_posix() for p in (one, other)}
        )
        one.write_bytes(contents[0])
        other.write_bytes(contents[1])
        tried += 1
    assert tried >= 6


def test_manifests_of_two_data_sets_exchanged(sets: dict[str, Path], tmp_path: Path) -> None:
    for one, other in itertools.permutations(KINDS, 2):
        copy = Path(shutil.copytree(sets[one], tmp_path / "set"))
        shutil.copy(sets[other] / NAME, copy / NAME)
        assert verify(copy, workers=1).problems, f"{one} with the manifest of {other}"
        shutil.rmtree(copy)


def test_all_damaged_files_are_told_of_and_the_first_fifty_printed(run: Run, sets: dict[str, Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(sets["documents"], tmp_path / "set"))
    names = [path.relative_to(copy).as_posix() for path in files(copy) if path.name != NAME]
    for name in names:
        (copy / name).write_bytes((copy / name).read_bytes()[:-1] + b"#")
    done = run("verify", sets["vocabulary"], copy, code=6)
    assert "all as written" in done.stdout and len(done.stdout.splitlines()) == 1
    lines = done.stderr.splitlines()
    assert sorted(line.partition(": ")[0] for line in lines[:-1]) == sorted(str(copy / name) for name in names)
    assert lines[-1].startswith(f"bertdata: error: not as written: {copy} ({len(names)} files)")
    for number in range(60):
        (copy / "data" / f"{number}\x1b[31m").touch()
    said = run("verify", copy, code=6).stderr
    assert f"and {len(names) + 10} files more" in said and "\x1b" not in said


def test_damage_is_found_by_processes_too(run: Run, sets: dict[str, Any], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(sets["pairs"], tmp_path / "set"))
    path = files(copy / "data")[1]
    path.write_bytes(path.read_bytes()[:-8] + bytes(8))
    assert f"{path}: has changed since it was written (its SHA-256 differs)" in run("verify", copy, "--workers", 2, code=6).stderr
