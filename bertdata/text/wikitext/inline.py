"""The last steps on a paragraph: labels of external links, HTML tags, entities, and whitespace.

>>> finish("a<br>b <small>c</small> ([https://x.org d])&nbsp;e")
'a b c (d) e'
"""

import re

from .boxes import drop_hidden_spans
from .entities import decode_entities
from .external import drop_addresses
from .marks import AWAY, FOOTNOTE, FORMULA, OBJECT, SHIELD, VANISHED, unshield

__all__ = ["INLINE", "finish"]

_TAG = re.compile(r"</?([a-zA-Z]+)(?=[\s/>])[^<>]*>")
_INLINE_NAMES = """
    abbr b bdi bdo big blink br cite code data del dfn em font i ins kbd link mark meta nobr q rb rp rt rtc
    ruby s samp small span strike strong sub sup time tt u var wbr
"""
INLINE = frozenset(_INLINE_NAMES.split())
_COMMAS = ",;:、，；،؛"
_BRACKET = re.compile(rf"([(（\[])(?:[{_COMMAS}]|(?!{VANISHED})\s)*{VANISHED}[\s{_COMMAS}]*([)）\]])?")
_MAY_BE_EMPTY = re.compile(rf"{VANISHED}(?<=[(（\[\s{_COMMAS}]{VANISHED})")  # end of a bracket whose content vanished
_SINGLE = re.compile(r"\[|\]+")
_CONTROL = re.compile("[\0-\x03\x05-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")  # not whitespace or holes
_CURRENCIES = "$£€¥₹"
_ASIDE = re.compile(  # brackets with a currency sign whose number vanished
    rf"[(（](?=[^()（）]*(?<![0-9])(?<![0-9] )[{_CURRENCIES}] ?{VANISHED}(?! ?[0-9]))[^()（）]*[)）]"
)
# Punctuation left at the start of a paragraph by a template; three dots are an ellipsis.
_LEADING_STOP = re.compile(r"\A(?:[.,;:](?=\s)(?!\s*\.)|[。、，；：،؛۔।॥])\s*")
_LEADING = frozenset(".,;:。、，；：،؛۔।॥")
_SET_APART = frozenset(":;!?؛؟।॥")
_STOPS = frozenset(",.;:!?)]、。，；：）،؛؟۔։।॥")
_STOP_AFTER = re.compile(rf"{VANISHED}\s*([{re.escape(''.join(sorted(_STOPS)))}]?)")  # the whitespace may contain other marks
# A full stop after a dropped reference that follows the end of a sentence: "…问题。<ref/>." Dots of an ellipsis and of ".5" stay.
_SECOND_STOP = re.compile(rf"([.!?。！？])([^\S{VANISHED}]*{VANISHED}\s*)([.。])(?![.\d])")
_LOOSE = " ,;、，；،؛\t\u00a0\u3000"  # no colon, which ends transcriptions and lines before a formula


def _tag(match: re.Match[str]) -> str:
    """Return the text of a tag: a line break is a space; tags that MediaWiki does not know are text."""
    name = match[1].lower()
    return " " if name == "br" else "" if name in INLINE else match[0]


def _close_gaps(text: str, templates_on: bool) -> str:
    """Remove the remains of a dropped template: empty brackets, a space before a comma.

    A space after it is kept before punctuation that French sets apart.  With ``templates_on``, the comma before it is
    removed if other punctuation follows; otherwise commas stay as MediaWiki displays them.

    >>> _close_gaps("Rome (\\x1f; \\x1f) is \\x1f, well \\x1e, (\\x1f; old).", False), _close_gaps("il dit\\x1f : oui", False)
    ('Rome  is, well, (old).', 'il dit : oui')
    >>> _close_gaps("tea, \\x1f, milk (hot; \\x1f)", True), _close_gaps("tea, \\x1f, milk (hot; \\x1f)", False)
    ('tea, milk (hot)', 'tea,, milk (hot;)')
    >>> _close_gaps("Tea is hot.\\x1f. Milk", True)
    'Tea is hot. Milk'
    """
    if FOOTNOTE in text:
        text = text.replace(" " + FOOTNOTE, VANISHED).replace(FOOTNOTE, VANISHED)
    if ("(" in text or "[" in text or "（" in text) and _MAY_BE_EMPTY.search(text):
        text = _BRACKET.sub(lambda bracket: VANISHED if bracket[2] else bracket[1], text)
    stops = set(_STOP_AFTER.findall(text))
    if templates_on and not stops.isdisjoint(".。"):
        text = _SECOND_STOP.sub(lambda stops: (stops[3] if stops[1] == "." else stops[1]) + stops[2], text)
        stops = set(_STOP_AFTER.findall(text))
    if not any(stops):
        return text.replace(VANISHED, "")
    # Each gap between two pieces had vanished text.  Process gaps from the end: if only whitespace follows up to the next mark,
    # as in "a \x1f \x1f, b", each gap is closed like the last one.
    pieces = text.split(VANISHED)
    before_stop = False
    for index in range(len(pieces) - 1, 0, -1):
        piece = pieces[index].lstrip()
        if piece:
            before_stop = piece[0] in _STOPS and not (piece[0] in _SET_APART and pieces[index][0].isspace())
        if before_stop:
            pieces[index] = piece
            before = pieces[index - 1].rstrip()
            pieces[index - 1] = before.rstrip(_LOOSE) if templates_on else before
    return "".join(pieces)


def _drop_asides(text: str) -> str:
    """Remove brackets with an amount in another currency or year, which the dropped template would have computed.

    >>> _drop_asides("paid $5 ($\\x1f in dollars of today), and 5 $ (7 €\\x1f)") == "paid $5 \\x1f, and 5 $ (7 €\\x1f)"
    True
    """
    return _ASIDE.sub(VANISHED, text) if any(sign in text for sign in _CURRENCIES) else text


def _drop_strays(text: str) -> str:
    """Remove each ``]]`` that does not close a link or bracket in the text.

    >>> _drop_strays("x[y[i]] and a]] b] c")
    'x[y[i]] and a b] c'
    """
    opened = 0

    def keep(match: re.Match[str]) -> str:
        nonlocal opened
        if match[0] == "[":
            opened += 1
            return "["
        closed = min(opened, len(match[0]))
        opened -= closed
        return "]" * closed if len(match[0]) > 1 else "]"

    return _SINGLE.sub(keep, text)


def finish(text: str, templates_on: bool = False) -> str:
    """Return one paragraph as plain text."""
    if FORMULA in text:
        text = text.replace(FORMULA, "")
    if AWAY in text:
        text = text.replace(AWAY, "")
    if "[" in text:
        text = drop_addresses(text)
    if "]" in text:
        text = _drop_strays(text)
    # Tags go before entities: "&lt;b>" shows "<b>", which is text and not a tag.
    if "<" in text:
        if "display" in text:
            text = drop_hidden_spans(text)
        text = _TAG.sub(_tag, text)
    if "&" in text:
        text = decode_entities(text)
    if templates_on and VANISHED in text:
        text = _drop_asides(text)
    if OBJECT in text:
        text = text.replace(OBJECT, VANISHED)
    if VANISHED in text or FOOTNOTE in text:
        text = _close_gaps(text, templates_on)
    if SHIELD in text:
        text = unshield(text)
    text = text.replace("\u00a0", " ")
    if not text.isprintable():  # a space is the only printable whitespace
        text = " ".join(_CONTROL.sub("", text).split())
    while "  " in text:
        text = text.replace("  ", " ")
    text = text.strip()
    return _LEADING_STOP.sub("", text) if templates_on and text[:1] in _LEADING else text
