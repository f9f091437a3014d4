"""Turn a page of an EPUB into paragraphs: keep prose and quotations; drop headings, tables, lists, pictures and notes."""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from functools import cached_property
from html.parser import HTMLParser
from itertools import accumulate
from typing import Any, NamedTuple

from ..lines import CJK, drop_controls, fold_case, join_lines, one_line
from .blocks import Block, is_paragraph
from .headings import words
from .marks import Initial, Styles, Tag, is_back_link, is_hidden, is_note_mark, join_initial, picture_initial, written_initial


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID = _words("br hr img input link meta col area base embed param source track wbr")
_INLINE = _words("a abbr b big cite em font i small span strong sub sup tt u")
_BLOCKS = _words(
    "html body p div section article blockquote pre hr header footer main address center fieldset details summary li dd dt td th "
    "tr figure table ul ol dl h1 h2 h3 h4 h5 h6"
)
_DROPPED = _words(
    "head title script style table ul ol dl figure figcaption nav h1 h2 h3 h4 h5 h6 hgroup svg math audio video object form "
    "select button template noscript rt rp aside"
)
_HEADINGS = _words("h1 h2 h3 h4 h5 h6 title subtitle chapter-title chaptertitle")
# Values of epub:type, role and the guide's types for pages and sections, and classes for parts of a page.
SKIPPED_PAGES = _words(
    "cover titlepage title-page halftitlepage copyright-page toc landmarks loi lot loa lov index bibliography colophon imprint "
    "endnotes rearnotes footnotes notes errata glossary"
)
_AMBIGUOUS = _words(  # authors also use these classes for chapters and for the page as a whole
    "caption figcenter figure illustration illus toc contents title subtitle chapter-title chaptertitle"
)
_NO_PROSE = _AMBIGUOUS | _words("pagebreak pagenum pageno pg-boilerplate pgheader transnote tnote noteref fnanchor")
_NOTE_CLASS = re.compile(r"(?:_id|mso)?(?:foot|end|rear)[-_]?notes?(?:[-_\d].*|text|body|para|link|anchor|call|mark|ref.*)?")
_VERSE = _words("poem poetry verse stanza poem-container z3998:poem z3998:verse lg")
_NOTES_HEADING = re.compile(  # after `fold_case`
    rf"[\W\d]{{0,9}}(?:{words('note_headings')})(?: zum .{{1,40}}| zu .{{1,40}}| \d{{1,3}})?[\W\d]{{0,9}}"
)
_NUMBERED = re.compile(r"\W{0,3}(?:\d{1,4}|[*†‡§]{1,3})(?:\W|$)")
_MIN_LINKS = 3  # of a page of contents; a note may have fewer
_MAX_VERSE_CHARACTERS = 60  # a line of verse is not longer
MAX_PROSE_CHARACTERS = 1200  # in an element with an ambiguous class: about 200 words
_MAX_INLINE_PARTS, _MAX_INLINE_CHARACTERS = 12, 60  # of a note mark, an initial or hidden text
_MAX_HEADING_CHARACTERS = 200
_MAX_OPEN_CHARACTERS = 4000  # of a paragraph, before its beginning is put away
# A malformed tag, whose last quotation mark is missing: a `>` follows, and no `" >` that could end the value.
_UNQUOTED = re.compile(
    r"""<([A-Za-z][\w:.-]*)(?![\w:.-])((?:[^<>"']|"[^"<>]*"|'[^'<>]*')*)["'][^<>"']*>(?![^<"']{0,999}["'][^<>"']{0,999}>)"""
)
_COMMENT = re.compile("<!--.*?-->", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


class Passage(NamedTuple):
    """A paragraph, or the lines of a stanza if `verse`."""

    lines: list[str]
    verse: bool


def parse(markup: str) -> list[Tag | str]:
    """Return the tags and the text between them, without comments and declarations, in linear time.

    Only HTML's own character references are expanded. Entities and inclusions that a file defines are left as they are.
    """
    markup = drop_controls(markup)
    # html.parser looks for the end of each comment and each tag in all of the rest. So remove those without an end first.
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>")):
        last = max(0, markup.rfind(closing))
        markup = markup[:last] + markup[last:].replace(opening, "")
    markup = _COMMENT.sub("", _CDATA.sub(lambda part: html.escape(part[1]), markup)).replace("<![", "<!")
    last = markup.rfind(">") + 1
    parser = _Parser()
    parser.feed(_UNQUOTED.sub(r"<\1\2>", markup[:last]) + re.sub("<[A-Za-z/!?][^<]*", "", markup[last:]))
    parser.close()
    return parser.parts


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[Tag | str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append(Tag(_plain(tag), {_plain(name): value or "" for name, value in reversed(attrs)}))

    def handle_endtag(self, tag: str) -> None:
        if _plain(tag) not in _VOID:
            self.parts.append(Tag(_plain(tag), None))

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def set_cdata_mode(self, *_args: Any, **_options: Any) -> None:
        """Read scripts as markup, which is dropped: an unclosed one must not hide the rest of the page."""


def _plain(name: str) -> str:
    return name.rpartition(":")[2]


def is_link_list(parts: list[Tag | str]) -> bool:
    """Return True if a page is a table of contents: more of its text is inside of links than outside."""
    links = inside = outside = is_link = 0
    for part in parts:
        if isinstance(part, str):
            size = len(part) - part.count(" ") - part.count("\n")
            inside, outside = inside + size * is_link, outside + size * (1 - is_link)
        elif part.name == "a":
            is_link = int(part.get("href") != "")
            links += is_link
    return links >= _MIN_LINKS and inside > outside


class Page:
    """Read the tags of a page in order, and skip the elements without prose."""

    def __init__(self, parts: list[Tag | str], name: str = "", styles: Styles | None = None) -> None:
        body = next((at for at, part in enumerate(parts) if part[0] == "body" and isinstance(part, Tag)), 0)
        self._parts, self._name, self._styles = parts[body:], name, styles or Styles()
        self._ends: dict[int, int] = {}  # the end of each element by its start
        starts = defaultdict[str, list[int]](list)
        for at, part in enumerate(self._parts):
            if isinstance(part, Tag) and part.attributes is not None:
                starts[part.name].append(at)
            elif isinstance(part, Tag) and starts[part.name]:
                self._ends[starts[part.name].pop()] = at
        # If an end is missing, it is not known what the elements with this name contain.
        self._unclosed = {name for name, left in starts.items() if left}
        self._beginning, self._text = list[str](), ""  # of the paragraph
        self._initial: Initial | None = None  # before the text
        self._ids = set[str]()  # places in the book that name the text that follows
        self._is_note = False  # whether the current paragraph is a note
        self._notes, self._dropped_notes = -1, 0  # number of the first paragraph under a heading for notes
        self._verse_end = self._pre_end = 0
        self.passages: list[Passage] = []
        at = 0
        while at < len(self._parts):
            at = self._read_part(at, self._parts[at])
        self._flush(at)
        self._end_section()

    def _read_part(self, at: int, part: Tag | str) -> int:
        """Read a text, a tag, or an element that is skipped. Return the number of the part after it."""
        if len(self._text) > _MAX_OPEN_CHARACTERS:  # otherwise, adding to it would take more than linear time
            self._beginning.append(self._text[:-100])
            self._text = self._text[-100:]
        if isinstance(part, str):
            self._text += part
            self._ids = self._ids if part.isspace() else set()
            return at + 1
        end = self._ends.get(at, 0)
        if part.name in _BLOCKS:
            self._flush(at)
        if part.attributes is None:
            return at + 1
        self._begin_with(picture_initial(part))
        self._text += "\v" * (part.name == "br")
        if part.name in _INLINE and end and self._skip_inline(at, end):
            return end + 1
        self._ids.update(self._places([part]))
        kinds = set(f"{part.get('type')} {part.get('role')}".lower().replace("doc-", "").split())
        classes = set(part.get("class").lower().split())
        if part.name in ("html", "body"):
            end, classes = len(self._parts), set()
        reasons = kinds & SKIPPED_PAGES | (kinds | classes) & _NO_PROSE | {part.name} & _DROPPED
        reasons |= set(filter(_NOTE_CLASS.fullmatch, kinds | classes))
        end = 0 if part.name in self._unclosed and part.name not in ("html", "body") else end
        is_sure = not reasons <= _AMBIGUOUS or not reasons.isdisjoint(kinds)
        if end and reasons and (is_sure or self._prose_sizes[end] - self._prose_sizes[at] <= MAX_PROSE_CHARACTERS):
            self._skip(self._parts[at:end], is_heading=not reasons.isdisjoint(_HEADINGS))
            return end + 1
        is_verse = part.name == "pre" or not _VERSE.isdisjoint(kinds | classes)
        self._verse_end = max(self._verse_end, end * is_verse)
        self._pre_end = max(self._pre_end, end * (part.name == "pre"))
        return at + 1

    def _skip(self, parts: list[Tag | str], *, is_heading: bool) -> None:
        """Skip an element. A heading begins a section, and a picture may be an initial."""
        text = one_line("".join(part for part in parts if isinstance(part, str)))
        if is_heading and text:
            self._end_section(begins_notes=_is_notes_heading(text))
        for part in parts if not text else ():
            self._begin_with(picture_initial(part) if isinstance(part, Tag) else None)

    def _begin_with(self, initial: Initial | None) -> bool:
        """Begin the paragraph with an initial unless text precedes it. Drop its copies."""
        if not initial or self._beginning or re.search(r"\w", self._text):
            return False
        if self._initial:
            return self._initial.letter[-1] == initial.letter[-1]
        self._initial, self._text = initial._replace(opening=self._text.strip()), ""
        return True

    def _places(self, tags: list[Tag]) -> set[str]:
        return {f"{self._name}#{place}" for tag in tags for place in (tag.get("id"), tag.get("name")) if place}

    def _skip_inline(self, at: int, end: int) -> bool:
        """Skip an initial, a note mark or hidden text. Return False if the element is anything else."""
        parts = self._parts[at:end] if end - at <= _MAX_INLINE_PARTS else []
        tags = [part for part in parts if isinstance(part, Tag)]
        text = "".join(part for part in parts if isinstance(part, str)).strip()
        if not text or len(text) > _MAX_INLINE_CHARACTERS or any(tag.name not in _INLINE for tag in tags):
            return False
        if self._begin_with(written_initial(tags, text, self._styles)) or is_hidden(tags):
            return True
        before, after = self._text, self._parts[end + 1] if end + 1 < len(self._parts) else ""
        after = after if isinstance(after, str) else ""
        is_inside = before[-1:] + after[:1] in ("[]", "()") and (before[-1] == "[" or before[-2:-1].strip() != "")
        if is_inside:  # the brackets are outside of the link
            before, text, after = before[:-1], f"[{text}]", after[1:]
        if not is_note_mark(tags, text, before, self._ids | self._places(tags), self._styles):
            return False
        self._is_note |= is_back_link(tags, text) or not (self._beginning or before.strip(" \n\t[("))
        if is_inside:
            self._parts[end + 1] = after
        self._text = before.rstrip() if after[:1] in tuple(".,;:!?)") else before
        self._text += " " * (before[-1:] in tuple(".!?…") and after[:1].isupper())
        return True

    def _flush(self, at: int) -> None:
        """End a paragraph before part `at`."""
        text, is_note = "".join([*self._beginning, self._text]).replace("\xad", ""), self._is_note
        self._beginning, self._text, self._is_note, self._ids = [], "", False, set()
        letter = text.strip()
        if not letter or (len(letter) == 1 and letter.isupper() and not self._initial):
            self._initial = self._initial or (Initial(letter, "large") if letter else None)
            self._initial = self._initial and self._initial._replace(is_apart=True)
            return
        if self._initial:
            text, self._initial = join_initial(self._initial, text, self._words), None
        if at > self._verse_end and _is_notes_heading(text):
            self._end_section(begins_notes=True)
            return
        if is_note:
            self._dropped_notes += 1
            return
        text = text.replace("\n", "\v") if at <= self._pre_end else text
        for part in re.split(r"\v\s*\v\s*", text):
            lines = [one_line(join_lines(line.split("\n"))) for line in part.split("\v")]
            if lines := [line for line in lines if any(map(str.isalnum, line))]:
                # Chinese and Japanese verse is marked; dialogue has short lines.
                is_short = (
                    len(lines) > 2 and max(map(len, lines)) <= _MAX_VERSE_CHARACTERS and not re.search(f"[{CJK}]", lines[0])
                )
                is_verse = at <= self._verse_end or is_short
                self.passages.append(Passage(lines if is_verse else [join_lines(lines)], is_verse))

    @cached_property
    def _words(self) -> Counter[str]:
        """The words of the page, which distinguish an initial from a word of one letter."""
        texts = (part.lower() for part in self._parts if isinstance(part, str))
        return Counter(word for text in texts for word in re.findall(r"[^\W\d_]+", text))

    @cached_property
    def _prose_sizes(self) -> list[int]:
        """The characters of prose up to each part."""
        sizes = (len(part) * is_paragraph(Block([part], 1, 1)) if isinstance(part, str) else 0 for part in self._parts)
        return list(accumulate(sizes, initial=0))

    def _end_section(self, *, begins_notes: bool = False) -> None:
        """Drop the paragraphs under a heading for notes, if half of them begin with a mark. The next section begins."""
        if self._notes >= 0:
            notes = [_NUMBERED.match(passage.lines[0]) is not None for passage in self.passages[self._notes :]]
            if sum(notes) + self._dropped_notes >= len(notes) - sum(notes):
                del self.passages[self._notes :]
        self._notes = len(self.passages) if begins_notes else -1
        self._dropped_notes = 0


def _is_notes_heading(text: str) -> bool:
    return _NOTES_HEADING.fullmatch(fold_case(one_line(text[:_MAX_HEADING_CHARACTERS]))) is not None
