"""HTML elements whose content is not prose: lists, headings, and boxes next to the text."""

import re

__all__ = ["close_boxes", "drop_hidden_spans", "is_dropped", "may_drop"]

# MediaWiki's class names of boxes.
_DROPPED = frozenset(["ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "figure", "nav"])
_BOX = re.compile(r"[\s\"'=](?:thumb|navbox|infobox|hatnote|noprint|gallery|reflist|references)", re.IGNORECASE)
_HIDDEN = re.compile(r"\bdisplay\s*:\s*none\b", re.IGNORECASE)
_SPAN = re.compile(r"<(/?)span\b([^<>]*)>", re.IGNORECASE)
_EDGE = re.compile(r"<(/?)([uod]l|h[1-6]|figure|nav|div)(?=[\s/>])([^<>]*)>", re.IGNORECASE)


_STARTS = tuple(name[:3] for name in sorted(_DROPPED)) + ("div",)


def may_drop(tag: str) -> bool:
    """Quickly check, from the text after ``<``, whether a tag may open an element that `is_dropped`.

    >>> may_drop("UL>a"), may_drop('div class="x"> a'), may_drop("div> a"), may_drop("/ul>")
    (True, True, False, False)
    """
    start = tag[:3].lower()
    return start.startswith(_STARTS) and (start != "div" or "class" in (attributes := tag.lower()) or "display" in attributes)


def is_dropped(name: str, attributes: str) -> bool:
    """Return True if an element's content is not prose, from its lowercase name and its attributes.

    >>> is_dropped("div", ' class="thumb tright"'), is_dropped("div", ' style="float: right"'), is_dropped("ul", "")
    (True, False, True)
    >>> is_dropped("div", ' style="display: none"'), is_dropped("p", ' style="display:none"')
    (True, True)
    """
    if attributes and _HIDDEN.search(attributes):
        return True
    if name != "div":
        return name in _DROPPED
    return "class" in attributes.lower() and _BOX.search(attributes) is not None


def drop_hidden_spans(text: str) -> str:
    """Remove ``<span style="display:none">`` with its content from a paragraph; an unclosed one hides nothing.

    >>> drop_hidden_spans('a <span style="display:none">b <span>c</span></span><span>d</span>')
    'a <span>d</span>'
    """
    parts: list[str] = []
    done = depth = start = 0
    for tag in _SPAN.finditer(text):
        if depth:
            depth += -1 if tag[1] else 1
            if not depth:
                parts.append(text[done:start])
                done = tag.end()
        elif not tag[1] and not tag[2].endswith("/") and _HIDDEN.search(tag[2]):
            depth, start = 1, tag.start()
    return "".join([*parts, text[done:]])


def close_boxes(text: str) -> str:
    r"""Close unclosed dropped elements at the next blank line, so that they cannot swallow the page.

    >>> close_boxes("<ul><li>a\n\ntext"), close_boxes("<div class=thumb>a</div>\n\ntext")
    ('<ul><li>a\n</ul>\n\ntext', '<div class=thumb>a</div>\n\ntext')
    """
    opened: dict[str, list[re.Match[str]]] = {}
    # Pair the tags of each name separately, because pages close them in any order. Tags without a partner are
    # unclosed.
    for tag in _EDGE.finditer(text):
        tags = opened.setdefault(tag[2].lower(), [])
        if not tag[1]:
            tags.append(tag)
        elif tags:
            tags.pop()
    parts: list[str] = []
    done, end = 0, -1
    for tag in sorted((tag for tags in opened.values() if any(map(_drops, tags)) for tag in tags), key=re.Match.start):
        # Several unclosed boxes before the same blank line end there together.
        if end < tag.end():
            end = text.find("\n\n", tag.end())
            end = len(text) if end < 0 else end
        parts += (text[done:end], f"\n</{tag[2]}>")
        done = end
    return "".join(parts) + text[done:]


def _drops(tag: re.Match[str]) -> bool:
    return is_dropped(tag[2].lower(), tag[3])
