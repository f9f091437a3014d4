"""Wrap long lines between words, or between characters in text without spaces. Commands are never wrapped."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..storage.terminal import unguarded

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Line", "print_folded"]

_WIDE, _CLOSING = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef", "，。、；：？！）》」』】”’"
# A unit that is not wrapped: a command, a word, or a CJK character with its closing punctuation.
_UNIT = re.compile(rf"(?<=: )bertdata .+|\s+|(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*\s*")


class Line(NamedTuple):
    """A line to print: its indent and that of its continuation lines, both in columns, and its text."""

    indent: int
    hanging: int
    text: Text


def print_folded(lines: Iterable[Line]) -> None:
    """Print lines, wrapped to the width of the terminal, or to 80 columns without one.

    This bypasses `guard`, which would replace the control characters of colors. The text must be clean already.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(file=unguarded(sys.stdout), highlight=False, markup=False, emoji=False)
    for line in lines:
        indent = line.indent
        for part in line.text.divide(_folds(line.text.plain, console.width - line.indent, console.width - line.hanging)):
            part.rstrip()
            console.print(Text(" " * indent) + part, soft_wrap=True)
            indent = line.hanging


def _folds(text: str, width: int, further: int) -> list[int]:
    """Return the start of each line after the first. The first line has `width` columns, later lines have `further`.

    >>> _folds("tea 茶树茶树 cups", 6, 4), _folds("see: bertdata inspect corpus --row 1", 9, 9), _folds("abcdef", 4, 2)
    ([5, 7, 9], [5], [4])
    """
    from rich.cells import cell_len

    starts: list[int] = []
    used = 0
    for unit in _UNIT.finditer(text):
        size, command = cell_len(unit[0].rstrip()), unit[0].startswith("bertdata ")
        if used and used + size > width and (command or size <= further):
            starts.append(unit.start())
            used, width = 0, further
        if command or used + size <= width:
            used += cell_len(unit[0])
            continue
        for at, character in enumerate(unit[0]):
            if used and used + cell_len(character) > width and not character.isspace():
                starts.append(unit.start() + at)
                used, width = 0, further
            used += cell_len(character)
    return starts
