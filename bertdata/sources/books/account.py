"""Count the characters of a book's text: those that are read, those that are kept, and those that each step leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from .blocks import Block

__all__ = ["KEPT", "READ", "Account", "size"]

READ, KEPT = "characters", "kept"  # beside the names of what is left out


def size(text: str) -> int:
    """Count the characters of a text without whitespace, which wrapping and unwrapping change.

    >>> size(" The tea\\n is hot.")
    12
    """
    return len("".join(text.split()))


class _Sizes(dict[str, int]):
    """The sizes of lines, which most steps hand on as they are, each counted once."""

    def __missing__(self, line: str) -> int:
        count = self[line] = size(line)
        return count


class Account:
    """Follow the text of one book from step to step, and add to `counts`: a step left out what it was given and did not give."""

    def __init__(self, counts: Counter[str] | None, left: int) -> None:
        self.counts = Counter() if counts is None else counts
        self.counts[READ] += left
        self._left = left
        self._sizes = _Sizes()
        self._blocks: list[Block] = []

    def lines(self, name: str, lines: list[str]) -> list[str]:
        """Count what a step of this name left out, of which these lines are left; return them."""
        self._leave(name, self._size(lines))
        return lines

    def blocks(self, name: str, blocks: list[Block]) -> list[Block]:
        """Count what a step of this name left out, of which these blocks are left; return them."""
        same = blocks == self._blocks  # most steps hand on the same objects, which are compared faster than counted
        self._leave(name, self._left if same else self._size(chain.from_iterable(block.lines for block in blocks)))
        self._blocks = blocks
        return blocks

    def drop(self, name: str, block: Block) -> None:
        """Count a block that is left out."""
        self._leave(name, self._left - self._size(block.lines))

    def kept(self, paragraphs: list[str]) -> list[str]:
        """Count the paragraphs that the book has in the end; return them."""
        self.counts[KEPT] += sum(map(size, paragraphs))
        return paragraphs

    def _leave(self, name: str, left: int) -> None:
        self.counts[name] += self._left - left
        self._left = left

    def _size(self, lines: Iterable[str]) -> int:
        return sum(map(self._sizes.__getitem__, lines))
