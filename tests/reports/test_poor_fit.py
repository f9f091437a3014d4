"""make-pairs warns about a vocabulary of another language, and names the languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE, Build, read_manifest

import bertdata
from bertdata.codec import decode
from bertdata.dataset import manifest as manifests
from bertdata.dataset.manifest_types import PairsManifest
from bertdata.pieces import BERT_TOKENS
from bertdata.reports.vocabulary_warnings import poor_fit

ACROSS = bertdata.PairsConfig(pair_across_languages=True)  # of three books one alone is Chinese


def manifest(words: int, tokens: int, unknown: int = 0, language: str = "en", **more: int) -> PairsManifest:
    """A manifest of rows from 10,000 characters in one language, and 100,000 of well covered English."""
    own = {"documents": 1, "text_bytes": 1, "words": 1, "characters": 1, "share": 0.5}
    sources = {
        "text": {**own, "languages": {language: {"documents": 1, "words": words, "characters": 10_000}}},
        "books": {**own, "languages": {"en-GB": {"documents": 9, "words": 20_000, "characters": more.pop("english", 100_000)}}},
    }
    head = manifests.head("pairs", bertdata.PairsConfig(), [], [])
    rows: dict[str, Any] = {
        **head,
        "inputs": [],
        "shards": [],
        "files": [],
        "splits": {},
        "origins": [],
        "word_mark": "##",
        "special_tokens": BERT_TOKENS,
        "vocab_size": more.pop("vocab_size", 30522),
        "corpus": {"rows": 1, "counts": [], "sources": sources, "inputs": [], "further_inputs": 0},
        "tokens": {"text": {language: tokens}, "books": {"en-GB": 26_000}},
        "unknown_tokens": {"text": {language: unknown}, "books": {"en-GB": 0}},
        "statistics": {
            **dict.fromkeys(("rows", "documents", "repeated_ids", "tokens", "mean_length", "padding_share"), 0),
            "unknown_share": unknown / (tokens + 26_000),
        },
    }
    return decode(rows, PairsManifest)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (manifest(2000, 4900), ""),
        (manifest(2000, 5100), "en 2.5 tokens per word"),
        (manifest(2000, 9000), "en 4.5 tokens per word"),
        (manifest(2000, 9000, vocab_size=900), ""),
        (manifest(2000, 9000, english=1_000_000), ""),  # less than 2 % of the text
        (manifest(2000, 2500, 100), ""),
        (manifest(2000, 2500, 150), "en 6.0 % [UNK]"),
        (manifest(2000, 9000, 900), "en 4.5 tokens per word, en 10.0 % [UNK]"),
        (manifest(300, 9000, language="zh"), ""),  # Chinese and Thai put no spaces between words
        (manifest(300, 12_400, language="zh-tw"), ""),
        (manifest(300, 28_000, language="zh"), "zh 2.8 tokens per character"),
        (manifest(300, 9000, language="ja"), ""),
        (manifest(900, 9000, language="th"), ""),
        (manifest(900, 14_000, language="th"), "th 1.4 tokens per character"),
        (manifest(300, 300, 280, language="ja"), "ja 93.3 % [UNK]"),
        (manifest(10, 9000, language="und"), ""),
        (manifest(10, 9000, 1000, language=""), "2.9 % [UNK]"),
    ],
)
def test_languages_that_a_vocabulary_does_not_fit(rows: PairsManifest, found: str) -> None:
    warning = poor_fit(rows)
    assert warning.removeprefix("the vocabulary does not fit the text: ").partition(". Use")[0] == found


@pytest.fixture
def corpus_of_books(build: Build, tmp_path: Path) -> Path:
    """The English and the Chinese books of the sample."""
    return build("build-corpus", tmp_path / "corpus", "--books", SAMPLE / "books")


def test_a_chinese_vocabulary_on_english_text(corpus_of_books: Path, tmp_path: Path) -> None:
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789"]
    rare = [chr(code) for code in range(0x4E00, 0x4E00 + 3000)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters), *".,;:!?'\"()-", *rare]
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    pairs = tmp_path / "pairs"
    with pytest.warns(UserWarning, match=r"does not fit the text: en 4\.\d tokens per word, zh \d\d\.\d % \[UNK\]"):
        bertdata.make_pairs(corpus_of_books, vocab=tmp_path / "vocab.txt", output=pairs, config=ACROSS, workers=1)
    made = read_manifest(pairs)
    unknown = sum(sum(languages.values()) for languages in made["unknown_tokens"].values())
    tokens = sum(sum(languages.values()) for languages in made["tokens"].values())
    assert made["statistics"]["unknown_share"] == pytest.approx(unknown / tokens)
    assert made["unknown_tokens"]["books"].keys() == {"en", "zh"}
    assert bertdata.verify(pairs, workers=1).problems == []
