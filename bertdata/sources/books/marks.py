"""Recognize the marks of notes and the initials in a page of an EPUB by their form, because producers name them as they like.

A note mark is a number or sign behind a word or a stop that is raised, in brackets, or a link to a place in the book. An initial
is one letter at the beginning of a paragraph, written or as a picture, before the rest of its word.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

_NOTE = re.compile(  # a class or an id of a note or of its mark, in lower case
    r"(?:foot|end|rear)[-_]?note|note[-_]?(?:ref|anchor|link|call|mark|num|text|body)|\bfn(?:ref|anchor|link|call|mark|text)?\b"
    r"|(?:\b|[_-])(?:[fe][td]?n|note|n)(?:ref|anchor|link)?[-_]?\d"
)
_MARK = re.compile(
    r"[\[({［（〔]?\s?(?:(?:(?:foot)?note\s|n\.\s?|[*†‡§])?\d{1,4}(?:\s?[,;–-]\s?\d{1,4}){0,5}|[*†‡§¶‖※]{1,4}|[¹²³⁰-⁹]{1,3}"
    r"|[注註]?\s?[①-⑳]|[注註]\s?\d{1,3})\s?[\])}］）〕]?\.?",
    re.IGNORECASE,
)
_LETTER_MARK = re.compile(r"[\[(]?(?:[a-zA-Z]|[ivxlc]{1,6})[\])]?")
_BACK = re.compile(r"\W{0,3}[↩↑⇑⤴←^▲△]\W{0,3}|\W{0,2}(?:back|return|zurück|retour|volver|voltar|terug)\W{0,2}", re.IGNORECASE)
_ENDS_WORD = re.compile(r"(?:\w|[.,;:!?…\"”’»›)\]。、，；：！？」』）])$")
_ABBREVIATED = re.compile(r"\b(?:pp?|no?s?|nrn?|figs?|ch(?:ap)?s?|vols?|secs?|arts?|cf|vv?|ll?|bd|s|kap|abb)\.$", re.IGNORECASE)
_POWER = re.compile(r"(?:(?<!\d{3})\d|(?<![^\W_])(?:[A-Za-zα-ω]|[kcdmµ]m|mc|ft|yd|mi|in|sec|kg|CO|SO|NO))$")
_RAISED = re.compile(r"(?<![\w-])super(?:script)?\d*(?![\w-])|(?<![\w-])sup\d*(?![\w-])|vertical-align:\s?super")
_LETTER = r"[\"“„«‘¿¡]?[^\W\d_]"
_LARGE = re.compile(r"drop|initial|lettrine|(?:first|big|large)-?(?:letter|cap)|versal|float|font-size")
_ALT = re.compile(
    rf"(?:[\w ]{{0,40}}\b(?:letter|initial|cap|capital)\W{{1,3}})?({_LETTER})[\"”’.]?"
    r"(?:[ ,(]{1,3}(?:initial|decorated|decorative|illuminated|drop|letter|capital)[\w )]{0,40})?",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"sr-?only|visually-?hidden|screen-?reader|off-?screen|a11y|assistive|aural|invisible|\bhid(?:e|den)\b|display:\s?none"
    r"|visibility:\s?hidden|-\d{4}px"
)
_ONE_LETTER_WORDS = frozenset("aàáeéèiíoóuúyzwvskаеийоуюя")


class Tag(NamedTuple):
    """A tag: its name in lower case and without a prefix, and its attributes, None for an end tag."""

    name: str
    attributes: dict[str, str] | None

    def get(self, name: str) -> str:
        """Return an attribute, or "" if the tag does not have it."""
        return (self.attributes or {}).get(name, "")


class Styles(NamedTuple):
    """What other files say about a page: places that links lead to, and classes of raised and of floating text."""

    targets: frozenset[str] = frozenset()
    raised: frozenset[str] = frozenset()
    floats: frozenset[str] = frozenset()


class Initial(NamedTuple):
    """The first letter of a paragraph, its kind (``picture``, also if hidden, ``large`` or ``plain``), and the text before it."""

    letter: str
    kind: str
    opening: str = ""
    is_apart: bool = False  # in a separate box


def is_note_mark(tags: list[Tag], text: str, before: str, ids: set[str], styles: Styles) -> bool:
    """Return True if an inline element with these tags and text, after `before`, is the mark of a note or leads back to one.

    `ids` are the places in the book that the element names.  At the beginning of a paragraph, only a link is a mark.
    """
    is_number, is_letter = _MARK.fullmatch(text) is not None, _LETTER_MARK.fullmatch(text) is not None
    is_back = is_back_link(tags, text)
    if not (is_number or is_letter or is_back):
        return False
    links = [tag.get("href") for tag in tags if "#" in tag.get("href")]
    names = [tag.get(name) for tag in tags for name in ("class", "type", "role", "id")]
    is_named = _NOTE.search(" ".join([*names, *(link.rpartition("#")[2] for link in links)]).lower()) is not None
    is_raised = any(tag.name == "sup" for tag in tags) or _looks(tags, _RAISED, styles.raised)
    is_sure = bool(links) and (is_named or is_raised or not ids.isdisjoint(styles.targets))  # the note leads back
    if is_back and (is_sure or not text.strip(".[]() ").isalpha()):
        return True
    if is_sure and is_letter and (is_named or is_raised or text[0] in "[("):
        return True
    if not is_number or is_sure or not before.strip(" \n\t[("):
        return is_number and is_sure
    number = text.strip("[]({}). ")
    if not number.isdigit() or text[0] in "[{":
        return bool(links) or is_named or is_raised
    if not _ENDS_WORD.search(before.rstrip()) or _ABBREVIATED.search(before) or _POWER.search(before):
        return False
    if links or is_named:  # a link to a chapter or year has a space before it
        return not before[-1].isspace() and len(number) < 4
    return is_raised


def is_back_link(tags: list[Tag], text: str) -> bool:
    """Return True if an inline element looks like a link from a note to its mark."""
    return _BACK.fullmatch(text) is not None and any("#" in tag.get("href") for tag in tags)


def is_hidden(tags: list[Tag]) -> bool:
    """Return True if an element is not seen, such as text for screen readers that repeats an initial and its word."""
    return _looks(tags, _HIDDEN) or any("hidden" in (tag.attributes or ()) for tag in tags)


def picture_initial(tag: Tag) -> Initial | None:
    """Return the letter that describes a picture as an initial."""
    letter = _ALT.fullmatch((tag.get("alt") or tag.get("aria-label")).strip()) if tag.name in ("img", "svg", "span") else None
    return Initial(letter[1].upper(), "picture") if letter else None


def written_initial(tags: list[Tag], text: str, styles: Styles) -> Initial | None:
    """Return the letter of an inline element as an initial."""
    if is_hidden(tags):
        return Initial(text[0], "picture")
    if not re.fullmatch(_LETTER, text) or not text[-1].isupper():
        return None
    return Initial(text, "large" if _looks(tags, _LARGE, styles.floats) else "plain")


def join_initial(initial: Initial, text: str, words: Counter[str]) -> str:
    """Join a paragraph's initial with the rest of its word. `words` counts the words of the page, in lower case."""
    rest, (letter, kind, opening, is_apart) = text.lstrip(), initial
    gap = "\n" if is_apart else text[: len(text) - len(rest)]
    word = rest[: len(rest) - len(rest.lstrip("".join(filter(str.isalpha, rest[:40]))))]
    joined, goes_on = (letter[-1] + word).lower(), rest[:1].islower() or rest[:1] in "’'" or (word.isupper() and len(word) > 1)
    is_copy = word[:1] == letter[-1] and joined not in words and (word[1:2].islower() or not goes_on)
    if is_copy or (not goes_on and (kind == "picture" or is_apart)):
        return opening + letter[:-1] + rest
    is_known = words[word.lower()] > 1
    is_word = gap == " " or is_known
    if letter[-1].lower() not in _ONE_LETTER_WORDS:
        is_word = kind == "plain" and not is_apart and (is_known or "\n" not in gap)
    return opening + letter + " " * (gap != "" and joined not in words and (is_word or not goes_on)) + rest


def _looks(tags: list[Tag], pattern: re.Pattern[str], classes: frozenset[str] = frozenset()) -> bool:
    """Return True if the style of an element matches a pattern, or a style sheet says the same of its class."""
    names = " ".join(f"{tag.get('class')} {tag.get('style')}" for tag in tags).lower()
    return pattern.search(names) is not None or not classes.isdisjoint(names.split())
