"""Vocabularies of any kind from a corpus to batches: the ids of the documents' text, special tokens, words, laws."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Build, read_manifest, read_rows
from tokenizers import Tokenizer

import bertdata
from bertdata import MaskConfig, Shards
from bertdata.exports.plain_text import text_of
from bertdata.records import Document

OPTIONS: dict[str, tuple[object, ...]] = {
    "bpe": ("--model", "bpe", "--size", 600, "--pad-to-multiple-of", 64, "--extra-tokens", "<|x|>,<|y|>"),
    "wordpiece": ("--size", 300, "--pad-to-multiple-of", 64, "--extra-tokens", "[X]"),
}


@pytest.fixture(scope="module")
def corpus(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of some paragraphs, some of them of one word, and some Chinese."""
    root = tmp_path_factory.mktemp("words")
    who, what = ("A miller", "The ferry", "Nobody", "His sister"), ("crossed the harbour", "forgot seven lamps", "painted")
    with (root / "text.jsonl").open("w", encoding="utf-8") as file:
        for number in range(60):
            told = [
                " ".join(f"{who[(number * 5 + place * 3 + n) % 4]} {what[(n + place) % 3]} on day {n}{place}." for n in range(5))
                for place in range(number % 4 + 1)
            ]
            more = [f"Chapter{number}"] + ["渡船过河。他读书了！还有café的茶。"] * (number % 5 == 0)
            file.write(json.dumps({"title": f"Story {number}", "text": "\n\n".join([*told, *more])}) + "\n")
    return build("build-corpus", root / "corpus", "--text", root / "text.jsonl", "--dedup", "none")


@pytest.fixture(scope="module")
def vocabularies(build: Build, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("vocabularies")
    return {name: build("train-vocab", root / name, corpus, *options) for name, options in OPTIONS.items()}


def texts(corpus: Path) -> dict[str, str]:
    """The text of each document."""
    return {row["id"]: text_of(Document(**row)) for row in read_rows(corpus)}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_trained_directory_loads_in_transformers_and_keeps_the_laws(vocabularies: dict[str, Path], name: str) -> None:
    transformers = pytest.importorskip("transformers")
    path = vocabularies[name]
    made = read_manifest(path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(path))
    assert len(tokenizer) == made["size"] and made["size"] % 64 == 0
    for nth, token in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")):
        assert tokenizer.convert_tokens_to_ids(token) == nth
    assert (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id, tokenizer.mask_token_id) == (2, 3, 0, 4)
    ids = tokenizer("the sea")["input_ids"]
    assert (ids[0], ids[-1]) == (2, 3)
    for token in {"bpe": ("<|x|>", "<|y|>"), "wordpiece": ("[X]",)}.get(name, ()):
        assert len(tokenizer.tokenize(token)) == 1
    assert not bertdata.verify(path).problems
    assert all(own["words"] for own in made["coverage"].values())


@pytest.mark.parametrize("name", ["bpe"])
def test_rows_hold_the_ids_of_the_documents_text(
    build: Build, corpus: Path, vocabularies: dict[str, Path], tmp_path: Path, name: str
) -> None:
    """Of the objective causal, packed, with room for each document in one row: a part is a document's ids, and [SEP]."""
    made = build(
        *("make-pairs", tmp_path / "rows", corpus, "--vocab", vocabularies[name] / "tokenizer.json"),
        *("--objective", "causal", "--pack", "--max-seq-length", 32768),
    )
    tokenizer = Tokenizer.from_file(str(vocabularies[name] / "tokenizer.json"))
    wanted = sorted([*tokenizer.encode(text, add_special_tokens=False).ids, 3] for text in texts(corpus).values())
    found = []
    for row in read_rows(made):
        edges = [*row["document_starts"], len(row["input_ids"])]
        found += [row["input_ids"][start:end] for start, end in zip(edges, edges[1:], strict=False)]
    assert sorted(found) == wanted
    assert not bertdata.verify(made).problems
    told = read_manifest(made)
    assert told["special_tokens"]["cls"] == "[CLS]" and told["word_mark"] == {"bpe": "Ġ"}[name]


OBJECTIVES: dict[str, tuple[object, ...]] = {
    "nsp": ("--objective", "nsp"),
    "sop": ("--objective", "sop", "--masking", "static", "--whole-word"),
    "documents": ("--objective", "documents", "--masking", "static", "--whole-word"),
    "causal": ("--objective", "causal"),
}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_keeps_its_laws_and_gives_batches(
    build: Build, corpus: Path, vocabularies: dict[str, Path], tmp_path: Path, objective: str
) -> None:
    options = (*OBJECTIVES[objective], "--max-seq-length", 64, "--vocab", vocabularies["bpe"])
    made = build("make-pairs", tmp_path / "one", corpus, *options)
    assert not bertdata.verify(made).problems
    shards = Shards(made)
    assert shards.special.cls == 2 and shards.vocab_size % 64 == 0
    masks = MaskConfig(unit="word") if objective == "nsp" else None
    pytest.importorskip("torch")
    batch = next(iter(bertdata.batches(shards, 4, masks=masks)))
    assert int(batch["input_ids"].max()) < shards.vocab_size


def test_whole_words_are_masked_whole(build: Build, corpus: Path, vocabularies: dict[str, Path], tmp_path: Path) -> None:
    made = build(
        *("make-pairs", tmp_path / "rows", corpus, "--vocab", vocabularies["bpe"], "--objective", "documents"),
        *("--masking", "static", "--whole-word", "--max-seq-length", 64),
    )
    pieces, several = Shards(made).pieces, 0
    for row in read_rows(made):
        ids = np.array(row["input_ids"])
        masked = np.zeros(len(ids), bool)
        masked[row["masked_lm_positions"]] = True
        ids[row["masked_lm_positions"]] = row["masked_lm_labels"]
        for place in range(2, len(ids) - 1):
            piece = pieces[ids[place]]
            if piece.isalpha() and piece.isascii():
                assert masked[place] == masked[place - 1]
                several += int(masked[place])
    assert several > 5
