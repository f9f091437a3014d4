"""Drop rows of links to other pages, such as the months of a year or the provinces of a country, which are not prose.

>>> drop_rows("[[May]] | '''June''' | [[July|7]]\\nFrom [[May]] – [[July]]")
'\\nFrom [[May]] – [[July]]'
"""

import re
from collections.abc import Iterator

__all__ = ["drop_rows"]

_START = re.compile(  # a line whose first item ends at a separator; starts with a literal character for speed
    r"\n(?=[\[<'←«◄])(?:<[^<>\n]{0,100}>|[←«◄ ]|'')*(?:\[\[[^\[\]\n]*\]\]|'''[^'\n]{1,100}''')(?:'')*"
    r"(?:(?:[ \u00a0]|&nbsp;)?[|·•]|[ \u00a0][–—][ \u00a0])"
)
_ITEM = re.compile(r"\[\[[^\[\]\n]*\]\]|'''[^'\n]{1,100}'''")
_TAGS_AND_SPACES = re.compile(r"</?[a-z][^<>]*>|&nbsp;", re.IGNORECASE)
_SEPARATORS = frozenset(" \t\u00a0|·•–—←→◄►«»<>'.\x1f\x1e")
_MIN_ITEMS = 3  # minimum items of a row


def drop_rows(text: str) -> str:
    """Return ``text`` without the lines that contain only links with dots, bars or dashes between them."""
    parts: list[str] = []
    done = 0
    for start in _starts(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if _is_row(text[start:end]):
            parts.append(text[done:start])
            done = end
    return "".join([*parts, text[done:]]) if done else text


def _starts(text: str) -> Iterator[int]:
    """Yield the starts of lines that may be rows."""
    if _START.match("\n" + text.partition("\n")[0]):
        yield 0
    for first in _START.finditer(text):
        yield first.start() + 1


def _is_row(line: str) -> bool:
    # Remove the links and the bold item (the page itself). If only separators are left, the line is not a sentence.
    rest, items = _ITEM.subn("", line)
    return items >= _MIN_ITEMS and _SEPARATORS.issuperset(_TAGS_AND_SPACES.sub("", rest))
