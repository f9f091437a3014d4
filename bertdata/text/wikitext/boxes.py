"""HTML elements whose content is not prose: lists, headings, and boxes next to the text."""

import re

__all__ = ["close_boxes", "is_dropped", "may_drop"]

# MediaWiki's class names of boxes.
_DROPPED = frozenset(["ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "figure", "nav"])
_BOX = re.compile(r"[\s\"'=](?:thumb|navbox|infobox|hatnote|noprint|gallery|reflist|references)", re.IGNORECASE)
_EDGE = re.compile(r"<(/?)([uod]l|h[1-6]|figure|nav|div)(?=[\s/>])([^<>]*)>", re.IGNORECASE)


_STARTS = tuple(name[:3] for name in sorted(_DROPPED)) + ("div",)


def may_drop(tag: str) -> bool:
    """Quickly check, from the text after ``<``, whether a tag may open an element that `is_dropped`.

    >>> may_drop("UL>a"), may_drop('div class="x"> a'), may_drop("div> a"), may_drop("/ul>")
    (True, True, False, False)
    """
    start = tag[:3].lower()
    return start.startswith(_STARTS) and (start != "div" or "class" in tag.lower())


def is_dropped(name: str, attributes: str) -> bool:
    """Return True if an element's content is not prose, from its lowercase name and its attributes.

    >>> is_dropped("div", ' class="thumb tright"'), is_dropped("div", ' style="float: right"'), is_dropped("ul", "")
    (True, False, True)
    """
    if name != "div":
        return name in _DROPPED
    return "class" in attributes.lower() and _BOX.search(attributes) is not None


def close_boxes(text: str) -> str:
    r"""Close unclosed dropped elements at the next blank line, so that they cannot swallow the page.

    >>> close_boxes("<ul><li>a\n\ntext"), close_boxes("<div class=thumb>a</div>\n\ntext")
    ('<ul><li>a\n</ul>\n\ntext', '<div class=thumb>a</div>\n\ntext')
    """
    opened: dict[str, list[re.Match[str]]] = {}
    for tag in _EDGE.finditer(text):
        tags = opened.setdefault(tag[2].lower(), [])
        if not tag[1]:
            tags.append(tag)
        elif tags:
            tags.pop()
    parts: list[str] = []
    done, end = 0, -1
    for tag in sorted((tag for tags in opened.values() if any(map(_drops, tags)) for tag in tags), key=re.Match.start):
        if end < tag.end():
            end = text.find("\n\n", tag.end())
            end = len(text) if end < 0 else end
        parts += (text[done:end], f"\n</{tag[2]}>")
        done = end
    return "".join(parts) + text[done:]


def _drops(tag: re.Match[str]) -> bool:
    return is_dropped(tag[2].lower(), tag[3])
