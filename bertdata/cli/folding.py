"""Fold long lines for a terminal or a file: between words, and by character where a text has no spaces; commands stay whole."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..io.terminal import unguarded

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Line", "print_folded"]

_WIDE, _CLOSING = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef", "，。、；：？！）》」』】”’"
# What stands on one line: a command, a word, or a character of Chinese, Japanese or Korean, with the marks that close it.
_UNIT = re.compile(rf"(?<=: )bertdata .+|\s+|(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*\s*")


class Line(NamedTuple):
    """A line to print: its indent, that of what goes on below it, and its text."""

    indent: int
    hanging: int
    text: Text


def print_folded(lines: Iterable[Line]) -> None:
    """Print lines, none wider than the terminal, or 80 columns where there is none, but for commands.

    Colours are control characters, which `guard` replaces, so this writes past it: the text of the lines must be clean.
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
    """Return where lines of a text begin, but for the first, which is `width` columns; the others are `further`.

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
