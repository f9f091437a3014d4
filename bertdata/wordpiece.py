"""Rules of WordPiece and of labels that several stages follow: each stands here, once."""

from __future__ import annotations

__all__ = ["IGNORED", "continues_word"]

IGNORED = -100  # the label of a position that is not predicted: `ignore_index` of torch's cross_entropy


def continues_word(piece: str) -> bool:
    """Tell whether a piece continues a word; ``##`` alone is a word.

    >>> continues_word("##ing"), continues_word("ing"), continues_word("##")
    (True, False, False)
    """
    return piece.startswith("##") and len(piece) > 2
