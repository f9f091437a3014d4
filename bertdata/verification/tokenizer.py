"""Check the rules for a vocabulary other than BERT's: its two files agree with each other and with the manifest.

The rules are implemented here a second time, differently from `pieces`: a check that shares a bug with the checked code finds
nothing.
"""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from ..config import VocabConfig, read_small
from ..dataset.manifest_types import PairsManifest, VocabManifest
from ..pieces import bare
from .directory import CheckFailed
from .row_checks import SpecialPieces, piece_scripts

__all__ = ["check"]

_MAX_FILE_BYTES = 1 << 28
_ROLES = ("cls", "sep", "mask", "pad", "unk")
_HIDDEN = [*range(33), *range(127, 161), 173]  # bytes that byte-level vocabularies write as characters from U+0100 on
# UTF-8 that starts with whitespace, or with a character of Thai, Lao, Tibetan, Burmese, Khmer, Chinese or Japanese.
_ALONE = re.compile(
    rb"[\t-\r ]|\xe0[\xb8-\xbf]|\xe1[\x80\x81\x9e\x9f]|\xe1\x82[\x80-\x9f]|\xe2[\xba-\xbf]|[\xe3-\xe9]"
    rb"|\xef[\xa4-\xab\xbc-\xbe]|\xef\xbf[\x80-\xaf]|\xf0[\xa0-\xbf]"
)
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def check(directory: Path, contents: VocabManifest | PairsManifest, names: tuple[str, str]) -> SpecialPieces:
    """Return the facts that rows need of a vocabulary. Raise CheckFailed, starting with the file's name, if it breaks a rule."""
    form_name, settings_name = names
    try:
        settings = json.loads(read_small(directory / settings_name, _MAX_FILE_BYTES).decode("utf-8"))
        text = read_small(directory / form_name, _MAX_FILE_BYTES).decode("utf-8")
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # `tokenizers` has no narrower class
        raise CheckFailed(f"is not a tokenizer: {' '.join(str(error).split())}") from error
    pieces = {i: piece for piece, i in tokenizer.get_vocab(with_added_tokens=True).items()}
    size = 1 + max(pieces, default=-1)
    if size != contents.pieces:
        raise CheckFailed(f"has {size:,} ids, but {contents.pieces} in the manifest")
    if not isinstance(settings, dict):
        raise CheckFailed("has a settings file that is not a JSON object")
    roles = {role: tokenizer.token_to_id(str(settings.get(f"{role}_token"))) for role in _ROLES if settings.get(f"{role}_token")}
    if absent := sorted(role for role, i in roles.items() if i is None):
        raise CheckFailed(f"has no token {settings[f'{absent[0]}_token']!r}, which its settings name for {absent[0]}")
    if isinstance(contents, VocabManifest):
        _check_trained(pieces, roles, contents.settings)
    elif contents.special_tokens != {role: settings[f"{role}_token"] for role in roles}:
        raise CheckFailed("has settings that name other special tokens than the manifest")
    added = tokenizer.get_added_tokens_decoder()
    text_only = {roles.get("unk", -1)} - {roles.get(role) for role in _ROLES if role != "unk"}
    special = {i for i, token in added.items() if token.special}.union(roles.values()) - text_only
    never = np.array([i in special or i not in pieces for i in range(size)])
    mark = (contents.word_mark or "") if isinstance(contents, PairsManifest) else ""
    continues_word = np.array([_continues_word(pieces.get(i, ""), mark) for i in range(size)])
    cls_id, sep_id, mask_id = (-1 if (i := roles.get(role)) is None else i for role in _ROLES[:3])
    scripts = piece_scripts([bare(pieces.get(i, ""), mark) for i in range(size)])
    return SpecialPieces(cls_id, sep_id, mask_id, never, continues_word, scripts, mark not in ("Ġ", "▁"))


def _check_trained(pieces: dict[int, str], roles: dict[str, int | None], config: VocabConfig) -> None:
    """Raise CheckFailed unless special tokens come first, and the vocabulary has at most the requested size."""
    wanted = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
    if any(roles.get(role) != i for role, i in wanted.items()):
        raise CheckFailed("has not its special tokens as its first five")
    of = config.pad_to_multiple_of or 1
    if len(pieces) > -(-config.size // of) * of or len(pieces) % of:
        raise CheckFailed(f"has {len(pieces):,} pieces, but {config.size:,} were asked for, in multiples of {of}")
    if absent := sorted(set(config.extra_tokens) - set(pieces.values())):
        raise CheckFailed(f"has no token {absent[0]!r}, which was asked for")


def _continues_word(piece: str, mark: str) -> bool:
    if mark not in ("Ġ", "▁"):
        return bool(mark) and piece.startswith(mark) and len(piece) > len(mark)
    if mark == "Ġ" and all(0x20 < ord(c) < 0x144 and (ord(c) > 255 or ord(c) not in _HIDDEN) for c in piece):
        data = bytes(_HIDDEN[ord(c) - 256] if ord(c) > 255 else ord(c) for c in piece)
    elif _BYTE.fullmatch(piece):
        data = bytes.fromhex(piece[3:5])
    else:
        data = piece.replace("▁", " ").encode("utf-8", "replace")
    first = data[:4].decode("utf-8", "ignore")[:1]
    is_mark = bool(first) and data.startswith(first.encode()) and unicodedata.category(first).startswith("M")
    return bool(data) and (is_mark or not _ALONE.match(data)) if data else True
