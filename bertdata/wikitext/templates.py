"""Templates, parser functions and parameters: everything between double and triple braces.

Braces are matched as MediaWiki matches them, in one pass with a stack.  A place that shows nothing is marked,
so that the spaces and brackets around it can be tidied; braces without a partner go.

    >>> expand_templates("a {{b|{{c}}}} d {{{1|e}}} {{f|g", PageContext()).replace(VANISHED, "")
    'a  d e g'
"""

import re
from dataclasses import dataclass

from .functions import VARIABLES, call_function
from .marks import FOOTNOTE, VANISHED
from .variants import note_rules

__all__ = ["PageContext", "expand_template", "expand_templates"]

_BRACES = re.compile(r"\{\{([^{}]*)\}\}|\{\{+|\}\}+")  # no group around a whole alternative: it is slower
_MAX_DEPTH = 40  # MediaWiki's own limit on nested braces; it also keeps hostile input linear
_NAME = re.compile(r"[^|{}\n]{0,80}\|")

# Templates that show a footnote mark: the space before them goes as well.
_FOOTNOTE_NAMES = """
    sfn | sfnp | sfnm | rp | r | ref | efn | efn2 | refn | refnest | notetag | cref | citation needed | cn
    | fact | when | who | clarify | page needed | dubious | by whom | according to whom | full citation needed
    | 要出典 | 要検証 | 誰 | 来源請求 | senza fonte | citazione necessaria | référence nécessaire | réf
"""
_FOOTNOTES = frozenset(name.strip() for name in _FOOTNOTE_NAMES.split("|"))


@dataclass(frozen=True)
class PageContext:
    """What a template may know about the page it stands on."""

    title: str = ""
    language: str = ""
    variant: str = ""


def expand_template(body: str, page: PageContext) -> str:
    """Return the text that stands for ``{{body}}``.

    This is the one place that decides what a template shows.  Parser functions with words, and the rules of
    ``{{NoteTA}}``, give text; all other templates vanish, footnotes with the space before them.

    >>> expand_template("formatnum:1234567", PageContext(language="en"))
    '1,234,567'
    >>> expand_template("cn|date=May 2014", PageContext()) == FOOTNOTE
    True
    """
    name = body.partition("|")[0].strip().lower().replace("_", " ")
    if name in _FOOTNOTES:
        return FOOTNOTE
    if name == "noteta" and page.variant:
        return note_rules(body)
    if ":" in name or name in VARIABLES:
        return call_function(body, page.title, page.language) or VANISHED
    return VANISHED


def _parameter(body: str) -> str:
    """Return what ``{{{body}}}`` shows on the page itself: its default.

    >>> _parameter("1|none")
    'none'
    """
    return body.partition("|")[2] or VANISHED


class _Braces:
    """Collect text; ``open`` lists where in ``parts`` each unmatched run of braces stands, and its length."""

    def __init__(self, page: PageContext) -> None:
        self.page = page
        self.parts: list[str] = []
        self.open: list[tuple[int, int]] = []

    def push(self, count: int) -> None:
        """Open a run of ``count`` braces."""
        self.open.append((len(self.parts), count))
        self.parts.append("")

    def close(self, count: int) -> None:
        """Match a run of ``count`` closing braces with the runs that are open."""
        parts = self.parts
        while count >= 2 and self.open:
            place, opened = self.open.pop()
            taken = min(opened, count, 3)
            shown = VANISHED
            if len(self.open) + opened // 3 < _MAX_DEPTH:
                body = "".join(parts[place + 1 :])
                shown = _parameter(body) if taken == 3 else expand_template(body, self.page)
            left = opened - taken
            parts[place:] = ("{" if left == 1 else "", shown)
            if left >= 2:
                self.open.append((place, left))
            count -= taken
        parts.append("}" * (count % 2))

    def finish(self) -> str:
        """Return the text; of a template that never ends, drop the braces and the name."""
        for place, _ in self.open:
            self.parts[place + 1] = _NAME.sub("", self.parts[place + 1], count=1)
        return "".join(self.parts)


def expand_templates(text: str, page: PageContext) -> str:
    """Return ``text`` with everything in double and triple braces replaced by what it shows."""
    if "{{" not in text and "}}" not in text:
        return text
    braces = _Braces(page)
    parts = braces.parts
    done = 0
    for match in _BRACES.finditer(text):
        start, end = match.span()
        parts.append(text[done:start])
        done = end
        body = match[1]
        if body is not None:
            parts.append(expand_template(body, page))
        elif text[start] == "{":
            braces.push(end - start)
        else:
            braces.close(end - start)
    parts.append(text[done:])
    return braces.finish()
