"""Read XHTML, OPF and other XML as a flat sequence of tags and text, including broken markup, in linear time.

Only HTML's own character references are expanded. Entities and inclusions that a file defines are left as they are.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Tag", "attributes", "tags_and_text"]

_TAG = re.compile(r"(/?)([A-Za-z][\w:.-]*)(?![\w:.-])([^>\"']*(?:(?:\"[^\"]*\"|'[^']*')[^>\"']*)*)>")
_UNQUOTED = re.compile(r"(/?)([A-Za-z][\w:.-]*)(?![\w:.-])([^>]*)>")  # a tag with an unclosed quotation mark
_ATTRIBUTE = re.compile(r"(?<![\w:.-])([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_MAX_TAG_BYTES = 1 << 16  # bytes of a tag's attributes that are parsed; attributes may contain inline images
_RAW = ("script", "style")  # their content is not markup
_ENDS = ("-->", "]]>", "</script", "</style")


class Tag(NamedTuple):
    """A tag: its lowercase name without a prefix. ``</p>`` is an `end`, ``<br/>`` is `empty`."""

    name: str
    attributes: str
    end: bool
    empty: bool


def tags_and_text(markup: str) -> Iterator[Tag | str]:
    """Yield tags and the text between them, without comments and declarations.

    >>> [part if isinstance(part, str) else part.name for part in tags_and_text("<P>Tea &amp; <!-- <b> -->cake<br/>")]
    ['p', 'Tea & ', 'cake', 'br']
    """
    return filter(None, _tags_and_text(markup))


def _tags_and_text(markup: str) -> Iterator[Tag | str]:
    if first := markup[: markup.find("<")] if "<" in markup else markup:
        yield html.unescape(first)
    # An unclosed comment must not hide the rest of the book. Searching for its end each time would
    # take quadratic time in a file of unclosed comments, so find the last of each end mark once.
    last = {mark: max(markup.rfind(mark), markup.rfind(mark.upper())) for mark in _ENDS}
    until = ""  # end mark of the current comment or script; unclosed ones are ignored
    for at, part in _parts(markup):
        # Inside of a comment or CDATA section. Its content may contain "<", where `_parts` cuts.
        if until in ("-->", "]]>"):
            inside, ended, text = part.partition(until)
            if until == "]]>":
                yield f"<{inside}"
            if ended:
                until = ""
                yield html.unescape(text)
            continue
        if until and part[: len(until)].lower() != until:
            continue
        until = ""
        if part.startswith(("!--", "![CDATA[")):
            opening, closing = ("!--", "-->") if part.startswith("!--") else ("![CDATA[", "]]>")
            inside, ended, text = part[len(opening) :].partition(closing)
            if opening == "![CDATA[":
                yield inside
            if ended:
                yield html.unescape(text)
            elif last[closing] > at:
                until = closing
        elif part.startswith(("!", "?")):
            yield html.unescape(part.partition(">")[2])
        elif tag := _TAG.match(part) or _UNQUOTED.match(part):
            slash, name, rest = tag.groups()
            name = name.rpartition(":")[2].lower()
            empty = not slash and rest.endswith("/")
            yield Tag(name, rest, bool(slash), empty)
            if name in _RAW and not (slash or empty) and last[f"</{name}"] > at:
                until = f"/{name}"
            else:
                yield html.unescape(part[tag.end() :])
        elif part[:1].isalpha() or part.startswith("/"):
            continue  # an unclosed tag
        else:
            yield html.unescape(f"<{part}")  # a less-than sign, as in "1 < 2"


def _parts(markup: str) -> Iterator[tuple[int, str]]:
    """Yield the position of each ``<`` and the text up to the next one."""
    at = markup.find("<")
    while at >= 0:
        end = markup.find("<", at + 1)
        yield at, markup[at + 1 :] if end < 0 else markup[at + 1 : end]
        at = end


def attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag, by name without prefix.

    >>> attributes(' epub:type="toc" id=a href="b&amp;c"')
    {'type': 'toc', 'id': 'a', 'href': 'b&c'}
    """
    values: dict[str, str] = {}
    for name, double, single, plain in _ATTRIBUTE.findall(text[:_MAX_TAG_BYTES]):
        values.setdefault(name.rpartition(":")[2].lower(), html.unescape(double or single or plain))
    return values
