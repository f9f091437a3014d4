"""Rows of links that lead to other pages are no prose: months of a year, provinces of a country.

>>> drop_rows("[[May]] | '''June''' | [[July|7]]\\nFrom [[May]] – [[July]]")
'\\nFrom [[May]] – [[July]]'
"""

import re

__all__ = ["drop_rows"]

_JOINT = re.compile(
    r"\](?=\])\](?:''+)?(?:(?:[ \u00a0]|&nbsp;)?[|·•]|[ \u00a0][-–—][ \u00a0])"
)  # begins with a plain character: fast
_ITEM = re.compile(r"\[\[[^\[\]\n]*\]\]|'''[^'\n]{1,100}'''")
_UNSEEN = re.compile(r"</?[a-z][^<>]*>|&nbsp;", re.IGNORECASE)
_BETWEEN = frozenset(" \t\u00a0|·•-–—←→◄►«»<>'.\x1f\x1e")
_FEWEST = 3  # items that make a row


def drop_rows(text: str) -> str:
    """Return ``text`` without the lines that hold links, dots, bars or dashes between them, and nothing else."""
    parts: list[str] = []
    done = seen = 0
    for joint in _JOINT.finditer(text):
        if joint.start() < seen:
            continue
        start = text.rfind("\n", 0, joint.start()) + 1
        seen = text.find("\n", joint.end())
        seen = len(text) if seen < 0 else seen
        if _is_row(text[start:seen]):
            parts.append(text[done:start])
            done = seen
    return "".join(parts) + text[done:] if parts else text


def _is_row(line: str) -> bool:
    rest, items = _ITEM.subn("", line)
    return items >= _FEWEST and _BETWEEN.issuperset(_UNSEEN.sub("", rest))
