"""Join the lines of wikitext into paragraphs of prose. Headings, lists, preformatted lines and remains of tables are dropped.

>>> [paragraph.text for paragraph in paragraphs("== A ==\\nOne\\ntwo.\\n* item\\n\\nThree<div>four</div>", Counter())]
['One two.', 'Three', 'four']
"""

import re
from collections import Counter
from dataclasses import dataclass

from .boxes import drop_boxes, may_drop
from .inline import INLINE, part_labels
from .marks import AWAY, FOOTNOTE, FORMULA, HOLE, OBJECT, SHIELD, VANISHED
from .quotes import ENDED, drop_quotes, is_heading

_TAG = re.compile(r"<(/?)([a-zA-Z]+[1-6]?)(?=[\s/>])([^<>]*)>")
_BLOCK_NAMES = """
    div p blockquote center h1 h2 h3 h4 h5 h6 ul ol dl li dd dt table caption tr td th tbody thead tfoot hr
    pre section article aside figure figcaption header footer nav main details summary
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_BROKEN_TAG = re.compile(r"<(?=/?([a-zA-Z]+[1-6]?)[\s/])[^<>\n]*\n[^<>]*>")  # a tag with a line break in its attributes
_TAGS = _BLOCKS | INLINE
_HEADING = re.compile(rf"=.*=[\s{OBJECT}]*$")
_REMOVED_MARKS = VANISHED + FOOTNOTE  # marks of dropped templates and files
_INVISIBLE_MARKS = _REMOVED_MARKS + AWAY
_INVISIBLE = _INVISIBLE_MARKS + " "
# A displayed formula: a line that begins with a formula, possibly indented. The sentence before it continues after it.
_DISPLAYED = re.compile(rf"[ :]+[{FORMULA}{HOLE}]|(?:{FORMULA}[^{FORMULA}]*{FORMULA}|[{HOLE}\s,;.])+$")
_CENTRED = re.compile(
    rf"<(?<![^\n]<)(center|div|p)\b[^<>\n]*>\s*([{FORMULA}{HOLE}][^<\n]*)</\1>\s*$", re.MULTILINE | re.IGNORECASE
)
_SPECIAL = frozenset(f" *#:;=|!-•{FORMULA}{HOLE}")  # first characters of a line that may be markup


@dataclass(slots=True)
class Paragraph:
    """A paragraph with inline markup. A list, a table or another dropped block may follow it, of which it may be the title."""

    text: str
    before_block: bool = False
    may_be_title: bool = False


class Page:
    """Build the paragraphs of a page from its lines, one line at a time."""

    def __init__(self, templates_on: bool, dropped: Counter[str] | None) -> None:
        self.unseen = _REMOVED_MARKS + " " if templates_on else _REMOVED_MARKS
        self.done: list[Paragraph] = []
        self.lines: list[str] = []  # lines of the open paragraph
        self.dropped = dropped  # counts of dropped headings; None keeps the headings
        self.heading = False  # the first line of the open paragraph is bold like a heading
        self.before_block = 0  # number of finished paragraphs when the last block was dropped
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
                self.done.append(Paragraph(" ".join(self.lines)))
            self.lines = []
            self.heading = False
        self.continues = False

    def mark(self, is_item: bool = False) -> None:
        """Mark the last paragraph: a heading, a list or another block after it is dropped."""
        if len(self.done) > self.before_block:
            self.before_block = len(self.done)
            self.done[-1].before_block = True
            self.done[-1].may_be_title = is_item

    def skip(self, is_item: bool = False) -> None:
        """End the open paragraph before a block that is dropped. A line right above a list item may be its title."""
        is_title = is_item and len(self.lines) == 1
        self.end()
        self.mark(is_title)

    def blank(self) -> None:
        """Process a line without text."""
        if self.lines and not self.in_run:
            count = len(self.done)
            self.end()
            self.continues = len(self.done) > count

    def rejoin(self) -> None:
        """Reopen the last paragraph, which only blank lines ended."""
        if self.continues and not self.lines:
            self.lines = [self.done.pop().text]

    def display(self, line: str) -> None:
        """Add a displayed formula to the sentence before it. After a complete sentence, drop the formula like a list item."""
        if self.continues and not ENDED.search(self.done[-1].text):
            self.rejoin()
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
        elif initial.islower():
            self.rejoin()

    def line(self, line: str) -> None:
        """Process one line that is not empty."""
        first = line[0]
        if first in _INVISIBLE_MARKS:
            line = line.lstrip(self.unseen)  # "*" after invisible marks still starts a list item
            if line[:1] == AWAY:  # the link removes the blank lines before it
                line = line.lstrip(_INVISIBLE)
                self.rejoin()
                if first == AWAY and not line:
                    return
            if not line:
                self.blank()
                return
            first = line[0]
        tags = [tag for tag in _TAG.finditer(line) if tag[2].lower() in _BLOCKS] if "<" in line else []
        if first == "=" and ((line[-1] == "=" and line != "=") or _HEADING.match(line)):
            self.skip()
        elif tags:
            self.tagged(line, tags)
        elif line.isspace():
            self.blank()
        elif first in _SPECIAL:
            self.special(line, first)
        else:
            self.add(line)

    def special(self, line: str, first: str) -> None:
        """Process a line whose first character may be markup."""
        if first in "*#" or (first == "•" and self.dropped is not None):
            self.skip(is_item=True)
        elif first in (" ", ":", FORMULA, HOLE) and _DISPLAYED.match(line):
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
            if name == "hr":
                self.mark()
            elif name == "blockquote":
                self.in_quote = not closing
            self.in_run = name == "p" and not closing
        self.piece(line[position:])

    def piece(self, text: str) -> None:
        """Add the text between two block tags."""
        if text and not text.isspace():
            self.add(text)


def _after_item(tags: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the tags after a list item, starting at the first that closes an element opened before the item."""
    depth = 0
    for index, tag in enumerate(tags):
        depth += -1 if tag[1] else tag[2].lower() != "hr"
        if depth < 0:
            return tags[index:]
    return []


def paragraphs(text: str, dropped: Counter[str] | None, templates_on: bool = False) -> list[Paragraph]:
    """Return the paragraphs of wikitext in which templates, links and other inline markup are replaced already.

    Args:
        text: The wikitext.
        dropped: Counts dropped headings, which are bold lines; None keeps them. A line that begins with "•" is then a list item.
        templates_on: Whether a space at the start of a line, but after a removed template or file, makes no preformatted line.
            On the page, the template or file comes before the space.
    """
    if "<" in text:
        tags = text.split("<")  # much faster than a regular expression
        if any(0 <= tag.find("\n") < tag.find(">") for tag in tags[1:]):
            text = _BROKEN_TAG.sub(lambda tag: tag[0].replace("\n", " ") if tag[1].lower() in _TAGS else tag[0], text)
        if any(map(may_drop, tags[1:])):
            text = drop_boxes(text)
        if FORMULA in text or HOLE in text:
            text = _CENTRED.sub(r":\2", text)
    page = Page(templates_on, dropped)
    for line in text.split("\n"):  # over half of all lines are blank or list items: handle them without calling `line`
        if not line:
            if page.lines:
                page.blank()
        elif line[0] in "*#" and "<" not in line:  # a list item without tags
            if page.lines or len(page.done) != page.before_block:
                page.skip(is_item=True)
        else:
            page.line(line)
    page.skip()
    return page.done
