"""Remove the apostrophes of bold and italic markup, and keep those of the language.

The rules are MediaWiki's, applied to each line: two make italics, three bold, five both. The first of four is text, and so
are all except the last five of a longer run. If a line has an odd number of both, one bold mark is read as an
apostrophe and italics.

    >>> drop_quotes("''a'', '''''b''''', l''''c''' and l'''d''")
    "a, b, l'c and l'd"
"""

import re

from .marks import FOOTNOTE, OBJECT, VANISHED

ENDED = re.compile(r"[.!?。！？।։؟…][\"'”’»)\]]*\s*$")
# A line that is entirely bold, which may contain a reference: '''Title''', <b>Title</b> or <big>'''Title'''</big>:
_BOLD = re.compile(
    rf"\A(?:<(?!b>)[^<>]*>)*(?:'''(?:'')?|<b>)([^'<>]+(?:'[^'<>]+)*)(?:'''(?:'')?|</b>)(?:<[^<>]*>|[:：\s{OBJECT}{VANISHED}{FOOTNOTE}])*"
)
_MAX_HEADING = 100  # characters

_RUN = re.compile("(''+)")


def drop_quotes(line: str) -> str:
    """Return ``line`` without the apostrophes that are markup."""
    parts = _RUN.split(line)
    lengths = list(map(len, parts[1::2]))
    if not lengths:
        return line
    if max(lengths) > 5 or 4 in lengths:
        # Runs of four and of six or more: the surplus at the front is text, "l''''c'''" is l' and a bold c.
        for index, length in enumerate(lengths):
            extra = 1 if length == 4 else length - 5
            if extra > 0:
                parts[2 * index] += "'" * extra
                lengths[index] -= extra
    both = lengths.count(5)
    # Bold and italics are both unbalanced: "l'''d''" has one of each. MediaWiki then reads one bold mark as an apostrophe
    # and italics, which balances both.
    if (lengths.count(2) + both) % 2 and (lengths.count(3) + both) % 2:
        apostrophe = _apostrophe(parts, lengths)
        if apostrophe is not None:
            parts[2 * apostrophe] += "'"
    return "".join(parts[::2])


def _apostrophe(parts: list[str], lengths: list[int]) -> int | None:
    """Return the bold run that is an apostrophe and italics, or None without bold.

    It is the first after a one-letter word, otherwise after a longer word, otherwise after a space.
    """
    after_word: int | None = None
    after_space: int | None = None
    for index, length in enumerate(lengths):
        if length != 3:
            continue
        before = parts[2 * index]
        if before[-1:] == " ":
            after_space = index if after_space is None else after_space
        elif before[-2:-1] == " ":
            return index
        elif after_word is None:
            after_word = index
    return after_space if after_word is None else after_word


def is_heading(line: str) -> bool:
    """Return True for a short bold line that is not a sentence."""
    bold = _BOLD.fullmatch(line) if len(line) < 2 * _MAX_HEADING else None
    return bold is not None and len(bold[1]) <= _MAX_HEADING and not ENDED.search(bold[1])
