"""`datasets.load_dataset`, the line that a run prints, gives the rows that lie there now, whatever its cache holds already."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Build, Load, Rows, read_manifest

from bertdata.dataset import shards


def lying(directory: Path) -> Rows:
    """Read the rows that lie there, without `datasets`."""
    made, rows = read_manifest(directory), Rows()
    for shard in made["shards"]:
        split = shard["name"].removeprefix("data/").partition("-")[0]
        for batch in shards.read_batches(directory / shard["name"]):
            rows.setdefault(split, []).extend(batch.to_pylist())
    return rows


@pytest.fixture(scope="module")
def corpora(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of text with as many documents each, of which only some are the same, and a corpus of each."""
    pytest.importorskip("datasets")
    root, lines = tmp_path_factory.mktemp("corpora"), text.read_text(encoding="utf-8").splitlines()
    found = []
    for number in range(3):
        (root / f"{number}.jsonl").write_text("\n".join(lines[number : number + 60]))
        found.append(build("build-corpus", root / str(number), "--text", root / f"{number}.jsonl"))
    return found


def command(kind: str, corpora: list[Path], vocab: Path, number: int) -> list[object]:
    """The command that makes a dataset of a kind out of the text of this number."""
    if kind == "corpus":
        return ["build-corpus", "--text", corpora[number].with_suffix(".jsonl")]
    splits = ["--validation-fraction", 0.3] if kind == "splits" else []
    return ["make-pairs", corpora[number], "--vocab", vocab, "--shards", 1, *splits]


@pytest.mark.parametrize("kind", ["corpus", "pairs", "splits"])
def test_another_data_set_of_the_same_name_and_one_that_is_replaced(
    build: Build, load_datasets: Load, corpora: list[Path], sample_vocab: Path, tmp_path: Path, kind: str
) -> None:
    one, other = tmp_path / "one" / kind, tmp_path / "other" / kind

    def make(directory: Path, number: int, *more: object) -> None:
        name, *options = command(kind, corpora, sample_vocab, number)
        build(str(name), directory, *options, *more)

    make(one, 0)
    make(other, 1)
    first = lying(one)
    assert load_datasets(one, other, one) == [first, lying(other), first]
    assert set(first) == ({"train", "validation"} if kind == "splits" else {"train"}) and lying(other) != first
    make(one, 2, "--overwrite")
    assert load_datasets(one, other) == [lying(one), lying(other)] and lying(one) != first
    make(one, 1, "--overwrite")
    assert load_datasets(one) == [lying(one)] == [lying(other)]
    make(one, 0, "--overwrite")
    assert load_datasets(one) == [lying(one)] == [first]
    shutil.move(one, tmp_path / "moved")
    assert load_datasets(tmp_path / "moved") == [first]
