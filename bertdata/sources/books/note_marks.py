"""Recognize the marks of notes and the initials in a page of an EPUB by their form, because producers name them as they like.

A note mark is a number or sign behind a word or a stop that is raised, in brackets, or a link to a place in the book. An initial
is one letter at the beginning of a paragraph, written or as a picture, before the rest of its word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .markup import Tag

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
_POWER = re.compile(r"(?:\d|(?<![^\W_])(?:[A-Za-zα-ω]|[kcdmµ]m|mc|ft|yd|mi|in|sec|kg|CO|SO|NO))$")  # before an exponent
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d$")
_LETTER = r"[\"“„«‘¿¡]?[^\W\d_]"
_LARGE = re.compile(r"drop|initial|lettrine|(?:first|big|large)-?(?:letter|cap)|versal|float|font-size", re.IGNORECASE)
_ALT = re.compile(
    rf"(?:[\w ]{{0,40}}\b(?:letter|initial|cap|capital)\W{{1,3}})?({_LETTER})[\"”’.]?"
    r"(?:[ ,(]{1,3}(?:initial|decorated|decorative|illuminated|drop|letter|capital)[\w )]{0,40})?",
    re.IGNORECASE,
)
_RAISED = re.compile(r"super(?:script)?\d*|sup\d*")  # a class
_RAISED_STYLE = re.compile(r"vertical-align:\s?super", re.IGNORECASE)
_HIDDEN = re.compile(
    r"sr-?only|visually-?hidden|screen-?reader|off-?screen|a11y|assistive|aural|invisible|\bhid(?:e|den)\b|display:\s?none"
    r"|visibility:\s?hidden|-\d{4}px"
)
_ONE_LETTER_WORDS = frozenset("aàáeéèiíoóuúyzwvskаеийоуюя")
# Before an initial that is a picture or is written (in large letters or not), after it, and around text for screen readers.
_PICTURED, _WRITTEN, _PLAIN, _END, _UNSEEN = "\x01", "\x02", "\x03", "\x04", "\x05"
_KINDS = f"[{_PICTURED}{_WRITTEN}{_PLAIN}]"
_INITIAL = re.compile(rf"([\s\"“„«‘¿¡—-]{{0,99}})({_KINDS})([^{_PICTURED}-{_UNSEEN}]{{0,3}}){_END}(?:\s*{_KINDS}\3{_END})*(\s*)")
_ANY_INITIAL = re.compile(f"{_PICTURED}[^{_PICTURED}-{_UNSEEN}]{{0,3}}{_END}|[{_WRITTEN}{_PLAIN}{_END}]")


class Styles(NamedTuple):
    """What other files say about a page: places that links lead to, and classes of raised and of floating text."""

    targets: frozenset[str] = frozenset()
    raised: frozenset[str] = frozenset()
    floats: frozenset[str] = frozenset()


NO_STYLES = Styles()


class Mark(NamedTuple):
    """What an inline element is: whether it is a note mark, and whether its paragraph is a note."""

    is_mark: bool
    is_note: bool = False


def read_mark(tags: list[Tag], text: str, before: str, ids: set[str], styles: Styles, *, is_raised: bool) -> Mark:
    """Classify an inline element with these tags and text. At the beginning of a paragraph, a link with a mark makes it a note.

    `before` is the paragraph up to the element, `ids` are the places in the book that it and empty anchors before it name.
    """
    links = [tag.get("href") for tag in tags if "#" in tag.get("href")]
    names = [tag.get(name) for tag in tags for name in ("class", "type", "role", "id")]
    classes = {name for tag in tags for name in tag.get("class").lower().split()}
    is_named = _NOTE.search(" ".join([*names, *(link.rpartition("#")[2] for link in links)]).lower()) is not None
    is_raised = is_raised or any(tag.name == "sup" for tag in tags) or not classes.isdisjoint(styles.raised)
    is_raised = is_raised or any(map(_RAISED.fullmatch, classes)) or any(_RAISED_STYLE.search(tag.get("style")) for tag in tags)
    is_linked = not ids.isdisjoint(styles.targets)  # the note leads back to its mark
    if links and _BACK.fullmatch(text) and (is_named or is_linked or not text.strip(".[]() ").isalpha()):
        return Mark(True, True)
    is_sure = bool(links) and (is_named or is_raised or is_linked)
    is_letter = _LETTER_MARK.fullmatch(text) is not None and is_sure and (is_named or is_raised or text[0] in "[(")
    if not is_letter and not _MARK.fullmatch(text):
        return Mark(False)
    if not before.strip(" \n\t[("):
        return Mark(is_sure, is_sure)
    number = text.strip("[]({}). ")
    ends_word = _ENDS_WORD.search(before.rstrip()) is not None and not _ABBREVIATED.search(before[-8:])
    is_power = _POWER.search(before[-8:]) is not None and not _YEAR.search(before[-8:])
    if is_sure or not number.isdigit() or text[0] in "[{":
        return Mark(bool(links) or is_named or is_raised)
    if links or is_named:  # a link to a chapter or year has a space before it
        return Mark(ends_word and not before[-1].isspace() and not is_power and len(number) < 4)
    return Mark(is_raised and ends_word and not is_power)


def picture_initial(tag: Tag) -> str:
    """Return a picture's letter as an initial, or ""."""
    letter = _ALT.fullmatch((tag.get("alt") or tag.get("aria-label")).strip()) if tag.name in ("img", "svg", "span") else None
    return f"{_PICTURED}{letter[1].upper()}{_END}" if letter else ""


def written_initial(tags: list[Tag], text: str, before: str, styles: Styles) -> str:
    """Return the letter of an inline element as an initial if it begins a paragraph, or ""."""
    if not re.fullmatch(_LETTER, text) or not text[-1].isupper() or re.search(r"\w", _INITIAL.sub("", before)):
        return ""
    looks = " ".join(f"{tag.get('class')} {tag.get('style')}" for tag in tags)
    is_large = _LARGE.search(looks) or not styles.floats.isdisjoint(looks.lower().split())
    return f"{_WRITTEN if is_large else _PLAIN}{text}{_END}"


def lone_initial(text: str) -> str:
    """Return the initial of a paragraph that consists of one, or ""."""
    text = text.strip()
    if _INITIAL.fullmatch(text):
        return text
    return f"{_WRITTEN}{text}{_END}" if len(text) == 1 and text.isupper() else ""


def join_pending(initial: str, text: str) -> tuple[str, str]:
    """Return the paragraph of an initial in a box of its own, "" if it was a picture or goes on, and the next paragraph."""
    begin, letter = text.lstrip(), initial.strip(f" \n\t{_END}")[-1]
    if begin[:1].islower() or begin[:1] in "’'" or begin[:2].isupper() or begin[:1] == letter:
        return "", initial + begin
    return "" if initial[0] == _PICTURED else _ANY_INITIAL.sub("", initial), text


def join_initial(text: str, words: Mapping[str, int]) -> str:
    """Join a paragraph's initial with the rest of its word. `words` counts the words of the page, in lower case."""
    text = text.lstrip()
    found = _INITIAL.match(text)
    if not found:
        return _ANY_INITIAL.sub("", text)
    opening, kind, letter, gap = found.groups()
    rest = _ANY_INITIAL.sub("", text[found.end() :])
    word = rest[: len(rest) - len(rest.lstrip("".join(filter(str.isalpha, rest[:40]))))]
    joined, goes_on = (letter[-1] + word).lower(), rest[:1].islower() or rest[:1] in "’'" or (word.isupper() and len(word) > 1)
    is_copy = word[:1] == letter[-1] and joined not in words and (word[1:2].islower() or not goes_on)
    if is_copy or (kind == _PICTURED and not goes_on):
        return opening + letter[:-1] + rest
    if gap and joined not in words:
        is_known = words.get(word.lower(), 0) > 1
        is_word = (gap == " " or is_known) if letter[-1].lower() in _ONE_LETTER_WORDS else kind == _PLAIN and "\n" not in gap
        if is_word or not goes_on or (kind == _PLAIN and is_known):
            return f"{opening}{letter} {rest}"
    return opening + letter + rest


def unseen(tags: list[Tag], text: str) -> str:
    """Return text for screen readers with marks around it, or ""."""
    looks = " ".join(f"{tag.get('class')} {tag.get('style')}" for tag in tags).lower()
    is_unseen = _HIDDEN.search(looks) is not None or any("hidden" in (tag.attributes or ()) for tag in tags)
    return f"{_UNSEEN}{text}{_UNSEEN}" if is_unseen else ""


def drop_copies(text: str) -> str:
    """Drop text for screen readers that repeats the text after it or before it."""
    before, *others = text.split(_UNSEEN)
    for hidden, after in zip(others[::2], others[1::2], strict=False):
        copy, shown, follows = ("".join(filter(str.isalnum, part)) for part in (hidden, before[-200:], after[:200]))
        is_copy = copy in shown + follows if len(copy) > 1 else copy in (shown[-1:], follows[:1])
        before += after if is_copy else hidden + after.removeprefix(hidden[1:] or hidden)
    return before
