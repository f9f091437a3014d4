"""`datasets.load_dataset`, the line that a run prints, gives the rows that lie there now, whatever its cache holds already."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, read_manifest

from bertdata.dataset import shards

PROGRAM = """
import datasets, json, os, sys
for line in sys.stdin:
    if not os.fork():
        for directory in json.loads(line):
            print(json.dumps({split: rows.to_list() for split, rows in datasets.load_dataset(directory).items()}))
        sys.exit()
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""
Rows = dict[str, list[dict[str, Any]]]
Load = Callable[..., list[Rows]]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    """Read data sets as a user does, in a process of its own, forked from one that has imported `datasets`; with one cache."""
    pytest.importorskip("datasets")
    environment = {**os.environ, "HF_HOME": str(tmp_path_factory.mktemp("cache")), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, text=True, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        requests, answers = process.stdin, process.stdout
        assert requests and answers

        def call(*directories: Path) -> list[Rows]:
            print(json.dumps([*map(str, directories)]), file=requests, flush=True)
            found = []
            while isinstance(answer := json.loads(answers.readline()), dict):
                found.append(answer)
            assert answer == 0, "its exit code"
            return found

        yield call
        requests.close()
        assert process.wait(60) == 0


def lying(directory: Path) -> Rows:
    """Read the rows that lie there, without `datasets`."""
    made, rows = read_manifest(directory), Rows()
    for shard in made["shards"]:
        split = shard["name"].removeprefix("data/").partition("-")[0]
        for batch in shards.read_batches(directory / shard["name"], made["config"]["format"]):
            rows.setdefault(split, []).extend(batch.to_pylist())
    return rows


@pytest.fixture(scope="module")
def corpora(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of text with as many documents each, of which only some are the same, and a corpus of each."""
    root, lines = tmp_path_factory.mktemp("corpora"), text.read_text(encoding="utf-8").splitlines()
    found = []
    for number in range(3):
        (root / f"{number}.jsonl").write_text("\n".join(lines[number : number + 60]))
        found.append(build("build-corpus", root / str(number), "--text", root / f"{number}.jsonl"))
    return found


def command(kind: str, corpora: list[Path], vocab: Path, number: int) -> list[object]:
    """The command that makes a data set of a kind out of the text of this number."""
    if kind == "corpus":
        return ["build-corpus", "--text", corpora[number].with_suffix(".jsonl")]
    splits = ["--validation-fraction", 0.3] if kind == "splits" else []
    return ["make-pairs", corpora[number], "--vocab", vocab, "--shards", 1, *splits]


@pytest.mark.parametrize("kind", ["corpus", "pairs", "splits"])
def test_another_data_set_of_the_same_name_and_one_that_is_replaced(
    load: Load, build: Build, corpora: list[Path], sample_vocab: Path, tmp_path: Path, kind: str
) -> None:
    one, other = tmp_path / "one" / kind, tmp_path / "other" / kind

    def make(directory: Path, number: int, *more: object) -> None:
        name, *options = command(kind, corpora, sample_vocab, number)
        build(str(name), directory, *options, *more)

    make(one, 0)
    make(other, 1)
    first = lying(one)
    assert load(one, other, one) == [first, lying(other), first]
    assert set(first) == ({"train", "validation"} if kind == "splits" else {"train"}) and lying(other) != first
    make(one, 2, "--overwrite")
    assert load(one, other) == [lying(one), lying(other)] and lying(one) != first
    make(one, 1, "--overwrite", "--format", "parquet")
    assert load(one) == [lying(one)] == [lying(other)]
    make(one, 0, "--overwrite", "--format", "arrow-file")
    assert load(one) == [lying(one)] == [first]
    shutil.move(one, tmp_path / "moved")
    assert load(tmp_path / "moved") == [first]
