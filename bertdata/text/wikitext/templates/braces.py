"""Match double and triple braces like MediaWiki, in one pass with a stack.

A ``Span`` is one matched pair with those inside it.  ``parse`` converts it to a tree of calls and
parameters, in which plain text is ``str``:

    >>> parse("a {{b|c|d={{{1|e}}}}} {{lc:F}}")
    ('a ', Call(name='b', arguments=((None, 'c'), ('d', Parameter(name='1', default='e')))), ' ', \
Call(name='lc:', arguments=((None, 'F'),)))
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Optional, Union

from ..namespaces import TEMPLATE, namespace

_OPENING = re.compile(r"\{(?=\{)\{(?:([^{}]*)\}\}|\{*)")  # one literal character, then a look-ahead: faster than two literals
_CLOSING = re.compile(r"\}\}+")
_MAX_DEPTH = 40  # MediaWiki's own limit on nested braces; it also keeps hostile input linear
_NAME = re.compile(r"[^|{}\[\]<>\n]{0,80}\|")
_BAR = re.compile(r"\|")
_BARS = re.compile(r"\[\[|\]\]|-\{|\}-|\|")
_MAX_NAME = 300  # MediaWiki's own is 255 bytes
_MAX_ARGUMENTS = 2000  # further ones are ignored; no template in running prose has a tenth of this
_MAX_CACHED_CHARS = 100  # maximum characters of a call whose tree is cached
_SUBST = ("subst", "safesubst")

GONE, CALL, PARAMETER = 0, 2, 3  # unmatched braces are removed; two are a call, three a parameter


class Span(NamedTuple):
    """Braces from ``start`` to ``end``; ``children`` are the spans between them, in order."""

    start: int
    end: int
    kind: int
    children: tuple["Span", ...] = ()


class Parameter(NamedTuple):
    """``{{{name|default}}}``."""

    name: str
    default: Optional["Parts"]  # noqa: UP045 - as below


class Call(NamedTuple):
    """``{{name|value|key=value}}``; a positional argument has no key. The name of a parser function ends with a colon."""

    name: str
    arguments: tuple["Argument", ...]


Node = Union[Parameter, Call]  # noqa: UP007 - a name in quotes is not evaluated by "|" on Python 3.10
Parts = Union[str, Node, tuple[Union[str, Node], ...]]  # noqa: UP007
Argument = tuple[Optional[str], Parts]  # noqa: UP045


class _Scan:
    """A stack of unmatched opening braces, and the matched pairs.

    ``opened``, the stack, has the offset and length of each run of opening braces, and the number of spans before it.
    ``spans`` are the pairs matched so far, except those within another pair: the spans after an opening run become the
    children of the span that the run opens.  In ``{{a|{{b}} {{c}}}}`` the stack is [(0, 2, 0)] when ``{{b}}`` and ``{{c}}``
    are spans, and both become children when the last braces close the first.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.opened: list[tuple[int, int, int]] = []

    def close(self, offset: int, count: int) -> None:
        """Match ``count`` closing braces, from ``offset`` on, with the open runs, starting with the last.

        Like MediaWiki, match three braces if both runs have them: "{{{{{1}}}}}" is a parameter within a call.
        """
        spans = self.spans
        # Closing braces match from the inside out, three at a time if both runs have three. In "{{{{{1}}}}}" the first run has
        # five: three of them and three closing ones are the parameter {{{1}}}. Two are left on each side, and they are a call
        # whose name is that parameter.
        while count >= 2 and self.opened:
            start, size, first = self.opened.pop()
            taken = min(size, count, 3)
            left = size - taken
            offset += taken
            count -= taken
            deep = len(self.opened) + size // 3 >= _MAX_DEPTH
            # All spans found since this run was opened are inside it. Moving them here, once, keeps the whole scan linear.
            children = tuple(spans[first:])
            del spans[first:]
            spans.append(Span(start + left, offset, GONE if deep else taken, () if deep else children))
            # The rest of a longer run stays open, below the spans that it had before.
            if left >= 2:
                self.opened.append((start, left, first))
        if count >= 2:
            # No run is open for these: "}} text". Readers see them in MediaWiki, but they are never words.
            spans.append(Span(offset, offset + count - count % 2, GONE))

    def close_all(self, text: str, start: int, end: int) -> None:
        """Match all closing braces in ``text[start:end]``, which has no opening braces."""
        for match in _CLOSING.finditer(text, start, end):
            self.close(match.start(), match.end() - match.start())

    def finish(self, text: str) -> list[Span]:
        """Return the spans; unclosed braces are removed with their name."""
        for start, size, _ in self.opened:
            name = _NAME.match(text, start + size)
            self.spans.append(Span(start, name.end() if name else start + size, GONE))
        return sorted(self.spans) if self.opened else self.spans


def scan(text: str) -> list[Span]:
    """Return the outermost spans of ``text``, in order."""
    scanner = _Scan()
    done = 0
    for match in _OPENING.finditer(text):
        start, end = match.span()
        if text.find("}", done, start) >= 0:
            scanner.close_all(text, done, start)
        if match.lastindex:
            scanner.spans.append(Span(start, end, CALL))
        else:
            scanner.opened.append((start, end - start, len(scanner.spans)))
        done = end
    scanner.close_all(text, done, len(text))
    return scanner.finish(text)


def _cut(text: str, span: Span, nodes: dict[int, Node], brackets: bool) -> list[list[str | Node]] | None:
    """Split the content of the braces at its bars, except bars in brackets; None if brackets are unmatched.

    ``nodes`` maps the start of each nested pair of braces to its tree.
    """
    arguments: list[list[str | Node]] = [[]]
    offset, depth = span.start + span.kind, 0
    for child in (*span.children, Span(span.end - span.kind, span.end, GONE)):
        if len(arguments) > _MAX_ARGUMENTS + 1:
            break
        # A bar inside [[link|label]] or -{zh:a|b}- belongs to the link, so it does not end the argument. Only the text
        # between nested calls is searched: their own bars were handled when they were parsed.
        for token in (_BARS if brackets else _BAR).finditer(text, offset, child.start):
            if token[0] != "|":
                depth = depth + 1 if token[0] in ("[[", "-{") else max(depth - 1, 0)
            elif not depth:
                arguments[-1].append(text[offset : token.start()])
                arguments.append([])
                offset = token.end()
        arguments[-1].append(text[offset : child.start])
        if child.kind:
            if child.start not in nodes:
                nodes[child.start] = node(text, child)
            arguments[-1].append(nodes[child.start])
        offset = child.end
    return None if depth else arguments


def _join(pieces: Sequence[str | Node]) -> Parts:
    """Return the text or node if it is the only piece, otherwise a tuple."""
    rest = tuple(piece for piece in pieces if piece)
    return rest if len(rest) > 1 else rest[0] if rest else ""


def _keyed(pieces: list[str | Node]) -> Argument:
    """Split ``key=value``; ignore an equals sign in a link or a template."""
    first = pieces[0]
    if len(pieces) == 1 and (not isinstance(first, str) or "=" not in first):
        return None, first
    if isinstance(first, str) and "=" in first:
        # The first equals sign of an argument separates its name, but not one in a link, [[a=b]], or in a nested call,
        # whose text is another piece.
        key, _, value = first.partition("=")
        if "[[" not in key:
            return key, _join([value, *pieces[1:]])
    return None, _join(pieces)


def title(text: str, span: Span) -> str:
    """Return the normalized name of a call; a name with a colon is a parser function."""
    start = span.start + 2
    end = span.children[0].start if span.children else span.end - 2
    if end - start > _MAX_NAME:
        end = start + _MAX_NAME
    bar = text.find("|", start, end)
    return normalize(text[start : end if bar < 0 else bar])


@lru_cache(maxsize=1 << 13)
def normalize(name: str) -> str:
    """Return the normalized name; cached, because pages repeat and share names."""
    name = name.strip().lower()
    while ":" in name:
        prefix, _, rest = name.partition(":")
        if prefix not in _SUBST and namespace(name) != TEMPLATE:
            return prefix.rstrip() + ":"
        name = rest.lstrip()
    return " ".join(name.replace("_", " ").split()) if "_" in name or "  " in name else name


def node(text: str, span: Span) -> Node:
    """Return the tree of one span."""
    if not span.children and span.end - span.start <= _MAX_CACHED_CHARS:
        return _short(text[span.start : span.end], span.kind)
    return _node(text, span)


@lru_cache(maxsize=1 << 12)
def _short(call: str, kind: int) -> Node:
    """Return the tree of a call without nested braces; cached, because many are repeated across pages."""
    return _node(call, Span(0, len(call), kind))


def _node(text: str, span: Span) -> Node:
    start, end = span.start + span.kind, span.end - span.kind
    if span.children or text.find("[[", start, end) >= 0 or text.find("-{", start, end) >= 0:
        nodes: dict[int, Node] = {}
        # If brackets do not match, "[[a|b", MediaWiki ignores them and every bar counts: cut once more without them.
        pieces = _cut(text, span, nodes, True) or _cut(text, span, nodes, False) or [[""]]
    else:
        pieces = [[piece] for piece in text[start:end].split("|", _MAX_ARGUMENTS + 1)]
    del pieces[_MAX_ARGUMENTS + 1 :]
    if span.kind == PARAMETER:
        name = "".join(piece for piece in pieces[0] if isinstance(piece, str)).strip()
        return Parameter(name, _join(pieces[1]) if len(pieces) > 1 else None)
    name = title(text, span)
    if not name.endswith(":"):
        return Call(name, tuple([(key and key.strip(), value) for key, value in map(_keyed, pieces[1:])]))
    first = pieces[0][0]
    if isinstance(first, str):
        while (head := first.partition(":"))[0].strip().lower() in _SUBST:
            first = head[2]
        pieces[0][0] = head[2]
    return Call(name, tuple(map(_keyed, pieces)))


def parse(text: str) -> tuple[str | Node, ...]:
    """Return a complete text as a tree."""
    pieces: list[str | Node] = []
    done = 0
    for span in scan(text):
        pieces.append(text[done : span.start])
        if span.kind:
            pieces.append(node(text, span))
        done = span.end
    pieces.append(text[done:])
    return tuple(piece for piece in pieces if piece)
