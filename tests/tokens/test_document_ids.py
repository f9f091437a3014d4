"""Documents to ids: those that `tokenizers` gives for the whole text, for every kind of tokenizer, by parts and whole."""

from __future__ import annotations

import doctest
import json
import lzma
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
from bertdata.exports.plain_text import text_of
from bertdata.records import Document
from bertdata.tokens import documents, engines, memo
from bertdata.tokens.documents import DocumentEncoder
from bertdata.tokens.encoder import DifferentIdsError
from bertdata.tokens.memo import Memo
from bertdata.verification.tokenizer import _continues_word

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


def _marked(made: Tokenizer, spaces: str = " {2,}") -> Tokenizer:
    """Cut at punctuation as well, as `train-vocab` has it."""
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(spaces), " ")])
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
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
KINDS: dict[str, Any] = {
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
    "Unigram, marks": lambda: _marked(_unigram()),
    "Unigram, any whitespace": lambda: _marked(_unigram(), r"\s+"),
    "SentencePiece, marks": lambda: _marked(_sentence_piece()),
    "WordPiece": lambda: _words(
        models.WordPiece(unk_token="<unk>"),
        trainers.WordPieceTrainer(vocab_size=300, special_tokens=["<unk>"], show_progress=False),
    ),
    "WordLevel": lambda: _words(
        models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False)
    ),
}
FAR: dict[str, Any] = {  # whose parts need not have the ids of the whole
    "no cut": lambda: _byte_level(pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)),
    "Unigram, no cut": lambda: _changed(
        _unigram(), pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}
    ),
    "unknown pattern": lambda: _byte_level(
        pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(r"\w+\s*"), "isolated"), pre_tokenizers.ByteLevel(use_regex=False)]
        )
    ),
    "an added token with a space": lambda: _added("tide, at"),
    "spaces go": lambda: _byte_level(normalizer=normalizers.Replace(" ", "")),
}


@cache
def tokenizer_of(kind: str) -> Tokenizer:
    return (KINDS | FAR)[kind]()


def encoder_of(kind: str) -> DocumentEncoder:
    parsed = json.loads(tokenizer_of(kind).to_str())
    names, special = pieces.of_tokenizer(parsed, {})
    return DocumentEncoder(tokenizer_of(kind), names, special.mark)


WORDS = st.sampled_from(
    [
        *TEXT.split(),
        "a",
        "I",
        ".",
        "'s",
        "\u200b",
        "\u0301",
        "\ufffd",
        "▁",
        "Ġ",
        "<s>",
        "[SEP]",
        "|||x|||",
        "#",
        "…",
        "©",
        "👩\u200d👩",
    ]
    + [
        "\u00a0",
        "\u3000x",
        "x\u2009",
        "\x7f",
        "  y",
        "\u00ad",
        "\ufb01",
        "\u0600",
        "x" * 90,
        "...",
        "2024",
        "end\n",
        "\tx",
        "\ufeff",
    ]
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=6).map(" ".join) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12
)
DOCUMENT = st.lists(st.lists(SENTENCE, min_size=1, max_size=3), min_size=1, max_size=3)


def _document(paragraphs: list[list[str]]) -> Document:
    starts = np.cumsum([0, *map(len, paragraphs)])[:-1].tolist()
    return Document("1", "", "en", "", "", [sentence for own in paragraphs for sentence in own], starts)


def check(kind: str, told: list[Document], exact: bool = False) -> DocumentEncoder:
    """The ids are those of the whole texts, and do not depend on the engine, nor do the ends."""
    tokenizer, encoder = tokenizer_of(kind), encoder_of(kind)
    columns = pa.array([d.sentences for d in told]), pa.array([d.paragraph_starts for d in told], pa.list_(pa.uint32()))
    ids, ends = encoder.encode_documents(*columns, exact=exact)
    expected = [i for d in told for i in tokenizer.encode(text_of(d), add_special_tokens=False).ids]
    assert ids.tolist() == expected
    again, other_ends = encoder.encode_documents(*columns, exact=True)
    assert again.tolist() == expected and other_ends.tolist() == ends.tolist()
    return encoder


@pytest.mark.parametrize("module", [documents, pieces])
def test_doctests(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("kind", KINDS | FAR)
@settings(max_examples=10, deadline=None)
@given(told=st.lists(DOCUMENT.map(_document), min_size=1, max_size=3))
def test_ids_are_those_of_the_whole_text(kind: str, told: list[Document]) -> None:
    check(kind, told)


ENGINES = {  # kind -> the class of its fast engine
    "byte level": engines.Gigatoken,
    "Llama 3": engines.Gigatoken,
    "Unigram": Memo,
    "Unigram, marks": Memo,
    "Unigram, any whitespace": Memo,
    "SentencePiece, marks": Memo,
    "no cut": None,
    "unknown pattern": None,
    "WordLevel": Memo,
}


@pytest.mark.parametrize("kind", ENGINES)
def test_engine_of_each_kind(kind: str) -> None:
    fast = encoder_of(kind).fast
    assert (type(fast) if fast else None) == ENGINES[kind]


def test_a_library_that_differs_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """It differs for one token of the vocabulary, or for one hard string; or it fails."""
    encode = engines.Gigatoken.__call__

    def differing(wrong: str) -> Any:
        def call(engine: engines.Gigatoken, texts: list[bytes]) -> Any:
            encoded = encode(engine, texts)
            return encoded._replace(ids=encoded.ids[:-1]) if any(wrong.encode() in text for text in texts) else encoded

        return call

    for wrong in ("🇫🇷", "miller"):
        monkeypatch.setattr(engines.Gigatoken, "__call__", differing(wrong))
        assert isinstance(encoder_of("byte level").fast, Memo)
    monkeypatch.setattr(engines.Gigatoken, "__call__", lambda engine, texts: 1 / 0)
    assert isinstance(encoder_of("byte level").fast, Memo)


def test_a_memo_that_differs_checks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tokenizers` checks samples if the memo of words is wrong about a token of the vocabulary."""
    encoder = encoder_of("byte level")
    assert isinstance(encoder._check, Memo)
    encode = Memo.__call__
    monkeypatch.setattr(Memo, "__call__", lambda engine, texts: encode(engine, [t.replace(b"miller", b"") for t in texts]))
    encoder = encoder_of("byte level")
    assert isinstance(encoder.fast, engines.Gigatoken) and encoder._check is encoder.exact


def test_a_difference_in_the_sample_names_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of("byte level")
    columns = pa.array([[f"Lamp {i}." for i in range(300)]]), pa.array([[0]], pa.list_(pa.uint32()))
    expected = encoder.encode_documents(*columns)[0].tolist()
    encode = engines.Gigatoken.__call__
    monkeypatch.setattr(engines.Gigatoken, "__call__", lambda engine, texts: encode(engine, [text + b"!" for text in texts]))
    with pytest.raises(DifferentIdsError, match=r"Lamp \d+\."):
        encoder.encode_documents(*columns)
    assert encoder.encode_documents(*columns, exact=True)[0].tolist() == expected


def test_the_cache_of_gigatoken_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    restarts = []
    restart = engines.Gigatoken._restart
    monkeypatch.setattr(engines.Gigatoken, "_restart", lambda engine: (restarts.append(1), restart(engine))[1])
    names = [*tokenizer_of("byte level").get_vocab()]
    for blind, size in ((False, 1 << 40), (True, 10)):
        monkeypatch.setattr(engines, "GIGATOKEN_BLIND_BYTES", size)
        monkeypatch.setattr(engines, "_process_bytes", (lambda: 0) if blind else engines._process_bytes)
        engine = engines.same_engines(tokenizer_of("byte level"), names, engines.Gigatoken)[0]
        restarts.clear()
        engine([b"Tea and lamps."] * 3)
        assert len(restarts) == blind


def test_the_memo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = encoder_of("Unigram").fast
    assert isinstance(engine, Memo)
    engine([b"a tea", b"a " + b"x" * 20 + b" " + b"x" * 90 + b" a a a a a a"])
    assert b" tea" in engine._known and b" " + b"x" * 90 not in engine._known
    monkeypatch.setattr(memo, "MEMO_WORDS", 1)
    ids = engine([b"lamp sea"]).ids
    assert engine._known == memo.FIRST_WORDS and engine([b"lamp sea"]).ids.tolist() == ids.tolist()


def test_the_memo_encodes_texts_without_words_as_units() -> None:
    texts = ["", "▁tea", "lamp", "▁tea and lamp", "", " tea  and lamp", "lamp tea", "tea" * 30, "tea ", "", "▁tea", ""]
    data = [text.encode() for text in texts]
    for kind, engine in (("Unigram", encoder_of("Unigram").fast), ("byte level", encoder_of("byte level")._check)):
        assert isinstance(engine, Memo)
        for some in (data, data[:3], data[::-1], [b""]):
            assert all(map(np.array_equal, engine(some), engines.Exact(tokenizer_of(kind))(some)))


def test_worked_by_hand() -> None:
    """A space begins the sentence behind it, and line feeds end the paragraph before them."""
    tokenizer = tokenizer_of("byte level")
    encoder = encoder_of("byte level")
    ids, ends = encoder.encode_documents(pa.array([["a.", "b.", "c."], ["。", "x"]]), pa.array([[0, 2], [0]]))
    found = ["".join(tokenizer.id_to_token(i) for i in own) for own in np.split(ids, ends[:-1])]
    assert found == ["a.", "Ġb.ĊĊ", "c.", "ãĢĤ", "x"]


def test_no_document() -> None:
    encoder = encoder_of("byte level")
    ids, ends = encoder.encode_documents(pa.array([], pa.list_(pa.string())), pa.array([], pa.list_(pa.uint32())))
    assert ids.tolist() == ends.tolist() == []


@pytest.mark.parametrize("kind", ["byte level", "Unigram"])
@pytest.mark.slow
def test_real_text(kind: str, shared: Path) -> None:
    """Pages of dozens of languages; most documents are looked up by parts."""
    told = []
    with lzma.open(shared / "extraction" / "dev_pages.jsonl.xz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            paragraphs = [[part for part in text[:600].split(". ") if part] for text in row["paragraphs"][:2]]
            told += [_document([own for own in paragraphs if own])] if any(paragraphs) else []
    assert len(told) > 50
    check(kind, told[:: max(1, len(told) // 150)])


def test_two_rules_tell_alike_which_pieces_go_on() -> None:
    """`verify` has a rule of its own: both over characters of all blocks, and their first bytes."""
    letters = {byte: letter for letter, byte in pieces._BYTES.items()}
    codes = [*range(0, 0x3000, 7), *range(0x2E00, 0xFFFF, 211), *range(0xFE00, 0xFFFF, 9), *range(0x10000, 0x40000, 4099)]
    told = []
    for character in map(chr, (code for code in codes if not 0xD800 <= code < 0xE000)):
        data = character.encode()
        told += ["".join(letters[byte] for byte in data[:size]) for size in range(1, len(data) + 1)]
        assert pieces.continues_word(character + "x", "▁") == _continues_word(character + "x", "▁"), character
    for piece in [*told, "", "Ġ", "▁", "<0xE8>", "<0x8C>", "</s>", "##", "##a"]:
        for mark in ("Ġ", "▁", "##", "@@", ""):
            assert pieces.continues_word(piece, mark) == _continues_word(piece, mark), (piece, mark)
