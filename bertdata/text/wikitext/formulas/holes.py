"""Drop sentences with a hole, which replaces a formula that cannot be written.

>>> import re
>>> text = f"Let a be a point. Then {HOLE} holds. So b is one."
>>> drop_sentences(text, lambda paragraph: re.findall(r"[^.]+[.]", paragraph))
('Let a be a point. So b is one.', 1)
"""

from __future__ import annotations

from collections.abc import Callable

from ..marks import HOLE

__all__ = ["drop_sentences"]

_STAND_IN = "Formula"  # replaces the hole during sentence splitting, because a formula acts as a noun


def drop_sentences(paragraph: str, split: Callable[[str], list[str]]) -> tuple[str, int]:
    """Return a paragraph without its sentences that have holes, and the number of those sentences.

    ``split`` cuts a paragraph into sentences and changes only whitespace, so that counting characters finds the sentence ends.
    """
    text = paragraph.replace(HOLE, _STAND_IN)
    hole = paragraph.find(HOLE)
    moved = len(_STAND_IN) - len(HOLE)  # extra characters of the text per hole
    kept: list[str] = []
    dropped = start = holes = 0
    for sentence in split(text):
        end = _end(text, start, sentence)
        # `hole` is an offset in the paragraph, `start` and `end` are offsets in the text with words for holes: each hole
        # before this one moved it by `moved`.
        if start <= hole + holes * moved < end:
            dropped += 1
        else:
            kept.append(text[start:end])
        while hole >= 0 and hole + holes * moved < end:
            hole = paragraph.find(HOLE, hole + 1)
            holes += 1
        start = end
    return "".join(kept).strip(), dropped


def _end(text: str, start: int, sentence: str) -> int:
    """Return the end of a sentence that begins at ``start``, or after whitespace there."""
    position = text.find(sentence, start, start + len(sentence) + 1)
    if position == start or (position > start and text[start].isspace()):
        return position + len(sentence)
    size, end = len("".join(sentence.split())), start
    while size > 0 and end < len(text):
        size -= not text[end].isspace()
        end += 1
    return end
