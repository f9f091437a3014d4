"""Which templates on lines of prose a table does not know: what a contributor has to look at.

>>> found = Survey()
>>> survey("The {{tea}} is {{nowrap|very hot}} in here.\\n{{Infobox|a=b}}\\n* a {{list}}", load_templates("en"), found)
>>> found.calls, found.unknown, found.examples["tea"]
(2, Counter({'tea': 1}), 'The {{tea}} is {{nowrap|very hot}} in here.')
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from ..extensions import resolve_extensions
from ..marks import LINE_MARKUP, clean_input
from ..tables import drop_tables
from ..variants import NOTES
from .braces import CALL, scan, title
from .functions import VARIABLES
from .table import Templates, load_templates

__all__ = ["Survey", "load_templates", "survey"]

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 1  # outside of calls, on a line of prose
_LONGEST_EXAMPLE = 200  # characters on both sides of a call


@dataclass
class Survey:
    """How many calls stand on lines of prose; those of templates that are not known, by name, each with a line."""

    calls: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)


def survey(wikitext: str, table: Templates, found: Survey) -> None:
    """Count the outermost calls on a page's lines of prose: no lists, headings or tables, and a word beside calls."""
    text = drop_tables(resolve_extensions(clean_input(wikitext)))
    calls = [span for span in scan(text) if span.kind == CALL]
    rest = list(text)
    for span in calls:
        rest[span.start : span.end] = " " * (span.end - span.start)
    plain = "".join(rest)
    for span in calls:
        start, end = plain.rfind("\n", 0, span.start) + 1, plain.find("\n", span.end)
        line = plain[start : end if end >= 0 else len(plain)]
        begins = text[start : start + 1]
        if begins in LINE_MARKUP or len(_WORD.findall(line)) < _FEWEST_WORDS:
            continue
        found.calls += 1
        name = title(text, span)
        if not _known(name, table):
            found.unknown[name] += 1
            if name not in found.examples:
                around = slice(
                    max(start, span.start - _LONGEST_EXAMPLE // 2), min(span.end + _LONGEST_EXAMPLE // 2, start + len(line))
                )
                found.examples[name] = " ".join(text[around].split())


def _known(name: str, table: Templates) -> bool:
    function = name.removesuffix(":")
    if function in table.functions and (function != name or name in VARIABLES):
        return True
    return name in table.footnotes or name in NOTES or table.find(name) is not None
