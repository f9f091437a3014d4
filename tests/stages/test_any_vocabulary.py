"""Vocabularies of any kind from a corpus to batches: the ids of the documents' text, special tokens, words, laws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build, Run, read_manifest, read_rows
from tokenizers import Tokenizer

import bertdata
from bertdata import MaskConfig, Shards
from bertdata.config import PairsConfig, VocabConfig
from bertdata.errors import UsageError
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
    "documents": ("--objective", "documents", "--pack"),
    "full-sentences": ("--objective", "documents", "--masking", "static", "--whole-word"),
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
    masks = MaskConfig(unit="word") if objective in ("nsp", "documents") else None
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


def test_what_is_missing_is_said_before_a_run(run: Run, corpus: Path, vocabularies: dict[str, Path], tmp_path: Path) -> None:
    """As of Llama: a tokenizer whose files name the tokens around a text, and no padding or mask."""
    form = json.loads((vocabularies["bpe"] / "tokenizer.json").read_text(encoding="utf-8"))
    form["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(form), encoding="utf-8")
    command = ("make-pairs", corpus, "--vocab", path, "--output", tmp_path / "out")
    told = run(*command, "--dry-run", code=2).stderr
    assert "names no token for pad, mask" in told and "--special-tokens, pad=[PAD],mask=[MASK]" in told
    told = run(*command, "--dry-run", "--special-tokens", "pad=<|x|>,mask=<mask>").stderr
    assert "pad <|x|>" in told and "mask <mask>" in told and "'Ġ' marks where words begin" in told
    told = run(*command, "--dry-run", "--special-tokens", "pad=<|x|>,mask=<|x|>", code=2).stderr
    assert "one token for mask and pad" in told
    assert "write ROLE=TOKEN" in run(*command, "--dry-run", "--special-tokens", "bos=<s>", code=2).stderr
    told = run(*command, "--dry-run", "--lowercase", "--special-tokens", "pad=<|x|>,mask=<|y|>", code=2).stderr
    assert "a bare vocab.txt" in told
    config: dict[str, Any] = {"chinese_words": "jieba", "special_tokens": "pad=<|x|>,mask=<|y|>"}
    with pytest.raises(UsageError, match="`chinese_words` is for BERT's kind"):
        bertdata.make_pairs(corpus, vocab=path, output=tmp_path / "out", config=PairsConfig(**config))
    assert not (tmp_path / "out").exists()


def test_a_directory_without_tokenizer_json_is_read_by_transformers(
    vocabularies: dict[str, Path], corpus: Path, build: Build, tmp_path: Path
) -> None:
    """GPT-2's kind, as its vocab.json and merges.txt."""
    pytest.importorskip("transformers")
    model = json.loads((vocabularies["bpe"] / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    path = tmp_path / "gpt2"
    path.mkdir()
    (path / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (path / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in model["merges"]), encoding="utf-8")
    settings = {"tokenizer_class": "GPT2Tokenizer", "unk_token": "[UNK]", "bos_token": "[CLS]", "eos_token": "[SEP]"}
    (path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    made = build(
        *("make-pairs", tmp_path / "rows", corpus, "--vocab", path, "--objective", "documents"),
        *("--special-tokens", "pad=[PAD],mask=[MASK]"),
    )
    other = build("make-pairs", tmp_path / "own", corpus, "--vocab", vocabularies["bpe"], "--objective", "documents")

    def unordered(directory: Path) -> list[list[int]]:
        return sorted(row["input_ids"] for row in read_rows(directory))

    ends = [ids[-1] for ids in unordered(made)]
    assert set(ends) == {3} and not bertdata.verify(made).problems
    assert sum(map(len, unordered(made))) == pytest.approx(sum(map(len, unordered(other))), rel=0.02)


def test_options_that_cannot_be() -> None:
    with pytest.raises(UsageError, match=r"in square brackets"):
        VocabConfig(extra_tokens=("<x>",))
    with pytest.raises(UsageError, match="repeated or reserved"):
        VocabConfig(model="bpe", extra_tokens=("[MASK]",))
    with pytest.raises(UsageError, match="use 297 or more"):
        VocabConfig(model="bpe", size=100, extra_tokens=("<a>", "<b>", "<c>", "<d>"))
