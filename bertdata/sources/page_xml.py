"""Read the XML of one page of a dump: the elements that matter, by a parser that refuses declarations."""

from __future__ import annotations

import re
from xml.parsers import expat

from .compressed import CHUNK
from .pages import OPEN

__all__ = ["BrokenPage", "guess_name", "read_fields"]

_FIELDS = {
    "page/title": "title",
    "page/ns": "ns",
    "page/id": "id",
    "page/redirect": "redirect",
    "page/revision/model": "model",
    "page/revision/text": "text",
}
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")  # Unicode's category Cc


class BrokenPage(Exception):
    """A page that cannot be parsed: a `reason` to reject it, and the `detail`."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail


def read_fields(page: bytes) -> dict[str, str]:
    """Return the fields that a page has, from what follows its ``<page>``; all but `text` are free of control characters.

    Of several revisions the last one counts.  Raise BrokenPage where the XML is not well-formed or declares entities.
    """
    parser = _Parser()
    try:
        parser.parse(page)
    except expat.ExpatError as error:
        raise BrokenPage("malformed-xml", str(error)) from None
    joined = {name: "".join(parts) for name, parts in parser.values.items()}
    return {name: value if name == "text" else _one_line(value) for name, value in joined.items()}


def guess_name(page: bytes) -> str:
    """Name a page that cannot be read by its id or its title, if those can; else return an empty name."""
    head = page.partition(b"<revision>")[0]  # a revision has an id too
    if match := re.search(rb"<id>(\d+)</id>", head):
        return match.group(1).decode()
    match = re.search(rb"<title>([^<]{1,255})</title>", page)
    return _one_line(match.group(1).decode("utf-8", "replace")) if match else ""


def _one_line(value: str) -> str:
    return _CONTROL.sub(" ", value).strip()


class _Parser:
    """Gather the text of the elements that matter."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}
        self._path: list[str] = []
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.buffer_size = CHUNK
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse

    def parse(self, page: bytes) -> None:
        self._parser.Parse(OPEN, False)
        self._parser.Parse(page, True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        if field := _FIELDS.get("/".join(self._path)):
            self.values[field] = []
            self._parser.CharacterDataHandler = self.values[field].append

    def _end(self, name: str) -> None:
        self._path.pop()
        self._parser.CharacterDataHandler = None

    def _refuse(self, *declaration: object) -> None:
        raise BrokenPage("declaration", "a document type or entity is declared")
