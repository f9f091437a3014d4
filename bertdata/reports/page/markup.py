"""Put HTML together from parts: whatever is not `Html` already is escaped, so no title of a dump becomes markup.

>>> tag("td", "<b> \\u202e", class_="n")
'<td class="n">&lt;b&gt; \ufffd</td>'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from ...storage.terminal import clean

__all__ = ["Column", "Html", "bar", "foreign", "join", "number", "short", "table", "tag", "text"]

_VOID = frozenset(("meta", "br", "hr"))
_MAX_PHONE_COLUMNS = 3  # columns that fit a phone
_MAX_COLUMNS_WITH_BARS = 4  # on a phone, wider tables have no space for bars


class Html(str):
    """Markup that needs no escaping."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escape a text, and replace what steers a terminal or turns the direction of writing; markup stays as it is."""
    return value if isinstance(value, Html) else Html(escape(clean(str(value))))


def join(*parts: object) -> Html:
    """Put pieces one behind another."""
    return Html("".join(map(text, parts)))


def tag(element: str, /, *children: object, **attributes: object) -> Html:
    """Return an element. Attributes that are Python keywords end with ``_``; those that are None or False are omitted."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{"" if value is True else text(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{element}{written}>" if element in _VOID else f"<{element}{written}>{join(*children)}</{element}>")


def foreign(value: str, language: str = "", most: int = 400) -> Html:
    """Return text of a dump or a book, shortened, with its language and an isolated direction of writing."""
    return tag("bdi", short(value, most), lang=language or None)


def short(value: str, most: int) -> str:
    """Cut a text that is too long.

    >>> short("teapot", 4)
    'tea…'
    """
    return value if len(value) <= most else f"{value[: most - 1]}…"


def number(value: float) -> str:
    """Return a number with thousands separators, and with decimals unless it is an integer.

    >>> number(1234), number(12.345), number(0.00123)
    ('1,234', '12.3', '0.0012')
    """
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.2g}"


class Column(NamedTuple):
    """A column of a table: its name, and whether it holds numbers, which are right-aligned."""

    name: str
    numbers: bool = False


def table(caption: str, columns: Sequence[Column | str], rows: Iterable[Sequence[object]]) -> Html:
    """Return a table whose first column names its rows, or empty markup without rows.

    A table that is wider than a phone scrolls sideways, also by keyboard.  A table of many columns hides its bars there: they are
    in the last column, which has no name.
    """
    known = [Column(each) if isinstance(each, str) else each for each in columns]
    body = [
        tag("tr", *(_cell(column, value, not at) for at, (column, value) in enumerate(zip(known, row, strict=True))))
        for row in rows
    ]
    if not body:
        return Html("")
    head = tag("tr", *map(_head, known))
    caption_tag = tag("caption", caption) if caption else ""
    reached: dict[str, object] = {}
    if len(known) > _MAX_PHONE_COLUMNS:
        names = ", ".join(column.name for column in known if column.name)
        reached = {"tabindex": 0, "role": "group", "aria_label": caption or names}
    kind = "scroll many" if len(known) > _MAX_COLUMNS_WITH_BARS and not known[-1].name else "scroll"
    return tag("div", tag("table", caption_tag, tag("thead", head), tag("tbody", *body)), class_=kind, **reached)


def _head(column: Column) -> Html:
    """Return the head of a column. A column of bars has no name and no head for screen readers."""
    attributes: dict[str, object] = {"class_": "n" if column.numbers else None}
    return tag("th", column.name, scope="col", **attributes) if column.name else tag("td", **attributes)


def _cell(column: Column, value: object, first: bool) -> Html:
    return tag("th" if first else "td", value, class_="n" if column.numbers else None, scope="row" if first else None)


def bar(share: float, kind: str = "") -> Html:
    """Return a bar that fills a share of its cell. It is hidden from screen readers, because the number is next to it."""
    width = max(0.0, min(1.0, share))
    inside = tag("span", style=f"width:{100 * width:.1f}%")
    return tag("span", inside, class_=f"bar {kind}".strip(), aria_hidden="true")
