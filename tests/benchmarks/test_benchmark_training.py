"""benchmarks/training.py: its pairs of BERT's own algorithm are rows as bertdata's are, of the documents of their split alone."""

from __future__ import annotations

import importlib
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import REPOSITORY, Build

import bertdata
from bertdata.tokens import vocab

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("default")  # those of transformers are not ours
LENGTH = 48


@pytest.fixture(scope="module")
def benchmark() -> Any:
    sys.path.insert(0, str(REPOSITORY / "benchmarks"))
    try:
        return importlib.import_module("training")
    finally:
        sys.path.remove(str(REPOSITORY / "benchmarks"))


@pytest.fixture(scope="module")
def work(build: Build, tmp_path_factory: pytest.TempPathFactory, sample_corpus: Path, sample_vocab: Path) -> Path:
    """The benchmark's directory after its first commands."""
    root = tmp_path_factory.mktemp("work")
    shutil.copytree(sample_corpus, root / "corpus")
    shutil.copytree(sample_vocab, root / "vocab")
    options = ["--max-seq-length", LENGTH, "--validation-fraction", 0.2, "--provenance", "--shards", 1]
    build("make-pairs", root / "bertdata", sample_corpus, "--vocab", sample_vocab, *options)
    return root


@pytest.fixture(scope="module")
def control(benchmark: Any, work: Path) -> dict[str, Any]:
    splits: dict[str, Any] = benchmark._control(work, vocab.read(work / "vocab"), benchmark._split(work / "bertdata")["train"])
    return splits


def test_rows_are_laid_out_as_ours(benchmark: Any, work: Path, control: dict[str, Any]) -> None:
    pieces = vocab.read(work / "vocab").pieces
    cls, sep = pieces.index("[CLS]"), pieces.index("[SEP]")
    for rows in (*control.values(), *benchmark._split(work / "bertdata").values()):
        assert len(rows.labels) > 20
        assert set(rows.labels.tolist()) == {0, 1}
        for start, end in zip(rows.ends[:-1], rows.ends[1:], strict=True):
            ids, types = rows.ids[start:end], rows.types[start:end]
            first, last = np.flatnonzero(ids == sep)
            assert ids[0] == cls
            assert 1 < first < last - 1 < end - start - 1 < LENGTH
            assert types.tolist() == [0] * (first + 1) + [1] * (last - first)


def test_no_document_is_in_both_splits(benchmark: Any, work: Path, control: dict[str, Any]) -> None:
    """And each split has the text of the documents that bertdata's has: held-out text was never learnt from, by neither."""
    text = benchmark.tokenize(work / "corpus", vocab.read(work / "vocab"))
    bounds = text.sentences[text.documents]
    words = [" ".join(map(str, text.tokens[a:b])) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]

    def documents(rows: Any) -> set[int]:
        """The documents that the longer segment of a row may be from."""
        found = set()
        for start, end in zip(rows.ends[:-1], rows.ends[1:], strict=True):
            split = start + int((rows.types[start:end] == 0).sum())
            longer = max((rows.ids[start + 1 : split - 1], rows.ids[split : end - 1]), key=len)
            own = " ".join(map(str, longer))
            if len(longer) > 12:
                places = [number for number, text in enumerate(words) if f" {own} " in f" {text} "]
                assert places, own
                found |= set(places if len(places) == 1 else [])
        assert len(found) > 5
        return found

    ours = benchmark._split(work / "bertdata")
    for splits in (control, ours):
        assert not documents(splits["train"]) & documents(splits["validation"])
    assert not documents(control["train"]) & documents(ours["validation"])
    assert not documents(control["validation"]) & documents(ours["train"])


def test_what_is_written_is_read_again(benchmark: Any, work: Path, control: dict[str, Any]) -> None:
    vocabulary = vocab.read(work / "vocab")
    special = [vocabulary.pieces.index(name) for name in benchmark.SPECIAL]
    for blank in (False, True):
        benchmark._write(work / "written", control, vocabulary, LENGTH, blank)
        for split, rows in control.items():
            shards = bertdata.Shards(work / "written", split=split, verify=True)
            assert shards.lengths.tolist() == np.diff(rows.ends).tolist()
            found = shards.gather(np.arange(len(shards)), LENGTH)
            inside = found["attention_mask"]
            assert found["token_type_ids"][inside].tolist() == rows.types.tolist()
            assert found["next_sentence_label"].tolist() == rows.labels.tolist()
            ids = found["input_ids"][inside]
            same = np.isin(rows.ids, special)
            if blank:  # a model that sees these knows lengths alone
                assert len(set(ids[~same].tolist())) == 1
                assert ids[same].tolist() == rows.ids[same].tolist()
                assert not np.isin(ids[~same], special).any()
            else:
                assert ids.tolist() == rows.ids.tolist()


def test_entropy_by_hand(benchmark: Any) -> None:
    """Of two words, one seen twice and the other not: 3 and 1 of 4 with one added to each."""
    pieces = [*benchmark.SPECIAL, "a", "b"]
    cls, sep, a, b = (pieces.index(name) for name in ("[CLS]", "[SEP]", "a", "b"))

    def rows(ids: list[int]) -> Any:
        return benchmark.Rows(np.array(ids), np.zeros(len(ids)), np.array([0, len(ids)]), np.array([0]), 8, 0, 1)

    found = benchmark._entropy(rows([cls, a, sep, a, sep]), rows([cls, a, sep, b, sep]), vocab.Vocabulary(pieces, True, True))
    assert found == pytest.approx(-(math.log(3 / 4) + math.log(1 / 4)) / 2)


def test_what_is_wrong_is_told(benchmark: Any) -> None:
    """Lengths that tell the label of ours, and words that were not learnt."""
    good = {"nsp": 0.5, "pairs": 400.0}
    runs = {kind: [{k: {"mlm": 5.0} for k in benchmark.KINDS}] for kind in benchmark.KINDS}
    assert list(benchmark._complaints(runs, {"bertdata": {"bertdata-lengths": good}}, 6.0)) == []
    bad = {"bertdata": {"bertdata-lengths": good | {"nsp": 0.56}}}
    assert list(benchmark._complaints(runs, bad, 4.0)) == [
        "lengths tell the label of bertdata's pairs",
        "no words were learnt from bertdata",
        "no words were learnt from google",
    ]
