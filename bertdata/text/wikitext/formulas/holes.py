"""A sentence with a hole, where a formula stood that is not written, goes whole.

>>> import re
>>> text = f"Let a be a point. Then {HOLE} holds. So b is one."
>>> drop_sentences(text, lambda paragraph: re.findall(r"[^.]+[.]", paragraph))
('Let a be a point. So b is one.', 1)
"""

from __future__ import annotations

from collections.abc import Callable

from ..marks import HOLE

__all__ = ["drop_sentences"]

_WORD = "Formula"  # is in the hole's place while a paragraph is cut: to who cuts it a noun, as the formula is


def drop_sentences(paragraph: str, split: Callable[[str], list[str]]) -> tuple[str, int]:
    """Return a paragraph without its sentences that have holes, and how many those were.

    ``split`` cuts a paragraph into sentences and loses nothing but white space, so that characters tell where each ends.
    """
    kept: list[str] = []
    dropped = start = 0
    for sentence in split(paragraph.replace(HOLE, _WORD)):
        size, end, holed = len("".join(sentence.split())), start, False
        while size > 0 and end < len(paragraph):
            char = paragraph[end]
            holed = holed or char == HOLE
            size -= len(_WORD) if char == HOLE else not char.isspace()
            end += 1
        if holed:
            dropped += 1
        else:
            kept.append(paragraph[start:end])
        start = end
    return "".join(kept).strip(), dropped
