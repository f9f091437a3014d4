"""Remove tables, in wiki markup or HTML, with everything nested in them.

    >>> drop_tables("before\\n{| class=wikitable\\n| cell\\n|} after")
    'before\\n----\\n\\nafter'

Templates often close a table.  An unclosed one ends at a blank line or a heading; later
lines that look like rows are dropped with the other lines that are not prose:

    >>> drop_tables("{|\\n| cell\\nmore\\n\\ntext")
    '----\\n\\n\\n\\ntext'
"""

import re

_WIKI = r"\n(?=[ \t:{|])(?:[ \t:]*(\{\|)|[ \t]*\|\}[ \t]*)"
_HTML = re.compile("</?table", re.IGNORECASE)
_EDGE = re.compile(_WIKI)  # starts with a literal character, which is much faster
_ANY_EDGE = re.compile(_WIKI + r"|<(/?)table\b[^<>]*>[ \t]*", re.IGNORECASE)
_AFTER = re.compile(r"\n(?=[ \t]*\n|=)")  # a table that is never closed


def _spans(text: str, edges: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the start and end of each table, in order of start; a nested table has a separate span.

    Every closing edge closes the last open table, in either markup, because templates mix ``{|`` and ``</table>``.
    """
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    begin = text.rfind("\n", 0, text.find("{|")) if edges is _EDGE else 0  # skip the text before the first table
    for edge in edges.finditer(text, begin):
        if edge[1] or (edge[0][0] == "<" and edge[2] == ""):
            opened.append(edge.start())
        elif opened:
            spans.append((opened.pop(), edge.end()))
    end = -1
    for start in opened:  # a table that is never closed would swallow the article
        if end < start:
            end = after.start() if (after := _AFTER.search(text, start + 1)) else len(text)
            spans.append((start, end))
    return sorted(spans)


def drop_tables(text: str) -> str:
    """Return ``text`` without its tables; a rule takes the place of each, so that the paragraph before it ends there."""
    edges = _ANY_EDGE if _HTML.search(text) else _EDGE
    if edges is _EDGE and ("{" not in text or "{|" not in text):  # searching for one character is much faster
        return text
    text = "\n" + text
    parts: list[str] = []
    done = 0
    # Spans are sorted by start, so a nested table is inside a dropped one and is skipped.
    for start, end in _spans(text, edges):
        if end > done:
            parts += (text[done:start], "\n----\n\n")
            done = end
    parts.append(text[done:])
    return "".join(parts)[1:]
