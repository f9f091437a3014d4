"""Check consecutive rows of a shard against rules. An error names the first row that breaks one."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .directory import CheckFailed

__all__ = ["HAN", "KANA", "Rows", "SpecialPieces", "piece_scripts", "special_pieces"]

Array = npt.NDArray[Any]
HAN, KANA = 1, 2  # the numbers of two scripts; 0: none
_NAMES = {"": 0, "CJK": HAN, "HIRAGANA": KANA, "KATAKANA": KANA, "KATAKANA-HIRAGANA": KANA}


class SpecialPieces(NamedTuple):
    """The facts of a vocabulary of V tokens that the rules need: three ids, tokens never found in text, and continuation tokens.

    `never` [V] marks [PAD], [CLS], [SEP], [MASK] and ``[unusedN]``. `scripts` [V, 2] is the result of `piece_scripts`.
    """

    cls_id: int
    sep_id: int
    mask_id: int
    never: npt.NDArray[np.bool_]
    continues: npt.NDArray[np.bool_]
    scripts: npt.NDArray[Any]
    tells: bool = True  # whether `continues` is right for every token; with Ġ and ▁ it is unknown for the first token of a text


def special_pieces(pieces: list[str]) -> SpecialPieces:
    """Find the ids in a BERT vocabulary."""
    named = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
    never = np.array([piece in named or (piece.startswith("[unused") and piece.endswith("]")) for piece in pieces])
    # An independent rule instead of `pieces.continues_word`: a check that shares a bug with the checked code finds nothing.
    continues = np.array([piece.startswith("##") and len(piece) > 2 for piece in pieces])
    scripts = piece_scripts([piece[2:] if joined else piece for piece, joined in zip(pieces, continues, strict=True)])
    return SpecialPieces(pieces.index("[CLS]"), pieces.index("[SEP]"), pieces.index("[MASK]"), never, continues, scripts)


@dataclass
class Rows:
    """Consecutive rows of a shard: `ids` and `segments` of their tokens [T], row ends [N + 1], and the number of the first row.

    Segments of packed rows are checked like rows. `rows` [N + 1] then has the end of each packed row, counted in segments.
    """

    ids: Array
    segments: Array
    ends: Array
    first: int
    rows: Array | None = None

    @property
    def starts(self) -> Array:
        """Start of each row [N]."""
        return self.ends[:-1]

    @property
    def lengths(self) -> Array:
        """Number of tokens of each row [N]."""
        return np.diff(self.ends)

    def require(self, holds: Array, what: str) -> None:
        """Raise CheckFailed with the number of the first row [N] that breaks a rule."""
        if not holds.all():
            raise CheckFailed(f"row {self._number(int(np.argmin(holds)))} {what}")

    def require_tokens(self, holds: Array, what: str) -> None:
        """Raise CheckFailed for the first token [T] that breaks a rule."""
        if not holds.all():
            at = int(np.argmin(holds))
            row = int(np.searchsorted(self.ends, at, "right")) - 1
            begin = self.ends[row] if self.rows is None else self.ends[self.rows[self._number(row) - self.first]]
            raise CheckFailed(f"row {self._number(row)} {what} (token {at - int(begin)})")

    def _number(self, at: int) -> int:
        """Return the number of the row at an index, or of the row that contains this segment."""
        return self.first + (at if self.rows is None else int(np.searchsorted(self.rows, at, "right")) - 1)


def piece_scripts(texts: Sequence[str]) -> npt.NDArray[Any]:
    """Return, per token, its script number (0: no script) and its traditional minus simplified characters [V, 2]."""
    numbers = dict(_NAMES)
    found = np.zeros((len(texts), 2), np.int64)
    for index, text in enumerate(texts):
        if not (len(text) > 2 and text[0] + text[-1] in ("[]", "<>")):  # special tokens such as [UNK]
            name = next((script for script in map(_script, text) if script), "")
            found[index] = numbers.setdefault(name, len(numbers)), sum(map(_variant, text))
    return found


@cache
def _script(character: str) -> str:
    if not character.isalpha():
        return ""
    return unicodedata.name(character, "").partition(" ")[0]


@cache
def _variant(character: str) -> int:
    """Return 1 for a character that is in Big5 but not in GB 2312, and -1 for the reverse."""
    if character < "\u4e00" or character > "\u9fff":
        return 0
    # GB 2312 has the simplified characters, Big5 the traditional ones. A character in only one of
    # them shows the script, and most characters are in both. This rule is independent of the tables
    # that built the rows.
    simplified, traditional = (bool(character.encode(codec, "ignore")) for codec in ("gb2312", "big5"))
    return traditional - simplified
