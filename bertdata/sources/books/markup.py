"""Read XHTML, OPF and other XML as a flat sequence of tags and text, also where it is broken, in linear time.

Nothing is expanded but HTML's own character references: what a file defines itself (entities, inclusions) stays as it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Tag", "attributes", "tags_and_text"]

_TAG = re.compile(r"(/?)([A-Za-z][\w:.-]*)(?![\w:.-])([^>\"']*(?:(?:\"[^\"]*\"|'[^']*')[^>\"']*)*)>")
_UNQUOTED = re.compile(r"(/?)([A-Za-z][\w:.-]*)(?![\w:.-])([^>]*)>")  # of a tag with a quotation mark that none ends
_ATTRIBUTE = re.compile(r"(?<![\w:.-])([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_LONGEST_TAG = 1 << 16  # bytes of a tag's attributes that are looked at: pictures may stand in them
_RAW = ("script", "style")  # what stands in them is no markup
_ENDS = ("-->", "]]>", "</script", "</style")


class Tag(NamedTuple):
    """A tag: its name without a prefix, in lower case; ``</p>`` is an `end`, ``<br/>`` is `empty`."""

    name: str
    attributes: str
    end: bool
    empty: bool


def tags_and_text(markup: str) -> Iterator[Tag | str]:
    """Yield tags and the text between them, comments and declarations left out.

    >>> [part if isinstance(part, str) else part.name for part in tags_and_text("<P>Tea &amp; <!-- <b> -->cake<br/>")]
    ['p', 'Tea & ', 'cake', 'br']
    """
    return filter(None, _tags_and_text(markup))


def _tags_and_text(markup: str) -> Iterator[Tag | str]:
    if first := markup[: markup.find("<")] if "<" in markup else markup:
        yield html.unescape(first)
    last = {mark: max(markup.rfind(mark), markup.rfind(mark.upper())) for mark in _ENDS}
    until = ""  # what ends the comment or the script that we are in; what nothing ends is none
    for at, part in _parts(markup):
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
            continue  # a tag that nothing ends
        else:
            yield html.unescape(f"<{part}")  # a sign, as in "1 < 2"


def _parts(markup: str) -> Iterator[tuple[int, str]]:
    """Yield where each ``<`` stands, and what stands between it and the next."""
    at = markup.find("<")
    while at >= 0:
        end = markup.find("<", at + 1)
        yield at, markup[at + 1 :] if end < 0 else markup[at + 1 : end]
        at = end


def attributes(text: str) -> dict[str, str]:
    """Read the attributes of a tag, by their names without a prefix.

    >>> attributes(' epub:type="toc" id=a href="b&amp;c"')
    {'type': 'toc', 'id': 'a', 'href': 'b&c'}
    """
    values: dict[str, str] = {}
    for name, double, single, plain in _ATTRIBUTE.findall(text[:_LONGEST_TAG]):
        values.setdefault(name.rpartition(":")[2].lower(), html.unescape(double or single or plain))
    return values
