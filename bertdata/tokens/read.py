"""Read a vocabulary of any kind: BERT's, a tokenizer.json of `tokenizers`, or a directory that `transformers` has saved.

A vocab.txt has one token per line, and the tokenizer_config.json next to it has BERT's settings for case and accents. A
tokenizer.json that cuts text like BERT has both, and any other is used as it is.

Its special tokens come from an option, from tokenizer_config.json or special_tokens_map.json in the same directory, or from the
tokens that the tokenizer adds around a text. If [CLS] and [SEP] are not named, a sequence's first and last tokens, such as
``<s>`` and ``</s>``, are used for them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel

from ..config import OBJECTIVES, read_small
from ..errors import UsageError
from ..extras import missing_package
from ..pieces import ROLES, of_tokenizer
from ..storage.files import to_path
from ..storage.model_directory import model_directory
from .engines import failures_as_exceptions
from .vocab import SPECIAL, Vocabulary

__all__ = ["missing", "read_any", "roles_of", "says_accents"]

_SETTINGS = {"lowercase": "do_lower_case", "strip_accents": "strip_accents"}  # our name: name in tokenizer_config.json
_SAVED = ("config.json", "tokenizer_config.json")  # `transformers` needs one of them
_INSTEAD = {"cls": "bos_token", "sep": "eos_token"}  # used as [CLS] and [SEP] if those are not named
_MAX_TOKENIZER_BYTES = 1 << 28  # of a tokenizer.json; one of a million tokens is smaller
_MAX_FILE_BYTES = 1 << 26  # of other files; a vocab.txt of 250,000 tokens has 3 MB
_MAX_IDS = 1 << 24
_MAX_PIECE_CHARACTERS = 1000
_BLANK = " \t\r"
_NO_PIECE = frozenset("\0\r")  # other readers treat \r as a line end


def read_any(
    path: str | Path, lowercase: bool | None = None, strip_accents: bool | None = None, special_tokens: str = ""
) -> Vocabulary:
    """Read a vocabulary: a file, a directory, or a model of the Hugging Face Hub such as ``answerdotai/ModernBERT-base``.

    Args:
        path: A vocab.txt, a tokenizer.json, their directory, or the name of a model.
        lowercase: Whether BERT's text is lowercased. By default as the files specify, or else if no token has uppercase letters.
        strip_accents: Whether accents are stripped. By default as the files specify, or else like `lowercase`, as in BERT.
        special_tokens: Special tokens of a vocabulary that is not BERT's, in the form of `roles_of`.

    Raises:
        UsageError: The files cannot be read or used, or an option contradicts them or has no effect.
    """
    path = model_directory(path)
    file = _file(path)
    config = file if file.suffix == ".json" else file.with_name("tokenizer_config.json")
    if config == file:
        known = _of_tokenizer(file, _text(file), _named(file.parent), special_tokens)
    elif not file.exists() and any((path / name).exists() for name in _SAVED):
        known = _of_tokenizer(path, *_read_by_transformers(path), special_tokens)
    else:
        known = Vocabulary(_pieces(file, _text(file)))
    options = {name: value for name, value in (("lowercase", lowercase), ("strip_accents", strip_accents)) if value is not None}
    if known.form:
        for name, value in options.items():
            raise UsageError(
                f"`{name}={value}` only applies to a bare vocab.txt, but the tokenizer in {path} sets it itself. Omit it"
            )
        return known
    if special_tokens:
        raise UsageError(
            f"`special_tokens` has no effect: {path} is a BERT vocabulary, with {', '.join(SPECIAL)}. Omit the option",
            field="special_tokens",
        )
    settings = {name: getattr(known, name) for name in _SETTINGS} if config == file else _settings(config)
    for name, value in options.items():
        if (stored := settings.setdefault(name, value)) != value:
            raise UsageError(
                f"`{name}={value}`: {file} was made with `{name}={stored}`, as {config.name} says: omit `{name}={value}`"
            )
    cased = any(piece != piece.lower() and not (piece.startswith("[") and piece.endswith("]")) for piece in known.pieces)
    lower = settings.get("lowercase", not cased)
    return known._replace(lowercase=lower, strip_accents=settings.get("strip_accents", lower))


def says_accents(path: str | Path) -> bool:
    """Return True if a vocabulary's files specify whether to strip accents."""
    file = _file(to_path(path))
    return file.suffix == ".json" or "strip_accents" in _json(file.with_name("tokenizer_config.json"))


def _file(path: Path) -> Path:
    """Return the file to read a vocabulary from: in a directory, a vocab.txt of BERT first."""
    if not path.is_dir():
        return path
    pieces, tokenizer = path / "vocab.txt", path / "tokenizer.json"
    is_first = not tokenizer.exists() or (pieces.exists() and {*SPECIAL} <= {*_lines(_text(pieces))})
    return pieces if is_first else tokenizer


def _text(file: Path) -> str:
    try:
        return read_small(file, _MAX_TOKENIZER_BYTES if file.suffix == ".json" else _MAX_FILE_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, getattr(error, "strerror", None) or error) from error


def _unreadable(file: Path, why: object) -> UsageError:
    remedy = "Pass a vocab.txt, a tokenizer.json, or a directory of train-vocab"
    return UsageError(f"cannot read the vocabulary {file} ({why}): {remedy}")


def _lines(text: str) -> list[str]:
    """Return the lines of a vocab.txt, stripped of whitespace as in google-research/bert."""
    return [line.strip(_BLANK) for line in text.rstrip(_BLANK + "\n").split("\n")]


def _pieces(file: Path, text: str) -> list[str]:
    """Return the token of each line. Raise UsageError, with the number of the line, if this is not a BERT vocabulary."""
    pieces = _lines(text)
    if missing := [token for token in SPECIAL if token not in pieces]:
        raise UsageError(
            f"{file} lacks {', '.join(missing)}, which a vocabulary of BERT has. Use another one, or train one with train_vocab"
        )
    numbers: dict[str, int] = {}
    for number, piece in enumerate(pieces, 1):
        if not piece:
            raise UsageError(f"{file}: line {number} is blank: ids would be unsure; remove it, or write [unused{number}] there")
        if len(piece) > _MAX_PIECE_CHARACTERS or not _NO_PIECE.isdisjoint(piece):
            raise UsageError(f"{file}: line {number} is not a token ({piece[:40]!a}): it is not a vocabulary of BERT")
        if (before := numbers.setdefault(piece, number)) != number:
            where = f"in lines {before} and {number}"
            raise UsageError(f"{file} contains {piece!a} twice, {where}: ids would be wrong; remove the second one")
    return pieces


def _json(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file of settings, which is empty if there is none."""
    try:
        value = json.loads(read_small(path, _MAX_FILE_BYTES).decode("utf-8")) if path.exists() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    return value if isinstance(value, dict) else {}


def _settings(path: Path) -> dict[str, bool]:
    """Read the case and accent settings of a tokenizer_config.json by our names. null means unspecified, as in Google's."""
    stored = _json(path)
    settings = {name: stored[key] for name, key in _SETTINGS.items() if stored.get(key) is not None}
    for name, value in settings.items():
        if type(value) is not bool:
            raise UsageError(f"{path}: {_SETTINGS[name]} is {value!r}: write true or false there")
    return settings


def _named(directory: Path) -> dict[str, str]:
    """Read which tokens have which role, by keys such as ``cls_token``, from the files next to a tokenizer.json."""
    settings = {**_json(directory / "special_tokens_map.json"), **_json(directory / "tokenizer_config.json")}
    tokens = {key: value.get("content") if isinstance(value, dict) else value for key, value in settings.items()}
    return {key: token for key, token in tokens.items() if key.endswith("_token") and isinstance(token, str) and token}


def roles_of(option: str) -> dict[str, str]:
    """Read the option that names special tokens.

    >>> roles_of("cls=<s>, sep=</s>")
    {'cls_token': '<s>', 'sep_token': '</s>'}
    """
    roles = {}
    for part in filter(None, map(str.strip, option.split(","))):
        role, _, token = part.partition("=")
        if role not in ROLES or not token:
            raise UsageError(
                f"`special_tokens` {part}: write ROLE=TOKEN, with commas between; the roles are {', '.join(ROLES)}",
                field="special_tokens",
                value=part,
            )
        roles[f"{role}_token"] = token
    return roles


def _of_tokenizer(where: Path, text: str, named: dict[str, str], option: str) -> Vocabulary:
    """Return the vocabulary of a tokenizer.json. Raise UsageError if it cannot be used.

    Args:
        where: Name for messages.
        text: Contents of the tokenizer.json.
        named: Special tokens by keys such as ``cls_token``.
        option: `special_tokens`. Tokens that the tokenizer lacks are added.
    """
    try:
        with failures_as_exceptions():
            tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # of no narrower class
        raise _unreadable(where, error) from error
    if (last := max(tokenizer.get_vocab().values(), default=0)) >= _MAX_IDS:
        raise UsageError(f"{where} has an id of {last:,}: ids would be unsure")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    form = json.loads(tokenizer.to_str())
    if known := _bert(where, form):
        return known
    model = form["model"]
    if model.get("dropout"):
        raise UsageError(f"{where} drops merges by chance, so ids would differ from run to run: set its model's dropout to null")
    unknown = model.get("unk_token") if model.get("unk_id") is None else model["vocab"][model["unk_id"]][0]
    around = tokenizer.post_process(Tokenizer(WordLevel({"a": 0}, "a")).encode("a"))
    ends = {key: around.tokens[i] for key, i in (("bos_token", 0), ("eos_token", -1)) if around.special_tokens_mask[i]}
    roles, named = roles_of(option), {"unk_token": unknown or "", **ends, **named}
    named |= {f"{role}_token": named[key] for role, key in _INSTEAD.items() if f"{role}_token" not in named and key in named}
    named = {key: token for key, token in {**named, **roles}.items() if key in roles or tokenizer.token_to_id(token) is not None}
    tokens = {named[key] for key in (f"{role}_token" for role in ROLES if role != "unk") if key in named}
    special = {entry["content"] for entry in form["added_tokens"] if entry["special"]}
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in sorted(tokens - special)])
    text = tokenizer.to_str()
    return Vocabulary(of_tokenizer(json.loads(text), named)[0], form=text, named=dict(sorted(named.items())))


def _bert(where: Path, form: dict[str, Any]) -> Vocabulary | None:
    """Return the vocabulary of a tokenizer that cuts text like BERT and has all tokens in its vocabulary, or None."""
    pieces = sorted(form["model"]["vocab"], key=form["model"]["vocab"].get) if form["model"]["type"] == "WordPiece" else []
    normalizer = form["normalizer"] or {}
    if normalizer.get("type") != "BertNormalizer" or not {*SPECIAL, *(entry["content"] for entry in form["added_tokens"])} <= {
        *pieces
    }:
        return None
    lower, strip = normalizer["lowercase"], normalizer["strip_accents"]
    known = Vocabulary(pieces, lower, lower if strip is None else strip)
    own = json.loads(known.tokenizer().to_str())
    own["normalizer"]["strip_accents"] = strip
    is_equal = all(own[part] == form[part] for part in ("model", "normalizer", "pre_tokenizer"))
    return known if is_equal and _pieces(where, "\n".join(pieces)) == pieces else None


def missing(vocabulary: Vocabulary, objective: str) -> str:
    """Return which special tokens a vocabulary lacks for rows, and how to add them, or an empty string.

    Two roles may share a token, but [MASK] and padding must differ from all other tokens in rows.
    """
    roles = OBJECTIVES[objective].roles
    ids = vocabulary.special._asdict()
    absent = [role for role in roles if ids[role] < 0]
    if not absent:
        alike = [role for role in roles if role != "mask" and "mask" in roles and ids[role] == ids["mask"]]
        return f"has one token for mask and {alike[0]}: name another with `special_tokens`" if alike else ""
    shown = ",".join(f"{role}=[{role.upper()}]" for role in absent)
    examples = [vocabulary.pieces[i] for i in vocabulary.special.others if vocabulary.pieces[i]][:8]
    has = f"it has {', '.join(examples)}; " if examples else ""
    return (
        f"names no token for {', '.join(absent)}: {has}name one each with `special_tokens`, {shown} for instance, which adds it"
    )


def _read_by_transformers(path: Path) -> tuple[str, dict[str, str]]:
    """Let `transformers` read a directory; return its tokenizer.json, and its special tokens by keys such as ``cls_token``.

    This is done once, in the process that begins a run, and without a network; workers get the other form.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        problem = "has no vocab.txt and no tokenizer.json, so reading it needs transformers"
        raise missing_package(f"the vocabulary {path} {problem}", "transformers", error) from None
    try:
        loaded = AutoTokenizer.from_pretrained(str(path), local_files_only=True, trust_remote_code=False, use_fast=True)
        text = loaded.backend_tokenizer.to_str()
    except Exception as error:  # of many classes, such as AttributeError of a slow tokenizer
        raise UsageError(
            f"cannot read the vocabulary {path} with `transformers`: {' '.join(str(error).split())[:300]}"
        ) from error
    return text, {key: str(token) for key, token in loaded.special_tokens_map.items() if isinstance(token, str)}
