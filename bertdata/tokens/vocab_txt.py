"""Read a vocab.txt of BERT, one piece a line, and what the tokenizer_config.json beside it says of case and accents."""

from __future__ import annotations

import json
from pathlib import Path

from ..config import read_small
from ..errors import UsageError
from ..pieces import OF_BERT

__all__ = ["SETTINGS", "check_pieces", "read_pieces", "read_settings", "unreadable"]

SETTINGS = {"do_lower_case": "lowercase", "strip_accents": "strip_accents"}  # of tokenizer_config.json: our names
_MOST = 64 << 20  # bytes of a vocab.txt; that of 250,000 pieces has 3 MB
_LONGEST_PIECE = 1000  # characters
_BLANK = " \t\r"
_NO_PIECE = frozenset("\0\r")  # at the second one other readers end a line


def unreadable(file: Path, error: BaseException) -> UsageError:
    """Return the error of a vocabulary's file that cannot be read."""
    why = getattr(error, "strerror", None) or error
    remedy = "give a vocab.txt, a tokenizer.json, or a directory of train-vocab"
    return UsageError(f"cannot read the vocabulary {file} ({why}): {remedy}")


def read_pieces(file: Path) -> list[str]:
    """Return the piece of each line, without white space around it, as BERT's own reader takes it."""
    try:
        text = read_small(file, _MOST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error) from error
    pieces = [line.strip(_BLANK) for line in text.rstrip(_BLANK + "\n").split("\n")]
    check_pieces(file, pieces, "line")
    return pieces


def check_pieces(file: Path, pieces: list[str], unit: str) -> None:
    """Raise UsageError, with the number of a line or piece, for what is no vocabulary of BERT."""
    if missing := [token for token in OF_BERT.values() if token not in pieces]:
        raise UsageError(
            f"{file} lacks {', '.join(missing)}, which a vocabulary of BERT has: give another, or make one with train_vocab"
        )
    first = unit == "line"  # lines are counted from 1, pieces by their ids
    numbers: dict[str, int] = {}
    for number, piece in enumerate(pieces, int(first)):
        if not piece:
            raise UsageError(f"{file}: {unit} {number} is blank: ids would be unsure; remove it, or write [unused{number}] there")
        if len(piece) > _LONGEST_PIECE or not _NO_PIECE.isdisjoint(piece):
            raise UsageError(f"{file}: {unit} {number} is no piece of a word ({piece[:40]!a}): it is not a vocabulary of BERT")
        if (before := numbers.setdefault(piece, number)) != number:
            where = f"in lines {before} and {number}"
            raise UsageError(f"{file} holds {piece!a} twice, {where}: ids would be wrong; remove the second one")


def read_settings(path: Path) -> dict[str, bool | None]:
    """Read what a tokenizer_config.json says of case and accents, where there is one; null leaves it open, as in Google's."""
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
