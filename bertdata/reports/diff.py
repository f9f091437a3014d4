"""Find the removed and inserted parts of a text, so that a page or a terminal can mark them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import Match, SequenceMatcher
from typing import NamedTuple

__all__ = ["Span", "diff"]

_TOKEN = re.compile(r"\w+|.", re.DOTALL)  # the unit of comparison if too many characters differ
_MAX_COMPARED = 600  # differing characters, or words and marks; longer differences are shown as one replacement
# A match between two changes: enough letters not to be a coincidence, or one Chinese, Japanese or Korean character.
_KEPT = re.compile("[^\\W_]{3}|[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_MIN_KEPT = 4  # if less than 1/4 of the shorter part is kept, the difference is shown as one replacement


class Span(NamedTuple):
    """A part of a text: ``kind`` is "del" if it was removed, "ins" if it was inserted, "" if it was kept."""

    kind: str
    text: str


def diff(before: str, after: str) -> list[Span]:
    """Return the parts of two texts in order. Kept parts are listed once.

    >>> [(span.kind, span.text) for span in diff("tea<ref>a</ref>. [[x|Cup]]s", "tea. Cups")]
    [('', 'tea'), ('del', '<ref>a</ref>'), ('', '. '), ('del', '[[x|'), ('', 'Cup'), ('del', ']]'), ('', 's')]
    """
    # Most changes are in the middle of a line: remove the common beginning and end first, because
    # the comparison of the rest takes quadratic time. Compare characters if few differ, else words.
    for cut in (list, _TOKEN.findall):
        old, new = cut(before), cut(after)
        first = _common(old, new)
        last = _common(old[first:][::-1], new[first:][::-1])
        left, put = old[first : len(old) - last], new[first : len(new) - last]
        if max(len(left), len(put)) <= _MAX_COMPARED or not left or not put:
            break
    head, tail = "".join(old[:first]), "".join(old[len(old) - last :])
    return [span for span in (Span("", head), *_compared(left, put), Span("", tail)) if span.text]


def _common(old: list[str], new: list[str]) -> int:
    """Return the length of the common prefix of two lists."""
    pairs = zip(old, new, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(old), len(new)))


def _compared(old: list[str], new: list[str]) -> Iterator[Span]:
    """Yield the parts of two lists whose first and last tokens differ."""
    blocks: list[Match] = []
    if max(len(old), len(new)) <= _MAX_COMPARED:
        blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    # difflib also matches single letters that are equal by chance, and a replaced word becomes a
    # mosaic of kept and changed letters. Keep a match only if it means something.
    kept = [each for at, each in enumerate(blocks[:-1]) if _is_kept(blocks, at, old, new)]
    length = min(len("".join(old)), len("".join(new)))
    if _MIN_KEPT * sum(len("".join(old[each.a : each.a + each.size])) for each in kept) < length:
        kept = []
    at, to = 0, 0
    for start, begin, size in [*kept, (len(old), len(new), 0)]:
        yield Span("del", "".join(old[at:start]))
        yield Span("ins", "".join(new[to:begin]))
        yield Span("", "".join(old[start : start + size]))
        at, to = start + size, begin + size


def _is_kept(blocks: list[Match], at: int, old: list[str], new: list[str]) -> bool:
    """Return True if equal tokens are not a coincidence: enough letters, or complete words and marks between two removals."""
    (start, begin, size), following = blocks[at], blocks[at + 1]
    if _KEPT.search("".join(old[start : start + size])):
        return True
    before = blocks[at - 1].b + blocks[at - 1].size if at else 0
    return (
        before == begin
        and begin + size == following.b
        and not any(_within_word(tokens, place) for tokens, of in ((old, start), (new, begin)) for place in (of, of + size))
    )


def _within_word(tokens: list[str], at: int) -> bool:
    """Return True if both neighbours of a place are letters or digits."""
    return 0 < at < len(tokens) and tokens[at - 1].isalnum() and tokens[at].isalnum()
