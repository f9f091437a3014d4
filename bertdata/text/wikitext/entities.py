"""Character references: ``&nbsp;``, ``&#8211;``, ``&#x2D;``.

>>> decode_entities("a&nbsp;&#x2D;&ndash;b &eacute &sup2 AT&T ?a=1&copy=2 &amp;lt; &nosuch;")
'a\\xa0-–b é ² AT&T ?a=1&copy=2 &lt; &nosuch;'
"""

import re
from html import unescape

# Longer numbers are not characters. A name without its semicolon must end there, except inside addresses.
_REFERENCE = re.compile(
    r"&(?:#0{0,40}[0-9]{1,7}(?![0-9]);?|#[xX]0{0,40}[0-9a-fA-F]{1,6}(?![0-9a-fA-F]);?"
    r"|[a-zA-Z][a-zA-Z0-9]{1,31}(?:;|(?![a-zA-Z0-9=])))"
)
_LINE_ENDS = frozenset("\n\r\f")


def _character(reference: re.Match[str]) -> str:
    """Return the character; a line end becomes a space; a name that only starts with a known name stays as it is.

    >>> decode_entities("&notit; &semi; a&NewLine;b")
    '&notit; ; a b'
    """
    character = unescape(reference[0])
    if len(character) > 2 and character[-1] == ";":
        return reference[0]
    return " " if character in _LINE_ENDS else character


def decode_entities(text: str) -> str:
    """Return ``text`` with character references decoded, including old HTML ones without a semicolon."""
    return _REFERENCE.sub(_character, text) if "&" in text else text
