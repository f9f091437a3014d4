"""Compile a wiki's own template pages into bodies like those of a template table.

>>> pages = {"pop": "{{#switch:{{{1}}}|a=5|b={{nb|7}}}}<noinclude>doc</noinclude>", "nb": "{{{1}}} men", "x": "{{#invoke:M|f}}"}
>>> definitions = {name: compile_definition(text) for name, text in pages.items()}
>>> bodies, reasons = link(definitions, ["pop", "x"])
>>> bodies, reasons
({'pop': '{{#switch:{{{1}}}|a=5|b={{nb|7}}}}', 'nb': '{{{1}}} men'}, {'x': 'needs Lua'})

A definition can run Lua or call a missing template in a branch that a call may not take.  It is compiled, and the expansion
drops a call that takes this branch as a whole.  `survey` counts the calls of templates that are not in the tables.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..extensions import resolve_extensions
from ..marks import LINE_MARKUP, clean_input
from ..namespaces import CATEGORY, namespace
from ..pages import is_redirect
from ..tables import drop_tables
from .braces import CALL, GONE, Call, Span, normalize, parse, scan, title
from .functions import FUNCTIONS, VARIABLES, visible
from .table import Templates, walk

_MAX_CHARACTERS = 200_000  # of a definition; the largest data templates have 100,000
_MAX_TOTAL = 4_000_000  # characters of all bodies of a wiki
_WORD = re.compile(r"\w")
_EDGE, _MAX_NAMESPACE = re.compile(r"\[\[|\]\]"), 60
_NOT_INCLUDED = re.compile(r"<!--.*?(?:-->|\Z)|<noinclude ?/>|<noinclude ?>.*?(?:</noinclude ?>|\Z)", re.IGNORECASE | re.DOTALL)
_ONLY = re.compile(r"<onlyinclude ?>(.*?)(?:</onlyinclude ?>|\Z)", re.IGNORECASE | re.DOTALL)
_INCLUDED = re.compile(r"</?includeonly ?/?>", re.IGNORECASE)
_SUBST = re.compile(r"\{\{\{\|\s?(?:safe)?subst:\s?\}\}\}", re.IGNORECASE)
_CHECK = re.compile(r"\{\{\s?#invoke:\s?(?:check for|templatepar|parameter)", re.IGNORECASE)  # modules without output
# Text that shows a box, a table, a list, a heading, or a note in raised brackets.
_BOX = re.compile(
    r"""^[ \t]?(?:\{\||[*:;]|==)|<(?:table|div|ul|ol|dl|center|gallery|h[1-6])\b|<sup[^<>]{0,200}>[\s'\[]{0,9}\[|\{\{!\}\}-"""
    r"""|class\s?=\s?["']?[^"'<>]{0,99}(?:noprint|inline-template|navbox|infobox|[a-z]mbox|metadata|hatnote|stub|vertical)""",
    re.IGNORECASE | re.MULTILINE,
)


class Definition(NamedTuple):
    """A compiled template: its body ("" shows nothing), or the reason why it has none, and the templates that it calls.

    ``needed`` are the templates that every call of it calls.
    """

    body: str = ""
    reason: str = ""
    calls: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()


def redirect_target(text: str) -> str:
    """Return the name of the template to which a page redirects, or ""."""
    if not is_redirect(text):
        return ""
    return normalize(text.partition("[[")[2].partition("]]")[0].partition("|")[0].partition("#")[0])


def compile_definition(text: str) -> Definition:
    """Compile the text of a template page; a redirect becomes a call of its target with all arguments."""
    if len(text) > _MAX_CHARACTERS:
        return Definition(reason="too large")
    # A redirect is a template that calls its target with all of its arguments, so nothing else needs to know about it.
    if target := redirect_target(text):
        return Definition(f"{{{{{target}|{{{{{{...}}}}}}}}}}", "", frozenset([target]), frozenset([target]))
    body = _transcluded(text)
    if _BOX.search(body):
        return Definition()
    text = resolve_extensions(body)
    spans = scan(text)
    if any(span.kind == GONE for span in _all(spans)):
        return Definition(reason="unbalanced or too deep braces")
    if any(_is_computed(text, span) for span in _all(spans)):
        return Definition(reason="calls a template by a computed name")
    calls: set[str] = set()
    needed: set[str] = set()
    reasons: list[str] = []
    for node, always in walk(parse(visible(text))):
        if not isinstance(node, Call) or node.name in VARIABLES:
            continue
        if not node.name.endswith(":"):
            calls.add(node.name)
            needed.update([node.name] if always else [])
        elif node.name[:-1] not in FUNCTIONS and always:
            reasons.append("needs Lua" if node.name == "#invoke:" else f"uses {{{{{node.name}}}}}")
    return Definition(body, min(reasons, default=""), frozenset(calls), frozenset(needed))


def _transcluded(text: str) -> str:
    """Return the part of a template page that a call shows, without checks of parameters."""
    only = _ONLY.findall(text)
    text = _SUBST.sub("", _INCLUDED.sub("", _NOT_INCLUDED.sub("", "".join(only) if only else text)))
    if _CHECK.search(text):
        spans = [span for span in _all(scan(text)) if span.kind == CALL and _CHECK.match(text, span.start)]
        for span in sorted(spans, reverse=True):
            text = text[: span.start] + text[span.end :]
    return _without_categories(text).strip()


def _without_categories(text: str) -> str:
    """Return wikitext without links to categories, which show nothing, with the calls in them."""
    parts: list[str] = []
    done = depth = start = 0
    for edge in _EDGE.finditer(text):
        if depth:
            depth += 1 if edge[0] == "[[" else -1
            if not depth:
                parts.append(text[done:start])
                done = edge.end()
        elif edge[0] == "[[" and namespace(text[edge.end() : edge.end() + _MAX_NAMESPACE]) == CATEGORY:
            depth, start = 1, edge.start()
    return "".join([*parts, text[done:]])


def _all(spans: Iterable[Span]) -> Iterator[Span]:
    for span in spans:
        yield span
        yield from _all(span.children)


def _is_computed(text: str, span: Span) -> bool:
    """Return True for a call whose name has braces in it."""
    if span.kind != CALL or not span.children:
        return False
    return "|" not in text[span.start : span.children[0].start] and not title(text, span).endswith(":")


def link(definitions: Mapping[str, Definition], names: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the bodies of the named templates and of those that they call, and the reasons for the others.

    ``definitions`` lacks the templates of the table, and has a reason for each one that the dump lacks.
    """
    failed = _failed(definitions)
    bodies: dict[str, str] = {}
    total = 0
    for name in names:
        # Take a template together with those that it calls. Templates without a body are left out: a call that
        # reaches one of them is dropped as a whole.
        pending, found = [name], {}
        while pending:
            called = pending.pop()
            if called in definitions and called not in failed and called not in bodies and called not in found:
                found[called] = definitions[called].body
                pending += sorted(definitions[called].calls)
        size = sum(map(len, found.values()))
        if name not in failed and total + size > _MAX_TOTAL:
            failed[name] = "too large"
        if name not in failed:
            total += size
            bodies |= found
    return bodies, {name: failed[name] for name in names if name in failed}


def _failed(definitions: Mapping[str, Definition]) -> dict[str, str]:
    """Return why definitions cannot be used: their own reason, or that of one that every call of them needs."""
    failed = {name: definition.reason for name, definition in definitions.items() if definition.reason}
    found = failed
    while found:
        rest = ((name, definition.needed & failed.keys()) for name, definition in definitions.items() if name not in failed)
        found = {name: min(failed[called] for called in needed) for name, needed in rest if needed}
        failed = failed | found
    return failed


@dataclass
class Survey:
    """The number of calls of unknown templates by name: on lines of prose, and alone on a line."""

    unknown: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)


def survey(wikitext: str, table: Templates, counts: Survey) -> None:
    """Count the outermost calls on lines of prose: not in lists, headings or tables, and with a word next to the calls."""
    text = drop_tables(resolve_extensions(clean_input(wikitext)))
    calls = [span for span in scan(text) if span.kind == CALL]
    pieces: list[str] = []
    done = 0
    for span in calls:
        pieces += (text[done : span.start], " " * (span.end - span.start))
        done = span.end
    beside = "".join([*pieces, text[done:]])  # same length as the text, with calls and their line breaks blank
    start = end = -1
    prose = False
    for span in calls:
        if span.start >= end:
            start, end = beside.rfind("\n", 0, span.start) + 1, beside.find("\n", span.start)
            end = len(beside) if end < 0 else end
            prose = text[start : start + 1] not in LINE_MARKUP and _WORD.search(beside, start, end) is not None
        if prose or beside[start:end].isspace():
            (counts.unknown if prose else counts.alone).update(_unknown(text, span, table))


def _unknown(text: str, span: Span, table: Templates) -> Iterator[str]:
    """Yield an unknown call, or the unknown calls in the arguments of one that the table has."""
    name = title(text, span) if span.kind == CALL else ""
    body = table.lookup(name) if name else None
    if name and body is None:
        yield name
    elif body is None or not body.mark:
        for child in span.children:
            yield from _unknown(text, child, table)
