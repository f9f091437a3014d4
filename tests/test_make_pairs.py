"""make-pairs on the command line: objectives, and options that would do nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import Run

from bertdata.cli.inspect import show
from bertdata.config import OBJECTIVES, PairsConfig
from bertdata.errors import UsageError
from bertdata.manifest import Tally
from bertdata.report import card
from bertdata.vocab import read as read_vocabulary

COLUMNS = ["input_ids", "token_type_ids"]


@pytest.fixture(scope="module")
def made(run: Run, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Rows of the sample for each objective but nsp."""
    root = tmp_path_factory.mktemp("objectives")
    for objective in ("sop", "full-sentences", "causal"):
        options = ("--objective", objective, "--max-seq-length", 64, "--workers", 1)
        run("make-pairs", sample_corpus, "--vocab", sample_vocab, "--output", root / objective, *options)
    return {path.name: path for path in root.iterdir()}


def _manifest(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "manifest.json").read_text())
    for stage in found["counts"]:
        Tally.from_json(stage).check()
    return found


def _rows(directory: Path, split: str = "train") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for path in sorted((directory / "data").glob(f"{split}-*.arrow")):
        with pa.memory_map(str(path)) as source:
            rows += pa.ipc.open_stream(source).read_all().to_pylist()
    return rows


@pytest.mark.parametrize("objective", ["sop", "full-sentences", "causal"])
def test_objectives(made: dict[str, Path], objective: str, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = made[objective]
    manifest, rows = _manifest(pairs), _rows(pairs)
    labelled = bool(OBJECTIVES[objective])
    assert list(rows[0]) == COLUMNS + (["next_sentence_label"] if labelled else [])
    assert len(rows) == manifest["rows"] == manifest["statistics"]["rows"] > 100
    assert all(3 <= len(row["input_ids"]) <= 64 or objective == "causal" for row in rows)
    if labelled:
        assert abs(2 * manifest["statistics"]["swapped"] - len(rows)) <= 1
        assert sum(row["next_sentence_label"] for row in rows) == manifest["statistics"]["swapped"]
    else:
        assert not any(any(row["token_type_ids"]) for row in rows)
    show(pairs, count=2)
    shown = capsys.readouterr().out
    assert ("swapped" if labelled else f"{len(rows):,} rows") in shown
    assert ("masked (epoch 0)" in shown) == (objective != "causal")
    assert card._WHAT[objective] in (pairs / "README.md").read_text()


def test_running_text_is_the_corpus(made: dict[str, Path], sample_corpus: Path) -> None:
    """As many separators as documents, all rows but one full, and the ids are those of all sentences."""
    pairs = made["causal"]
    rows, pieces = _rows(pairs), read_vocabulary(pairs).pieces
    sizes = sorted(len(row["input_ids"]) for row in rows)
    assert sizes[1] == 64
    used = Counter(i for row in rows for i in row["input_ids"])
    tokenizer = read_vocabulary(pairs).tokenizer()
    expected: Counter[int] = Counter()
    documents = _rows(sample_corpus)
    for document in documents:
        for encoded in tokenizer.encode_batch(document["sentences"], add_special_tokens=False):
            expected.update(encoded.ids)
    expected[pieces.index("[SEP]")] += len(documents)
    assert used == expected


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"objective": "mlm"}, "--objective mlm: use one of nsp, sop, full-sentences, causal"),
        ({"objective": "causal", "short_seq_prob": 0.1}, "--short-seq-prob is for pairs"),
        ({"objective": "full-sentences", "provenance": True}, "--provenance is for pairs"),
        ({"dupe_factor": 0}, "--dupe-factor: use 1 to 1000"),
        ({"validation_fraction": 0.51}, "--validation-fraction: use a share between 0 and 0.5"),
        ({"validation_fraction": float("nan")}, "--validation-fraction"),
        ({"short_seq_prob": 1.5}, "--short-seq-prob: use a share"),
    ],
)
def test_nonsense_is_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        PairsConfig(**values)


def test_short_sequences_are_of_pairs() -> None:
    assert [PairsConfig(objective=name).short_seq_prob for name in OBJECTIVES] == [0.1, 0.1, 0.0, 0.0]
    assert PairsConfig(objective="causal", short_seq_prob=0.0) == PairsConfig(objective="causal")


def test_unknown_tokens_are_counted(run: Run, sample_corpus: Path, tmp_path: Path) -> None:
    """Of the documents' tokens, once each, whatever the number of copies and splits."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters[:20]), ".", ","]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    options = ("--max-seq-length", 256, "--dupe-factor", 2, "--validation-fraction", 0.3, "--workers", 1)
    run("make-pairs", sample_corpus, "--vocab", tmp_path / "vocab.txt", "--output", tmp_path / "p", *options)
    tokenizer, count = read_vocabulary(tmp_path / "vocab.txt").tokenizer(), Counter[bool]()
    for document in _rows(sample_corpus):
        for encoded in tokenizer.encode_batch(document["sentences"], add_special_tokens=False):
            count.update(i == 1 for i in encoded.ids)
    share = count[True] / count.total()
    assert _manifest(tmp_path / "p")["statistics"]["unknown_share"] == share > 0.01
    shown = run("inspect", tmp_path / "p", "--n", 0).stdout
    assert all(f"[UNK] {100 * split['unknown_share']:.1f} %" in shown for split in _manifest(tmp_path / "p")["splits"].values())
    assert f"Of the text's tokens {share:.4%} are `[UNK]`" in (tmp_path / "p" / "README.md").read_text()
