"""Tokens: the ids that `tokenizers` gives, sentence by sentence, for every character and every text."""

from __future__ import annotations

import doctest
import json
import lzma
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from bertdata.config import VocabConfig
from bertdata.tokens import encoder, engines, vocab
from bertdata.tokens.encoder import Encoder
from bertdata.tokens.vocab import SPECIAL, Vocabulary

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
        *".,'-[]#",
        *"\x0b\x0c\x1c\x1d\x1e\x1f\x85",  # whitespace for Python, nothing for BERT
        *"\t\n\r\u00a0\u1680\u2009\u2028\u2029\u202f\u205f\u3000",  # whitespace for both
        *"\x01\x7f\u00ad\u180e\u200d\ufeff\ue000\U000e0001\U0010ffff",  # nothing for BERT
        *"\u0301\u0323\u0338\u034f\u0903\u3099\u20dd",  # marks, some of which change places
        *"≠ǅİıßſΣςΐﬁÅﷺ각ᄀㄱ",
        *"\u037e\u0387\u1fef\u2010\u2026\u00b7\u3002\uff0c\uff5e\u30fb\u0964",  # punctuation, and what becomes or resembles it
        *"豈㐀\U00020000\U0002a700\U0002f800々〇ー",
        "กา",
        "हिन्दी",
        "الْعَرَبِيَّة",
        "ひらがな",
        "Ça",
    ]
)
SENTENCE = (
    st.text(max_size=30)
    | st.text(st.characters(min_codepoint=0x80, exclude_categories=["Cs"]), max_size=20)
    | st.lists(WORDS, max_size=8).map("".join)
    | st.lists(WORDS, max_size=6).map(" ".join)
)
KINDS = {"uncased": (True, True), "accents": (True, False), "stripped": (False, True), "cased": (False, False)}


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, id=name, marks=[] if name == "uncased" else pytest.mark.long) for name, kind in KINDS.items()],
)
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return Vocabulary(PIECES, *request.param)


def count_words(sentences: Iterable[str], tokenizer: Tokenizer) -> Counter[str]:
    return vocab.parts_to_words(vocab.count_parts(sentences), tokenizer)


def by_library(vocabulary: Vocabulary, sentences: Iterable[str]) -> list[list[int]]:
    """Encode with `tokenizers` alone."""
    oracle = vocabulary.tokenizer()
    oracle.encode_special_tokens = True
    return [encoding.ids for encoding in oracle.encode_batch_fast(list(sentences), add_special_tokens=False)]


def split(ids: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> list[list[int]]:
    """Cut what an encoder returns into sentences."""
    assert len(ids) == (ends[-1] if len(ends) else 0)
    return [ids[start:end].tolist() for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=False)]


def test_doctests() -> None:
    assert doctest.testmod(encoder).failed == doctest.testmod(vocab).failed == 0


@LAW
@given(sentences=st.lists(SENTENCE, max_size=6))
@pytest.mark.slow
def test_equal_to_tokenizers_sentence_by_sentence(vocabulary: Vocabulary, sentences: list[str]) -> None:
    encoder = Encoder(vocabulary.tokenizer(), PIECES)
    expected = by_library(vocabulary, sentences)
    assert split(*encoder.encode(sentences)) == expected
    assert split(*encoder.encode(sentences)) == expected  # now out of the memo


@LAW
@given(sentence=SENTENCE)
def test_text_never_gives_a_special_token_but_unknown(vocabulary: Vocabulary, sentence: str) -> None:
    ids, _ = Encoder(vocabulary.tokenizer(), PIECES).encode([sentence])
    assert not set(ids.tolist()) & {PIECES.index(token) for token in SPECIAL if token != "[UNK]"}


@LAW
@given(sentence=SENTENCE)
def test_a_sentence_begins_with_a_word(vocabulary: Vocabulary, sentence: str) -> None:
    """Pairs are cut where words begin, so no sentence may begin with a ``##`` piece, even one that writes "##ing"."""
    ids, _ = Encoder(vocabulary.tokenizer(), PIECES).encode([sentence])
    assert len(ids) == 0 or not vocabulary.continues()[ids[0]]


def test_worked_by_hand(vocabulary: Vocabulary) -> None:
    """Greedy longest match: sunset = sun ##set; Chinese characters are words; an unknown word is one [UNK]."""
    encoder = Encoder(vocabulary.tokenizer(), PIECES)
    ids, ends = encoder.encode(["sunset, 茶树茶.", "", "qqq tea", "\u200b\x00"])
    assert [PIECES[i] for i in ids] == ["sun", "##set", ",", "茶", "树", "茶", ".", "[UNK]", "tea"]
    assert ends.tolist() == [7, 7, 9, 9]
    assert ids.dtype == np.uint16 and ends.dtype == np.int64


def test_no_sentence() -> None:
    ids, ends = Encoder(Vocabulary(PIECES, True, True).tokenizer(), PIECES).encode([])
    assert ids.tolist() == ends.tolist() == []


@pytest.mark.parametrize(("size", "dtype"), [(1 << 16, np.uint16), ((1 << 16) + 1, np.uint32)])
def test_ids_are_as_wide_as_the_vocabulary_needs(size: int, dtype: Any) -> None:
    pieces = [*PIECES, *(f"w{i}" for i in range(size - len(PIECES)))]
    encoder = Encoder(Vocabulary(pieces, True, True).tokenizer(), pieces)
    ids, _ = encoder.encode([pieces[-1]])
    assert ids.dtype == dtype and ids.tolist() == [size - 1]


def test_long_words_are_unknown() -> None:
    """As in google-research/bert: a word of more than 100 characters is not looked at."""
    encoder = Encoder(Vocabulary([*SPECIAL, "a", "##a"], True, True).tokenizer(), [*SPECIAL, "a", "##a"])
    assert encoder.encode(["a" * 100])[0].tolist() == [5, *[6] * 99]
    assert encoder.encode(["a" * 101])[0].tolist() == [1]


def test_the_batch_does_not_matter() -> None:
    encoder = Encoder(Vocabulary(PIECES, True, True).tokenizer(), PIECES)
    sentences = [f"tea sunset {'tea' * (i % 7)}." for i in range(500)]
    ids, ends = encoder.encode(sentences)
    singles = [encoder.encode([sentence])[0] for sentence in sentences]
    assert ids.tolist() == np.concatenate(singles).tolist() and ends.tolist() == np.cumsum([len(s) for s in singles]).tolist()


def test_slices_do_not_change_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = Vocabulary(PIECES, True, True)
    sentences = [f"tea-sunset, ({'tea' * (i % 7)}) 茶树" for i in range(50)]
    ids, ends = Encoder(vocabulary.tokenizer(), PIECES).encode(sentences)
    monkeypatch.setattr(engines, "CALL_BYTES", 1)
    for exact in (False, True):
        again, again_ends = Encoder(vocabulary.tokenizer(), PIECES).encode(sentences, exact)
        assert again.tolist() == ids.tolist() and again_ends.tolist() == ends.tolist()


# --- every character (those above U+FFFF by a sample if unassigned or Han; all: benchmarks/tokens.py --characters) ---

CHARACTERS = [
    *range(0xD800),
    *range(0xE000, 0x10000),
    *(code for code in range(0x10000, 0x20000) if unicodedata.category(chr(code)) != "Cn" or code % 47 == 0),
    *range(0x20000, 0x110000, 211),
    *(code for edge in (0x2A6E0, 0x2A700, 0x2B740, 0x2B820, 0x2CEB0, 0x30000, 0x40000) for code in (edge - 1, edge)),  # of Han
    *range(0x2F800, 0x2FA20),
    *range(0xE0000, 0xE0200),
]


def _is_plain(character: str) -> bool:
    """Return True if lower case and taking accents off leave a character as it is, wherever it stands."""
    normal = unicodedata.normalize("NFD", character.lower())
    return normal == character and unicodedata.category(character) in ("Lo", "Co", "Cn", "So")


# For the other kinds of vocabulary: each that case or accents change, that is no letter, and a part of the others.
MOST_TELLING = [code for at, code in enumerate(CHARACTERS) if at % 8 == 0 or not _is_plain(chr(code))]


def swept(vocabulary: Vocabulary, codes: Sequence[int]) -> None:
    """Compare with the library for every character alone, between letters, and before a letter and an accent."""
    sentences = [
        " ".join(f"{chr(code)} a{chr(code)}b \u201c{chr(code)}e\u0301" for code in codes[start : start + 64])
        for start in range(0, len(codes), 64)
    ]
    for start in range(0, len(sentences), 500):
        part = sentences[start : start + 500]
        found = split(*Encoder(vocabulary.tokenizer(), vocabulary.pieces).encode(part))
        for sentence, ours, theirs in zip(part, found, by_library(vocabulary, part), strict=True):
            assert ours == theirs, ascii(sentence)


@pytest.mark.parametrize(
    ("lowercase", "strip_accents"), list(KINDS.values())[:2] + [(False, False)], ids=["uncased", "accents", "cased"]
)
@pytest.mark.long
def test_every_character(lowercase: bool, strip_accents: bool) -> None:
    """The first 12,288 characters are pieces, so that case and accents show; of the others it shows where they cut.

    What case and accents leave as it is, is the same for each kind; it is tried with one of them.
    """
    letters = [chr(code) for code in range(0x21, 0x3000) if chr(code).isprintable()]
    pieces = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    swept(Vocabulary(pieces, lowercase, strip_accents), CHARACTERS if lowercase and strip_accents else MOST_TELLING)


@pytest.mark.slow
def test_characters_that_are_words_are_words_for_the_library(vocabulary: Vocabulary) -> None:
    tokenizer = vocabulary.tokenizer()
    alone = [chr(code) for code in range(0x10000) if re.fullmatch(f"[{vocab._ALONE}]", chr(code))]
    text = " ".join(f"x{character}x" for character in alone)
    words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))]
    assert len(alone) > 25_000
    assert words[0::3] == words[2::3] == ["x"] * len(alone)


@pytest.mark.slow
def test_words_are_normal_already(vocabulary: Vocabulary) -> None:
    """What counting makes of a text, encoding leaves as it is: so the coverage of counted words is that of the text."""
    tokenizer = vocabulary.tokenizer()
    codes = CHARACTERS if vocabulary.lowercase and vocabulary.strip_accents else MOST_TELLING
    words = count_words([f"x{chr(c)}Y {chr(c)}" for c in codes if c < 0x10800], tokenizer)
    assert count_words(list(words), tokenizer) == Counter(dict.fromkeys(words, 1))


# --- words ---


@LAW
@given(sentences=st.lists(SENTENCE, max_size=6), cut=st.integers(0, 6))
@pytest.mark.slow
def test_counts_of_parts_add_up(vocabulary: Vocabulary, sentences: list[str], cut: int) -> None:
    tokenizer = vocabulary.tokenizer()
    parts = vocab.count_parts(sentences[:cut]) + vocab.count_parts(sentences[cut:])
    assert vocab.parts_to_words(parts, tokenizer) == count_words(sentences, tokenizer)


@LAW
@given(text=SENTENCE)
def test_words_are_those_of_the_library(vocabulary: Vocabulary, text: str) -> None:
    tokenizer = vocabulary.tokenizer()
    normal = tokenizer.normalizer.normalize_str(text)
    expected = Counter(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
    assert count_words([text], tokenizer) == expected


def test_words_as_bert_cuts_them() -> None:
    words = count_words(["Été, l'Été! 茶树\u200b\x00 a\tb"], Vocabulary(PIECES, True, True).tokenizer())
    assert words == Counter({"ete": 2, ",": 1, "l": 1, "'": 1, "!": 1, "茶": 1, "树": 1, "a": 1, "b": 1})
    assert count_words(["Été"], Vocabulary(PIECES, False, False).tokenizer()) == Counter({"Été": 1})
    assert count_words([], Vocabulary(PIECES, True, True).tokenizer()) == Counter()


# --- real text ---


@pytest.fixture(scope="module")
def real_text(shared: Path) -> list[str]:
    """Lines of books and paragraphs of fifty Wikipedias; benchmarks/tokens.py takes every document."""
    text = [line for path in sorted((shared / "data" / "books").glob("*.txt")) for line in _lines(path)[::18]]
    for name, key, step in (
        ("dev_pages", "paragraphs", 18),
        ("dev_sentences", "sentences", 3),
        ("dev_sentences_more", "sentences", 3),
    ):
        with lzma.open(shared / "extraction" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
            text += [sentence for line in file for sentence in json.loads(line)[key]][::step]
    return text


@pytest.mark.parametrize(("kind", "first"), [("uncased", 0), ("accents", 1), ("cased", 2)])
@pytest.mark.long
def test_real_text(real_text: list[str], kind: str, first: int) -> None:
    """Each kind has a third of the text, from all of its sources."""
    text = real_text[first::3]
    lowercase, strip_accents = KINDS[kind]
    config = VocabConfig(size=6000, lowercase=lowercase, strip_accents=strip_accents)
    blank = Vocabulary(list(SPECIAL), lowercase, strip_accents)
    vocabulary = vocab.train(count_words(text, blank.tokenizer()), config)
    assert split(*Encoder(vocabulary.tokenizer(), vocabulary.pieces).encode(text)) == by_library(vocabulary, text)


def _lines(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8" if path.stem.endswith("-0") else "latin-1").splitlines()
