"""Expand templates, parser functions and parameters, which are everything between double and triple braces.

A template in the table is replaced by its text, which later steps read as wikitext.  A call without text leaves
a mark, so that the spaces and brackets around it can be cleaned up.

    >>> from bertdata.text.wikitext import load_templates
    >>> page = PageContext(language="en", templates=load_templates("en"))
    >>> expand_templates("{{nowrap|a {{unknown}}b}} {{lc:C}} {{{1|d}}} {{e|f", page).replace(VANISHED, "")
    'a b c d f'
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..formulas import Formulas
from ..marks import LINE_MARKUP, LOST, SHIELD, VANISHED
from .braces import CALL, Argument, Call, Node, Parameter, Parts, Span, node, scan, title
from .functions import FUNCTIONS, VARIABLES, Arguments, visible
from .modules import MODULES
from .table import Templates, no_templates

_MAX_COST = 2_000_000  # about MediaWiki's limit on the template output of a page (2 MiB); here also a limit on work
_FUNCTION_COST = 40  # counted against the page's limit, in addition to the characters
_MODULE_COST = 150
_MAX_NUMBERED = 2000  # of positional arguments
_MAX_DEPTH = 80  # parameters and calls within each other
_LIST_MARKS = frozenset("*#:; ")  # do not start a list in a template's output: "*wódr̥"


@dataclass(slots=True)
class PageContext:
    """The page of a template; ``dropped`` counts calls without words, ``formulas`` handles formulas."""

    title: str = ""
    language: str = ""
    variant: str = ""
    templates: Templates | None = None
    dropped: Counter[str] = field(default_factory=Counter)
    formulas: Formulas = field(default_factory=Formulas)


Frame = dict[str, str]  # arguments of the template being expanded: "1", "2", ... and names


class _Expander:
    """Expand the nodes of one page within a work limit."""

    def __init__(self, page: PageContext, size: int) -> None:
        self.page = page
        self.table = page.templates or no_templates(page.language)
        self.lookup = self.table.lookup
        self.depth = 0  # of calls
        self.in_learned = 0  # depth of learned templates
        self.left = max(_MAX_COST, 2 * size)
        self.lost: list[str] = []  # names of calls without words

    def outer(self, text: str, span: Span) -> str:
        """Return the text of a span of the page; do not expand the content of an unknown call."""
        if not span.kind:  # MediaWiki shows unmatched braces; here they are removed, and what follows must not start a line
            return SHIELD if text[span.end : span.end + 1] in LINE_MARKUP else ""
        if span.kind != CALL:
            return self.node(node(text, span), {}) or VANISHED
        name = title(text, span)
        body = self.lookup(name)
        # Most unknown calls are boxes and citations with many nested calls. Their content is not read at all.
        if body is None:
            self.lost.append(name)
            return VANISHED
        if body.mark:
            return body.mark
        if self.left < 0:  # the page has reached its limit
            return self.drop(name + ":" if name in VARIABLES and name in self.table.functions else name)
        shown = self.node(node(text, span), {})
        # MediaWiki starts a new line before a template's output that begins with a list mark. In prose it is a word like
        # "*wódr̥", so shield it instead.
        return SHIELD + shown if shown[:1] in _LIST_MARKS else shown

    def drop(self, name: str) -> str:
        """Count a call without words."""
        self.lost.append(name)
        return VANISHED + LOST if self.in_learned else VANISHED

    def show(self, parts: Parts, frame: Frame) -> str:
        """Return the text of a part of the tree."""
        if type(parts) is str:
            return parts
        if type(parts) is tuple:
            return "".join([piece if type(piece) is str else self.node(piece, frame) for piece in parts])  # type: ignore[arg-type]
        return self.node(parts, frame)  # type: ignore[arg-type]

    def node(self, item: Node, frame: Frame) -> str:
        """Return the text of a parameter, call or function."""
        if self.depth >= _MAX_DEPTH:  # a template that calls itself
            return self.drop(frame.get("0", item.name))
        self.depth += 1
        if isinstance(item, Parameter):
            # An argument was expanded when its call was read, so it is plain text here. A default is expanded only now, if no
            # argument was passed: {{{1|{{{name|}}}}}}.
            shown = frame.get(item.name)
            if shown is None:
                shown = self.show(item.default or "", frame)
            else:
                self.left -= len(shown)
                shown = shown if self.left >= 0 else ""
        else:
            shown = self.function(item, frame) if item.name.endswith(":") else self.call(item, frame)
        self.depth -= 1
        return shown

    def call(self, call: Call, frame: Frame) -> str:
        """Return the text of a template."""
        name = call.name
        if name in VARIABLES and name in self.table.functions:
            return self.function(Call(name + ":", ()), frame)
        body = self.lookup(name)
        if body is None or body.mark:
            return body.mark if body else self.drop(name)
        # The arguments are expanded in the caller's frame, then the body in a new one. So a body cannot see the parameters of
        # the template that calls it, and a word is never expanded twice.
        inner = self.collect(call.arguments, frame) if self.left >= 0 else {}
        if self.left < 0:
            return self.drop(name)
        inner["0"] = name
        inner.update(body.matched)
        lost, is_learned = len(self.lost), name in self.table.learned
        self.in_learned += is_learned
        shown = self.show(body.parts, inner)
        self.in_learned -= is_learned
        # Each call pays for the size of its body and of its output. Templates that call others twice, ten levels deep, would
        # write a thousand copies: they use up the page's budget and end as dropped calls, in linear time.
        self.left -= body.cost + len(shown)
        if len(self.lost) > lost and is_learned:  # needs Lua or a missing template, or the budget is spent
            del self.lost[lost:]
            if LOST in visible(shown) or self.left < 0:
                return self.drop(name)
            shown = shown.replace(LOST, "")  # a category or a hidden text lacks words
        if not shown or shown.isspace():
            return VANISHED
        if name not in self.table.formulas:
            return shown
        return self.page.formulas.template(shown)

    def function(self, call: Call, frame: Frame) -> str:
        """Return the text of a parser function, or of a function of this package."""
        name = call.name[:-1]
        if name not in self.table.functions or self.left < 0:
            return self.drop(call.name)
        if name in MODULES:
            arguments = self.collect(call.arguments, frame)
            numbers = [int(key) for key in arguments if key.isdecimal() and 0 < int(key) <= _MAX_NUMBERED]
            positional = [arguments.pop(str(number), "") for number in range(1, max(numbers, default=0) + 1)]
            shown = MODULES[name](positional, arguments, self.page.language)
        else:
            page, show = self.page, lambda parts: self.show(parts, frame)
            shown = FUNCTIONS[name](Arguments(call.arguments, show, page.title, page.language, self.table.languages))
        if shown is None:
            return self.drop(frame.get("0", call.name))
        self.left -= (_MODULE_COST if name in MODULES else _FUNCTION_COST) + len(shown)
        return VANISHED if not shown or shown.isspace() else shown

    def collect(self, arguments: Sequence[Argument], frame: Frame) -> Frame:
        """Return the arguments of a call by number and name; ``{{{...}}}`` passes on those of the frame."""
        collected: Frame = {}
        count = 0
        for key, value in arguments:
            if key is not None:
                collected[key] = self.show(value, frame).strip()
            elif isinstance(value, Parameter) and value.name == "...":
                # {{{...}}} passes on what the call was given: its positional arguments with new numbers, and all names.
                numbers = {int(name): text for name, text in frame.items() if name.isdecimal() and 0 < int(name) <= _MAX_NUMBERED}
                collected.update((str(count + number), text) for number, text in numbers.items())
                count += max(numbers, default=0)
                collected.update((name, text) for name, text in frame.items() if not name.isdecimal() and name not in "*#")
            else:
                count += 1
                collected[str(count)] = self.show(value, frame)
        return collected


def expand_templates(text: str, page: PageContext) -> str:
    """Return ``text`` with everything in double and triple braces expanded."""
    if "{{" not in text and "}}" not in text:
        return text
    expander = _Expander(page, len(text))
    parts: list[str] = []
    done = 0
    # Walk over the outermost braces. Text between them is copied, everything inside is the expander's.
    for span in scan(text):
        parts += (text[done : span.start], expander.outer(text, span))
        done = span.end
    parts.append(text[done:])
    page.dropped.update(expander.lost)
    return "".join(parts)
