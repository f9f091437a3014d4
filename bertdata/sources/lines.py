"""Lines of a text file become paragraphs: blank lines part them, and the lines between are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["CJK", "join_lines", "paragraphs", "unify_newlines"]

# Scripts written without spaces between words: ideographs, kana, their punctuation and full-width forms (not Hangul).
CJK = "\u2e80-\u2fdf\u3000-\u312f\u31a0-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"

_IS_CJK = re.compile(f"[{CJK}]")


def unify_newlines(text: str) -> str:
    r"""Write every line end (``\r\n``, ``\r``, form feed, U+0085, U+2028, U+2029) as ``\n``.

    >>> unify_newlines("one\r\ntwo\rthree")
    'one\ntwo\nthree'
    """
    for newline in ("\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"):
        if newline in text:
            text = text.replace(newline, "\n")
    return text


def paragraphs(text: str) -> list[str]:
    r"""Split a text at its blank lines and join the lines of each paragraph.

    >>> paragraphs("One line\nand another.\n\n  \nNext.\n")
    ['One line and another.', 'Next.']
    """
    found: list[str] = []
    lines: list[str] = []
    for line in [*unify_newlines(text).split("\n"), ""]:
        if line and not line.isspace():
            lines.append(line)
        elif lines:
            found.append(join_lines(lines))
            lines = []
    return found


def join_lines(lines: Iterable[str]) -> str:
    """Join the lines of a paragraph by a space, and by nothing between two CJK characters.

    >>> join_lines(["tea and ", " cake"]), join_lines(["红楼", "梦"])
    ('tea and cake', '红楼梦')
    """
    parts: list[str] = []
    for line in map(str.strip, lines):
        if not line:
            continue
        if parts and not (_IS_CJK.match(parts[-1][-1]) and _IS_CJK.match(line[0])):
            parts.append(" ")
        parts.append(line)
    return "".join(parts)
