"""The last steps on a paragraph: labels of external links, HTML tags, entities, and whitespace.

>>> finish("a<br>b <small>c</small> ([https://x.org d])&nbsp;e")
'a b c (d) e'
"""

import re
from html import unescape

from .marks import AWAY, FOOTNOTE, FORMULA, OBJECT, SHIELD, VANISHED, unshield

_TAG = re.compile(r"</?([a-zA-Z]+)(?=[\s/>])[^<>]*>")
_INLINE_NAMES = """
    abbr b bdi bdo big blink br cite code data del dfn em font i ins kbd link mark meta nobr q rb rp rt rtc
    ruby s samp small span strike strong sub sup time tt u var wbr
"""
INLINE = frozenset(_INLINE_NAMES.split())
_SCHEMES = """(?:https?|ftps?|sftp|irc|ircs|gopher|telnet|nntp|worldwind|svn|git|mms|ssh|redis)://|//
    |(?:mailto|news|tel|sip|sips|sms|xmpp|bitcoin|magnet|urn|geo):""".replace("\n", "").replace(" ", "")
_CHARACTER = r"[^\[\]<>\"\x00-\x20\x7f\u00a0\u3000]"
_LINK = re.compile(rf"\[(?:{_SCHEMES}){_CHARACTER}+[ \t\u00a0\u3000]*([^\]\n]*)\]", re.IGNORECASE)
_ITALIC_LABEL = re.compile(rf"(\[(?:{_SCHEMES})(?:(?!''){_CHARACTER})+)(?='')", re.IGNORECASE)
# A character reference. Longer numbers are not characters. A name without its semicolon must end there, except in addresses.
_REFERENCE = re.compile(
    r"&(?:#0{0,40}[0-9]{1,7}(?![0-9]);?|#[xX]0{0,40}[0-9a-fA-F]{1,6}(?![0-9a-fA-F]);?"
    r"|[a-zA-Z][a-zA-Z0-9]{1,31}(?:;|(?![a-zA-Z0-9=])))"
)
_COMMAS = ",;:、，；，،؛"
_BRACKET = re.compile(rf"([(（\[])(?:[{_COMMAS}]|(?!{VANISHED})\s)*{VANISHED}[\s{_COMMAS}]*([)）\]])?")
_CONTROL = re.compile("[\0-\x03\x05-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")  # not whitespace or holes
# Punctuation left at the start of a paragraph by a template; three dots are an ellipsis.
_LEADING_STOP = re.compile(r"\A(?:[.,;:](?=\s)(?!\s*\.)|[。、，；：،؛۔।॥])\s*")
_LEADING = frozenset(".,;:。、，；：،؛۔।॥")
_STOPS = frozenset(",.;:!?)]、。，；：）،؛؟۔։।॥")
_SET_APART = frozenset(":;!?؛؟।॥")  # French has a space before them
_LOOSE = " ,;、，；،؛\t\u00a0\u3000"  # no colon, which ends transcriptions and lines before a formula
# Brackets with a currency sign whose number vanished: the dropped template computes the amount of today.
_ASIDE = re.compile(rf"[(（](?=[^()（）]*(?<![0-9])(?<![0-9] )[$£€¥₹] ?{VANISHED}(?! ?[0-9]))[^()（）]*[)）]")
# A full stop after a dropped reference that follows the end of a sentence: "…问题。<ref/>." Dots of an ellipsis and of ".5" stay.
_SECOND_STOP = re.compile(rf"([.!?。！？])([^\S{VANISHED}]*{VANISHED}\s*)([.。])(?![.\d])")


def part_labels(line: str) -> str:
    """Put a space between an address and a label in italics or bold, because its apostrophes end the address."""
    return _ITALIC_LABEL.sub(r"\1 ", line)


def _drop_addresses(line: str) -> str:
    """Keep the labels of external links; a link without a label is a footnote mark."""
    end = line.rfind("]") + 1  # skip brackets that are never closed, which are slow to match
    return _LINK.sub(lambda link: link[1] or VANISHED, line[:end]) + line[end:]


def decode_entities(text: str) -> str:
    """Return ``text`` with character references decoded, including old HTML ones without a semicolon.

    >>> decode_entities("a&nbsp;&#x2D;&ndash;b &eacute &sup2 AT&T ?a=1&copy=2 &amp;lt; &nosuch; &notit; a&NewLine;b")
    'a\xa0-–b é ² AT&T ?a=1&copy=2 &lt; &nosuch; &notit; a b'
    """
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    """Return the character; a line end becomes a space; a name that only starts with a known name stays as it is."""
    character = unescape(reference[0])
    if len(character) > 2 and character[-1] == ";":
        return reference[0]
    return " " if character in ("\n", "\r", "\f") else character


def _tag(match: re.Match[str]) -> str:
    """Return the text of a tag: a line break is a space; tags that MediaWiki does not know are text."""
    name = match[1].lower()
    return " " if name == "br" else "" if name in INLINE else match[0]


def _close_gaps(text: str, templates_on: bool) -> str:
    """Remove the remains of dropped text: empty brackets, a space before a comma, and with templates a comma before another stop.

    >>> _close_gaps("tea, \\x1f, milk (hot; \\x1f)", True), _close_gaps("tea, \\x1f, milk (hot; \\x1f)", False)
    ('tea, milk (hot)', 'tea,, milk (hot;)')
    """
    if FOOTNOTE in text:
        text = text.replace(" " + FOOTNOTE, VANISHED).replace(FOOTNOTE, VANISHED)
    if "(" in text or "[" in text or "（" in text:
        text = _BRACKET.sub(lambda bracket: VANISHED if bracket[2] else bracket[1], text)
    if templates_on:
        text = _SECOND_STOP.sub(lambda stops: (stops[3] if stops[1] == "." else stops[1]) + stops[2], text)
    # Each gap between two pieces had dropped text. Process gaps from the end: if only whitespace follows up to the next one, as
    # in "a \x1f \x1f, b", each gap is closed like the last one.
    pieces, is_closed = text.split(VANISHED), False
    for index in range(len(pieces) - 1, 0, -1):
        if piece := pieces[index].lstrip():
            is_closed = piece[0] in _STOPS and not (piece[0] in _SET_APART and pieces[index][0].isspace())
        if is_closed:
            before = pieces[index - 1].rstrip()
            pieces[index - 1 : index + 1] = before.rstrip(_LOOSE) if templates_on else before, piece
    return "".join(pieces)


def finish(text: str, templates_on: bool = False) -> str:
    """Return one paragraph as plain text."""
    if FORMULA in text:
        text = text.replace(FORMULA, "")
    if AWAY in text:
        text = text.replace(AWAY, "")
    if "[" in text:
        text = _drop_addresses(text)
    # Tags go before entities: "&lt;b>" shows "<b>", which is text and not a tag.
    if "<" in text:
        text = _TAG.sub(_tag, text)
    if "&" in text:
        text = decode_entities(text)
    if templates_on and VANISHED in text:
        text = _ASIDE.sub(VANISHED, text)
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
