"""Join the lines of wikitext into paragraphs of prose. Headings, lists, preformatted lines and remains of tables are dropped.

>>> paragraphs("== A ==\\nOne\\ntwo.\\n* item\\n\\nThree<div>four</div>")
['One two.', 'Three', 'four']
"""

import re
from collections import Counter

from .boxes import close_boxes, is_dropped, may_drop
from .external import part_labels
from .inline import INLINE
from .marks import AWAY, BITS, FOOTNOTE, FORMULA, HOLE, INTRODUCES, OBJECT, SHIELD, VANISHED
from .quotes import ENDED, drop_quotes, is_heading

__all__ = ["paragraphs"]

_TAG = re.compile(r"<(/?)([a-zA-Z]+[1-6]?)(?=[\s/>])([^<>]*)>")
_BLOCK_NAMES = """
    div p blockquote center h1 h2 h3 h4 h5 h6 ul ol dl li dd dt table caption tr td th tbody thead tfoot hr
    pre section article aside figure figcaption header footer nav main details summary
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_BROKEN_TAG = re.compile(r"<(?=/?([a-zA-Z]+[1-6]?)[\s/])[^<>\n]*\n[^<>]*>")  # a tag with a line break in its attributes
_TAGS = _BLOCKS | INLINE
_HEADING = re.compile(rf"=.*=[\s{OBJECT}{BITS}]*$")
_REMOVED_MARKS = VANISHED + FOOTNOTE  # marks of dropped templates and files
_INVISIBLE_MARKS = _REMOVED_MARKS + AWAY
_INVISIBLE = _INVISIBLE_MARKS + " "
_NOTHING = frozenset[str]()
_DISPLAY_STARTS = frozenset([" ", ":", FORMULA, HOLE])
# A displayed formula: a line that begins with a formula, possibly indented. The sentence before it continues after it.
_DISPLAYED = re.compile(rf"[ :]+[{FORMULA}{HOLE}]|(?:{FORMULA}[^{FORMULA}]*{FORMULA}|[{HOLE}{BITS}\s,;.])+$")
_CENTRED = re.compile(
    rf"<(?<![^\n]<)(center|div|p)\b[^<>\n]*>\s*([{FORMULA}{HOLE}][^<\n]*)</\1>\s*$", re.MULTILINE | re.IGNORECASE
)
_SPECIAL = frozenset(f" *#:;=|!-•{FORMULA}{HOLE}")  # first characters of a line that may be markup


class _Page:
    """Build the paragraphs of a page from its lines, one line at a time."""

    def __init__(self, keep_definitions: bool, templates_on: bool, formulas: bool, dropped: Counter[str] | None) -> None:
        self.keep_definitions = keep_definitions
        self.display_starts = _DISPLAY_STARTS if formulas else _NOTHING
        self.unseen = _REMOVED_MARKS + " " if templates_on else _REMOVED_MARKS
        self.done: list[str] = []  # finished paragraphs
        self.lines: list[str] = []  # lines of the open paragraph
        self.dropped = dropped  # counts of dropped headings; None keeps the headings
        self.heading = False  # the first line of the open paragraph is bold like a heading
        self.before_block = 0  # number of finished paragraphs when the last block was dropped
        self.inside = ""  # the HTML element whose content is being dropped
        self.depth = 0  # number of open elements of that name
        self.in_run = False  # within <p>: blank lines do not end the paragraph
        self.in_quote = False  # within <blockquote>: ignore a leading space
        self.continues = False  # only a blank line ended the last paragraph
        self.displayed = False  # the last line was a displayed formula
        self.after_row = False  # the last line was a table row without its table

    def add(self, text: str) -> None:
        """Add a line to the open paragraph."""
        self.after_row = False
        if self.displayed:
            self.after_display(text)
        if "'" in text and "''" in text:  # searching for one character is much faster
            self.heading = not self.lines and is_heading(text)
            text = drop_quotes(part_labels(text) if "[" in text else text)
        elif text.startswith("<b>"):
            self.heading = not self.lines and is_heading(text)
        self.lines.append(text)

    def end(self) -> None:
        """End the open paragraph."""
        if self.lines:
            if self.heading and self.dropped is not None and len(self.lines) == 1:
                self.dropped["bold heading"] += 1
                self.mark()
            else:
                self.done.append(" ".join(self.lines))
            self.lines = []
            self.heading = False
        self.continues = False

    def mark(self) -> None:
        """Mark the last paragraph with ``INTRODUCES``, because a heading, a list or another block after it is dropped."""
        if len(self.done) > self.before_block:
            self.before_block = len(self.done)
            if self.dropped is not None:
                self.done[-1] += INTRODUCES

    def skip(self) -> None:
        """End the open paragraph before a block that is dropped."""
        self.end()
        self.mark()

    def before_item(self) -> None:
        """End the open paragraph before a list item. A line right above the item gets a second mark: it may be a title."""
        count, single = len(self.done), len(self.lines) == 1
        self.skip()
        if single and self.dropped is not None and len(self.done) > count:
            self.done[-1] += INTRODUCES

    def blank(self) -> None:
        """Process a line without text."""
        if self.lines and not self.in_run:
            count = len(self.done)
            self.end()
            self.continues = len(self.done) > count

    def rejoin(self) -> None:
        """Reopen the last paragraph if only blank lines ended it, before an invisible link, which removes the blank lines."""
        if self.continues and not self.lines and not self.inside:
            self.lines = [self.done.pop()]

    def display(self, line: str) -> None:
        """Add a displayed formula to the sentence before it. After a complete sentence, drop the formula like a list item."""
        if not self.lines and self.continues and not ENDED.search(self.done[-1]):
            self.lines = [self.done.pop()]
        if self.lines and (self.displayed or not ENDED.search(self.lines[-1])):
            self.displayed = False
            self.add(line.lstrip(" :"))
            self.displayed = True
        else:
            self.end()

    def after_display(self, line: str) -> None:
        """Start a new paragraph if the line after a displayed formula begins with a capital, else continue the last one."""
        self.displayed = False
        initial = next(filter(str.isalpha, line), "")
        if initial.isupper():
            self.end()
        elif initial.islower() and not self.lines and self.continues:
            self.lines = [self.done.pop()]

    def line(self, line: str) -> None:
        """Process one line that is not empty."""
        first = line[0]
        if first in _INVISIBLE_MARKS:
            line = line.lstrip(self.unseen)  # "*" after invisible marks still starts a list item
            if line[:1] == AWAY:
                line = line.lstrip(_INVISIBLE)
                self.rejoin()
                if first == AWAY and not line:
                    return
            if not line:
                self.blank()
                return
            first = line[0]
        tags = _block_tags(line) if "<" in line else []
        # A heading ends every element, so that an unclosed one cannot drop the rest of the page. Check tags before lists,
        # because "* a</div>" closes a box. Within a dropped box, check nothing else.
        if first == "=" and ((line[-1] == "=" and line != "=") or _HEADING.match(line)):
            self.inside = ""
            self.skip()
        elif tags:
            self.tagged(line, tags)
        elif self.inside:
            return
        elif line.isspace():
            self.blank()
        elif first in _SPECIAL:
            self.special(line, first)
        else:
            self.add(line)

    def special(self, line: str, first: str) -> None:
        """Process a line whose first character may be markup."""
        if first in "*#" or (first == "•" and self.dropped is not None):
            self.before_item()
        elif first in self.display_starts and _DISPLAYED.match(line):
            self.display(line)
        elif first == " " and (self.in_run or self.in_quote):
            self.add(line)
        elif first == "-" and line.startswith("----"):
            self.skip()
            text = line.lstrip("-").lstrip()
            if text:
                self.line(SHIELD + text)  # the shield keeps the first character of `text` from being markup
        elif first == "|" or (first == "!" and (self.after_row or "!!" in line)):
            self.skip()
            self.after_row = True
        elif first in ":;" and self.keep_definitions:
            self.end()
            item = _item(line)
            if item:
                self.add(item)
                self.end()
        elif first in " :;":
            self.skip()
        else:
            self.add(line)

    def tagged(self, line: str, tags: list[re.Match[str]]) -> None:
        """Split a line at its block tags."""
        position = 0
        if line[0] in "*#:;":
            self.skip()
            tags = _after_item(tags)
            position = tags[0].start() if tags else len(line)
        for tag in tags:
            self.piece(line[position : tag.start()])
            self.end()
            position = tag.end()
            closing, name = tag[1] == "/", tag[2].lower()
            if self.inside:
                self.nest(name, closing)
            elif not closing and is_dropped(name, tag[3]):
                self.inside, self.depth = name, 1
                self.mark()
            elif name == "hr":
                self.mark()
            elif name == "blockquote":
                self.in_quote = not closing
            self.in_run = name == "p" and not closing
        self.piece(line[position:])

    def nest(self, name: str, closing: bool) -> None:
        """Count the open elements within a dropped element, to find its end."""
        # Only count elements of the same name: "<ul><li><ul>…</ul></li></ul>" ends at the second "</ul>".
        if name == self.inside:
            self.depth += -1 if closing else 1
            if not self.depth:
                self.inside = ""

    def piece(self, text: str) -> None:
        """Add the text between two block tags."""
        if not self.inside and text and not text.isspace():
            self.add(text)


def _block_tags(line: str) -> list[re.Match[str]]:
    return [tag for tag in _TAG.finditer(line) if tag[2].lower() in _BLOCKS]


def _after_item(tags: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the tags after a list item, starting at the first that closes an element opened before the item.

    >>> [tag[0] for tag in _after_item(_block_tags("* <div>a</div> b</blockquote>c<hr>"))]
    ['</blockquote>', '<hr>']
    """
    depth = 0
    for index, tag in enumerate(tags):
        depth += -1 if tag[1] else tag[2].lower() != "hr"
        if depth < 0:
            return tags[index:]
    return []


def _item(line: str) -> str:
    """Return the text of a ``:`` or ``;`` line, or an empty string if it is also an item of another list.

    >>> _item("; term : what it means"), _item(":* item")
    ('term: what it means', '')
    """
    text = line.lstrip(":; ")
    if text[:1] in ("*", "#"):
        return ""
    return text.replace(" : ", ": ", 1) if line[0] == ";" else text


def paragraphs(
    text: str, keep_definitions: bool = False, templates_on: bool = False, dropped: Counter[str] | None = None
) -> list[str]:
    """Return the paragraphs of wikitext, one line each.

    Args:
        text: Wikitext in which templates, links and other inline markup are replaced already.
        keep_definitions: Whether to keep ``:`` and ``;`` lines.
        templates_on: Whether a space at the start of a line, but after a removed template or file, makes no preformatted line.
            On the page, the template or file comes before the space.
        dropped: Counter of dropped lines. If it is set, bold lines that are headings are dropped and counted, and ``INTRODUCES``
            ends each paragraph before a dropped block. A line that begins with "•" is then a list item.

    >>> paragraphs("\\x1f text"), paragraphs("\\x1f text", templates_on=True)
    ([], ['text'])
    """
    if "<" in text:
        tags = text.split("<")  # much faster than a regular expression
        if any(0 <= tag.find("\n") < tag.find(">") for tag in tags[1:]):
            text = _BROKEN_TAG.sub(lambda tag: tag[0].replace("\n", " ") if tag[1].lower() in _TAGS else tag[0], text)
        if any(map(may_drop, tags[1:])):
            text = close_boxes(text)
    formulas = FORMULA in text or HOLE in text
    if formulas and "<" in text:
        text = _CENTRED.sub(r":\2", text)
    page = _Page(keep_definitions, templates_on, formulas, dropped)
    for line in text.split("\n"):  # over half of all lines are blank or list items: handle them without calling `line`
        if not line:
            if page.lines:
                page.blank()
        elif line[0] in "*#" and "<" not in line:  # a list item without tags
            if page.lines or len(page.done) != page.before_block:
                page.before_item()
        else:
            page.line(line)
    page.skip()
    return page.done
