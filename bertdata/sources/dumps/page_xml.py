"""Parse the XML of one page of a dump for the fields needed; the parser rejects declarations."""

from __future__ import annotations

import re
from xml.parsers import expat

from ..compressed import CHUNK_BYTES
from .pages import OPEN

__all__ = ["BrokenPage", "guess_name", "read_fields", "split_joined"]

_FIELDS = {
    "page/title": "title",
    "page/ns": "ns",
    "page/id": "id",
    "page/redirect": "redirect",
    "page/revision/model": "model",
    "page/revision/id": "revision",
    "page/revision/timestamp": "revised",
    "page/revision/text": "text",
}
_REQUIRED_ONCE = frozenset(("title", "id"))  # a page has exactly one of each
_TITLE = re.compile(rb"(?=<title>)")
_MAX_DEPTH = 64  # maximum nesting depth; a dump has six
_LONG_TAG = re.compile(rb"<[^<>]{65536}")  # a tag with thousands of attributes would fill the parser's memory
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")  # Unicode's category Cc


class BrokenPage(Exception):
    """A page that cannot be parsed: a `reason` to reject it, and the `detail`."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail


def read_fields(page: bytes) -> dict[str, str]:
    """Return the fields of a page from the bytes after ``<page>``; all except `text` are free of control characters.

    If there are several revisions, the last one is used.  Raise BrokenPage if the XML is malformed or declares entities.
    """
    if tag := _LONG_TAG.search(page):
        raise BrokenPage("malformed-xml", f"a tag without an end in 65536 bytes: byte {tag.start()} of the page")
    fields, parser = _Fields(), expat.ParserCreate("utf-8")
    parser.buffer_text, parser.buffer_size = True, CHUNK_BYTES
    parser.StartElementHandler, parser.EndElementHandler = fields.start, fields.end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = fields.text, fields.refuse
    try:
        parser.Parse(OPEN, False)
        parser.Parse(page, True)
    except expat.ExpatError as error:
        raise BrokenPage("malformed-xml", str(error)) from None
    joined = {name: "".join(parts) for name, parts in fields.values.items()}
    return {name: value if name == "text" else _one_line(value) for name, value in joined.items()}


def guess_name(page: bytes) -> str:
    """Return the id or title of a page that cannot be parsed, if they can be found; otherwise ""."""
    head = page.partition(b"<revision>")[0]  # a revision has an id too
    if match := re.search(rb"<id>(\d{1,18})</id>", head):
        return match.group(1).decode()
    match = re.search(rb"<title>([^<]{1,255})</title>", page)
    return _one_line(match.group(1).decode("utf-8", "replace")) if match else ""


def split_joined(page: bytes) -> list[bytes]:
    """Split a broken page into the pages that it contains because damage removed the tags between them: each has a title.

    >>> split_joined(b"<title>A</title> <title>B</title>"), split_joined(b"<id>1</id>")
    ([b'<title>A</title> ', b'<title>B</title>'], [b'<id>1</id>'])
    """
    first, *others = _TITLE.split(page)
    return [first + others[0], *others[1:]] if others else [first]


def _one_line(value: str) -> str:
    return _CONTROL.sub(" ", value).strip()


class _Fields:
    """Collect the text of the fields needed. It has no reference to its parser, so both are freed as soon as the page is read."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}
        self._path: list[str] = []
        self._parts: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        self._parts = []
        if len(self._path) > _MAX_DEPTH:
            raise BrokenPage("malformed-xml", f"more than {_MAX_DEPTH} elements within each other")
        if field := _FIELDS.get("/".join(self._path)):
            if field in _REQUIRED_ONCE and field in self.values:  # the end of one page and the start of the next are missing
                raise BrokenPage("malformed-xml", f"two elements <{field}> in one page")
            self.values[field] = self._parts

    def end(self, name: str) -> None:
        self._path.pop()
        self._parts = []

    def text(self, data: str) -> None:
        self._parts.append(data)

    def refuse(self, *declaration: object) -> None:
        raise BrokenPage("declaration", "a document type or entity is declared")
