"""Show datasets in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table"]


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table. All text is escaped.

    >>> html_table("tea & cups", ["row"], [["<b>"]])
    '<table><caption>tea &amp; cups</caption><tr><th>row</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>"
