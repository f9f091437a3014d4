"""Ids: those of `tokenizers` for the whole text, by every library, for every character and every kind of tokenizer."""

from __future__ import annotations

import doctest
import json
import lzma
import random
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from bertdata import pieces
from bertdata.config import VocabConfig
from bertdata.exports.plain_text import text_of
from bertdata.records import Document
from bertdata.tokens import encode, libraries
from bertdata.tokens.encode import Encoder, choose
from bertdata.tokens.train import blank, count_parts, parts_to_words, train
from bertdata.tokens.vocab import SPECIAL, Vocabulary, from_tokens

LAW = settings(deadline=None, max_examples=40)
PIECES = [
    *SPECIAL,
    *"teasun茶树.,!'#[]",
    *(f"##{c}" for c in "teasun0"),
    *("tea", "##ing", "sun", "##set", "P", "É", "é", "pad", "sep", "cls"),
]
SPACED = "tea Teasing sunset 茶树 É e\u0301 ##ing [SEP] [PAD] [MASK] กา हिन्दी الْعَرَبِيَّة ひらがな Ça"
WORDS = st.sampled_from(
    [
        *SPACED.split(),
        " ",
        *"\u200b\x00\ufffd😀",
        *("x" * 101, "a" * 100),
        *".,'-[]#",
        *"\x0b\x0c\x1c\x1d\x1e\x1f\x85",  # whitespace for Python, nothing for BERT
        *"\t\n\r\u00a0\u1680\u2009\u2028\u2029\u202f\u205f\u3000",  # whitespace for both
        *"\x01\x7f\u00ad\u180e\u200d\ufeff\ue000\U000e0001\U0010ffff",  # nothing for BERT
        *"\u0301\u0323\u0338\u034f\u0903\u3099\u20dd",  # marks, some of which change places
        *"≠ǅİıßſΣςΐﬁÅﷺ각ᄀㄱ",
        *"\u037e\u0387\u1fef\u2010\u2026\u00b7\u3002\uff0c\uff5e\u30fb\u0964",  # punctuation, and what becomes or resembles it
        *"豈㐀\U00020000\U0002a700\U0002f800々〇ー",
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
    fast = choose(from_tokens(PIECES, *request.param))
    assert fast.library == "nanotoken" and not fast.notes
    return fast


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
    assert doctest.testmod(encode).failed == doctest.testmod(pieces).failed == 0


# --- WordPiece ---


@LAW
@given(sentences=st.lists(SENTENCE, max_size=6))
def test_equal_to_tokenizers_sentence_by_sentence(vocabulary: Vocabulary, sentences: list[str]) -> None:
    """Text never gives a special token other than [UNK], and no sentence begins inside a word."""
    found = split(*Encoder(vocabulary).encode(sentences))
    assert found == by_library(vocabulary, sentences)
    assert not {i for ids in found for i in ids} & vocabulary.special.never
    assert not any(vocabulary.continues[ids[0]] for ids in found if ids)


def test_worked_by_hand(vocabulary: Vocabulary) -> None:
    """Greedy longest match: sunset = sun ##set; Chinese characters are words; an unknown word is one [UNK]."""
    encoder = Encoder(vocabulary)
    ids, ends = encoder.encode(["sunset, 茶树茶.", "", "qqq tea", "\u200b\x00"])
    assert [PIECES[i] for i in ids] == ["sun", "##set", ",", "茶", "树", "茶", ".", "[UNK]", "tea"]
    assert ends.tolist() == [7, 7, 9, 9] and ids.dtype == np.uint16 and ends.dtype == np.int64
    assert [column.tolist() for column in encoder.encode([])] == [[], []]


@pytest.mark.parametrize("library", ["nanotoken", "tokenizers"])
def test_limits(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are as wide as the vocabulary needs, words of more than 100 characters are unknown, and batches change nothing."""
    tokens = [*SPECIAL, "a", "##a", *(f"w{i}" for i in range((1 << 16) - 6))]
    encoder = Encoder(replace(from_tokens(tokens, True, True), library=library))
    assert encoder.encode(["a" * 100, "a" * 101, tokens[-1]])[0].tolist() == [5, *[6] * 99, 1, (1 << 16)]
    assert encoder.dtype == np.uint32
    sentences = [f"a w{i} {'a' * (i % 7)}" for i in range(50)]
    whole = split(*encoder.encode(sentences))
    monkeypatch.setattr(libraries, "CALL_BYTES", 1)
    assert [split(*encoder.encode([sentence]))[0] for sentence in sentences] == whole == split(*encoder.encode(sentences))


# Every character; those above U+FFFF by a sample if unassigned or Han.
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
        found = split(*Encoder(choose(vocabulary)).encode(part))
        for sentence, ours, theirs in zip(part, found, by_library(vocabulary, part), strict=True):
            assert ours == theirs, ascii(sentence)


@pytest.mark.parametrize("kind", ["uncased", "accents", "cased"])
@pytest.mark.long
def test_every_character(kind: str) -> None:
    """The first 12,288 characters are tokens, so that case and accents show; of the others it shows where they cut."""
    letters = [chr(code) for code in range(0x21, 0x3000) if chr(code).isprintable()]
    swept(
        from_tokens([*SPECIAL, *letters, *(f"##{letter}" for letter in letters)], *KINDS[kind]),
        CHARACTERS if kind == "uncased" else MOST_TELLING,
    )


# --- every kind of tokenizer ---

TEXT = (
    "The tide, at 7:30, wasn't high; it'll turn. A miller's 120 lamps cost 1,250.75 in 2024! "
    "Where there's tea there is hope — “naïve café”, 茶树と京都。次の文。 Он не спал. हिन्दी में। end\u00a0of it "
)
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPACES = {"String": " "}


def _byte_level(**changes: Any) -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    for name, value in changes.items():
        setattr(made, name, value)
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>"], initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    made.train_from_iterator([TEXT] * 3, trainer)
    return made


def _sentence_piece() -> Tokenizer:
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.train_from_iterator(
        [TEXT] * 3, trainers.BpeTrainer(vocab_size=500, special_tokens=["<unk>", *BYTES], show_progress=False)
    )
    return made


def _changed(made: Tokenizer, **parts: Any) -> Tokenizer:
    return Tokenizer.from_str(json.dumps({**json.loads(made.to_str()), **parts}))


def _unigram() -> Tokenizer:
    made = Tokenizer(models.Unigram())
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    made.train_from_iterator([TEXT] * 3, trainer)
    return made


def _words(model: Any, trainer: Any) -> Tokenizer:
    made = Tokenizer(model)
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator([TEXT] * 3, trainer)
    return made


def _added(*tokens: str) -> Tokenizer:
    made = _byte_level()
    made.add_tokens(list(tokens))
    return made


LLAMA_2 = {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": SPACES, "content": "▁"}
GEMMA = {"type": "Split", "pattern": SPACES, "behavior": "MergedWithPrevious", "invert": False}
SPLIT = pre_tokenizers.Split(Regex(LLAMA_3), "isolated")
TOKENIZERS: dict[str, Any] = {
    "byte level": _byte_level,
    "space in front, NFC": lambda: _byte_level(
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True), normalizer=normalizers.NFC()
    ),
    "Llama 3": lambda: _byte_level(
        pre_tokenizer=pre_tokenizers.Sequence([SPLIT, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    ),
    "digits": lambda: _byte_level(pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.Digits(), pre_tokenizers.ByteLevel()])),
    "runs of spaces": lambda: _added("  ", "    ", "|||x|||"),
    "SentencePiece": _sentence_piece,
    "Llama 2": lambda: _changed(
        _sentence_piece(), pre_tokenizer=None, normalizer={"type": "Sequence", "normalizers": list(LLAMA_2)}
    ),
    "Gemma": lambda: _changed(_sentence_piece(), pre_tokenizer=GEMMA, normalizer=LLAMA_2[1]),
    "Unigram": _unigram,
    "WordPiece": lambda: _words(
        models.WordPiece(unk_token="<unk>"),
        trainers.WordPieceTrainer(vocab_size=300, special_tokens=["<unk>"], show_progress=False),
    ),
    "WordLevel": lambda: _words(
        models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False)
    ),
    "an added token with a space": lambda: _added("tide, at"),
    "spaces go": lambda: _byte_level(normalizer=normalizers.Replace(" ", "")),
}


@cache
def tokenizer_of(kind: str) -> Tokenizer:
    made: Tokenizer = (TOKENIZERS)[kind]()
    made.encode_special_tokens = True  # "<s>" in a text is text
    return made


@cache
def library_of(kind: str) -> str:
    return choose(vocabulary_of(kind)).library


def vocabulary_of(kind: str) -> Vocabulary:
    return Vocabulary(tokenizer_of(kind).to_str(), {})


ODD = "a I . 's \u200b \u0301 \ufffd ▁ Ġ <s> [SEP] |||x||| # … © 👩\u200d👩 \x7f \u00ad \ufb01 \u0600 ... 2024 \ufeff"
PARTS = st.sampled_from([*TEXT.split(), *ODD.split(), "\u00a0", "\u3000x", "x\u2009", "  y", "x" * 90, "end\n", "\tx"])
PART = st.lists(PARTS, min_size=1, max_size=6).map(" ".join) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12
)
DOCUMENT = st.lists(st.lists(PART, min_size=1, max_size=3), min_size=1, max_size=3)


def _document(paragraphs: list[list[str]]) -> Document:
    starts = np.cumsum([0, *map(len, paragraphs)])[:-1].tolist()
    return Document("1", "", "en", "", "", [sentence for own in paragraphs for sentence in own], starts)


def columns_of(documents: list[Document]) -> tuple[pa.Array, pa.Array]:
    starts = pa.array([document.paragraph_starts for document in documents], pa.list_(pa.uint32()))
    return pa.array([document.sentences for document in documents], pa.list_(pa.string())), starts


def check(kind: str, documents: list[Document]) -> None:
    """The ids are those of the whole texts, and neither they nor the ends depend on the library."""
    vocabulary, columns = vocabulary_of(kind), columns_of(documents)
    expected = [i for one in documents for i in tokenizer_of(kind).encode(text_of(one), add_special_tokens=False).ids]
    for library in {"tokenizers", library_of(kind)}:
        ids, ends = Encoder(replace(vocabulary, library=library)).encode_documents(*columns)
        assert ids.tolist() == expected
        assert ends.tolist() == Encoder(vocabulary).encode_documents(*columns)[1].tolist()


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=10, deadline=None)
@given(documents=st.lists(DOCUMENT.map(_document), min_size=1, max_size=3))
def test_ids_are_those_of_the_whole_text(kind: str, documents: list[Document]) -> None:
    check(kind, documents)


def test_a_document_by_hand() -> None:
    """A space begins the sentence behind it, and line feeds end the paragraph before them."""
    tokenizer, encoder = tokenizer_of("byte level"), Encoder(choose(vocabulary_of("byte level")))
    ids, ends = encoder.encode_documents(pa.array([["a.", "b.", "c."], ["。", "x"]]), pa.array([[0, 2], [0]]))
    found = ["".join(tokenizer.id_to_token(i) for i in own) for own in np.split(ids, ends[:-1])]
    assert found == ["a.", "Ġb.ĊĊ", "c.", "ãĢĤ", "x"]
    assert [column.tolist() for column in encoder.encode_documents(*columns_of([]))] == [[], []]


# --- which library ---


def test_library_of_each_kind() -> None:
    wanted = {"byte level": "gigatoken", "Llama 3": "gigatoken", "Unigram": "tokenizers", "spaces go": "tokenizers"}
    assert {kind: library_of(kind) for kind in wanted} == wanted


@pytest.mark.parametrize("text", ["🇫🇷", "miller", "a rare lamp"])
def test_a_library_that_differs_is_not_used(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """It differs for a hard string, for a token of the vocabulary, or for a text of the corpus; or it fails."""
    whole = libraries.Gigatoken.__call__

    def differing(engine: libraries.Gigatoken, texts: Sequence[bytes]) -> libraries.Encoded:
        encoded = whole(engine, texts)
        return encoded._replace(ids=encoded.ids[:-1]) if any(text.encode() in one for one in texts) else encoded

    corpus = [columns_of([_document([["Lamps."], ["This is a rare lamp."]])])]
    for wrong in (differing, lambda engine, texts: 1 / 0):
        monkeypatch.setattr(libraries.Gigatoken, "__call__", wrong)
        found = choose(vocabulary_of("byte level"), corpus)
        assert found.library == "tokenizers" and "gigatoken returns other ids for" in found.notes[0]
    monkeypatch.setattr(libraries.Gigatoken, "__call__", differing)
    assert text in choose(vocabulary_of("byte level"), corpus).notes[0]


def test_the_check_reads_only_the_beginning_of_the_corpus() -> None:
    read = []

    def corpus() -> Any:
        for number in range(100):
            read.append(number)
            yield columns_of([_document([["tea and lamps " * 10_000]])])

    choose(from_tokens(PIECES, True, True), corpus())
    assert 1 <= len(read) <= 3


def test_characters_of_a_newer_unicode_have_the_ids_of_tokenizers() -> None:
    """A library may know letters that `tokenizers` does not: U+0CDC is one since Unicode 17."""
    check("byte level", [_document([[f"tea{chr(code)}tea {chr(code)}" for code in (0x0CDC, 0x0378, 0x1CC00, 0xFFFF)]])])


def test_the_cache_of_gigatoken_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    restarts = []
    restart = libraries.Gigatoken._restart
    monkeypatch.setattr(libraries.Gigatoken, "_restart", lambda engine: (restarts.append(1), restart(engine))[1])
    monkeypatch.setattr(libraries, "GIGATOKEN_BYTES", 50)
    engine = libraries.Gigatoken(vocabulary_of("byte level"))
    for _ in range(4):
        engine([b"Tea and lamps."] * 2)
    assert len(restarts) == 3  # at the start, and each time that 50 bytes were passed


# --- much text ---


@pytest.fixture(scope="module")
def real_text(shared: Path) -> list[str]:
    """Lines of books, and paragraphs and sentences of fifty Wikipedias."""
    text = []
    for path in sorted((shared / "data" / "books").glob("*.txt")):
        text += path.read_bytes().decode("utf-8" if path.stem.endswith("-0") else "latin-1").splitlines()
    for name, key in (("dev_pages", "paragraphs"), ("dev_sentences", "sentences"), ("dev_sentences_more", "sentences")):
        with lzma.open(shared / "extraction" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
            text += [sentence for line in file for sentence in json.loads(line)[key]]
    return text


@pytest.mark.parametrize("kind", [*KINDS, "bpe"])
@pytest.mark.nightly
def test_real_text_and_random_strings(real_text: list[str], kind: str) -> None:
    config = VocabConfig(model="bpe", size=6000)
    if kind != "bpe":
        config = VocabConfig(size=6000, lowercase=KINDS[kind][0], strip_accents=KINDS[kind][1])
    words = parts_to_words(count_parts(real_text, config.model), blank(config, bool(config.strip_accents)))
    vocabulary = choose(train(words, config))
    assert vocabulary.library == ("gigatoken" if kind == "bpe" else "nanotoken")
    chooser = random.Random(7)
    text = [*real_text, *("".join(chr(chooser.choice(CHARACTERS)) for _ in range(40)) for _ in range(20_000))]
    columns = columns_of([_document([[one]]) for one in text if one])
    assert all(
        map(
            np.array_equal,
            Encoder(vocabulary).encode_documents(*columns),
            Encoder(replace(vocabulary, library="tokenizers")).encode_documents(*columns),
        )
    )
