"""Which templates on lines of prose a table does not know: what a contributor has to look at.

>>> counts = Survey()
>>> survey("The {{tea}} is {{nowrap|very hot}} in here.\\n{{Infobox|a=b}}\\n* a {{list}}", load_templates("en"), counts)
>>> counts.calls, counts.unknown, counts.examples["tea"]
(2, Counter({'tea': 1}), 'The {{tea}} is {{nowrap|very hot}} in here.')
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from ..extensions import resolve_extensions
from ..marks import LINE_MARKUP, clean_input, readable
from ..tables import drop_tables
from .braces import CALL, scan, title
from .table import UNKNOWN, Templates, load_templates

__all__ = ["Survey", "load_templates", "survey"]

_WORD = re.compile(r"\w")
_AROUND = 100  # characters of a line that an example has on each side of the call


@dataclass
class Survey:
    """How many calls stand on lines of prose; those of templates that are not known, by name, each with a line."""

    calls: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)


def survey(wikitext: str, table: Templates, counts: Survey) -> None:
    """Count the outermost calls on a page's lines of prose: no lists, headings or tables, and a word beside the calls."""
    text = drop_tables(resolve_extensions(clean_input(wikitext)))
    calls = [span for span in scan(text) if span.kind == CALL]
    pieces: list[str] = []
    done = 0
    for span in calls:
        pieces += (text[done : span.start], " " * (span.end - span.start))
        done = span.end
    beside = "".join([*pieces, text[done:]])  # as long as the text: calls are blank, line breaks in them too
    start = end = -1
    prose = False
    for span in calls:
        if span.start >= end:
            start, end = beside.rfind("\n", 0, span.start) + 1, beside.find("\n", span.start)
            end = len(beside) if end < 0 else end
            prose = text[start : start + 1] not in LINE_MARKUP and _WORD.search(beside, start, end) is not None
        if not prose:
            continue
        counts.calls += 1
        name = title(text, span)
        if table.kind(name) == UNKNOWN:
            counts.unknown[name] += 1
            if name not in counts.examples:
                counts.examples[name] = readable(text[max(start, span.start - _AROUND) : min(end, span.end + _AROUND)])
