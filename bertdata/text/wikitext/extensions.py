"""Resolve comments and tags whose content is not wikitext, such as ``<nowiki>`` and ``<ref>``, before all other markup.

MediaWiki finds them from left to right before anything else, regardless of braces or brackets, and the first
closing tag ends them.  This module does the same:

    >>> resolve_extensions("a<ref>[[b</ref>c <!-- {{ --> d").replace(OBJECT, "")
    'ac  d'
"""

import re

from .formulas import Formulas
from .marks import OBJECT, SHIELD, shield

# Tags by the replacement of the tag and its content.
_SEEN = """
    ref hiero score maplink templatedata templatestyles indicator section categorytree inputbox
    phonos langconvert pagequality
"""
_BLOCK_TAGS = """
    references gallery pre source syntaxhighlight imagemap timeline graph mapframe dynamicpagelist
    choose rss poem pages pagelist quiz talkpage thread languages tabber youtube verbatim
"""
_FORMULAS = frozenset(["math", "chem", "ce"])
_UNWRAPPED = ["noinclude", "onlyinclude", "translate", "tvar", "spoiler"]  # the tags are removed, the content is wikitext

_LEFT: dict[str, str] = {
    **dict.fromkeys(_SEEN.split(), OBJECT),
    **dict.fromkeys(_BLOCK_TAGS.split(), "<hr>"),
    **dict.fromkeys(_FORMULAS, OBJECT),
    "nowiki": SHIELD,
    "includeonly": "",
}
_NAMES = frozenset([*_LEFT, *_UNWRAPPED])
# Possible starts: a reference without tags in it, as one match; a comment; or a tag, by name.
_TAG = re.compile(r"<(?:ref(?:\s[^<>]*)?(?:/>|(?<!/)>[^<]*</ref\s*>)|!--|/?([a-zA-Z]+)(?=[\s/>]))")
_BEGUN = re.compile(r"</?[a-zA-Z]+(?:[ \t]+[a-zA-Z]+[ \t]*=[ \t]*(?:\"[^\"<>\n]*\"|[^\s<>]*))*")
_CLOSE = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _LEFT}
_INLINE = re.compile(r"\binline\b", re.IGNORECASE)
_BLANKS = " \t"


class _Scan:
    """Walk over the tags of one page; ``parts`` collects the remaining text."""

    def __init__(self, text: str, formulas: Formulas) -> None:
        self.text = text
        self.formulas = formulas
        self.parts: list[str] = []
        self.done = 0  # everything before this offset is in parts, or dropped
        self.never_closed: set[str] = set()
        self.tag_end = self.blank_line = -1  # next ">" and blank line after the last tag, cached

    def run(self) -> str:
        """Return the text without its tags.

        Each match is a tag that begins outside all tags handled before it.  If a tag takes text beyond its match, such as the
        content of ``<math>``, the search restarts after that text: "<nowiki><ref></nowiki>" contains no reference.
        """
        text, parts = self.text, self.parts
        last_end = text.rfind(">")
        at = 0
        while at >= 0:
            matches = _TAG.finditer(text, at)
            at = -1
            for match in matches:
                start, name = match.start(), match[1]
                if name is None and text[start + 1] != "!":  # a complete reference, like most tags of a page
                    parts += (text[self.done : start], OBJECT)
                    self.done = match.end()
                    continue
                if name is None:
                    self.drop_comment(start)
                elif start > last_end or (name := name.lower()) not in _NAMES:
                    continue
                else:
                    self.tag(name, start)
                if self.done > match.end():  # the text of this tag may contain others
                    at = self.done
                    break
        parts.append(text[self.done :])
        return "".join(parts)

    def replace(self, start: int, end: int, by: str) -> None:
        """Copy the text up to ``start``, and replace ``start`` to ``end`` with ``by``."""
        self.parts += (self.text[self.done : start], by)
        self.done = end

    def drop_comment(self, start: int) -> None:
        """Drop a comment and those after it, and the line if they fill it."""
        text = self.text
        end = after = start
        # "<!-- a --> <!-- b -->" alone on a line removes the line as well. Otherwise a blank line would remain, and would cut
        # the paragraph in two.
        while text.startswith("<!--", after):
            close = text.find("-->", after + 4)
            end = after = close + 3 if close >= 0 else len(text)
            while after < len(text) and text[after] in _BLANKS:
                after += 1
        before = start
        while before > self.done and text[before - 1] in _BLANKS:
            before -= 1
        if before > 0 and text[before - 1] == "\n" and text.startswith("\n", after):
            self.replace(before, after + 1, "")
        else:
            self.replace(start, end, "")

    def tag(self, name: str, start: int) -> None:
        """Replace a tag and its content; for an unclosed tag, remove only the tag.

        A tag that does not end in its paragraph loses its name and attributes, so other paragraphs are unaffected.
        """
        text = self.text
        if self.tag_end < start:
            self.tag_end = text.find(">", start)
        if self.blank_line < start:
            blank = text.find("\n\n", start)
            self.blank_line = blank if blank >= 0 else len(text)
        tag_end = self.tag_end
        # The ">" is in another paragraph, so it belongs to something else. Remove what looks like the tag, and keep the rest.
        if self.blank_line < tag_end and (begun := _BEGUN.match(text, start)):
            self.replace(start, begun.end(), "")
            return
        if name in _UNWRAPPED or text[start + 1] == "/":
            self.replace(start, tag_end + 1, "")
            return
        attributes = text[start + 1 + len(name) : tag_end]
        if attributes.endswith("/"):
            self.replace(start, tag_end + 1, _LEFT[name])
            return
        # Remember names that are never closed: searching for "</ref>" to the end of the page once for each of a thousand
        # "<ref>" would take quadratic time.
        close = None if name in self.never_closed else _CLOSE[name].search(text, tag_end + 1)
        if close is None:
            self.never_closed.add(name)
            self.replace(start, tag_end + 1, "")
        else:
            content = text[tag_end + 1 : close.start()]
            self.replace(start, close.end(), _what_is_left(name, attributes, content, self.formulas))


def _what_is_left(name: str, attributes: str, content: str, formulas: Formulas) -> str:
    """Return the replacement of a tag with content."""
    if name == "nowiki" or (name in ("syntaxhighlight", "source") and _INLINE.search(attributes)):
        return shield(content)
    if name in _FORMULAS:
        return formulas.tag(name, content)
    if name == "poem":
        verses = resolve_extensions(content, formulas).strip().split("\n")
        return "".join("<div>" + verse.strip(" \t:") + "</div>" for verse in verses)
    if name == "tabber":  # Label=content|-|Label=content
        tabs = resolve_extensions(content, formulas).split("|-|")
        return "".join(f"<div>\n{tab.partition('=')[2]}\n</div>" for tab in tabs)
    return _LEFT[name]


def resolve_extensions(text: str, formulas: Formulas | None = None) -> str:
    """Return ``text`` without comments and without tags whose content is not wikitext; handle formulas with ``formulas``."""
    return _Scan(text, formulas or Formulas()).run() if "<" in text else text
