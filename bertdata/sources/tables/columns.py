"""Turn a row of a table into a text with id, title, language and address, or into a reject with a reason."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ...credentials import hide
from ...errors import few
from ...records import Reject
from .limits import MAX_PARAGRAPHS

__all__ = ["Columns", "RowAddress", "Row", "make_row"]

_NAMED, _NAME = 12, 40  # columns listed in a reject, and characters of a name
_LICENCES = ("licence", "license")  # columns with a row's license; the first nonempty one is used
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can contain half a character, which cannot be encoded


class Columns(NamedTuple):
    """The names of the text, title and id columns; the id may be "" for none."""

    text: str = "text"
    title: str = "title"
    id: str = ""

    @property
    def used(self) -> list[str]:
        """The columns to read, if they exist."""
        return [name for name in (self.text, self.title, self.id, "language", "url", *_LICENCES) if name]


class RowAddress(NamedTuple):
    """The address of a row: source, file name, position (a byte or a number), and the position in words."""

    source: str
    name: str
    at: int | str
    words: str

    @property
    def id(self) -> str:
        """The id of a row without an id column."""
        return f"{self.source}:{self.name}:{self.at}"

    def reject(self, reason: str, problem: str, lost: int = 0) -> Reject:
        """Return a reject for the row at this address."""
        return Reject(self.id, reason, f"{self.name}: {self.words}: {problem}", lost)


class Row(NamedTuple):
    """A text from a table; if the value is a list, its strings are paragraphs."""

    id: str
    title: str
    language: str
    url: str
    text: str
    licence: str = ""


def make_row(values: dict[str, Any], address: RowAddress, columns: Columns, max_bytes: int) -> Row | Reject:
    """Make a row from its columns; reasons: ``no-text``, ``no-id``, ``empty``, ``too-large``, ``bad-utf-8``.

    >>> make_row({"text": ["Tea.", "Cake."], "key": 7}, RowAddress("text", "a.jsonl", 0, "byte 0"), Columns(id="key"), 100)
    Row(id='text:a.jsonl:7', title='', language='', url='', text='Tea.\\n\\nCake.', licence='')
    """
    value = values.get(columns.text)
    if isinstance(value, list) and len(value) > MAX_PARAGRAPHS:
        return address.reject("too-large", f"a text of more than {MAX_PARAGRAPHS} paragraphs")
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n\n".join(value)
    if not isinstance(value, str):
        what = f"{type(value).__name__} in" if columns.text in values else "nothing in"
        problem = f"{what} the column {columns.text!r} where text should be; the columns there: {_listed(tuple(values))}"
        return address.reject("no-text", f"{problem}. Name the column of the text with `text_column`")
    if not value.strip():
        return address.reject("empty", "no words")
    name = values.get(columns.id) if columns.id else None
    named = isinstance(name, str | int) and not isinstance(name, bool) and name != ""
    if columns.id and not named:
        return address.reject("no-id", f"nothing in the column {columns.id!r} that could be an id")
    id = f"{address.source}:{address.name}:{name}" if named else address.id
    title, language, url = (_text(values.get(key)) for key in (columns.title, "language", "url"))
    licence = next(filter(None, (_text(values.get(key)) for key in _LICENCES)), "")
    if any(map(_SURROGATE.search, (id, value, title, language, url, licence))):
        return address.reject("bad-utf-8", "a surrogate (half a character) is not text")
    if len(value) > max_bytes or len(value.encode()) > max_bytes:
        return address.reject("too-large", f"a text of more than {max_bytes} bytes")
    return Row(id, title, language, hide(url), value, licence)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _listed(names: tuple[str, ...]) -> str:
    """List column names, shortened to fit on a line.

    >>> _listed(("id", "body")), _listed(())
    ('id, body', 'none')
    """
    return few([name[:_NAME] for name in names], _NAMED) or "none"
