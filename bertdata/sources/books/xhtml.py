"""Turn a page of an EPUB into paragraphs: keep prose and quotations; drop headings, tables, lists, pictures and notes.

Producers name note marks and initials as they like, so their form counts. In ``<p>It was.<sup><a href="#n1">1</a></sup></p>``,
"1" is a mark, because it is a number behind a stop and raised. A paragraph at the place "n1" that begins with a number is a note.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import Any, NamedTuple

from lxml import etree

from ..lines import CJK, drop_controls, fold_case, join_lines, one_line
from .headings import TABLES, words

_NAMES = {kind: frozenset(names) for kind, names in TABLES["epub"].items()}
_BLOCKS, SECTIONS = _NAMES["blocks"], _NAMES["sections"]
_NOTE_CLASS = re.compile(r"(?<!\S)(?:(?:_id|mso)?(?:foot|end|rear)[-_]?note|noteref|fnanchor)")
_NOTE_NAME = re.compile(words("note_names"))
_NOTES_HEADING = re.compile(rf"[\W\d]{{0,9}}(?:{words('note_headings')})(?: (?:zum?|\d{{1,3}}).{{0,40}})?[\W\d]{{0,9}}")
_MARK = re.compile(rf"(?i)[\[({{［（〔‹|]?\s?(?:{words('note_marks')})\s?[\])}}］）〕›|]?\.?")
_LETTER_MARK = re.compile(r"[\[(]?(?:[a-zA-Z]|[ivxlc]{1,6})[\])]?")
_NUMBERED = re.compile(r"\W{0,3}(?:\d{1,4}|[*†‡§]{1,3})(?:\W|$)")  # the beginning of a note
_ARROW = re.compile(r"\W{0,3}[↩↑⇑⤴←^▲△]\W{0,3}")  # of a link from a note to its mark
RAISED = re.compile(words("raised"))
_NO_MARK_AFTER = re.compile(  # an abbreviation, a dash, a bracket behind a space, or a number with an exponent
    rf"(?i:\b(?:{words('before_numbers')})\.)\s?$|[–—/=×-]$|\d:$|\s\($|(?:(?<!\d{{3}})\d|(?<![^\W_])(?:[A-Za-zα-ω]|{words('units')}))$"
)
_MARKS = re.compile(r"\0+")
_NEAR_MARK = re.compile(r"\s{0,9}[\[{]\s?\0\s?[\]}]|\(\0\)|\s{0,9}\0(?=[.,;:!?)])|(?<=\0)\s?[,;–-]\s?(?=\0)")
_BEHIND_STOP = re.compile(r"(?<=[.!?…])\0(?=[^\W\d_])")
_RAISED_DIGITS = re.compile(r"(?<=[.,;:!?…”’»\"])[¹²³⁰⁴-⁹]{1,3}(?!\w)")
_LETTER, _CAPITAL = re.compile(r"[\"“„«‘¿¡]?[^\W\d_]"), words("initials")
_ALT = re.compile(rf"(?i)(?:.{{0,40}}\b(?:{_CAPITAL})\W{{1,3}})?\[?({_LETTER.pattern})\W{{0,3}}(?:(?:{_CAPITAL})\b.{{0,40}})?")
# Within a text: a note mark; an initial; an initial that is a picture, hidden or in a separate box.
_MARKED, _SURE, _UNSURE = "\0", "\x0e", "\x0f"
_INITIAL = re.compile(rf"([^{_SURE}{_UNSURE}]{{0,200}})([{_SURE}{_UNSURE}])(\w)(\s*)")
_HIDDEN = re.compile(words("hidden"))
_ONE_LETTER_WORDS = frozenset("aàáeéèiíoóuúyzwvskавеийкосуюя")
_CJK = re.compile(f"[{CJK}]")
_MIN_LINKS = 3  # of a page of contents; a note may have fewer
_MAX_VERSE_CHARACTERS = 60  # a line of verse is not longer
MAX_PROSE_CHARACTERS = 1200  # in an element with an ambiguous class: about 200 words
_MAX_NAME_CHARACTERS, _MAX_HEADING_CHARACTERS = 200, 200  # of an inline element; of a heading for notes
_MAX_RUNS = 20_000  # of a paragraph: each takes about 300 bytes of memory
_MAX_IDS, _MAX_AMBIGUOUS = 12, 20  # places before a run; elements with an ambiguous class in one another
_TAG = re.compile(r"<(/?)([A-Za-z]\w{0,15})(?!\w|[^<>]*/>)")
_NO_TAG = re.compile(r"</(?:body|html)[^<>]*>|<!\[CDATA\[|\]\]>", re.IGNORECASE)
_UNQUOTED = re.compile(r'="[^"<>]*>(?=[^"<]*<)')  # a value without its last quotation mark, which would hide the rest of the page
_OPAQUE = (("<!--", "-->"), ("<script", "</script"), ("<style", "</style"))


class Passage(NamedTuple):
    """A paragraph, or the lines of a stanza if `verse`; `is_note` while its page is read."""

    lines: list[str]
    verse: bool
    is_note: bool = False


class _Element(NamedTuple):
    """What the open elements say about the text in them."""

    names: str = ""  # tags, classes, types, styles and ids of the inline elements
    link: str = ""  # the place in the book that they lead to
    is_note: bool = False
    is_verse: bool = False
    ambiguous: int = 0  # number of those with an ambiguous class


def parse(markup: str) -> Any:
    """Return the elements of a page or of another file as a tree. Raise ValueError if they are nested too deeply.

    Entities that the file defines are not expanded, and nothing that it refers to is read.
    """
    markup = "<html>" + _UNQUOTED.sub(">", _NO_TAG.sub("", drop_controls(markup)))
    for start, end in _OPAQUE:  # without an end, it would hide the rest of the page
        at = markup.rfind(start)
        if at >= 0 and end not in markup[at:]:
            markup = f"{markup[:at]}<{markup[at + 1 :].partition('<')[2]}"
    # If an end is missing, it is not known what the elements with this name contain.
    tags = Counter((name.lower(), is_end) for is_end, name in _TAG.findall(markup))
    if unclosed := [name for name in _NAMES["containers"] if tags[name, ""] > tags[name, "/"]]:
        markup = re.sub(rf"(?i:</?(?:{'|'.join(unclosed)})\b[^<>]*>)", "<p>", markup)
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(markup.encode("utf-8", "replace"), parser)
    if any("depth" in entry.message for entry in parser.error_log.filter_from_level(etree.ErrorLevels.FATAL)):
        raise ValueError("elements are nested more than 2,048 levels deep")
    return root


def is_link_list(root: Any) -> bool:
    """Return True if a page is a table of contents: more of its text is inside of links than outside."""
    texts = root.xpath(".//text()[ancestor::a[@href != ''][1]]"), root.itertext()
    inside, size = (len("".join("".join(each).split())) for each in texts)
    return len(root.xpath(".//a[@href != '']")) >= _MIN_LINKS and 2 * inside > size


class Pages:
    """Read the pages of a book one after another, because notes on one page may belong to marks on another."""

    def __init__(self, raised: set[str]) -> None:
        self._raised = raised  # classes of raised text
        self._marks, self._targets = set[str](), set[str]()  # places of note marks, and places that these lead to

    def read(self, root: Any) -> list[Passage]:
        """Return the paragraphs of a page, without headings and other elements that are not prose."""
        self._root = root
        self._words = Counter[str]()  # of the page, once they are needed
        self._runs: list[tuple[str, _Element, list[str]]] = []  # of the paragraph: texts, each with the places before it
        self._ids = list[str]()  # of the places before the next run
        self._carried = ""  # an initial in a separate box
        self._level, self._section = "", 0  # tag of a heading for notes, the first passage under it
        self._passages: list[Passage] = []
        walker, elements = etree.iterwalk(root, events=("start", "end")), [_Element()]
        for event, node in walker:
            if node.tag in _BLOCKS or len(self._runs) > _MAX_RUNS:
                self._end_paragraph(node.tag, elements[-1].is_verse)
            if event == "end":
                elements.pop()
                self._add(node.tail, elements[-1])
            elif element := self._enter(node, node.tag, elements[-1]):
                elements.append(element)
                self._add("\v" if node.tag == "br" else node.text, element)
            else:
                elements.append(elements[-1])
                walker.skip_subtree()
        self._end_section()
        return self._passages

    def _enter(self, node: Any, tag: str, outer: _Element) -> _Element | None:
        """Begin an element; return None if it is skipped."""
        kind = f"{node.get('epub:type', '')} {node.get('role', '')}".lower().replace("doc-", "")
        style = f"{tag} {kind} {node.get('class', '')}".lower()
        kinds, names = frozenset(kind.split()), frozenset(style.split())
        is_note = _NOTE_CLASS.search(style) is not None
        if names & _NAMES["no_prose"]:
            return None
        label = "".join(node.itertext()) if tag in ("svg", "object") else node.get("alt") or node.get("aria-label") or ""
        if label and (picture := _ALT.fullmatch(label.strip())):
            self._add(picture[1].upper(), _Element("hidden"))
        ambiguous = outer.ambiguous + (not _NAMES["ambiguous"].isdisjoint(names))
        texts = islice(node.itertext(), MAX_PROSE_CHARACTERS) if outer.ambiguous < ambiguous <= _MAX_AMBIGUOUS else ()
        is_short = 0 < sum(len(text.strip()) for text in texts) <= MAX_PROSE_CHARACTERS  # too little for a chapter
        if tag in _NAMES["dropped"] or kinds & SECTIONS or (is_note and tag in _BLOCKS) or is_short:
            if names & _NAMES["headings"] and (heading := one_line("".join(node.itertext()))):
                is_below = "h1" <= self._level < tag <= "h6"  # a chapter in a section of notes
                self._end_section(self._level if is_below else tag * (_NOTES_HEADING.fullmatch(fold_case(heading)) is not None))
            return None
        ids = [id for id in (node.get("id"), node.get("name")) if id]
        self._ids = [*self._ids, *ids][-_MAX_IDS:]
        is_verse = outer.is_verse or not _NAMES["verse"].isdisjoint(names)
        if tag in _BLOCKS or tag == "br":
            return _Element(is_verse=is_verse, ambiguous=ambiguous)
        flags = "sup " * (not self._raised.isdisjoint(names)) + "hidden" * ("hidden" in node.attrib)
        own = " ".join((style, node.get("style", ""), *ids, flags)).lower()[:_MAX_NAME_CHARACTERS]
        link = node.get("href", "").partition("#")[2] or outer.link
        return _Element(f"{outer.names} {own}"[-2 * _MAX_NAME_CHARACTERS :], link, outer.is_note or is_note, is_verse, ambiguous)

    def _add(self, text: str | None, element: _Element) -> None:
        if text:
            self._runs.append((text, element, self._ids))
            self._ids = [] if text.strip("[( \n") else self._ids

    def _end_paragraph(self, tag: str, is_verse: bool) -> None:
        """Keep the paragraph that ends, unless it is a note."""
        text, is_note = self._join()
        self._runs = []
        if not text.strip():
            return
        letter = text.strip(f" \n{_SURE}{_UNSURE}")
        if len(letter) == 1 and letter.isupper():
            self._carried = f"{_UNSURE}{letter}\n"
            return
        text, self._carried = self._with_initial(text if _INITIAL.match(text) else self._carried + text), ""
        if not is_verse and len(text) < _MAX_HEADING_CHARACTERS and _NOTES_HEADING.fullmatch(fold_case(one_line(text))):
            self._end_section(tag)
            return
        for part in re.split(r"\v\s*\v\s*", text.replace("\n", "\v") if tag == "pre" else text):
            lines = [one_line(join_lines(line.split("\n"))) for line in part.split("\v")]
            if lines := [line for line in lines if any(map(str.isalnum, line))]:
                # Chinese and Japanese verse is marked; dialogue has short lines.
                is_short = len(lines) > 2 and max(map(len, lines)) <= _MAX_VERSE_CHARACTERS and not _CJK.search(lines[0])
                verse = lines if is_verse or is_short else []
                self._passages.append(Passage(verse or [join_lines(lines)], verse != [], is_note))

    def _join(self) -> tuple[str, bool]:
        """Return the text of the runs without hidden text and note marks, and whether it is a note."""
        parts: list[str] = []
        is_begun = is_note = links_back = is_target = False
        for at, (text, element, ids) in enumerate(self._runs):
            is_target |= not is_begun and not self._targets.isdisjoint(ids)
            if element.names and (shown := text.strip()):
                is_back = element.link != "" and (element.link in self._marks or _ARROW.fullmatch(shown) is not None)
                links_back |= is_back
                is_note |= is_back and not is_begun
                after = self._runs[at + 1][0] if at + 1 < len(self._runs) else ""
                is_emphasis = after[:1] == " " and element.names.startswith((" b ", " i ", " em ", " strong "))
                if not is_begun and not is_emphasis and _LETTER.fullmatch(shown) and shown[-1].isupper():
                    text = shown[:-1] + (_UNSURE if _HIDDEN.search(element.names) else _SURE) + shown[-1]
                elif self._is_mark(shown, element, "".join(parts[-4:]) if is_begun else "", after):
                    text = _MARKED
                    is_note |= not is_begun
                    self._marks.update(ids if is_begun else ())
                    self._targets.update({element.link} - {""} if is_begun else ())
                elif _HIDDEN.search(element.names):
                    text = ""
            parts.append(text)
            is_begun = is_begun or any(map(str.isalnum, text))
        text = "".join(parts).replace("\xad", "")
        text = text if text.isascii() else _RAISED_DIGITS.sub(_MARKED, text)
        if _MARKED in text:
            text = _BEHIND_STOP.sub(" ", _NEAR_MARK.sub("", _MARKS.sub(_MARKED, text))).replace(_MARKED, "")
        # Two of three make a note: a link back to a mark, a place that a mark leads to, and a number at the beginning.
        may_be_note = links_back + is_target
        return text, is_note or may_be_note == 2 or (may_be_note == 1 and _NUMBERED.match(text.lstrip()) is not None)

    def _is_mark(self, text: str, element: _Element, before: str, after: str) -> bool:
        """Return True if a run between these texts is the mark of a note. At the beginning of a paragraph, only a link is."""
        is_letter = _LETTER_MARK.fullmatch(text) is not None
        if element.is_note or after[:1] in ("/", "⁄") or not (is_letter or _MARK.fullmatch(text)):  # or a fraction
            return element.is_note
        is_raised = RAISED.search(element.names) is not None
        is_marked = is_raised or _NOTE_NAME.search(f"{element.names} {element.link}".lower()) is not None
        if (element.link and is_marked) or is_letter or not before:
            return element.link != "" and is_marked
        if not text.strip("(). ").isdigit():
            return element.link != "" or is_marked
        is_close = not before[-1].isspace()  # a link to a chapter or year has a space before it
        return not _NO_MARK_AFTER.search(before) and (is_raised or (is_close and (element.link != "" or is_marked)))

    def _with_initial(self, text: str) -> str:
        """Join the letter that is marked as an initial with the rest of its word."""
        if not (found := _INITIAL.match(text)):
            return text
        (opening, kind, letter, gap), rest = found.groups(), text[found.end() :]
        self._words = self._words or Counter(re.findall(r"[^\W\d_]+", " ".join(self._root.itertext()).lower()))
        word = re.split(r"[\W\d_]", rest, maxsplit=1)[0]
        goes_on = rest[:1].islower() or rest[:1] in "’'" or (word.isupper() and len(word) > 1)
        is_known = (letter + word).lower() in self._words
        is_copy = word[:1] == letter and not is_known and (word[1:2].islower() or not goes_on or kind == _UNSURE)
        if is_copy or (not goes_on and kind == _UNSURE):
            return opening + rest
        is_word = letter.lower() in _ONE_LETTER_WORDS and (gap == " " or self._words[word.lower()] > 1)
        return opening + letter + " " * (gap != "" and not is_known and (is_word or not goes_on)) + rest

    def _end_section(self, level: str = "") -> None:
        """Drop the notes; under a heading for notes, drop all if half of them begin with a mark. The next section begins."""
        section = self._passages[self._section :]
        notes = [passage.is_note or _NUMBERED.match(passage.lines[0]) is not None for passage in section]
        is_notes = self._level != "" and 2 * sum(notes) >= len(notes)
        self._passages[self._section :] = [passage for passage in section if not is_notes and not passage.is_note]
        self._level, self._section = level, len(self._passages)
