"""Turn a page of an EPUB into paragraphs: keep prose and quotations; drop headings, tables, lists, pictures and notes."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from ..lines import CJK, fold_case, join_lines, one_line
from .blocks import Block, is_paragraph
from .markup import VOID, Tag, parse
from .note_marks import (
    NO_STYLES,
    Styles,
    drop_copies,
    join_initial,
    join_pending,
    lone_initial,
    picture_initial,
    read_mark,
    unseen,
    written_initial,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED = _words(
    "head title script style table ul ol dl figure figcaption nav h1 h2 h3 h4 h5 h6 hgroup svg math audio video object form "
    "select button template noscript rt rp aside"
)
_BLOCKS = _words(
    "html body p div section article blockquote pre hr header footer main address center fieldset details summary li dd dt "
    "td th tr figure table ul ol dl h1 h2 h3 h4 h5 h6"
)
_INLINE = _words("a abbr b big cite em font i small span strong sub sup tt u")
_HEADINGS = _words("h1 h2 h3 h4 h5 h6 title subtitle chapter-title chaptertitle")
_PICTURES = _words("figure figcenter illustration illus")
# values of epub:type and the guide's types for pages and sections
SKIPPED_PAGES = _words(
    "cover titlepage title-page halftitlepage copyright-page toc landmarks loi lot loa lov index bibliography colophon "
    "imprint endnotes rearnotes footnotes notes errata glossary"
)
# values of epub:type and class that mark a part of a page
_NO_PROSE = _words(
    "footnote footnotes endnote endnotes rearnote rearnotes noteref fnanchor pagebreak pagenum pageno caption figcenter "
    "figure illustration illus toc contents pg-boilerplate pgheader transnote tnote title subtitle chapter-title "
    "chaptertitle"
)
# classes that authors also use for chapters and for the page as a whole
_AMBIGUOUS = _words("caption figcenter figure illustration illus toc contents title subtitle chapter-title chaptertitle")
_VERSE = _words("poem poetry verse stanza poem-container z3998:poem z3998:verse lg")
_NOTE_CLASS = re.compile(r"(?:_id|mso)?(?:foot|end|rear)[-_]?notes?(?:[-_\d].*|text|body|para|link|anchor|call|mark|ref.*)?")
_NOTES_HEADING = re.compile(  # after `fold_case`
    r"[\W\d]{0,9}(?:(?:.{1,40}\W)?(?:foot|end)?notes(?: (?:and references|(?:to|on|for) .{1,60})|\W{1,3}.{1,40})?|anmerkungen"
    r"|(?:fu(?:ß|ss)|end|voet|eind)?noten"
    r"|notas?(?: (?:al? pie(?: de página)?|finales|de rodapé))?|note(?: a piè di pagina| al testo)?|notes? de (?:bas de page|fin)"
    r"|aantekeningen|(?:fot)?noter|fodnoter|viitteet|alaviitteet|примечания|сноски|przypisy|poznámky|jegyzetek|注释?|註釋?|脚注|원주|각주|주석?)"
    r"(?: zum .{1,40}| zu .{1,40}| \d{1,3})?[\W\d]{0,9}"
)
_NUMBERED = re.compile(r"\W{0,3}(?:\d{1,4}|[*†‡§]{1,3})(?:\W|$)")
_MANY_LINKS = 3  # minimum in a page of contents; a note may have fewer
_MAX_VERSE_CHARACTERS = 60  # a line of verse is not longer
_MAX_PROSE_CHARACTERS = 1200  # in an element with an ambiguous class: about 200 words
_MAX_INLINE_PARTS, _MAX_INLINE_CHARACTERS = 12, 60  # of a note mark, an initial or hidden text
_CONTROLS = re.compile("[\x01-\x05]")  # of `note_marks`


class Passage(NamedTuple):
    """A paragraph, or the lines of a stanza if `verse`."""

    lines: list[str]
    verse: bool


def passages(markup: str, page: str = "", styles: Styles = NO_STYLES) -> list[Passage]:
    """Return the paragraphs and stanzas of a page in order; [] if the page is a list of links."""
    parts = parse(markup)
    body = next((at for at, part in enumerate(parts) if part[0] == "body" and isinstance(part, Tag)), 0)
    balance: Counter[str] = Counter()
    words, links, inside = [0, 0], 0, False  # characters outside links, and inside
    for part in parts:
        if isinstance(part, str):
            words[inside] += len(part) - part.count(" ") - part.count("\n")
            continue
        balance[part.name] += -1 if part.attributes is None else 1
        if part.name == "a":
            inside = "href" in (part.attributes or ())
            links += inside
    if links >= _MANY_LINKS and words[1] > words[0]:
        return []
    unclosed = {name for name, count in balance.items() if count > 0}  # may not contain all that follows
    return _Reader(parts[body:], page, styles, unclosed).passages


class _Element(NamedTuple):
    """An open element, why it is dropped, if it is, and what was read before it."""

    name: str
    verse: bool
    reasons: set[str]
    is_sure: bool  # whether it is dropped even if it has much prose
    text: str
    initial: str
    is_note: bool
    notes: int
    passages: int


class _Reader:
    """Read the elements of a page. At the end of an element that is no prose, drop what was read since its beginning."""

    def __init__(self, parts: list[Tag | str], page: str, styles: Styles, unclosed: set[str]) -> None:
        self._parts, self._page, self._styles, self._unclosed = parts, page, styles, unclosed
        self._open: list[_Element] = []
        self._names: Counter[str] = Counter()  # of the open elements
        self._verse = 0  # number of open elements that are verse
        self._text = self._initial = ""  # of the paragraph, and an initial in a box of its own before it
        self._ids: set[str] = set()  # ids since the last text
        self._is_note = False  # whether the current paragraph is a note
        self._notes, self._dropped_notes = -1, 0  # number of the first paragraph under a heading for notes
        self._counts: Counter[str] | None = None
        self._kept = 0  # paragraphs up to the end of a dubious element that was kept, and one
        self.passages: list[Passage] = []
        at = 0
        while at < len(parts):
            part = parts[at]
            if isinstance(part, str):
                self._text += part
                self._ids = self._ids if part.isspace() else set()
                at += 1
            else:
                at = self._take_tag(at, part)
        self._flush()
        while self._open:
            self._close(self._open[-1].name)
        self._end_section()

    def _take_tag(self, at: int, tag: Tag) -> int:
        self._text += picture_initial(tag)
        if tag.name == "br":
            self._text += "\v"
        elif tag.name in _BLOCKS:
            self._flush()
        elif tag.name in _INLINE and tag.attributes is not None and (end := self._skip_inline(at)):
            return end
        if tag.attributes is None:
            self._close(tag.name)
        elif tag.name not in VOID:
            self._begin(tag)
        return at + 1

    def _begin(self, tag: Tag) -> None:
        if tag.name == "p" and self._open and self._open[-1].name == "p":
            self._close("p")
        kinds = set(f"{tag.get('type')} {tag.get('role')}".lower().replace("doc-", "").split())
        classes = set(tag.get("class").lower().split())
        self._ids.update(filter(None, (tag.get("id"), tag.get("name"))))
        reasons = kinds & (_NO_PROSE | SKIPPED_PAGES)
        if tag.name not in ("html", "body"):  # these may be unclosed
            reasons |= classes & _NO_PROSE | {tag.name} & _DROPPED | set(filter(_NOTE_CLASS.fullmatch, classes))
            reasons = set() if tag.name in self._unclosed else reasons
        verse = tag.name not in self._unclosed and (tag.name == "pre" or bool((kinds | classes) & _VERSE))
        is_sure = not reasons <= _AMBIGUOUS or bool(kinds & _NO_PROSE)
        before = self._text, self._initial, self._is_note, self._notes, len(self.passages)
        self._open.append(_Element(tag.name, verse, reasons, is_sure, *before))
        self._names[tag.name] += 1
        self._verse += verse
        if reasons:
            self._text = ""

    def _close(self, name: str) -> None:
        """Close the innermost element with this name, and the elements open inside it."""
        while self._names[name]:
            element = self._open.pop()
            self._names[element.name] -= 1
            self._verse -= element.verse
            if element.reasons:
                self._drop(element)
            if element.name == name:
                return

    def _drop(self, element: _Element) -> None:
        """Drop an element, unless only its class says so, which is ambiguous, and it has more than 200 words of prose."""
        # `_kept`: an element inside of this one is kept. Without it, nested elements would take more than linear time.
        if not element.is_sure and (element.passages < self._kept or self._has_prose(element.passages)):
            self._text, self._kept = element.text + self._text, len(self.passages) + 1
            return
        has_text = len(self.passages) > element.passages or self._initial != element.initial
        del self.passages[element.passages :]
        self._text, self._is_note, self._kept = element.text, element.is_note, min(self._kept, len(self.passages))
        if element.reasons.isdisjoint(_PICTURES):
            self._initial = element.initial
        if element.reasons.isdisjoint(_HEADINGS):
            self._notes = element.notes
        elif has_text:
            self._end_section()

    def _has_prose(self, start: int) -> bool:
        lines = [self._text, *(line for passage in self.passages[start:] for line in passage.lines)]
        return sum(len(line) for line in lines if is_paragraph(Block([line], 1, 1))) > _MAX_PROSE_CHARACTERS

    def _skip_inline(self, at: int) -> int:
        """Read an initial, a note mark or hidden text. Return the number of the part after it, or 0 if it is anything else."""
        tags, text, end = self._inline(at)
        if not text.strip():
            return 0
        if read := unseen(tags, text) or written_initial(tags, text.strip(), self._text, self._styles):
            self._text += read
            return end
        before, after = self._text, self._after(end)
        if before[-1:] + after[:1] in ("[]", "()") and (before[-1] == "[" or before[-2:-1].strip()):
            before, text, self._parts[end] = before[:-1], f"[{text}]", after[1:]  # the brackets are outside of the link
        ids = self._ids.union(*({tag.get("id"), tag.get("name")} for tag in tags))
        places = {f"{self._page}#{id}" for id in ids if id}
        mark = read_mark(tags, text.strip(), before, places, self._styles, is_raised=self._names["sup"] > 0)
        if not mark.is_mark:
            if text[0] == "[" and before != self._text:
                self._parts[end] = after
            return 0
        self._is_note = self._is_note or mark.is_note
        after = self._after(end)
        self._text = before.rstrip() if after[:1] in tuple(".,;:!?)") else before
        self._text += " " * (before[-1:] in tuple(".!?…") and after[:1].isupper())
        return end

    def _after(self, at: int) -> str:
        part = self._parts[at] if at < len(self._parts) else ""
        return part if isinstance(part, str) else ""

    def _inline(self, at: int) -> tuple[list[Tag], str, int]:
        """Return the tags and the text of a short inline element, and the number of the part after it; 0 if it is longer."""
        tags, text, depth = list[Tag](), "", 0
        for end in range(at, min(len(self._parts), at + _MAX_INLINE_PARTS)):
            part = self._parts[end]
            if isinstance(part, str):
                text += part
            elif part.name not in _INLINE or len(text) > _MAX_INLINE_CHARACTERS:
                break
            else:
                tags += [part] if part.attributes is not None else []
                depth += 1 if part.attributes is not None else -1
                if depth == 0:
                    return tags, text, end + 1
        return tags, "", 0

    def _flush(self) -> None:
        """End a paragraph."""
        text, self._text, is_note = self._text.replace("\xad", ""), "", self._is_note
        self._is_note, self._ids = False, set()
        if self._names["pre"]:
            text = text.replace("\n", "\v")
        if not text or text.isspace():
            return
        if self._initial:
            alone, text = join_pending(self._initial, text)
            self.passages += [Passage([alone], verse=False)] if alone else []
            self._initial = ""
        if initial := lone_initial(text):
            self._initial = initial
            return
        text = join_initial(drop_copies(text), self._words()) if _CONTROLS.search(text) else text
        if not self._verse and _NOTES_HEADING.fullmatch(fold_case(one_line(text))):
            self._end_section(begins_notes=True)
            return
        if is_note:
            self._dropped_notes += 1
            return
        for part in re.split(r"\v\s*\v\s*", text):
            lines = [one_line(join_lines(line.split("\n"))) for line in part.split("\v")]
            if lines := [line for line in lines if any(map(str.isalnum, line))]:
                verse = self._verse > 0 or _is_verse(lines)
                self.passages.append(Passage(lines if verse else [join_lines(lines)], verse))

    def _words(self) -> Counter[str]:
        """Return the words of the page, which tell an initial from a word of one letter."""
        if self._counts is None:
            texts = (part.lower() for part in self._parts if isinstance(part, str))
            self._counts = Counter(word for text in texts for word in re.findall(r"[^\W\d_]+", text))
        return self._counts

    def _end_section(self, *, begins_notes: bool = False) -> None:
        """Drop the paragraphs under a heading for notes, if half of them begin with a mark. The next section begins."""
        if self._notes >= 0:
            notes = [_NUMBERED.match(passage.lines[0]) is not None for passage in self.passages[self._notes :]]
            if sum(notes) + self._dropped_notes >= len(notes) - sum(notes):
                del self.passages[self._notes :]
        self._notes = len(self.passages) if begins_notes else -1
        self._dropped_notes = 0


def _is_verse(lines: list[str]) -> bool:
    """Return True if the lines of a paragraph are short. Chinese and Japanese verse is marked, and dialogue has short lines."""
    return len(lines) > 2 and max(map(len, lines)) <= _MAX_VERSE_CHARACTERS and not re.search(f"[{CJK}]", lines[0])
