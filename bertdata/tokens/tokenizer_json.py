"""Read a tokenizer.json of `tokenizers` that cuts text as BERT does: its pieces by id, and how it normalizes text.

train-vocab writes one, and `transformers` from 5 on saves nothing else of a BERT tokenizer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..config import read_small
from ..errors import UsageError
from .vocab_txt import unreadable

__all__ = ["is_bert", "read_tokenizer"]

_MOST = 1 << 28  # bytes of a tokenizer.json: that of a million pieces has less
_BERT: dict[str, dict[str, Any]] = {  # part -> the values that it must have; what a file does not name has this value
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}


def is_bert(text: str) -> bool:
    """Tell whether a tokenizer.json cuts text as BERT does, and has its pieces in one vocabulary."""
    try:
        parsed = json.loads(text)
        added = {entry["content"] for entry in parsed.get("added_tokens") or []}
        return not _other(parsed) and added <= set(parsed["model"]["vocab"])
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return False


def _other(parsed: dict[str, Any]) -> str:
    """Say in what a tokenizer differs from BERT's; nothing where it does not."""
    for part, wanted in _BERT.items():
        settings = parsed[part] if isinstance(parsed.get(part), dict) else {}
        for key, value in wanted.items():
            if (part == "model" or settings) and settings.get(key, value) == value:
                continue
            value_found = f"{key} {settings[key]!r}" if key in settings else "nothing"
            return f"its {part} has {value_found}, BERT's {key} {value!r}"
    return ""


def read_tokenizer(file: Path) -> tuple[list[str], bool, bool]:
    """Return the pieces, and whether text is made lower case and loses its accents.

    Raise UsageError for a file that cannot be read, and for a tokenizer that cuts text in another way than BERT's.
    """
    try:
        parsed = json.loads(read_small(file, _MOST).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(file, error) from error
    if not isinstance(parsed, dict) or not isinstance(parsed.get("model"), dict):
        raise UsageError(f"{file} is no tokenizer of `tokenizers`: give its tokenizer.json, a vocab.txt, or their directory")
    if other := _other(parsed):
        raise UsageError(f"{file} cuts text in another way than BERT: {other}")
    normalizer = parsed["normalizer"]
    lowercase, strip = normalizer.get("lowercase", True), normalizer.get("strip_accents")
    if type(lowercase) is not bool or type(strip) not in (bool, type(None)):
        raise UsageError(f"{file}: lowercase and strip_accents of its normalizer must be true or false")
    return _pieces(file, parsed), lowercase, lowercase if strip is None else strip


def _pieces(file: Path, parsed: dict[str, Any]) -> list[str]:
    """Return the pieces in order of their ids, which are 0 and up without a gap."""
    vocabulary, added = parsed["model"].get("vocab"), parsed.get("added_tokens") or []
    if not isinstance(vocabulary, dict) or not all(type(i) is int for i in vocabulary.values()):
        raise UsageError(f"{file}: its model has no vocab of pieces and their ids")
    names = [entry.get("content") if isinstance(entry, dict) else None for entry in added] if isinstance(added, list) else [None]
    if strange := [name for name in names if name not in vocabulary]:
        raise UsageError(f"{file} adds the token {strange[0]!r}, which its vocabulary lacks: give a vocab.txt that has it")
    pieces = sorted(vocabulary, key=lambda piece: (vocabulary[piece], piece))
    if [vocabulary[piece] for piece in pieces] != list(range(len(pieces))):
        raise UsageError(f"{file}: the ids of its pieces are not 0 to {len(pieces) - 1}, one each: ids would be wrong")
    return pieces
