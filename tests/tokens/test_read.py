"""Reading vocabularies: as transformers' AutoTokenizer does, with notes where files are silent or contradict each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from bertdata.errors import UsageError
from bertdata.tokens import vocab
from bertdata.tokens.read import read_any
from bertdata.tokens.vocab import SPECIAL, from_tokens
from bertdata.tokens.vocab_txt import is_cased

SMALL, CAPITALS = [*"abcdefghijklmnopqrstuvwxyz"], [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
GOOGLE = [*SPECIAL, *SMALL, *(f"##{c}" for c in SMALL), "the", "été", "茶", "ⅷ", "ß"]


def _txt(directory: Path, tokens: list[str], **settings: Any) -> Path:
    (directory / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    if settings:
        (directory / "tokenizer_config.json").write_text(json.dumps(settings))
    return directory / "vocab.txt"


def _case(path: Path, **options: Any) -> tuple[bool, bool]:
    normalizer = read_any(path, **options).normalizer
    strip = normalizer["strip_accents"]
    return normalizer["lowercase"], normalizer["lowercase"] if strip is None else strip


# --- a vocab.txt ---

CASES: dict[str, tuple[list[str], bool | None]] = {
    "small letters": (SMALL, False),
    "both": (SMALL + CAPITALS, True),
    "half as many capitals": (SMALL + CAPITALS[:13], True),
    "a few capitals": (SMALL + CAPITALS[:12], False),
    "tokens of Chinese BERTs": ([*SMALL, "<S>", "<T>"], False),
    "an added token": ([*SMALL, "<URL>", "[USER]", "iPhone"], False),
    "a Roman numeral": ([*SMALL, "Ⅻ", "ⅻ"], False),
    "capitals inside words": ([*SMALL, *(f"##{c}" for c in CAPITALS)], True),
    "Cyrillic": ([*"абвгд", *"АБВГД"], True),
    "small Cyrillic, one Latin capital": ([*"абвгд", "A"], False),
    "Greek": ([*"αβγδ", *"ΑΒΓΔ"], True),
    "Chinese alone": ([*"茶树原产"], None),
    "scripts without capitals": ([*"ابتث", *"กขค", *"अआइ"], None),
    "words only, small": (["tea", "##ing"], False),
    "words only, cased": (["Tea", "The"], True),
}


@pytest.mark.parametrize("name", CASES)
def test_letters_decide_about_case(name: str, tmp_path: Path) -> None:
    tokens, cased = CASES[name]
    assert is_cased([*SPECIAL, "[unused1]", *tokens]) is cased
    path = _txt(tmp_path, [*SPECIAL, *tokens])
    assert _case(path) == (cased is False, cased is False)
    assert ("text is lowercased" in read_any(path).notes[0]) == (cased is False)


def test_settings_and_options_decide_before_letters(tmp_path: Path) -> None:
    path = _txt(tmp_path, GOOGLE)
    assert _case(path) == (True, True) and _case(path, lowercase=False) == (False, False)
    assert _case(path, strip_accents=False) == (True, False)
    assert "accents are stripped, as in BERT" in read_any(path).notes[1]
    _txt(tmp_path, GOOGLE, do_lower_case=True, strip_accents=False)
    assert _case(path) == _case(tmp_path) == (True, False) and not read_any(tmp_path).notes
    _txt(tmp_path, GOOGLE, do_lower_case=True, strip_accents=None)  # as Google's say
    assert _case(tmp_path) == _case(tmp_path, lowercase=True) == (True, True)
    with pytest.raises(UsageError, match="`lowercase=False`: .* was made with `lowercase=True`"):
        read_any(tmp_path, lowercase=False)
    with pytest.raises(UsageError, match="`special_tokens` has no effect"):
        read_any(tmp_path, special_tokens="cls=<s>")
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(UsageError, match="cannot read"):
        read_any(tmp_path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_vocab_txt_as_editors_leave_it(tmp_path: Path, end: str, bom: bytes, last: bool) -> None:
    """Lines end at line feeds only: bert-base-chinese has U+2028 as a token."""
    tokens = [*GOOGLE, "\u2028", "\u0085", "\x1c"]
    (tmp_path / "vocab.txt").write_bytes(bom + (end.join(tokens) + (end if last else "")).encode())
    assert read_any(tmp_path / "vocab.txt").pieces == tokens


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("\n".join(["[PAD]", "[UNK]", "[CLS]", "a"]), r"vocab\.txt lacks \[SEP\], \[MASK\]"),
        ("\n".join([*GOOGLE, "the"]), r"lines 58 and 63 both contain 'the'.*replace line 63 by \[unused0\]; removing it shifts"),
        ("\n".join([*SPECIAL, "[unused0]", "", "a"]), r"line 7 is blank.*replace the line by \[unused1\]"),
        ("\n".join(GOOGLE) + "\n\udcff", "cannot read the vocabulary"),
        ("", "lacks"),
        (None, "cannot read the vocabulary.*train-vocab"),
    ],
)
def test_a_vocabulary_that_cannot_be_right_is_refused(tmp_path: Path, content: str | None, problem: str) -> None:
    if content is not None:
        (tmp_path / "vocab.txt").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=problem):
        read_any(tmp_path / "vocab.txt")


# --- a directory of transformers ---

BERT, FAST = {"tokenizer_class": "BertTokenizer"}, {"tokenizer_class": "PreTrainedTokenizerFast"}
DIRECTORIES: dict[str, tuple[tuple[bool, bool | None], dict[str, Any] | None, str | None, str]] = {
    # name: (lowercase and strip_accents of tokenizer.json), tokenizer_config.json, model type, a part of the note
    "tokenizer.json alone": ((False, None), None, None, ""),
    "without a class": ((False, None), {"init_inputs": []}, None, ""),
    "a class that is not BERT's": ((False, None), {**FAST, "do_lower_case": True}, None, ""),
    "BERT's class": ((True, None), BERT, None, ""),
    "BERT's class lowercases": ((False, None), BERT, None, "do_lower_case is true, as transformers reads it"),
    "a model of BERT lowercases": ((False, None), None, "bert", "tokenizer.json has false"),
    "a distilled model": ((False, None), {"do_lower_case": False}, "distilbert", ""),
    "cased by its settings": ((True, None), {**BERT, "do_lower_case": False}, None, "do_lower_case is false"),
    "accents of tokenizer.json": ((True, False), BERT, None, "strip_accents is null"),
    "accents by settings": ((True, None), {**BERT, "strip_accents": False}, None, "strip_accents is false"),
    "the old name of a class": ((False, None), {"tokenizer_class": "BertTokenizerFast"}, None, "do_lower_case is true"),
}


@pytest.mark.parametrize("name", DIRECTORIES)
def test_a_directory_is_read_as_by_autotokenizer(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    case, settings, model, note = DIRECTORIES[name]
    vocab.write(tmp_path, from_tokens([*GOOGLE, *CAPITALS], *case))
    (tmp_path / "tokenizer_config.json").unlink()
    if settings is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    if model:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model}))
    found = read_any(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path), local_files_only=True)
    text = "The été of Ünïts 茶 A"
    assert found.tokenizer().encode(text).tokens[1:-1] == theirs.tokenize(text)
    assert note in " ".join(found.notes) and bool(note) == bool(found.notes)
    assert read_any(tmp_path / "vocab.txt").form == found.form  # the same tokens, so the same directory


def test_other_tokens_in_vocab_txt_are_told(tmp_path: Path) -> None:
    vocab.write(tmp_path, from_tokens(GOOGLE, True, None))
    _txt(tmp_path, [*GOOGLE, "extra"])
    assert read_any(tmp_path).pieces == GOOGLE
    assert "vocab.txt and tokenizer.json have different tokens: tokenizer.json is used" in read_any(tmp_path).notes[0]
    assert read_any(tmp_path / "vocab.txt").pieces[-1] == "extra"  # the file that was asked for


def test_a_tokenizer_json_that_keeps_capitals_which_no_token_has_is_told(tmp_path: Path) -> None:
    vocab.write(tmp_path, from_tokens(GOOGLE, False, None))
    (tmp_path / "tokenizer_config.json").unlink()
    assert "tokenizer.json does not lowercase text" in " ".join(read_any(tmp_path).notes)
    (tmp_path / "vocab.txt").unlink()
    assert not read_any(tmp_path).notes


def test_an_option_that_contradicts_a_tokenizer_json_is_refused(tmp_path: Path) -> None:
    vocab.write(tmp_path, from_tokens(GOOGLE, True, False))
    assert read_any(tmp_path, True, False) == read_any(tmp_path)
    with pytest.raises(UsageError, match="`lowercase=False` is for a vocab.txt"):
        read_any(tmp_path, False)
    with pytest.raises(UsageError, match="`strip_accents=True` is for a vocab.txt"):
        read_any(tmp_path, None, True)


def changed(path: str, value: Any) -> Any:
    """Return a function that changes a value of a tokenizer.json; `path` has its keys with dots between them."""

    def change(tokenizer: dict[str, Any]) -> Any:
        *keys, last = path.split(".")
        part = tokenizer
        for key in keys:
            part = part[key]
        part[last] = value
        return tokenizer

    return change


@pytest.mark.parametrize(
    ("change", "is_read"),
    [
        (changed("model.continuing_subword_prefix", "@@"), True),
        (changed("normalizer", {"type": "NFC"}), True),
        (changed("normalizer", None), True),
        (changed("pre_tokenizer", {"type": "Whitespace"}), True),
        (changed("model.vocab.a", 9), True),
        (changed("model.type", "BPE"), False),
        (changed("normalizer.lowercase", "yes"), False),
        (changed("model.vocab", ["a"]), False),
        (changed("model.vocab.a", 1 << 30), False),
        (changed("added_tokens", [{"id": 9, "content": "<s>"}]), False),
        (lambda tokenizer: [], False),
        (lambda tokenizer: {"do_lower_case": True}, False),
    ],
)
def test_a_tokenizer_of_another_kind_keeps_its_ids_or_is_refused(tmp_path: Path, change: Any, is_read: bool) -> None:
    vocab.write(tmp_path, from_tokens([*SPECIAL, "a", "##a"], lowercase=True, strip_accents=True))
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    if is_read:
        known = read_any(path)
        assert known.tokenizer().encode("a aa").ids == Tokenizer.from_file(str(path)).encode("a aa").ids
        assert known.special.mask == known.pieces.index("[MASK]") and known.special.cls == known.pieces.index("[CLS]")
    else:
        with pytest.raises(UsageError, match=r"tokenizer\.json"):
            read_any(path)
