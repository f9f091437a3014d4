"""Remove HTML elements whose content is not prose: lists, headings, boxes next to the text, and hidden text.

>>> drop_boxes('a <span style="display:none">b <span>c</span></span>d<ul><li>e\\n== f ==\\n</ul>g')
'a d<hr>g'

An unclosed element ends at the next blank line, so that it cannot swallow the page:

>>> drop_boxes("<div class=thumb>a\\n\\ntext"), drop_boxes("<div class=thumb>a</div>\\n\\ntext")
('<hr>\\n\\ntext', '<hr>\\n\\ntext')
"""

import re

_DROPPED = frozenset(["ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "figure", "nav"])
_STARTS = ("ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "fig", "nav")
_BOX = re.compile(r"[\s\"'=](?:thumb|navbox|infobox|hatnote|noprint|gallery|reflist|references)", re.IGNORECASE)  # classes
_HIDDEN = re.compile(r"\bdisplay\s*:\s*none\b", re.IGNORECASE)
_EDGE = re.compile(r"<(/?)([uod]l|h[1-6]|figure|nav|div|p|span|small|center)(?=[\s/>])([^<>]*)>", re.IGNORECASE)


def may_drop(tag: str) -> bool:
    """Quickly check, from the text after ``<``, whether a tag may open an element that `drop_boxes` removes."""
    start = tag[:3].lower()
    return start.startswith(_STARTS) or "isplay" in tag or "ISPLAY" in tag or (start == "div" and "class" in tag.lower())


def _is_dropped(tag: re.Match[str]) -> bool:
    name, attributes = tag[2].lower(), tag[3]
    if name in _DROPPED or "display" in attributes.lower() and _HIDDEN.search(attributes):
        return True
    return name == "div" and "class" in attributes.lower() and _BOX.search(attributes) is not None


def drop_boxes(text: str) -> str:
    """Return ``text`` without these elements; a rule takes the place of each, except of hidden words within a line."""
    opened: dict[str, list[re.Match[str]]] = {}
    spans: list[tuple[int, int, str]] = []
    # Pair the tags of each name separately, because pages close them in any order.
    for tag in _EDGE.finditer(text):
        name = tag[2].lower()
        tags = opened.setdefault(name, [])
        if not tag[1]:
            tags += [] if tag[3].endswith("/") else [tag]
        elif tags and _is_dropped(start := tags.pop()):
            spans.append((start.start(), tag.end(), name))
    for name, tags in opened.items():
        blank = -1  # the blank line after the last tag, which the next ones may share
        for start in filter(_is_dropped, tags):
            if blank < start.end():
                blank = text.find("\n\n", start.end()) if name != "span" else start.end()
                blank = len(text) if blank < 0 else blank
            spans.append((start.start(), blank, name))
    parts: list[str] = []
    done = 0
    for begin, end, name in sorted(spans):
        if begin >= done:
            parts += (text[done:begin], "" if name in ("span", "small") else "<hr>")
            done = end
    return "".join([*parts, text[done:]])
