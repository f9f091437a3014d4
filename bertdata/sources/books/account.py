"""Count the characters of a book: total, kept, and removed by each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from .blocks import Block

__all__ = ["KEPT", "READ", "Account", "size"]

READ, KEPT = "characters", "kept"  # the other names are those of the removed text


def size(text: str) -> int:
    """Count the characters of a text without whitespace, because unwrapping changes the whitespace.

    >>> size(" The tea\\n is hot.")
    12
    """
    return len("".join(text.split()))


class _Sizes(dict[str, int]):
    """Sizes of lines, each computed once; most steps pass lines on unchanged."""

    def __missing__(self, line: str) -> int:
        count = self[line] = size(line)
        return count


class Account:
    """Track the text of one book from step to step.

    `counts` receives the characters that each step removed, and `returned` those that were put back.
    """

    def __init__(self, counts: Counter[str] | None, returned: Counter[str] | None, left: int) -> None:
        self.counts = Counter() if counts is None else counts
        self._returned = Counter() if returned is None else returned
        self.counts[READ] += left
        self.characters = self._left = left
        self._sizes = _Sizes()
        self._blocks: list[Block] = []

    def lines(self, name: str, lines: list[str]) -> list[str]:
        """Count the characters that step `name` removed, given the remaining lines; return these lines."""
        self._leave(name, self._size(lines))
        return lines

    def blocks(self, name: str, blocks: list[Block]) -> list[Block]:
        """Count the characters that step `name` removed, given the remaining blocks; return these blocks."""
        same = blocks == self._blocks  # most steps return the same objects, and comparing is faster than counting
        self._leave(name, self._left if same else self._size(chain.from_iterable(block.lines for block in blocks)))
        self._blocks = blocks
        return blocks

    def put_back(self, name: str, characters: int) -> None:
        """Count characters that step `name` removed and that were put back."""
        if characters:
            self._returned[name] += characters

    def drop(self, name: str, block: Block) -> None:
        """Count a dropped block."""
        # Conservation: the removed and the kept characters add up to those read. So the
        # share of text that any rule removed can be listed for a whole library, and a rule that
        # removes too much shows in these figures.
        self._leave(name, self._left - self._size(block.lines))

    def kept(self, paragraphs: list[str]) -> list[str]:
        """Count the final paragraphs of the book; return them."""
        self.counts[KEPT] += sum(map(size, paragraphs))
        return paragraphs

    def _leave(self, name: str, left: int) -> None:
        self.counts[name] += self._left - left
        self._left = left

    def _size(self, lines: Iterable[str]) -> int:
        return sum(map(self._sizes.__getitem__, lines))
