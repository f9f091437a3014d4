"""Turn a page of an EPUB into paragraphs: keep prose and quotations; drop headings, tables, lists, pictures and notes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ..lines import join_lines, one_line
from .account import size
from .blocks import Block, is_paragraph
from .put_back import MAX_PROSE_CHARACTERS
from .xml_tags import Tag, attributes, tags_and_text

__all__ = ["SKIPPED_PAGES", "Passage", "counted_as", "passages", "text_size"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED = _words(
    "head title script style table ul ol dl figure figcaption nav h1 h2 h3 h4 h5 h6 hgroup svg math audio video object form "
    "select button template noscript rt rp aside"
)
_BLOCKS = _words(
    "html body p div section article blockquote pre hr header footer main address center fieldset details summary li dd dt td "
    "th tr figure table ul ol dl h1 h2 h3 h4 h5 h6"
)
_VOID = _words("br hr img input link meta col area base embed param source track wbr")
_NO_PROSE = _words(  # values of epub:type and class that mark a part of a page
    "footnote footnotes endnote endnotes rearnote rearnotes noteref fnanchor pagebreak pagenum pageno caption figcenter figure "
    "illustration illus toc contents pg-boilerplate pgheader transnote tnote title subtitle chapter-title chaptertitle"
)
SKIPPED_PAGES = _words(  # values of epub:type and the guide's types for pages and sections
    "cover titlepage title-page halftitlepage copyright-page toc landmarks loi lot loa lov index bibliography colophon imprint "
    "endnotes rearnotes footnotes notes errata glossary"
)
_COUNTED_AS = {  # count name per element, or per value of epub:type or class; ``""``: not text
    kind: name
    for name, kinds in {
        "": "head script style template noscript",
        "headings": "title hgroup h1 h2 h3 h4 h5 h6 subtitle chapter-title chaptertitle",
        "tables and lists": "table ul ol dl",
        "pictures": "figure figcaption svg caption figcenter illustration illus",
        "contents": "nav toc contents landmarks loi lot loa lov",
        "footnotes": "footnote footnotes endnote endnotes rearnote rearnotes noteref fnanchor notes",
        "page numbers": "pagebreak pagenum pageno",
        "licence": "pg-boilerplate pgheader",
        "transcribers' notes": "transnote tnote",
        "title page": "titlepage title-page halftitlepage",
        "imprint": "copyright-page colophon imprint",
        "ruby": "rt rp",
        "asides": "aside",
        "formulas": "math",
        "media and forms": "audio video object form select button",
    }.items()
    for kind in kinds.split()
}
_AMBIGUOUS = _words(  # classes that authors also use for chapters and for the page as a whole
    "caption figcenter figure illustration illus toc contents title subtitle chapter-title chaptertitle"
)
_VERSE = _words("poem poetry verse stanza poem-container z3998:poem z3998:verse lg")
_MANY_LINKS = 3  # minimum in a page of contents; a note may have fewer
_MAX_VERSE_CHARACTERS = 60  # a line of verse is not longer


class Passage(NamedTuple):
    """A paragraph, or the lines of a stanza if `verse`."""

    lines: list[str]
    verse: bool


def counted_as(kind: str) -> str:
    """Return the name under which the dropped text of an element, or of a page of this kind, is counted."""
    return _COUNTED_AS.get(kind, kind)


def text_size(markup: str) -> int:
    """Count the characters of a page's text, without whitespace."""
    begun, total = not _look_over(tags_and_text(markup)).has_body, 0
    for part in tags_and_text(markup):
        begun = begun or (isinstance(part, Tag) and part.name == "body")
        total += size(part) if begun and isinstance(part, str) else 0
    return total


def passages(markup: str, left_out: Counter[str] | None = None) -> list[Passage]:
    """Return the paragraphs and stanzas of a page in order; [] if the page is a list of links.

    `left_out` counts the characters of the dropped text, without whitespace, by kind.

    >>> passages("<body><h2>I</h2><p>The <i>kettle</i><br/>sang.</p><table><tr><td>1</td></tr></table></body>")
    [Passage(lines=['The kettle sang.'], verse=False)]
    """
    shape, left_out = _look_over(tags_and_text(markup)), Counter() if left_out is None else left_out
    if shape.is_contents:
        left_out["contents"] += text_size(markup)
        return []
    # A chapter in `<div class="contents">` is only recognized at its end. Read such a page again,
    # with these elements kept.
    reader = _read(markup, shape, set())
    if reader.chapters:
        reader = _read(markup, shape, reader.chapters)
    left_out.update(reader.left_out)
    return reader.passages


def _read(markup: str, shape: _Shape, keep: set[int]) -> _Reader:
    reader, begun = _Reader(shape.unclosed, keep), not shape.has_body
    for at, part in enumerate(tags_and_text(markup)):
        begun = begun or (isinstance(part, Tag) and part.name == "body")
        if begun:
            reader.take(at, part)
    reader.flush()
    return reader


class _Shape(NamedTuple):
    """Shape of a page. `unclosed` names elements opened more often than closed, so they may not contain everything after them."""

    unclosed: set[str]
    is_contents: bool
    has_body: bool


def _look_over(parts: Iterable[Tag | str]) -> _Shape:
    """Scan a page; it is a list of contents if most of its words are in links."""
    balance: Counter[str] = Counter()
    words = [0, 0]  # characters outside links, and inside
    links, inside, body = 0, False, False
    for part in parts:
        if isinstance(part, str):
            words[inside] += len(part) - part.count(" ") - part.count("\n")
        elif not part.empty:
            balance[part.name] += -1 if part.end else 1
            body = body or part.name == "body"
            if part.name == "a":
                inside = not part.end and "href" in part.attributes
                links += inside
    return _Shape({name for name, count in balance.items() if count > 0}, links >= _MANY_LINKS and words[1] > words[0], body)


class _Element(NamedTuple):
    name: str
    dropped: bool
    verse: bool


class _Reader:
    """Track the elements of a page, and collect the text outside dropped elements.

    Elements whose start tags have the numbers in `keep` are kept in spite of an ambiguous class. After reading, `chapters` has
    the start tags of dropped elements with an ambiguous class and more than 200 words of prose.
    """

    def __init__(self, unclosed: set[str], keep: set[int]) -> None:
        self._unclosed, self._keep = unclosed, keep
        self._kind = ""  # of the outermost dropped element
        self._start = -1  # number of its start tag, if its class is ambiguous
        self._prose = 0  # characters of its paragraphs
        self._open: list[_Element] = []
        self._names: Counter[str] = Counter()  # of the open elements
        self._dropping = self._verse = 0  # number of open elements that are dropped, or verse
        self._text: list[str] = []
        self.passages: list[Passage] = []
        self.left_out: Counter[str] = Counter()
        self.chapters: set[int] = set()

    def take(self, at: int, part: Tag | str) -> None:
        """Process part number `at` of a page: a tag or a text."""
        if isinstance(part, str):
            if not self._dropping:
                self._text.append(part)
            elif name := counted_as(self._kind):
                self.left_out[name] += size(part)
                if self._start >= 0 and is_paragraph(Block([one_line(part)], 1, 1)):
                    self._prose += size(part)
                    if self._prose > MAX_PROSE_CHARACTERS:
                        self.chapters.add(self._start)
            return
        if part.name == "br" and not self._dropping:
            self._text.append("\v")
        if part.name in _BLOCKS and not self._dropping:
            self.flush()
        if part.end:
            self._close(part.name)
        elif not part.empty and part.name not in _VOID:
            self._begin(at, part)

    def _begin(self, at: int, tag: Tag) -> None:
        if tag.name == "p" and self._open and self._open[-1].name == "p":
            self._close("p")
        known = attributes(tag.attributes) if tag.attributes.strip() else {}
        kinds = set(f"{known.get('type', '')} {known.get('role', '')}".lower().replace("doc-", "").split())
        classes = set(known.get("class", "").lower().split())
        is_root = tag.name in ("html", "body")  # may be unclosed
        reasons = sorted(kinds & (_NO_PROSE | SKIPPED_PAGES))
        if not is_root:
            reasons += [*sorted(classes & (_NO_PROSE - _AMBIGUOUS if at in self._keep else _NO_PROSE)), *({tag.name} & _DROPPED)]
        dropped = bool(reasons) and (is_root or tag.name not in self._unclosed)
        if dropped and not self._dropping:
            self._kind, self._prose = reasons[0], 0
            self._start = at if set(reasons) <= _AMBIGUOUS and not kinds & _NO_PROSE else -1
        verse = tag.name not in self._unclosed and (tag.name == "pre" or bool((kinds | classes) & _VERSE))
        self._open.append(_Element(tag.name, dropped, verse))
        self._names[tag.name] += 1
        self._dropping += dropped
        self._verse += verse

    def _close(self, name: str) -> None:
        """Close the innermost element with this name, and the elements open inside it."""
        if not self._names[name]:
            return
        while True:
            element = self._open.pop()
            self._names[element.name] -= 1
            self._dropping -= element.dropped
            self._verse -= element.verse
            if element.name == name:
                return

    def flush(self) -> None:
        """End a paragraph."""
        text, self._text = "".join(self._text).replace("\xad", ""), []
        if self._names["pre"]:
            text = text.replace("\n", "\v")
        for part in re.split(r"\v\s*\v\s*", text):
            lines = [one_line(join_lines(line.split("\n"))) for line in part.split("\v")]
            self.left_out["ornaments"] += sum(size(line) for line in lines if not any(map(str.isalnum, line)))
            lines = [line for line in lines if any(map(str.isalnum, line))]
            if lines:
                verse = self._verse > 0 or (len(lines) > 2 and max(map(len, lines)) <= _MAX_VERSE_CHARACTERS)
                self.passages.append(Passage(lines if verse else [join_lines(lines)], verse))
