"""Vocabularies compared on a corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bertdata
from bertdata.tokens.read import read_any

Run = Any


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two English documents and a Chinese one."""
    folder = tmp_path_factory.mktemp("fertility")
    texts = [("a", "The teapot, the teapots. One teapot!"), ("b", "A kettle is no teapot."), ("c", "茶壶在桌子上。茶很热。")]
    lines = [{"id": name, "text": text, "language": "zh" if name == "c" else "en"} for name, text in texts]
    (folder / "in.jsonl").write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return bertdata.build_corpus(text=folder / "in.jsonl", output=folder / "corpus", workers=1).path


@pytest.fixture(scope="module")
def vocab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocab") / "vocab.txt"
    pieces = "[PAD] [UNK] [CLS] [SEP] [MASK] the tea ##pot ##s one a kettle is no . , ! 茶 在 上 。"
    path.write_text(pieces.replace(" ", "\n") + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_tokens_words_and_unknown_tokens_are_counted(run: Run, corpus: Path, vocab: Path, tmp_path: Path) -> None:
    found = {each.language: each for each in bertdata.compare_vocabularies(corpus, [vocab])}
    english = found["en"]
    # the tea ##pot , the tea ##pot ##s . one tea ##pot !  a kettle is no tea ##pot .
    assert (english.documents, english.words, english.tokens, english.unknown) == (2, 11, 20, 0)
    assert english.split == 4 and english.split_words == [("teapot", 3, "tea ##pot"), ("teapots", 1, "tea ##pot ##s")]
    assert english.tokens_per_word == 20 / 11 and english.bytes_per_token == 57 / 20
    chinese, known = found["zh"], set("茶在上。")
    characters = "茶壶在桌子上。茶很热。"
    assert (chinese.words, chinese.tokens) == (len(characters), len(characters)) and not chinese.split_words
    assert chinese.unknown == sum(c not in known for c in characters)
    other = tmp_path / "other.txt"
    other.write_bytes(vocab.read_bytes())
    shown = run("report", corpus, "--vocab", vocab, "--vocab", other).stdout
    assert shown.count(" 1.82 ") == 2
    first, *_ = [json.loads(line) for line in run("report", corpus, "--vocab", vocab, "--json").stdout.splitlines()]
    assert first["tokens_per_word"] == round(20 / 11, 6) and first["split_words"][0] == ["teapot", 3, "tea ##pot"]
    assert "Pass one DIRECTORY" in run("report", corpus, corpus, "--vocab", vocab, code=2).stderr


def test_a_vocabulary_of_another_kind_counts_the_same_words(sample_corpus: Path, sample_vocab: Path) -> None:
    (english, *_) = bertdata.compare_vocabularies(sample_corpus, [sample_vocab])
    assert english.language == "en" and 1 < english.tokens_per_word < 2 and english.unknown_share < 0.01
    assert read_any(sample_vocab).special.mark == "##"
