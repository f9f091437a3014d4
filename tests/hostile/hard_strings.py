"""Strings that are hard for a regular expression, made from the expression itself.

The parsed pattern tells which characters it tells apart, what its parts match, and where its loops begin.  A hard string is a
prefix that leads into a loop, a piece repeated many times, and an end that may break the match: a quadratic pattern takes
quadratic time on at least one of them.

>>> "<!--" in prefixes(parse(re.compile("<!--.*?-->"))) and "<!--" in pieces(parse(re.compile("<!--.*?-->")))
True
"""

from __future__ import annotations

import importlib
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import compress, product
from typing import Any

__all__ = ["hard_strings", "parse", "pieces", "prefixes"]

_PARSER = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_COMMON = "a \n0A_-.'\"中é\x00"
_MOST_PIECES = 20
_MOST_CHARACTERS = 10
_LOOP = 50  # a repeat with a larger bound is a loop
_LOOPS = frozenset(["MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"])
_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "DIGIT": str.isdecimal,
    "SPACE": str.isspace,
    "WORD": lambda char: char.isalnum() or char == "_",
}
Tree = list[tuple[Any, Any]]


def parse(pattern: re.Pattern[Any]) -> Tree:
    """Return the parsed pattern: pairs of an operation and its arguments; bytes are read as Latin-1."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return list(_PARSER.parse(text, pattern.flags & ~(re.UNICODE if isinstance(pattern.pattern, bytes) else 0)))


def _inner(operation: str, value: Any) -> list[Tree]:
    """Return the sequences inside an operation."""
    if operation in _LOOPS:
        return [list(value[2])]
    if operation == "BRANCH":
        return [list(branch) for branch in value[1]]
    if operation == "SUBPATTERN":
        return [list(value[3])]
    if operation in ("ASSERT", "ASSERT_NOT"):
        return [list(value[1])]
    if operation == "ATOMIC_GROUP":
        return [list(value)]
    return []


def _walk(tree: Tree) -> Iterator[tuple[str, Any]]:
    for operation, value in tree:
        yield str(operation), value
        for inner in _inner(str(operation), value):
            yield from _walk(inner)


def _has(operation: str, value: Any, char: str) -> bool:
    """Return True if a character fits a set, a literal or the dot."""
    return _fits(operation, tuple(value) if isinstance(value, list) else value, char)


@cache
def _fits(operation: str, value: Any, char: str) -> bool:
    if operation == "LITERAL":
        return char.lower() == chr(value).lower()
    if operation == "NOT_LITERAL":
        return char.lower() != chr(value).lower()
    if operation == "ANY":
        return char != "\n"
    found = False
    for kind, what in value:
        name = str(kind)
        if name == "LITERAL":
            found = found or char == chr(what)
        elif name == "RANGE":
            found = found or what[0] <= ord(char) <= what[1]
        elif name == "CATEGORY":
            category = str(what).removeprefix("CATEGORY_")
            found = found or _CATEGORIES[category.removeprefix("NOT_")](char) != category.startswith("NOT_")
    return found != (str(value[0][0]) == "NEGATE")


_SETS = frozenset(["LITERAL", "NOT_LITERAL", "ANY", "IN"])


def _characters(tree: Tree) -> list[str]:
    """Return one character for each way in which the pattern's sets tell characters apart, the most common ways first."""
    sets = Counter(
        (operation, tuple(value) if isinstance(value, list) else value) for operation, value in _walk(tree) if operation in _SETS
    )
    candidates = dict.fromkeys(_COMMON)
    for operation, value in sets:
        if operation in ("LITERAL", "NOT_LITERAL"):
            candidates[chr(value)] = None
        for kind, what in value if operation == "IN" else ():
            ends = what if str(kind) == "RANGE" else [what] if str(kind) == "LITERAL" else []
            candidates.update((chr(code), None) for end in ends for code in (end, end + 1) if code < 0x110000)
    found: dict[tuple[bool, ...], str] = {}
    for char in candidates:
        if unicodedata.category(char) != "Cs":
            found.setdefault(tuple(_fits(operation, value, char) for operation, value in sets), char)
    # Those that a loop repeats come first: of a pattern with many letters, the limit would leave out its whitespace.
    repeated = _repeated(tree)
    by_use = sorted(
        found.items(),
        key=lambda item: (
            not any(_fits(operation, value, item[1]) for operation, value in repeated),
            -sum(compress(sets.values(), item[0])),
        ),
    )
    return [char for _, char in by_use[:_MOST_CHARACTERS]]


def _repeated(tree: Tree) -> set[tuple[str, Any]]:
    """Return the sets of characters, other than single ones, that are inside a loop."""
    return {
        (operation, tuple(value) if isinstance(value, list) else value)
        for name, loop in _walk(tree)
        if name in _LOOPS and loop[1] > _LOOP
        for operation, value in _walk(list(loop[2]))
        if operation in _SETS and operation != "LITERAL"
    }


def _example(tree: Tree, chars: list[str], choice: int) -> str:
    """Return a string that fits the pattern, but for its assertions; ``choice`` picks among branches."""
    text = ""
    for operation, value in tree:
        name = str(operation)
        if name in _SETS:
            fitting = [char for char in chars if _has(name, value, char)]
            text += chr(value) if name == "LITERAL" else fitting[choice % len(fitting)] if fitting else ""
        elif name in _LOOPS:
            text += _example(list(value[2]), chars, choice) * min(max(1, value[0]), _LOOP)
        elif name == "BRANCH":
            text += _example(list(value[1][choice % len(value[1])]), chars, choice)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            text += _example(_inner(name, value)[0], chars, choice)
    return text


def prefixes(tree: Tree, before: str = "") -> list[str]:
    """Return strings that lead from the pattern's beginning to each of its loops."""
    chars = _characters(tree)
    found = {"": None}
    for operation, value in tree:
        name = str(operation)
        if name in _LOOPS and value[1] > _LOOP:
            found[before] = None
        for inner in _inner(name, value)[:4] if name not in ("ASSERT", "ASSERT_NOT") else ():
            found.update((before + prefix, None) for prefix in prefixes(inner))
        before += _example([(operation, value)], chars, 0)
    return list(found)


def pieces(tree: Tree) -> list[str]:
    """Return what the parts of a pattern match, each followed by none or one of the parts behind it."""
    chars = _characters(tree)
    found: dict[str, None] = {}

    def add(sequence: Tree) -> None:
        for choice in (0, 1, 2):
            for end in range(1, len(sequence) + 1):
                found[_example(sequence[:end], chars, choice)] = None
            found[_example(sequence, chars, choice)[:-1]] = None
        for operation, value in sequence:
            for inner in _inner(str(operation), value)[:4]:
                add(inner)

    add(tree)
    return [piece for piece in sorted(found, key=len)[:_MOST_PIECES] if piece]


def hard_strings(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what a hard string begins with, what is repeated in it, and how it ends."""
    tree = parse(pattern)
    chars, parts, every = _characters(tree), pieces(tree), prefixes(tree)
    starts, leads = every[:6], [start for start in every if start][:_MOST_PIECES]
    ends = ["", "\x00", *chars[-2:]]
    pairs = [first + second for first, second in product(chars, chars) if first != second]
    pairs += [piece + char for piece in parts for char in chars[:4]]
    yield from product(starts, dict.fromkeys((*leads, *chars, *parts)), ends[:2])
    yield from product(starts[:2], dict.fromkeys((*chars, *pairs)), ends[1:3])
