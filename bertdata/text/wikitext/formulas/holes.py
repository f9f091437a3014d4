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

    ``split`` cuts a paragraph into sentences and loses nothing but whitespace, so that characters tell where each ends.
    """
    text = paragraph.replace(HOLE, _WORD)
    hole = paragraph.find(HOLE)
    moved = len(_WORD) - len(HOLE)  # for each hole, the text is so much longer than the paragraph
    kept: list[str] = []
    dropped = start = holes = 0
    for sentence in split(text):
        end = _end(text, start, sentence)
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
    """Return where a sentence ends that begins at ``start``, or after whitespace there."""
    position = text.find(sentence, start, start + len(sentence) + 1)
    if position == start or (position > start and text[start].isspace()):
        return position + len(sentence)
    size, end = len("".join(sentence.split())), start
    while size > 0 and end < len(text):
        size -= not text[end].isspace()
        end += 1
    return end
