"""Read the files of a BERT vocabulary: its tokens by id, and how it normalizes text.

A vocab.txt has one token per line, and the tokenizer_config.json next to it has the settings for case and accents. A
tokenizer.json has both. train-vocab writes one, and `transformers` 5 saves only that file for a BERT tokenizer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..config import read_small
from ..errors import UsageError
from ..pieces import BERT_TOKENS

__all__ = ["MAX_TOKENIZER_BYTES", "SETTINGS", "is_bert", "parse_tokenizer", "read_pieces", "read_settings", "read_tokenizer"]

SETTINGS = {"do_lower_case": "lowercase", "strip_accents": "strip_accents"}  # name in tokenizer_config.json: our name
MAX_VOCAB_BYTES = 64 << 20  # of a vocab.txt; that of 250,000 pieces has 3 MB
MAX_TOKENIZER_BYTES = 1 << 28  # of a tokenizer.json: that of a million pieces has less
_MAX_PIECE_CHARACTERS = 1000
_BLANK = " \t\r"
_NO_PIECE = frozenset("\0\r")  # other readers treat \r as a line end
_BERT: dict[str, dict[str, Any]] = {  # part -> required values; also the defaults for missing keys
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}


def _unreadable(file: str | Path, error: BaseException) -> UsageError:
    """Return the error of a vocabulary's file that cannot be read."""
    why = getattr(error, "strerror", None) or error
    remedy = "Pass a vocab.txt, a tokenizer.json, or a directory of train-vocab"
    return UsageError(f"cannot read the vocabulary {file} ({why}): {remedy}")


def read_pieces(file: Path) -> list[str]:
    """Return the token of each line, stripped of whitespace as in google-research/bert."""
    try:
        text = read_small(file, MAX_VOCAB_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, error) from error
    pieces = [line.strip(_BLANK) for line in text.rstrip(_BLANK + "\n").split("\n")]
    _check_pieces(file, pieces, "line")
    return pieces


def _check_pieces(file: Path, pieces: list[str], unit: str) -> None:
    """Raise UsageError, with the number of a line or token, if this is not a BERT vocabulary."""
    if missing := [token for token in BERT_TOKENS.values() if token not in pieces]:
        raise UsageError(
            f"{file} lacks {', '.join(missing)}, which a vocabulary of BERT has. Use another one, or train one with train_vocab"
        )
    first = unit == "line"  # lines are counted from 1, pieces by their ids
    numbers: dict[str, int] = {}
    for number, piece in enumerate(pieces, int(first)):
        if not piece:
            raise UsageError(f"{file}: {unit} {number} is blank: ids would be unsure; remove it, or write [unused{number}] there")
        if len(piece) > _MAX_PIECE_CHARACTERS or not _NO_PIECE.isdisjoint(piece):
            raise UsageError(f"{file}: {unit} {number} is not a token ({piece[:40]!a}): it is not a vocabulary of BERT")
        if (before := numbers.setdefault(piece, number)) != number:
            where = f"in lines {before} and {number}"
            raise UsageError(f"{file} contains {piece!a} twice, {where}: ids would be wrong; remove the second one")


def read_settings(path: Path) -> dict[str, bool | None]:
    """Read the case and accent settings of a tokenizer_config.json, if it exists. null means unspecified, as in Google's."""
    if not path.exists():
        return {}
    try:
        settings = json.loads(read_small(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    stated = {name: settings[name] for name in SETTINGS if name in settings} if isinstance(settings, dict) else {}
    for name, value in stated.items():
        if type(value) not in (bool, type(None)):
            raise UsageError(f"{path}: {name} is {value!r}: write true or false there")
    return stated


def is_bert(text: str) -> bool:
    """Return True if a tokenizer.json tokenizes like BERT and has all tokens in its vocabulary."""
    try:
        parsed = json.loads(text)
        added = {entry["content"] for entry in parsed.get("added_tokens") or []}
        return not _other(parsed) and added <= set(parsed["model"]["vocab"])
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return False


def _other(parsed: dict[str, Any]) -> str:
    """Return how a tokenizer differs from BERT's, or an empty string."""
    for part, wanted in _BERT.items():
        settings = parsed[part] if isinstance(parsed.get(part), dict) else {}
        for key, value in wanted.items():
            if (part == "model" or settings) and settings.get(key, value) == value:
                continue
            value_found = f"{key} {settings[key]!r}" if key in settings else "nothing"
            return f"its {part} has {value_found}, BERT's {key} {value!r}"
    return ""


def parse_tokenizer(where: str | Path, text: str | None = None) -> dict[str, Any]:
    """Return the contents of a tokenizer.json, by default those of the file. Raise UsageError if they cannot be read."""
    try:
        parsed = json.loads(read_small(Path(where), MAX_TOKENIZER_BYTES).decode("utf-8") if text is None else text)
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(where, error) from error
    if not isinstance(parsed, dict) or not isinstance(parsed.get("model"), dict):
        raise UsageError(f"{where} is not a file of `tokenizers`. Pass a tokenizer.json, a vocab.txt, or their directory")
    return parsed


def read_tokenizer(file: Path) -> tuple[list[str], dict[str, bool | None]]:
    """Return the tokens, and the settings by their names in tokenizer_config.json.

    Raise UsageError if the file cannot be read or the tokenizer is not BERT's.
    """
    parsed = parse_tokenizer(file)
    if other := _other(parsed):
        raise UsageError(f"{file} cuts text in another way than BERT: {other}")
    normalizer = parsed["normalizer"]
    lowercase, strip = normalizer.get("lowercase", True), normalizer.get("strip_accents")
    if type(lowercase) is not bool or type(strip) not in (bool, type(None)):
        raise UsageError(f"{file}: lowercase and strip_accents of its normalizer must be true or false")
    return _pieces(file, parsed), {"do_lower_case": lowercase, "strip_accents": lowercase if strip is None else strip}


def _pieces(file: Path, parsed: dict[str, Any]) -> list[str]:
    """Return the tokens in order of their ids, which must be consecutive from 0."""
    vocabulary, added = parsed["model"].get("vocab"), parsed.get("added_tokens") or []
    if not isinstance(vocabulary, dict) or not all(type(i) is int for i in vocabulary.values()):
        raise UsageError(f"{file}: its model has no vocab of pieces and their ids")
    names = [entry.get("content") if isinstance(entry, dict) else None for entry in added] if isinstance(added, list) else [None]
    if missing := [name for name in names if name not in vocabulary]:
        raise UsageError(f"{file} adds the token {missing[0]!r}, which its vocabulary lacks. Use a vocab.txt that has it")
    pieces = sorted(vocabulary, key=lambda piece: (vocabulary[piece], piece))
    if [vocabulary[piece] for piece in pieces] != list(range(len(pieces))):
        raise UsageError(f"{file}: the ids of its pieces are not 0 to {len(pieces) - 1}, one each: ids would be wrong")
    _check_pieces(file, pieces, "piece")
    return pieces
