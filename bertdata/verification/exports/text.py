"""Check the laws of a corpus' text: every document has its fields, all text; id, source, language and text are not empty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from .. import batches
from ..files import CheckFailed
from ..lists import json_line

__all__ = ["json_lines", "parquet"]

_FIELDS = ("id", "source", "language", "title", "url", "licence", "text")
_NEEDED = ("id", "source", "language", "text")
_LONGEST = (1 << 31) + (1 << 16)  # bytes of a line: a document's text has less than 2 GB


def json_lines(path: Path, entry: dict[str, Any]) -> int:
    """Check JSON lines; return how many there are."""
    rows = 0
    with open(path, "rb") as file:
        while line := file.readline(_LONGEST):
            record = json_line(line, rows + 1)
            if tuple(record) != _FIELDS or not all(isinstance(v, str) for v in record.values()):
                raise CheckFailed(f"line {rows + 1} is no object of the texts {', '.join(_FIELDS)}")
            _check(record, f"line {rows + 1}")
            rows += 1
    return rows


def parquet(path: Path, entry: dict[str, Any]) -> int:
    """Check a Parquet file; return how many rows it has."""
    rows = 0
    for batch in batches.read(path, "parquet", pa.schema([(name, pa.string()) for name in _FIELDS]), entry):
        for number in range(batch.num_rows):
            _check({name: batch.column(name)[number].as_py() for name in _NEEDED}, f"row {rows + number}")
        rows += batch.num_rows
    return rows


def _check(record: dict[str, str], where: str) -> None:
    if empty := next((name for name in _NEEDED if not record[name].strip()), ""):
        raise CheckFailed(f"{where} has no {empty}")
