"""Same input, same bytes: at any number of workers, in any order of input, on a repeated bundle."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE, Build, Run, digests, leftovers

DUMPS = sorted(SAMPLE.glob("*multistream.xml.bz2"))
PACKED = ("--objective", "documents", "--pack", "--max-seq-length", 512, "--shards", 3)
BOOKS = sorted((SAMPLE / "books").glob("*.txt"))


def everything(run: Callable[..., Any], inputs: list[object], output: Path, *more: object) -> dict[str, str]:
    """Build corpus, vocabulary and pairs of two lengths; return the digests of all their files."""
    options, beam = (more[: more.index("--")], more[more.index("--") :]) if "--" in more else (more, ())
    corpus, vocab = output / "corpus", output / "vocab"
    run("build-corpus", *inputs, "--task-bytes", 1 << 16, "--output", corpus, *options, *beam)
    run("train-vocab", corpus, "--size", 3000, "--output", vocab, *options, *beam)
    lengths = ("--max-seq-length", 64, "--max-seq-length", 256, "--shards", 3)
    run("make-pairs", corpus, "--vocab", vocab, *lengths, "--output", output / "pairs", *options, *beam)
    run("make-pairs", corpus, "--vocab", vocab, *PACKED, "--output", output / "packed", *options, *beam)
    assert all(leftovers(directory) == [] for directory in output.iterdir())
    return digests(output)


def arguments(dumps: list[Path], books: list[Path]) -> list[object]:
    return [item for dump in dumps for item in ("--wikipedia", dump)] + [item for book in books for item in ("--books", book)]


@pytest.fixture(scope="module")
def reference(run: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    found = everything(run, arguments(DUMPS, BOOKS), tmp_path_factory.mktemp("reference"), "--workers", 1)
    assert sum(name.startswith("corpus/data/") for name in found) >= 4, "the sample must give several tasks"
    return found


def test_two_workers_and_shuffled_input(run: Run, reference: dict[str, str], tmp_path: Path) -> None:
    dumps, books = list(reversed(DUMPS)), random.Random(3).sample(BOOKS, len(BOOKS))
    assert everything(run, arguments(dumps, books), tmp_path, "--workers", 2) == reference


def test_repeated_bundles(build: Build, reference: dict[str, str], tmp_path: Path) -> None:
    """By Beam in this process."""

    def run(command: str, *words: Any) -> None:
        at = words.index("--output")
        build(command, words[at + 1], *words[:at], *words[at + 2 :])

    beam = ("--", "--runner=FnApiRunner", "--direct_runner_bundle_repeat=1")
    assert everything(run, arguments(DUMPS, BOOKS), tmp_path, *beam) == reference


def test_input_elsewhere(run: Run, reference: dict[str, str], tmp_path: Path) -> None:
    """Where the input lies must not matter: nothing in the output names a directory of this machine."""
    moved = tmp_path / "with space 数据"
    (moved / "books").mkdir(parents=True)
    for path in (*SAMPLE.glob("*.bz2"), *BOOKS):  # the dumps, and their indexes
        (moved / path.relative_to(SAMPLE)).write_bytes(path.read_bytes())
    output = tmp_path / "output"
    output.mkdir()
    assert everything(run, ["--wikipedia", moved, "--books", moved / "books"], output, "--workers", 1) == reference
