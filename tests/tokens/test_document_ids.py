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
from bertdata.exports.text import text_of
from bertdata.records import Document
from bertdata.tokens import documents, local
from bertdata.tokens import parts as parts_module
from bertdata.tokens.documents import DocumentEncoder
from bertdata.tokens.local import cuts_at_marks, is_local
from bertdata.tokens.parts import Memo, Written, written
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
    "Unigram, any white space": lambda: _marked(_unigram(), r"\s+"),
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


@cache
def written_of(kind: str) -> Written | None:
    told = json.loads(tokenizer_of(kind).to_str())
    names, special = pieces.of_tokenizer(told, {})
    return written(told, names, special.mark, special.never)


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


def check(kind: str, told: list[Document], *, by_parts: bool) -> DocumentEncoder:
    """The ids are those of the whole texts, and sentences end in the places that the library's offsets tell."""
    tokenizer = tokenizer_of(kind)
    size = tokenizer.get_vocab_size()
    columns = pa.array([d.sentences for d in told]), pa.array([d.paragraph_starts for d in told], pa.list_(pa.uint32()))
    marks = by_parts and cuts_at_marks(json.loads(tokenizer.to_str()))
    encoder = DocumentEncoder(tokenizer, size, local=by_parts, marks=marks, written=written_of(kind))
    whole = DocumentEncoder(tokenizer, size, local=False)
    ids, ends = encoder.encode_documents(*columns)
    again, _ = encoder.encode_documents(*columns)
    expected = [i for d in told for i in tokenizer.encode(text_of(d), add_special_tokens=False).ids]
    assert ids.tolist() == expected and again.tolist() == expected
    assert ends.tolist() == whole.encode_documents(*columns)[1].tolist()
    assert len(ends) == sum(len(d.sentences) for d in told) and (not len(ends) or ends[-1] == len(ids))
    return encoder


@pytest.mark.parametrize("module", [documents, local, pieces])
def test_doctests(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10)
@given(told=st.lists(DOCUMENT.map(_document), min_size=1, max_size=3))
def test_ids_are_those_of_the_whole_text(kind: str, told: list[Document]) -> None:
    assert is_local(json.loads(tokenizer_of(kind).to_str()))
    check(kind, told, by_parts=True)


def test_which_tokenizers_cut_at_marks() -> None:
    found = {kind for kind in KINDS if cuts_at_marks(json.loads(tokenizer_of(kind).to_str()))}
    assert found == {"byte level", "Llama 3", "Unigram, marks", "Unigram, any white space", "SentencePiece, marks"}


@pytest.mark.parametrize("kind", ["byte level", "Unigram, marks"])
def test_marks_first_in_a_text_and_behind_a_letter(kind: str) -> None:
    """A mark has other pieces first in a text where a space is put before it; and one that an accent joins is another."""
    told = [["(tea), tea(, (tea"], ["tea(tea)"], ['"the" lamp"the"', ", tea,the", "a=\u0338b,\u0301 a="], ["'s end's"]]
    check(kind, [_document([sentences]) for sentences in told], by_parts=True)


@pytest.mark.parametrize("kind", FAR)
def test_a_tokenizer_that_looks_further_is_given_whole_texts(kind: str) -> None:
    assert not is_local(json.loads(tokenizer_of(kind).to_str()))
    check(kind, [_document([[TEXT, "Two."], ["Three."]])], by_parts=False)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The parts that are asked for one by one."""
    found: list[bytes] = []
    ask = Memo._ask_each

    def heard(memo: Memo, parts: list[bytes], before: list[int]) -> None:
        found.extend(parts)
        ask(memo, parts, before)

    monkeypatch.setattr(Memo, "_ask_each", heard)
    return found


SAID = "They said: the café (“tea”) of Kyōto opens at 7:30"


@pytest.mark.parametrize("kind", ["byte level", "space in front, NFC", "Llama 3", "runs of spaces"])
def test_new_parts_are_asked_for_together(kind: str, alone: list[bytes]) -> None:
    """All but what stands first in a text; with characters that are no piece, and paragraphs that end inside a part."""
    check(kind, [_document([[SAID, "Two, three."], ["Four; ☃☃ five"], ["茶樹 six"]]), _document([[SAID]])], by_parts=True)
    assert alone == [b"They"]


@pytest.mark.parametrize("kind", ["SentencePiece", "Llama 2", "Gemma", "Unigram", "Unigram, marks"])
def test_new_parts_of_known_characters_are_asked_for_together(kind: str, alone: list[bytes]) -> None:
    check(kind, [_document([["The tide turn it high", "it wasn't"]])], by_parts=True)
    assert set(alone) <= {b"The"}


@pytest.mark.parametrize("kind", ["byte level", "Unigram, marks"])
def test_pieces_that_say_something_else_are_believed_nothing(kind: str, alone: list[bytes]) -> None:
    """Of parts for which the pieces do not say what was asked, each is asked for by itself."""
    tokenizer, told = tokenizer_of(kind), written_of(kind)
    assert told is not None
    columns = pa.array([[SAID, "Two, three."]]), pa.array([[0]], pa.list_(pa.uint32()))
    wanted = tokenizer.encode(f"{SAID} Two, three.", add_special_tokens=False).ids
    for said in ([piece + b"x" for piece in told.pieces], [piece[:-1] for piece in told.pieces], [b"\0"] * len(told.pieces)):
        lying = told._replace(pieces=said)
        alone.clear()
        encoder = DocumentEncoder(tokenizer, len(said), local=True, marks=True, written=lying)
        assert encoder.encode_documents(*columns)[0].tolist() == wanted
        assert {b" the", b" three"} < set(alone)


def test_the_memo_is_bounded_and_long_parts_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tokenizer_of("byte level")
    memo = Memo(tokenizer, np.dtype(np.uint16), marks=True, written=written_of("byte level"))
    parts = [b" tea", b" " + b"x" * 90, b" " + b"x" * 80 + b".\n\nThe"]
    first = memo(parts)
    assert list(map(len, memo.breaks.values())) == [1] and memo(parts[:1]) == first[:1]
    assert list(memo._ids) == parts[:1] and not memo.breaks
    monkeypatch.setattr(parts_module, "_MEMO", 200)
    assert memo([b" lamp", b" sea"]) and memo([b" tide"]) and list(memo._ids) == [b" tide"]


def test_worked_by_hand() -> None:
    """A space begins the sentence behind it, and line feeds end the paragraph before them."""
    tokenizer = tokenizer_of("byte level")
    encoder = DocumentEncoder(tokenizer, 400, local=True)
    ids, ends = encoder.encode_documents(pa.array([["a.", "b.", "c."], ["。", "x"]]), pa.array([[0, 2], [0]]))
    found = ["".join(tokenizer.id_to_token(i) for i in own) for own in np.split(ids, ends[:-1])]
    assert found == ["a.", "Ġb.ĊĊ", "c.", "ãĢĤ", "x"]


def test_no_document() -> None:
    encoder = DocumentEncoder(tokenizer_of("byte level"), 400, local=True)
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
    encoder = check(kind, told[:: max(1, len(told) // 150)], by_parts=True)
    assert sum(map(bool, encoder._memo._ids.values())) > 500


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
