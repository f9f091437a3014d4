"""The last steps on one paragraph: labels of external links, HTML tags, entities, and neat spaces.

>>> finish("a<br>b <small>c</small> ([https://x.org d])&nbsp;e")
'a b c (d) e'
"""

import re

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
_MAY_BE_EMPTY = re.compile(rf"{VANISHED}(?<=[(（\[\s{_COMMAS}]{VANISHED})")  # a bracket ends so, where all before it vanished
_SINGLE = re.compile(r"\[|\]+")
_CONTROL = re.compile("[\0-\x03\x05-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")  # not whitespace or holes
_CURRENCIES = "$£€¥₹"
_ASIDE = re.compile(  # a bracket with the sign of a currency whose number has vanished
    rf"[(（](?=[^()（）]*(?<![0-9])(?<![0-9] )[{_CURRENCIES}] ?{VANISHED}(?! ?[0-9]))[^()（）]*[)）]"
)
_SET_APART = frozenset(":;!?؛؟।॥")
_STOPS = frozenset(",.;:!?)]、。，；：）،؛؟۔։।॥")
_STOP_AFTER = re.compile(rf"{VANISHED}\s*([{re.escape(''.join(sorted(_STOPS)))}]?)")  # the whitespace may hold other marks
_LOOSE = " ,;、，；،؛\t\u00a0\u3000"  # no colon: it ends transcriptions, and lines that lead to a formula


def _tag(match: re.Match[str]) -> str:
    """Return what a tag shows: a line break is a space; what MediaWiki does not know as a tag is text."""
    name = match[1].lower()
    return " " if name == "br" else "" if name in INLINE else match[0]


def _close_gaps(text: str, templates_on: bool) -> str:
    """Remove what a vanished template leaves: empty brackets, a space before a comma.

    A space that stands behind it, before a mark that French sets apart, is the author's.  With ``templates_on`` the
    comma before it goes where another mark follows; else commas stay as MediaWiki shows them.

    >>> _close_gaps("Rome (\\x1f; \\x1f) is \\x1f, well \\x1e, (\\x1f; old).", False), _close_gaps("il dit\\x1f : oui", False)
    ('Rome  is, well, (old).', 'il dit : oui')
    >>> _close_gaps("tea, \\x1f, milk (hot; \\x1f)", True), _close_gaps("tea, \\x1f, milk (hot; \\x1f)", False)
    ('tea, milk (hot)', 'tea,, milk (hot;)')
    """
    if FOOTNOTE in text:
        text = text.replace(" " + FOOTNOTE, VANISHED).replace(FOOTNOTE, VANISHED)
    if ("(" in text or "[" in text or "（" in text) and _MAY_BE_EMPTY.search(text):
        text = _BRACKET.sub(lambda bracket: VANISHED if bracket[2] else bracket[1], text)
    if not any(_STOP_AFTER.findall(text)):
        return text.replace(VANISHED, "")
    # Between two pieces something vanished.  They are looked at from the end: where all that follows up to the next mark is
    # whitespace, as in "a \x1f \x1f, b", each gap is closed as the last one is.
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
    """Remove brackets that give an amount in other money, which the template that is dropped would have computed.

    >>> _drop_asides("paid $5 ($\\x1f in dollars of today), and 5 $ (7 €\\x1f)") == "paid $5 \\x1f, and 5 $ (7 €\\x1f)"
    True
    """
    return _ASIDE.sub(VANISHED, text) if any(sign in text for sign in _CURRENCIES) else text


def _drop_strays(text: str) -> str:
    """Remove from each ``]]`` what neither a link nor a bracket in the text has opened.

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
    if "<" in text:
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
    if not text.isprintable():  # of all whitespace a space alone is printable
        text = _CONTROL.sub("", text)
        return " ".join(text.split())
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip()
