"""Check the rules for a vocabulary: special tokens exist, no token is repeated, and its three files agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from ..config import read_small
from ..dataset.manifest_rules import VOCABULARIES
from ..dataset.manifest_types import PairsManifest, VocabManifest
from ..errors import UsageError
from ..tokens.read import read_any
from ..tokens.vocab import SPECIAL, Vocabulary, special_tokens
from . import tokenizer
from .directory import CheckFailed
from .row_checks import SpecialPieces, special_pieces

__all__ = ["check"]

PIECES, TOKENIZER, SETTINGS = VOCABULARIES[0]
_MAX_FILE_BYTES = 1 << 28  # bytes of a tokenizer.json; one with a million tokens is smaller


def check(
    directory: Path, intact: set[str], contents: VocabManifest | PairsManifest
) -> tuple[SpecialPieces | None, dict[str, str]]:
    """Check the vocabulary files in `intact`, whose digests match.

    Return the facts that rows need, if it can be read, and problems by file.
    """
    if not any(file.name == PIECES for file in contents.files):
        try:
            return tokenizer.check(directory, contents, (TOKENIZER, SETTINGS)) if {TOKENIZER, SETTINGS} <= intact else None, {}
        except CheckFailed as broken:
            return None, {TOKENIZER: str(broken)}
    known, problems = _check_bert(directory, intact, contents)
    return special_pieces(known.pieces) if known else None, problems


def _check_bert(
    directory: Path, intact: set[str], contents: VocabManifest | PairsManifest
) -> tuple[Vocabulary | None, dict[str, str]]:
    """Check the three files of a BERT vocabulary."""
    config = contents.settings if isinstance(contents, VocabManifest) else None
    known, name = None, SETTINGS
    try:
        if SETTINGS in intact:
            _check_settings(directory / name, *((config.lowercase, config.strip_accents) if config else (None, None)))
        name = PIECES
        if {SETTINGS, PIECES} <= intact:
            known = _read_pieces(directory, contents.pieces)
            if config:
                of = config.pad_to_multiple_of or 1
                _check_layout(known, config.layout, -(-config.size // of) * of)
        name = TOKENIZER
        if known and TOKENIZER in intact:
            _check_tokenizer(directory / name, known)
    except CheckFailed as broken:
        return known, {name: str(broken)}
    return known, {}


def _read_pieces(directory: Path, count: int) -> Vocabulary:
    """Read vocab.txt, which must be UTF-8 with one token per line, `count` in total. Raise CheckFailed otherwise."""
    path = directory / PIECES
    try:
        vocabulary = read_any(path)
        text = path.read_bytes().decode("utf-8")
    except (UsageError, UnicodeDecodeError) as error:
        raise CheckFailed(f"is not a vocabulary: {error}") from error
    if text != "".join(f"{piece}\n" for piece in vocabulary.pieces):
        raise CheckFailed("is not as it is written: UTF-8 without a mark, and a line feed after each piece")
    if len(vocabulary.pieces) != count:
        raise CheckFailed(f"has {len(vocabulary.pieces):,} pieces, but {count} in the manifest")
    return vocabulary


def _check_layout(vocabulary: Vocabulary, layout: str, most: int) -> None:
    """Raise CheckFailed unless special tokens have the ids of the layout, and the vocabulary is not too large."""
    wanted = special_tokens(layout)
    if vocabulary.pieces[: len(wanted)] != wanted:
        first = next(i for i, piece in enumerate(wanted) if vocabulary.pieces[i : i + 1] != [piece])
        raise CheckFailed(f"has not {wanted[first]} as piece {first}, as the layout {layout} has")
    if len(vocabulary.pieces) > most:
        raise CheckFailed(f"has {len(vocabulary.pieces):,} pieces, but {most:,} were asked for")


def _check_settings(path: Path, lowercase: bool | None, strip_accents: bool | None) -> None:
    """Raise CheckFailed unless tokenizer_config.json has these settings. None is not compared."""
    settings = _json(path)
    for name, value in (("do_lower_case", lowercase), ("strip_accents", strip_accents)):
        if type(settings.get(name)) is not bool or settings[name] != (settings[name] if value is None else value):
            raise CheckFailed(f"has {name} {settings.get(name)!r}, which is not what the vocabulary was made with")
    for token in SPECIAL:
        if settings.get(f"{token[1:-1].lower()}_token") != token:
            raise CheckFailed(f"does not name {token}")


def _check_tokenizer(path: Path, vocabulary: Vocabulary) -> None:
    """Raise CheckFailed unless tokenizer.json has the tokens and ids of vocab.txt, and tokenizes like BERT."""
    _json(path)
    ours = vocabulary.tokenizer()
    try:  # both are written by the installed `tokenizers`, as another release may write other fields
        theirs = Tokenizer.from_str(read_small(path, _MAX_FILE_BYTES).decode("utf-8"))
    except Exception as error:  # `tokenizers` has no narrower class
        raise CheckFailed(f"is not a tokenizer: {' '.join(str(error).split())}") from error
    if theirs.get_vocab() != ours.get_vocab():
        raise CheckFailed("has other pieces or ids than vocab.txt")
    if theirs.to_str() != ours.to_str():
        raise CheckFailed("differs from the vocabulary's settings")


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_small(path, _MAX_FILE_BYTES).decode("utf-8"))
    except (UsageError, ValueError, RecursionError) as error:
        raise CheckFailed(f"is not valid JSON: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict):
        raise CheckFailed("is not a JSON object")
    return value
