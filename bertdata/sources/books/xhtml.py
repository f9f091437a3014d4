"""Turn a page of an EPUB into paragraphs: keep prose and quotations; drop headings, tables, lists, pictures and notes."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from lxml import etree

from ..lines import CJK, drop_controls, fold_case, join_lines, one_line
from .headings import words
from .marks import Initial, Notes, find_initial, is_hidden, is_note_mark, join_initial


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HEADINGS = _words("h1 h2 h3 h4 h5 h6 title subtitle chapter-title chaptertitle")
_LISTS = _words("table ul ol dl h1 h2 h3 h4 h5 h6")
_CONTAINERS = _LISTS | _words(
    "div section article blockquote pre header footer main address center fieldset details summary figure nav aside svg"
)
_BLOCKS = _CONTAINERS - _words("nav aside svg") | _words("html body p hr li dd dt td th tr")
_DROPPED = _LISTS | _words(
    "head figcaption nav hgroup svg math audio video object form select button template noscript rt rp aside"
)
# Values of epub:type, role and the guide's types for pages and sections, and classes for parts of a page.
SKIPPED_PAGES = _words(
    "cover titlepage title-page halftitlepage copyright-page toc landmarks loi lot loa lov index bibliography colophon imprint "
    "endnotes rearnotes footnotes notes errata glossary"
)
_AMBIGUOUS = _words(  # authors also use these classes for chapters and for the page as a whole
    "caption figcenter figure illustration illus toc contents title subtitle chapter-title chaptertitle"
)
_SKIPPED_SECTIONS = SKIPPED_PAGES | _AMBIGUOUS
_NO_PROSE = _words("pagebreak pagenum pageno pg-boilerplate pgheader transnote tnote noteref fnanchor")
_NOTE_CLASS = re.compile(
    r"(?<!\S)(?:_id|mso)?(?:foot|end|rear)[-_]?notes?(?:[-_\d]\S*|text|body|para|link|anchor|call|mark|ref\S*)?(?!\S)"
)
_VERSE = _words("pre poem poetry verse stanza poem-container z3998:poem z3998:verse lg")
_NOTES_HEADING = re.compile(  # after `fold_case`
    rf"[\W\d]{{0,9}}(?:{words('note_headings')})(?: zum .{{1,40}}| zu .{{1,40}}| \d{{1,3}})?[\W\d]{{0,9}}"
)
_ARROW = re.compile(r"\W{0,3}[↩↑⇑⤴←^▲△]\W{0,3}")  # of a link from a note to its mark
_NUMBERED = re.compile(r"\W{0,3}(?:\d{1,4}|[*†‡§]{1,3})(?:\W|$)")
_NEAR_MARK = re.compile(r"\s{0,9}\[\s?\0+\s?\]|\(\0+\)|\s{0,9}\0+(?=[.,;:!?)])")  # brackets and space around it
_BEHIND_STOP = re.compile(r"(?<=[.!?…])\0+(?=[^\W\d_])")
_RAISED_DIGITS = re.compile(r"(?<=[.,;:!?…”’»\"])[¹²³⁰⁴-⁹]{1,3}(?!\w)")
_CJK = re.compile(f"[{CJK}]")
_MAX_LIST_LEVEL = 20  # of nested elements, because a list of links is searched as a whole
_MIN_LINKS = 3  # of a page of contents; a note may have fewer
_MAX_VERSE_CHARACTERS = 60  # a line of verse is not longer
MAX_PROSE_CHARACTERS = 1200  # in an element with an ambiguous class: about 200 words
_MAX_INLINE_TAGS, _MAX_INLINE_CHARACTERS = 6, 60  # of a note mark, an initial or hidden text
_MAX_HEADING_CHARACTERS = 200
# A comment or code; without an end, it must not hide the rest of the page.
_OPAQUE = re.compile(
    r"<(?:(!--)|(?:script|style)\b[^<>]*(?<!/)>)(.*?)(?:(?(1)-->|</(?:script|style)\s*>)|(\Z))", re.IGNORECASE | re.DOTALL
)
_CODE = re.compile(r"""(?:"[^"\n]*"|'[^'\n]*'|[^<]|<(?![A-Za-z/!]))*""")  # up to the next tag that is not quoted
# A tag whose last quotation mark is missing, which would hide the rest of the page.
_UNQUOTED = re.compile(r"""<([A-Za-z][^\s<>/]*)(?![^<>"']*(?:(?:"[^"<]*"|'[^'<]*')[^<>"']*)*>)[^<>]*>""")
_BODY, _NO_TAG = re.compile("<body", re.IGNORECASE), re.compile(r"</(?:body|html)[^<>]*>|<!\[CDATA\[|\]\]>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z]\w*)(?![^<>]*/>)")


class Passage(NamedTuple):
    """A paragraph, or the lines of a stanza if `verse`."""

    lines: list[str]
    verse: bool


def parse(markup: str) -> Any:
    """Return the elements of a page or of another file as a tree. Raise ValueError if they are nested too deeply.

    Entities that the file defines are not expanded, and nothing that it refers to is read.
    """
    markup = _OPAQUE.sub(
        lambda part: "" if part[3] is None else part[2] if part[1] else _CODE.sub("", part[2], count=1), drop_controls(markup)
    )
    body = _BODY.search(markup)
    markup = _UNQUOTED.sub(r"<\1>", _NO_TAG.sub("", markup[body.start() :] if body else f"<body>{markup}"))
    # If an end is missing, it is not known what the elements with this name contain.
    tags = Counter((name.lower(), is_end) for is_end, name in _TAG.findall(markup))
    if unclosed := [name for name in _CONTAINERS if tags[name, ""] > tags[name, "/"]]:
        markup = re.sub(rf"(?i:</?(?:{'|'.join(unclosed)})\b[^<>]*>)", "<p>", markup)
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(markup.encode("utf-8", "replace"), parser)
    if any("depth" in entry.message for entry in parser.error_log.filter_from_level(etree.ErrorLevels.FATAL)):
        raise ValueError("elements are nested more than 2,048 levels deep")
    return root


def is_link_list(root: Any) -> bool:
    """Return True if a page is a table of contents: more of its text is inside of links than outside."""
    inside, size = (len("".join("".join(texts).split())) for texts in (root.xpath(".//a[@href != '']//text()"), root.itertext()))
    return len(root.xpath(".//a[@href != '']")) >= _MIN_LINKS and 2 * inside > size


class Page:
    """Read the elements of a page in order, and skip those without prose."""

    def __init__(self, root: Any, notes: Notes) -> None:
        self._root, self._notes = root, notes
        self._text: list[str] = []  # of the paragraph
        self._is_begun = self._is_note = self._may_be_note = False  # whether the paragraph has a word; and a note has a number
        self._initial: Initial | None = None  # before the text
        self._ids = set[str | None]()  # places in the book that name the text that follows
        self._level, self._section, self._dropped_notes = "", 0, 0  # tag of a heading for notes, first paragraph, notes under it
        self._verse = [False]  # whether each open element is verse
        self.passages: list[Passage] = []
        walker, is_skipped = etree.iterwalk(root, events=("start", "end")), False
        for event, node in walker:
            tag = node.tag if node.tag == "o:p" else node.tag.rpartition(":")[2]  # Word's "o:p" does not end a paragraph
            if event == "start":
                self._flush(tag)
                if is_skipped := not self._enter(node, tag):
                    walker.skip_subtree()
                self._add("" if is_skipped else node.text)
            else:
                if not is_skipped:
                    self._flush(tag)
                    self._verse.pop()
                is_skipped = False
                self._add(node.tail)
        self._end_section()

    def _enter(self, node: Any, tag: str) -> bool:
        """Begin an element; return False if it is skipped."""
        if tag not in _BLOCKS and self._skip_inline(node):
            return False
        kind = f"{node.get('epub:type', '')} {node.get('role', '')}".lower().replace("doc-", "")
        style = f"{tag} {kind} {node.get('class', '') if tag != 'body' else ''}".lower()
        kinds, names = _words(kind), _words(style)
        is_dropped = tag in _DROPPED or not names.isdisjoint(_NO_PROSE) or not kinds.isdisjoint(_SKIPPED_SECTIONS)
        if is_dropped or _NOTE_CLASS.search(style) or (not names.isdisjoint(_AMBIGUOUS) and self._is_short(node)):
            if not names.isdisjoint(_HEADINGS) and (text := one_line("".join(node.itertext()))):
                is_below = "h1" <= self._level < tag <= "h6"  # a chapter in a section of notes
                self._end_section(self._level if is_below else tag * _is_notes_heading(text))
            return False
        self._ids.update((node.get("id"), node.get("name")))
        self._may_be_note |= not self._is_begun and not self._ids.isdisjoint(self._notes.targets)
        self._verse.append(self._verse[-1] or not _VERSE.isdisjoint(names))
        self._add("\v" if tag == "br" else "")
        return True

    def _skip_inline(self, node: Any) -> bool:
        """Skip an initial, a note mark or hidden text. Return False if the element is anything else."""
        tags, after = list(islice(node.iter(), _MAX_INLINE_TAGS + 1)), node.tail or ""
        text = "".join(node.itertext()).strip() if len(tags) <= _MAX_INLINE_TAGS and after[:1] not in ("/", "⁄") else None
        if text is None or len(text) > _MAX_INLINE_CHARACTERS:  # or a fraction
            return False
        if not self._is_begun and (initial := find_initial(tags, text)):
            if not self._initial:
                self._initial, self._text = initial._replace(opening="".join(self._text).strip()), []
                return True
            if self._initial.letter[-1] == initial.letter[-1]:  # a copy of it
                return True
        if not text or is_hidden(tags):
            return text != ""
        before = "".join(self._text[-_MAX_INLINE_TAGS:])[-_MAX_INLINE_CHARACTERS:]
        links = {tag.get("href").partition("#")[2] for tag in tags if "#" in tag.get("href", "")}
        is_back = bool(links) and _ARROW.fullmatch(text) is not None
        if not is_back and not is_note_mark(tags, text, before if self._is_begun else "", links, self._notes):
            self._may_be_note |= not links.isdisjoint(self._notes.marks)
            return False
        if is_back or not self._is_begun:
            self._is_note = True
        else:
            self._notes.marks.update(self._ids, *((tag.get("id"), tag.get("name")) for tag in tags))
            self._notes.targets.update(links)
        self._text.append("\0")
        return True

    def _add(self, text: str | None) -> None:
        if text:
            self._text.append(text)
            if not text.isspace():
                self._ids = set()
                self._is_begun = self._is_begun or re.search(r"\w", text) is not None

    def _flush(self, tag: str) -> None:
        """End a paragraph if a block with this tag begins or ends."""
        if tag not in _BLOCKS:
            return
        text = "".join(self._text).replace("\xad", "")
        text = text if text.isascii() else _RAISED_DIGITS.sub("\0", text)
        if "\0" in text:
            text = _BEHIND_STOP.sub(" ", _NEAR_MARK.sub("", text)).replace("\0", "")
        is_note = self._is_note or (self._may_be_note and _NUMBERED.match(text.lstrip()) is not None)
        self._text, self._is_begun, self._is_note, self._may_be_note = [], False, False, False
        letter = text.strip()
        if not letter or (len(letter) == 1 and letter.isupper() and not self._initial):
            initial = self._initial or (Initial(letter) if letter else None)
            self._initial = initial and initial._replace(kind="apart")
            return
        if self._initial:
            text, self._initial = join_initial(self._initial, text, self._words), None
        if not self._verse[-1] and _is_notes_heading(text):
            self._end_section(tag)
            return
        if is_note:
            self._dropped_notes += 1
            return
        for part in re.split(r"\v\s*\v\s*", text.replace("\n", "\v") if tag == "pre" and self._verse[-1] else text):
            lines = [one_line(join_lines(line.split("\n"))) for line in part.split("\v")]
            if lines := [line for line in lines if any(map(str.isalnum, line))]:
                # Chinese and Japanese verse is marked; dialogue has short lines.
                is_short = len(lines) > 2 and max(map(len, lines)) <= _MAX_VERSE_CHARACTERS and not _CJK.search(lines[0])
                is_verse = self._verse[-1] or is_short
                self.passages.append(Passage(lines if is_verse else [join_lines(lines)], is_verse))

    def _is_short(self, node: Any) -> bool:
        """Return True if an element contains text, but less than about 200 words or only links: too little for a chapter."""
        size = sum(len(text.strip()) for text in islice(node.itertext(), MAX_PROSE_CHARACTERS))
        return 0 < size <= MAX_PROSE_CHARACTERS or (len(self._verse) <= _MAX_LIST_LEVEL and is_link_list(node))

    @cached_property
    def _words(self) -> Counter[str]:
        """The words of the page, which distinguish an initial from a word of one letter."""
        return Counter(word for text in self._root.itertext() for word in re.findall(r"[^\W\d_]+", text.lower()))

    def _end_section(self, level: str = "") -> None:
        """Drop the paragraphs under a heading for notes, if half of them begin with a mark. The next section begins."""
        if self._level:
            notes = [_NUMBERED.match(passage.lines[0]) is not None for passage in self.passages[self._section :]]
            if sum(notes) + self._dropped_notes >= len(notes) - sum(notes):
                del self.passages[self._section :]
        self._level, self._section, self._dropped_notes = level, len(self.passages), 0


def _is_notes_heading(text: str) -> bool:
    return len(text) < _MAX_HEADING_CHARACTERS and _NOTES_HEADING.fullmatch(fold_case(one_line(text))) is not None
