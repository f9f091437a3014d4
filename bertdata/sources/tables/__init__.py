"""Read tables of texts: CSV, TSV, JSON lines, Parquet and Arrow, including files of `datasets` and the Hub."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import IO

from ...errors import UsageError, did_you_mean
from ...records import FileRange, Reject
from .. import DELIMITED, TABLES, licences
from ..compressed import Stream
from ..line_ranges import split_lines
from .columns import Columns, Row
from .delimited import read_delimited
from .json_lines import read_json_lines

__all__ = ["Columns", "Row", "is_table", "read_table", "split_table"]


def is_table(name: str) -> bool:
    """Return True if a file's name has a table's suffix."""
    return name.lower().endswith(TABLES)


def split_table(path: str, size: int, target: int, columns: Columns) -> list[tuple[int, int]]:
    """Cut a table into ranges of about `target` bytes, made of complete lines, row groups or record batches.

    Raise UsageError if the table lacks a required column.  An unreadable table is not cut; the task that reads it reports the
    problem.
    """
    name = path.lower()
    if name.endswith(".jsonl"):
        return split_lines(path, size, target)
    if not name.endswith((".parquet", ".arrow")):
        Stream(path).read(1)  # raises if the package that decompresses it is missing
        return [(0, size)]
    from . import arrow, parquet  # importing Arrow's compute functions takes 0.1 s

    read_schema, cut = (parquet.read_schema, parquet.cut) if name.endswith(".parquet") else (arrow.read_schema, arrow.cut)
    try:
        kinds = {field.name: field.type for field in read_schema(path)}
    except parquet.FORMAT_ERRORS:
        return [(0, size)]
    if name.endswith(".arrow") and any("dictionary<" in str(kind) for kind in kinds.values()):
        raise UsageError(f"{path} has columns with dictionaries, which are only read from Parquet: write it as Parquet")
    _check(path, kinds, columns)
    return cut(path, size, target)


def read_table(
    part: FileRange,
    source: str,
    columns: Columns,
    max_bytes: int,
    licence_counts: dict[str, Counter[str]] | None = None,
    *,
    encoding: str = "",
    file: IO[bytes] | None = None,
) -> Iterator[Row | Reject]:
    """Read the rows of a range of a table.

    Args:
        part: A range that `split_table` returned, or all of an open `file`.
        source: Prefix of the rows' ids.
        columns: Columns to read.
        max_bytes: Maximum bytes of a row.
        licence_counts: Counts the licenses of rows, by file.
        encoding: Encoding of a CSV or TSV file; "" to detect it. The other formats are UTF-8.
        file: A CSV, TSV or JSON lines file in an archive, open for reading.
    """
    for row in _read(part, source, columns, max_bytes, encoding, file):
        if licence_counts is not None and isinstance(row, Row):
            licences.count(licence_counts, part.name, row.licence)
        yield row


def _read(
    part: FileRange, source: str, columns: Columns, max_bytes: int, encoding: str, file: IO[bytes] | None
) -> Iterator[Row | Reject]:
    name = part.name.lower()
    if name.endswith(".parquet"):
        from .parquet import read_parquet

        return read_parquet(part, source, columns, max_bytes)
    if name.endswith(".arrow"):
        from .arrow import read_arrow

        return read_arrow(part, source, columns, max_bytes)
    if name.endswith(DELIMITED):
        return read_delimited(part, source, columns, max_bytes, encoding, file)
    return read_json_lines(part, source, columns, max_bytes, file)


def _check(path: str, kinds: dict[str, object], columns: Columns) -> None:
    from .table_rows import is_text

    options = {"`text_column`": columns.text, "`id_column`": columns.id, "`title_column`": columns.title}
    if columns.title == Columns().title:
        del options["`title_column`"]  # titles are optional unless requested
    for option, name in options.items():
        if name and name not in kinds:
            there = ", ".join(map(repr, kinds)) or "none"
            raise UsageError(f"{path} has no column {name!r}: set {option} to one of {there}{did_you_mean(name, kinds)}")
    if not is_text(kinds[columns.text]):
        texts = ", ".join(repr(name) for name, kind in kinds.items() if is_text(kind)) or "none has"
        raise UsageError(
            f"{path}: the column {columns.text!r} contains {kinds[columns.text]}, not text: set `text_column` to one of {texts}"
        )
