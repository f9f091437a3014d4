"""Read a vocab.txt of BERT: a token a line. Its settings, or else its letters, say whether text is lowercased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..config import read_small
from ..errors import UsageError
from .vocab import SPECIAL, Vocabulary, from_tokens, unused_names

MAX_BYTES = 1 << 28  # of a file; a tokenizer.json of a million tokens is smaller


def from_vocab_txt(file: Path, settings: dict[str, Any], defaults: dict[str, Any], options: dict[str, bool]) -> Vocabulary:
    """Return the vocabulary of a vocab.txt: by its settings, else by options, else as its class does, else as its letters are."""
    for name, value in options.items():
        if (stored := settings.setdefault(name, value)) != value:
            raise UsageError(
                f"`{name}={value}`: {file} was made with `{name}={stored}`, as tokenizer_config.json says. Omit `{name}={value}`",
                field=name,
            )
    tokens = _checked(file, lines(read_text(file)))
    cased, notes = is_cased(tokens), []
    if (lower := settings.get("lowercase", defaults.get("lowercase"))) is None:
        lower = cased is False
        why = {None: "no cased letters", True: "capital letters, so it is cased", False: "small letters only"}[cased]
        notes.append(f"text is {'' if lower else 'not '}lowercased: the vocabulary has {why} (`lowercase` overrides it)")
    elif lower and cased:
        notes.append("text is lowercased, so the vocabulary's tokens with capital letters never occur")
    if (strip := settings.get("strip_accents")) is None:
        strip = lower
        notes.append(f"accents are {'stripped' if strip else 'kept'}, as in BERT (`strip_accents` overrides it)")
    return replace(from_tokens(tokens, lower, strip), notes=tuple(notes))


def is_cased(tokens: Sequence[str]) -> bool | None:
    """Return whether a vocabulary is cased: its capitals that are a token each are at least half as many as its small letters.

    Only small letters that have a capital count, of any script. None: there are no cased letters.

    >>> is_cased(["a", "##b", "<URL>"]), is_cased(["a", "##b", "A"]), is_cased(["茶"])
    (False, True, None)
    """
    words = [token.removeprefix("##") for token in tokens if not (token[:1] in "[<" and token[-1:] in "]>" and len(token) > 2)]
    letters = {word for word in words if len(word) == 1}
    capitals = sum(c != c.lower() for c in letters)
    small = sum(c != c.upper() and len(c.upper()) == 1 for c in letters)
    if capitals or small:
        return capitals * 2 >= small
    cased = [word for word in words if word.lower() != word.upper()]  # a vocabulary without single letters
    return any(word != word.lower() for word in cased) if cased else None


def read_text(file: Path) -> str:
    try:
        return read_small(file, MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, getattr(error, "strerror", None) or error) from error


def unreadable(file: Path, why: object) -> UsageError:
    remedy = "pass a vocab.txt, a tokenizer.json, or a directory that train-vocab or AutoTokenizer's save_pretrained wrote"
    return UsageError(f"cannot read the vocabulary {file} ({why}): {remedy}")


def lines(text: str) -> list[str]:
    """Return the lines of a vocab.txt, stripped of whitespace as in google-research/bert."""
    return [line.strip(" \t\r") for line in text.rstrip(" \t\r\n").split("\n")]


def _checked(file: Path, tokens: list[str]) -> list[str]:
    """Return the tokens of a vocab.txt. Raise UsageError, with the number of the line, if it is not a BERT vocabulary."""
    if missing := [token for token in SPECIAL if token not in tokens]:
        raise UsageError(
            f"{file} lacks {', '.join(missing)}, which a vocabulary of BERT has. Use another one, or train one with train_vocab"
        )
    numbers: dict[str, int] = {}
    unused = f"To keep the ids of a trained model, replace the line by {next(unused_names(tokens))}; removing it shifts later ids"
    for number, token in enumerate(tokens, 1):
        if not token:
            raise UsageError(f"{file}: line {number} is blank. {unused}")
        if (before := numbers.setdefault(token, number)) != number:
            raise UsageError(
                f"{file}: lines {before} and {number} both contain {token!a}. {unused.replace('the line', f'line {number}')}"
            )
    return tokens
