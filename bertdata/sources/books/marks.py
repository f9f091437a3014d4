"""Recognize the marks of notes and the initials in a page of an EPUB by their form, because producers name them as they like.

A note mark is a number or sign behind a word or a stop that is raised, in brackets, or a link to a place in the book. An initial
is one letter at the beginning of a paragraph, written or as a picture, before the rest of its word.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

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
_ENDS_WORD = re.compile(r"(?:\w|[.,;:!?…\"”’»›)\]。、，；：！？」』）])$")
_ABBREVIATED = re.compile(r"\b(?:pp?|no?s?|nrn?|figs?|ch(?:ap)?s?|vols?|secs?|arts?|cf|vv?|ll?|bd|s|kap|abb)\.$", re.IGNORECASE)
_POWER = re.compile(r"(?:(?<!\d{3})\d|(?<![^\W_])(?:[A-Za-zα-ω]|[kcdmµ]m|mc|ft|yd|mi|in|sec|kg|CO|SO|NO))$")
RAISED = re.compile(r"(?<![\w-])(?:sup(?:er(?:script|ior)?)?\d*|exposant)(?![\w-])|vertical-align:\s?(?:super|text-top|[1-9])")
_LETTER = r"[\"“„«‘¿¡]?[^\W\d_]"
_ALT = re.compile(
    rf"(?:[\w -]{{0,40}}\b(?:letter|initial|cap|capital|dropcap|ornate|illuminated)\W{{1,3}})?\[?({_LETTER})[\"”’.\]]?"
    r"(?:[ ,(]{1,3}(?:initial|decorated|decorative|illuminated|drop|letter|capital)[\w )]{0,40})?",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"sr-?only|visually-?hidden|screen-?reader|off-?screen|a11y|assistive|aural|invisible|\bhid(?:e|den)\b|display:\s?none"
    r"|visibility:\s?hidden|-\d{4}px|clip:\s?rect"
)
_ONE_LETTER_WORDS = frozenset("aàáeéèiíoóuúyzwvskаеийоуюя")


class Notes(NamedTuple):
    """What is known about the notes of a book: places of their marks, places that these lead to, and classes of raised text."""

    marks: set[str | None]
    targets: set[str]
    raised: set[str]


class Initial(NamedTuple):
    """The first letter of a paragraph, the text before it, and whether it is a "picture" (or hidden) or "apart" (in a box)."""

    letter: str
    opening: str = ""
    kind: str = ""


def is_note_mark(tags: list[Any], text: str, before: str, links: set[str], notes: Notes) -> bool:
    """Return True if an inline element of these tags and text, after `before`, is the mark of a note.

    `links` are the places that it leads to.  At the beginning of a paragraph, only a link is a mark.
    """
    is_number, is_letter = _MARK.fullmatch(text) is not None, _LETTER_MARK.fullmatch(text) is not None
    if not is_number and not is_letter:
        return False
    names = [tag.get(name, "") for tag in tags for name in ("class", "epub:type", "role", "id")]
    is_named = _NOTE.search(" ".join([*names, *links]).lower()) is not None
    is_raised = any(tag.tag == "sup" for tag in tags) or RAISED.search(_style(tags)) is not None
    is_raised = is_raised or not notes.raised.isdisjoint(_style(tags).split())
    is_sure = bool(links) and (is_named or is_raised or not links.isdisjoint(notes.marks))
    before = re.sub(r"\s?\[$|(?<=\S)\($", "", before)  # brackets may be outside of the link
    if not is_number:
        return is_sure and (is_named or is_raised or text[0] in "[(")
    if is_sure or not before:
        return is_sure
    number = text.strip("[]({}). ")
    if not number.isdigit() or text[0] in "[{":
        return bool(links) or is_named or is_raised
    if not _ENDS_WORD.search(before.rstrip()) or _ABBREVIATED.search(before) or _POWER.search(before):
        return False
    is_close = not before[-1].isspace() and len(number) < 4  # a link to a chapter or year has a space before it
    return is_raised or (is_close and (bool(links) or is_named))


def is_hidden(tags: list[Any]) -> bool:
    """Return True if an element is not seen, such as text for screen readers that repeats an initial and its word."""
    return _HIDDEN.search(_style(tags)) is not None or any(tag.get("hidden") is not None for tag in tags)


def find_initial(tags: list[Any], text: str) -> Initial | None:
    """Return the letter of an inline element, or the one that describes a picture, as an initial."""
    described = _ALT.fullmatch((tags[0].get("alt") or tags[0].get("aria-label") or "").strip())
    if described and (tags[0].tag in ("img", "svg") or (tags[0].tag == "span" and described[1].isupper())):  # no page "v"
        return Initial(described[1].upper(), kind="picture")
    if text and is_hidden(tags):
        return Initial(text[0], kind="picture")
    is_emphasis = tags[0].tag in ("b", "i", "em", "strong") and (tags[0].tail or "").startswith(" ")
    return Initial(text) if re.fullmatch(_LETTER, text) and text[-1].isupper() and not is_emphasis else None


def join_initial(initial: Initial, text: str, words: Counter[str]) -> str:
    """Join a paragraph's initial with the rest of its word. `words` counts the words of the page, in lower case."""
    rest, (letter, opening, kind) = text.lstrip(), initial
    gap = "\n" if kind == "apart" else text[: len(text) - len(rest)]
    word = rest[: len(rest) - len(rest.lstrip("".join(filter(str.isalpha, rest[:40]))))]
    joined, goes_on = (letter[-1] + word).lower(), rest[:1].islower() or rest[:1] in "’'" or (word.isupper() and len(word) > 1)
    is_copy = word[:1] == letter[-1] and joined not in words and (word[1:2].islower() or not goes_on)
    if is_copy or (not goes_on and kind):
        return opening + letter[:-1] + rest
    is_word = letter[-1].lower() in _ONE_LETTER_WORDS and (gap == " " or words[word.lower()] > 1)
    return opening + letter + " " * (gap != "" and joined not in words and (is_word or not goes_on)) + rest


def _style(tags: list[Any]) -> str:
    return " ".join(f"{tag.get('class', '')} {tag.get('style', '')}" for tag in tags).lower()
