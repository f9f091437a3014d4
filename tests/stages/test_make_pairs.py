"""make-pairs on the command line: objectives, and options that would do nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from conftest import Build, read_manifest, read_rows
from tiny import write_pairs

from bertdata.cli.inspect import show
from bertdata.codec import decode
from bertdata.commands.make_pairs import lost_text
from bertdata.config import OBJECTIVES, PairsConfig
from bertdata.dataset.data_set import DataSet
from bertdata.dataset.manifest_types import PairsManifest
from bertdata.errors import UsageError
from bertdata.stages.rows.partitions import shard_count
from bertdata.tokens.read import read_any

COLUMNS = ["input_ids", "token_type_ids"]


@pytest.fixture(scope="module")
def made(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Rows of the sample for each objective but nsp."""
    root = tmp_path_factory.mktemp("objectives")
    for objective in ("sop", "documents", "causal"):
        options = ("--vocab", sample_vocab, "--objective", objective, "--max-seq-length", 64)
        build("make-pairs", root / objective, sample_corpus, *options)
    return {path.name: path for path in root.iterdir()}


@pytest.mark.parametrize("objective", ["sop", "documents", "causal"])
def test_objectives(made: dict[str, Path], objective: str, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = made[objective]
    manifest, rows = read_manifest(pairs), read_rows(pairs)
    labelled = bool(OBJECTIVES[objective].labels)
    assert list(rows[0]) == COLUMNS + (["next_sentence_label"] if labelled else []) + ["origin"]
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
    assert OBJECTIVES[objective].summary in (pairs / "README.md").read_text()


def test_causal_rows_are_the_corpus(made: dict[str, Path], sample_corpus: Path) -> None:
    """As many separators as documents, and the ids are those of all sentences."""
    pairs = made["causal"]
    rows, pieces = read_rows(pairs), read_any(pairs).pieces
    used = Counter(i for row in rows for i in row["input_ids"])
    tokenizer = read_any(pairs).tokenizer()
    expected: Counter[int] = Counter()
    documents = read_rows(sample_corpus)
    for document in documents:
        for encoded in tokenizer.encode_batch(document["sentences"], add_special_tokens=False):
            expected.update(encoded.ids)
    expected[pieces.index("[SEP]")] += len(documents)
    assert used == expected


def test_unknown_tokens_are_counted(
    build: Build, capsys: pytest.CaptureFixture[str], sample_corpus: Path, tmp_path: Path
) -> None:
    """Of the documents' tokens, once each, whatever the number of copies and splits."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters[:20]), ".", ","]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    options = ("--max-seq-length", 256, "--dupe-factor", 2, "--validation-fraction", 0.3)
    build("make-pairs", tmp_path / "p", sample_corpus, "--vocab", tmp_path / "vocab.txt", *options)
    tokenizer, count = read_any(tmp_path / "vocab.txt").tokenizer(), Counter[bool]()
    for document in read_rows(sample_corpus):
        for encoded in tokenizer.encode_batch(document["sentences"], add_special_tokens=False):
            count.update(i == 1 for i in encoded.ids)
    share = count[True] / count.total()
    assert read_manifest(tmp_path / "p")["statistics"]["unknown_share"] == share > 0.01
    show(tmp_path / "p", count=0)
    shown = capsys.readouterr().out
    assert all(
        f"[UNK] {100 * split['unknown_share']:.1f} %" in shown for split in read_manifest(tmp_path / "p")["splits"].values()
    )
    assert f"{share:.4%} of the text tokens are `[UNK]`" in (tmp_path / "p" / "README.md").read_text()


def test_shards_are_as_many_as_bound_a_partitions_memory() -> None:
    """One for 12 MB of text, of which every copy counts; but 16 documents for each."""
    assert [shard_count(PairsConfig(dupe_factor=n), 40 << 20, 100_000) for n in (1, 2, 40)] == [4, 7, 134]
    assert [shard_count(PairsConfig(), 40 << 20, documents) for documents in (1, 40, 100)] == [1, 2, 4]
    assert shard_count(PairsConfig(shards=7), 40 << 20, 1) == 7


def test_options_are_judged_by_the_length_asked_for(
    build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path
) -> None:
    """More predictions than the default length has are right for a longer one, and wrong beside it."""
    options = (sample_corpus, "--vocab", sample_vocab, "--masking", "static", "--max-predictions", 200, "--dry-run")
    build("make-pairs", tmp_path / "p", *options, "--max-seq-length", 512)
    with pytest.raises(UsageError, match="--max-predictions: use 1 to --max-seq-length"):
        build("make-pairs", tmp_path / "p", *options, "--max-seq-length", 512, "--max-seq-length", 128)


def test_what_is_read_is_never_overwritten(build: Build, sample_corpus: Path, sample_vocab: Path) -> None:
    for directory in (sample_corpus, sample_vocab, sample_corpus / ".." / "corpus"):
        with pytest.raises(UsageError, match="is also an input"):
            build("make-pairs", directory, sample_corpus, "--vocab", sample_vocab, "--overwrite", "--dry-run")
    with pytest.raises(UsageError, match="is also an input"):
        build("train-vocab", sample_corpus, sample_corpus, "--overwrite", "--dry-run")


LOST = "11% of the text tokens are not in any row (dropped: truncation 21, "


@pytest.mark.parametrize(("truncated", "warning"), [(10, ""), (11, LOST)])
def test_a_tenth_of_the_text_that_is_lost_is_warned_of(truncated: int, warning: str, tmp_path: Path) -> None:
    counts = [
        {"stage": "documents", "in": 9, "out": 1, "dropped": {"one sentence": 8}, "rejected": {}},
        {"stage": "tokens", "in": 100, "out": 0, "dropped": {"truncation": truncated}, "rejected": {}},
        {
            "stage": "validation tokens",
            "in": 100,
            "out": 0,
            "dropped": {"truncation": 10, "one sentence": truncated - 10},
            "rejected": {},
        },
    ]
    rows = write_pairs(tmp_path, {"train": [[9]], "validation": [[9]]})
    lost = lost_text(
        DataSet(tmp_path, decode(json.loads((rows / "manifest.json").read_text()) | {"counts": counts}, PairsManifest))
    )
    assert warning in lost and bool(warning) == bool(lost)


def test_tasks_without_documents_have_no_pieces(build: Build, text: Path, sample_vocab: Path, tmp_path: Path) -> None:
    corpus = build("build-corpus", tmp_path / "corpus", "--text", text, "--task-bytes", 1 << 16, "--sample-documents", 2)
    assert 0 in [shard["rows"] for shard in read_manifest(corpus)["shards"]]
    pairs = build("make-pairs", tmp_path / "pairs", corpus, "--vocab", sample_vocab, "--objective", "documents", "--shards", 9)
    manifest = read_manifest(pairs)
    assert manifest["counts"][0]["in"] == 2 and len(manifest["shards"]) == 9
