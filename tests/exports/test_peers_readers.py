"""What the trainers' own readers give of each export: the rows of `Shards`, in their order, with labels and masks.

The readers are in an environment of their own (tests/readers), as they want other versions of transformers and NumPy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, Build, read_rows
from test_export_vocabularies import raised, unmasked
from test_megatron import read_megatron
from tokenizers import Tokenizer

from bertdata import Shards
from bertdata.exports.plain_text import text_of
from bertdata.records import Document

pytestmark = pytest.mark.nightly
PEERS = REPOSITORY / ".venv-readers" / "bin" / "python"
SCRIPT = REPOSITORY / "tests" / "readers" / "read.py"
LENGTH = 64


def read(name: str, directory: Path) -> list[dict[str, Any]]:
    """Read an export by a peer's code, in the peers' environment or, texts, in this one."""
    python = Path(sys.executable) if name in ("jsonl", "parquet") else PEERS
    if not python.exists():
        pytest.skip("the peers' readers are not installed: `make long` makes .venv-readers for them")
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command = [str(python), str(SCRIPT), name, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def rows_of(pairs: Path) -> list[dict[str, Any]]:
    """The rows by `Shards`, as lists."""
    return [{name: getattr(value, "tolist", lambda value=value: value)() for name, value in row.items()} for row in Shards(pairs)]


def filled(values: list[int], width: int) -> list[int]:
    return values + [0] * (width - len(values))


@pytest.fixture(scope="module")
def static(parts: Path, build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs with static masks."""
    options = ["--masking", "static", "--shards", 3, "--max-seq-length", LENGTH, "--vocab", parts / "train-vocab"]
    return build("make-pairs", tmp_path_factory.mktemp("static") / "pairs", parts / "build-corpus", *options)


@pytest.fixture(scope="module")
def many(parts: Path, build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vocabulary of byte-level BPE with ids that take more than two bytes."""
    root = tmp_path_factory.mktemp("many")
    return raised(build("train-vocab", root / "bpe", parts / "build-corpus", "--model", "bpe", "--size", 600), root / "raised")


@pytest.mark.parametrize("reader", ["mds", "mds_streaming"])
@pytest.mark.parametrize("rows", ["static", "packed"])
def test_mds(parts: Path, build: Build, static: Path, many: Path, tmp_path: Path, rows: str, reader: str) -> None:
    """Every column, and of packed rows where the documents begin."""
    packed = ["--vocab", many, "--objective", "documents", "--pack", "--shards", 2]
    source = static if rows == "static" else build("make-pairs", tmp_path / "rows", parts / "build-corpus", *packed)
    found = read(reader, build("export", tmp_path / "out", source, "--to", "mds"))
    ids = [row.pop("id") for row in found]
    assert ids == sorted(set(ids))
    wanted = rows_of(source)
    assert [row.pop("len") for row in found] == [len(row["input_ids"]) for row in wanted]
    assert found == wanted
    assert rows == "static" or (max(max(row["input_ids"]) for row in found) > 1 << 16 and "document_starts" in found[0])


@pytest.mark.parametrize("kind", ["uint16", "int32"])
def test_megatron(parts: Path, build: Build, many: Path, tmp_path: Path, kind: str) -> None:
    """The ids of documents are those of `tokenizers` for their text, sentence by sentence."""
    vocab = many if kind == "int32" else parts / "train-vocab"
    made = build("export", tmp_path / "out", parts / "build-corpus", "--to", "megatron", "--vocab", vocab)
    found = read("megatron", made)
    assert {row["dtype"] for row in found} == {kind}
    documents = [row["sentences"] for row in found]
    tokenizer = Tokenizer.from_file(str(made / "tokenizer.json"))
    texts = [text_of(Document(**row)) for row in read_rows(parts / "build-corpus")]
    assert [sum(own, []) for own in documents] == [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert documents == read_megatron(made / "data")


@pytest.mark.parametrize("to", ["tfrecord", "hdf5"])
def test_examples(build: Build, static: Path, tmp_path: Path, to: str) -> None:
    """Ids, segments, masks and labels, filled up."""
    found, wanted = read(to, build("export", tmp_path / "out", static, "--to", to)), rows_of(static)
    assert len(found) == len(wanted)
    most = Shards(static).max_predictions
    for own, row in zip(found, wanted, strict=True):
        count, masked = len(row["input_ids"]), len(row["masked_lm_positions"])
        weights = {"masked_lm_weights": filled([1] * masked, most)} if to == "tfrecord" else {}
        label = row["next_sentence_label"]
        assert own == weights | {
            "input_ids": filled(row["input_ids"], LENGTH),
            "input_mask": filled([1] * count, LENGTH),
            "segment_ids": filled(row["token_type_ids"], LENGTH),
            "masked_lm_positions": filled(row["masked_lm_positions"], most),
            "masked_lm_ids": filled(row["masked_lm_labels"], most),
            "next_sentence_labels": [label] if to == "tfrecord" else label,
        }


@pytest.mark.parametrize("masking", ["static", "none"])
def test_lddl(parts: Path, build: Build, static: Path, tmp_path: Path, masking: str) -> None:
    """Ids, segments, labels; of pairs without masks the special tokens."""
    options = ["--shards", 11, "--vocab", parts / "train-vocab"]
    source = static if masking == "static" else build("make-pairs", tmp_path / "rows", parts / "build-corpus", *options)
    found, wanted = read("lddl", build("export", tmp_path / "out", source, "--to", "lddl")), rows_of(source)
    assert len(found) == len(wanted)
    special = Shards(source).special
    for own, row in zip(found, wanted, strict=True):
        count, width = len(row["input_ids"]), len(own["input_ids"])
        assert own["input_ids"] == filled(row["input_ids"], width) and own["attention_mask"] == filled([1] * count, width)
        assert own["token_type_ids"] == filled(row["token_type_ids"], width)
        assert own["next_sentence_labels"] == row["next_sentence_label"]
        if masking == "static":
            labels = [-1] * width
            for place, label in zip(row["masked_lm_positions"], row["masked_lm_labels"], strict=True):
                labels[place] = label
            assert own["labels"] == labels
            assert [i if label < 0 else label for i, label in zip(own["input_ids"], labels, strict=True)][:count] == unmasked(row)
        else:
            marks = [int(i in (special.cls, special.sep)) for i in row["input_ids"]]
            assert own["special_tokens_mask"] == marks + [1] * (width - count)


@pytest.mark.parametrize("to", ["jsonl", "parquet"])
def test_texts(parts: Path, build: Build, tmp_path: Path, to: str) -> None:
    """Every document's text, by `datasets`."""
    pytest.importorskip("datasets")
    found = read(to, build("export", tmp_path / "out", parts / "build-corpus", "--to", to))
    documents = [Document(**row) for row in read_rows(parts / "build-corpus")]
    names = ("id", "source", "language", "title", "url")
    licences = {"wikipedia": "CC BY-SA, as the wiki states", "books": "as each book states", "text": "as its owner states"}
    wanted = [{**{name: getattr(own, name) for name in names}, "licence": licences[own.source]} for own in documents]
    assert found == [{**row, "text": text_of(own)} for row, own in zip(wanted, documents, strict=True)]
