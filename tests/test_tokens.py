"""Tokens: the ids that `tokenizers` gives, sentence by sentence."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata import tokens
from bertdata.tokens import Encoder
from bertdata.vocab import SPECIAL, Vocabulary

LAW = settings(deadline=None, max_examples=80)
PIECES = [
    *SPECIAL,
    *"teasun茶树.,!'#[]",
    *(f"##{c}" for c in "teasun0"),
    "tea",
    "##ing",
    "sun",
    "##set",
    "P",
    "É",
    "é",
    "pad",
    "sep",
    "cls",
]
WORDS = st.sampled_from(
    [
        "tea",
        "Teasing",
        "sunset",
        "茶树",
        "É",
        "e\u0301",
        "##ing",
        "[SEP]",
        "[PAD]",
        "[MASK]",
        " ",
        "\u200b",
        "\x00",
        "\ufffd",
        "😀",
        "x" * 101,
        "a" * 100,
    ]
)
SENTENCE = st.text(max_size=30) | st.lists(WORDS, max_size=6).map("".join) | st.lists(WORDS, max_size=6).map(" ".join)


@pytest.fixture(scope="module", params=[(True, True), (True, False), (False, False)], ids=["uncased", "accents", "cased"])
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return Vocabulary(PIECES, *request.param)


def test_doctests() -> None:
    assert doctest.testmod(tokens).failed == 0


@LAW
@given(sentences=st.lists(SENTENCE, max_size=6))
def test_equal_to_tokenizers_sentence_by_sentence(vocabulary: Vocabulary, sentences: list[str]) -> None:
    oracle = vocabulary.tokenizer()
    oracle.encode_special_tokens = True
    ids, ends = Encoder(vocabulary.tokenizer(), len(PIECES)).encode(sentences)
    assert len(ends) == len(sentences) and (ends[-1] if len(ends) else 0) == len(ids)
    starts = [0, *ends.tolist()[:-1]]
    found = [ids[start:end].tolist() for start, end in zip(starts, ends.tolist(), strict=False)]
    assert found == [oracle.encode(sentence, add_special_tokens=False).ids for sentence in sentences]


@LAW
@given(sentence=SENTENCE)
def test_text_never_gives_a_special_token_but_unknown(vocabulary: Vocabulary, sentence: str) -> None:
    ids, _ = Encoder(vocabulary.tokenizer(), len(PIECES)).encode([sentence])
    assert not set(ids.tolist()) & {PIECES.index(token) for token in SPECIAL if token != "[UNK]"}


@LAW
@given(sentence=SENTENCE)
def test_a_sentence_begins_with_a_word(vocabulary: Vocabulary, sentence: str) -> None:
    """Pairs are cut where words begin, so no sentence may begin with a ``##`` piece, even one that writes "##ing"."""
    ids, _ = Encoder(vocabulary.tokenizer(), len(PIECES)).encode([sentence])
    assert len(ids) == 0 or not vocabulary.continues()[ids[0]]


def test_worked_by_hand(vocabulary: Vocabulary) -> None:
    """Greedy longest match: sunset = sun ##set; Chinese characters are words; an unknown word is one [UNK]."""
    encoder = Encoder(vocabulary.tokenizer(), len(PIECES))
    ids, ends = encoder.encode(["sunset, 茶树茶.", "", "qqq tea", "\u200b\x00"])
    assert [PIECES[i] for i in ids] == ["sun", "##set", ",", "茶", "树", "茶", ".", "[UNK]", "tea"]
    assert ends.tolist() == [7, 7, 9, 9]
    assert ids.dtype == np.uint16 and ends.dtype == np.int64


def test_no_sentence() -> None:
    ids, ends = Encoder(Vocabulary(PIECES, True, True).tokenizer(), len(PIECES)).encode([])
    assert ids.tolist() == ends.tolist() == []


@pytest.mark.parametrize(("size", "dtype"), [(1 << 16, np.uint16), ((1 << 16) + 1, np.uint32)])
def test_ids_are_as_wide_as_the_vocabulary_needs(size: int, dtype: Any) -> None:
    pieces = [*PIECES, *(f"w{i}" for i in range(size - len(PIECES)))]
    encoder = Encoder(Vocabulary(pieces, True, True).tokenizer(), size)
    ids, _ = encoder.encode([pieces[-1]])
    assert ids.dtype == dtype and ids.tolist() == [size - 1]


def test_long_words_are_unknown() -> None:
    """As in google-research/bert: a word of more than 100 characters is not looked at."""
    encoder = Encoder(Vocabulary([*SPECIAL, "a", "##a"], True, True).tokenizer(), 7)
    assert encoder.encode(["a" * 100])[0].tolist() == [5, *[6] * 99]
    assert encoder.encode(["a" * 101])[0].tolist() == [1]


def test_the_batch_does_not_matter() -> None:
    encoder = Encoder(Vocabulary(PIECES, True, True).tokenizer(), len(PIECES))
    sentences = [f"tea sunset {'tea' * (i % 7)}." for i in range(500)]
    ids, ends = encoder.encode(sentences)
    singles = [encoder.encode([sentence])[0] for sentence in sentences]
    assert ids.tolist() == np.concatenate(singles).tolist() and ends.tolist() == np.cumsum([len(s) for s in singles]).tolist()
