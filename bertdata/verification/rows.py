"""Check rows of tokens, some of a shard end to end, against a law: the error for one that it does not hold for names the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .files import CheckFailed
from .piece_scripts import piece_scripts

__all__ = ["Rows", "SpecialPieces", "special_pieces"]

Array = npt.NDArray[Any]


class SpecialPieces(NamedTuple):
    """What the laws need of a vocabulary of V pieces: three ids, which pieces never stand in a text, and which continue a word.

    `never` [V] has [PAD], [CLS], [SEP], [MASK] and ``[unusedN]``.  `scripts` [V, 2] are those of `piece_scripts`.
    """

    cls_id: int
    sep_id: int
    mask_id: int
    never: npt.NDArray[np.bool_]
    continues: npt.NDArray[np.bool_]
    scripts: npt.NDArray[Any]
    tells: bool = True  # whether `continues` is right for every token: with Ġ and ▁ it is not known of a text's first one


def special_pieces(pieces: list[str]) -> SpecialPieces:
    """Find the ids in a vocabulary of BERT."""
    named = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
    never = np.array([piece in named or (piece.startswith("[unused") and piece.endswith("]")) for piece in pieces])
    # By a rule of its own, and not by `pieces.continues_word`: a check that shares a fault with what it checks finds nothing.
    continues = np.array([piece.startswith("##") and len(piece) > 2 for piece in pieces])
    scripts = piece_scripts([piece[2:] if joined else piece for piece, joined in zip(pieces, continues, strict=True)])
    return SpecialPieces(pieces.index("[CLS]"), pieces.index("[SEP]"), pieces.index("[MASK]"), never, continues, scripts)


@dataclass
class Rows:
    """Some rows of a shard: `ids` and `segments` of their tokens [T], where each row ends [N + 1], the number of the first.

    The parts of packed rows are checked as rows are; `rows` [N + 1] then says where the rows that hold them end in the parts.
    """

    ids: Array
    segments: Array
    ends: Array
    first: int
    rows: Array | None = None

    @property
    def starts(self) -> Array:
        """Where each row begins [N]."""
        return self.ends[:-1]

    @property
    def lengths(self) -> Array:
        """The rows' tokens [N]."""
        return np.diff(self.ends)

    def require(self, holds: Array, what: str) -> None:
        """Raise CheckFailed, with the number of the first row [N] for which a law does not hold."""
        if not holds.all():
            raise CheckFailed(f"row {self._number(int(np.argmin(holds)))} {what}")

    def require_tokens(self, holds: Array, what: str) -> None:
        """The same of tokens [T]."""
        if not holds.all():
            at = int(np.argmin(holds))
            row = int(np.searchsorted(self.ends, at, "right")) - 1
            begin = self.ends[row] if self.rows is None else self.ends[self.rows[self._number(row) - self.first]]
            raise CheckFailed(f"row {self._number(row)} {what} (token {at - int(begin)})")

    def _number(self, at: int) -> int:
        """Return the number of the row that is, or holds, the one at this index."""
        return self.first + (at if self.rows is None else int(np.searchsorted(self.rows, at, "right")) - 1)
