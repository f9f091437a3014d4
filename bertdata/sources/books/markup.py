"""Read XHTML, OPF and other XML as a flat list of tags and text, including broken markup, in linear time."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any, NamedTuple

from ..lines import drop_controls

VOID = frozenset("br hr img input link meta col area base embed param source track wbr".split())  # noqa: SIM905
# A malformed tag, whose last quotation mark is missing: a `>` follows, and no `" >` that could end the value.
_UNQUOTED = re.compile(
    r"""<([A-Za-z][\w:.-]*)(?![\w:.-])((?:[^<>"']|"[^"<>]*"|'[^'<>]*')*)["'][^<>"']*>(?![^<"']{0,999}["'][^<>"']{0,999}>)"""
)
_COMMENT = re.compile("<!--.*?-->", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


class Tag(NamedTuple):
    """A tag: its name in lower case and without a prefix, and its attributes, None for an end tag."""

    name: str
    attributes: dict[str, str] | None

    def get(self, name: str) -> str:
        """Return an attribute, or "" if the tag does not have it."""
        return (self.attributes or {}).get(name, "")


def parse(markup: str) -> list[Tag | str]:
    """Return the tags and the text between them, without comments and declarations.

    Only HTML's own character references are expanded. Entities and inclusions that a file defines are left as they are.
    """
    markup = drop_controls(markup)
    # html.parser looks for the end of each comment and each tag in all of the rest. So remove those without an end first.
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>")):
        last = max(0, markup.rfind(closing))
        markup = markup[:last] + markup[last:].replace(opening, "")
    markup = _COMMENT.sub("", _CDATA.sub(lambda part: html.escape(part[1]), markup)).replace("<![", "<!")
    last = markup.rfind(">") + 1
    parser = _Parser()
    parser.feed(_UNQUOTED.sub(r"<\1\2>", markup[:last]) + re.sub("<[A-Za-z/!?][^<]*", "", markup[last:]))
    parser.close()
    return parser.parts


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[Tag | str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append(Tag(_plain(tag), {_plain(name): value or "" for name, value in reversed(attrs)}))

    def handle_endtag(self, tag: str) -> None:
        if _plain(tag) not in VOID:
            self.parts.append(Tag(_plain(tag), None))

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def set_cdata_mode(self, *_args: Any, **_options: Any) -> None:
        """Read scripts as markup, which is dropped: an unclosed one must not hide the rest of the page."""


def _plain(name: str) -> str:
    return name.rpartition(":")[2]
