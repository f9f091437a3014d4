"""Count the templates on lines of prose that have no entry in the template tables, to learn them.

>>> from bertdata.text.wikitext import load_templates
>>> counts = Survey()
>>> survey("The {{tea}} is {{nowrap|very hot}} in here.\\n{{no such box}}\\n* a {{list}}", load_templates("en"), counts)
>>> counts.unknown, counts.alone
(Counter({'tea': 1}), Counter({'no such box': 1}))
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..extensions import resolve_extensions
from ..marks import LINE_MARKUP, clean_input
from ..tables import drop_tables
from .braces import CALL, Span, scan, title
from .table import Templates

_WORD = re.compile(r"\w")


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
