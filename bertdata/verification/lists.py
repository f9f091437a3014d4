"""Check the lists of rejects and drops: each line is a JSON object with an id, a reason, and a place or a detail."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from ..dataset.manifest_records import RowFile
from .directory import CheckFailed

__all__ = ["check"]

_MAX_LINE_BYTES = 64 << 20  # maximum bytes of a line; an id and a file name are much shorter


def check(path: Path, entry: RowFile, kind: str) -> Counter[str]:
    """Check a list. `kind` is ``rejects`` or ``drops``. Return the number of records by reason."""
    counts: Counter[str] = Counter()
    rows = 0
    with open(path, "rb") as file:
        while line := file.readline(_MAX_LINE_BYTES):
            record = _json_line(line, rows + 1)
            for key in ("id", "reason", "where" if kind == "rejects" else "detail"):
                if not isinstance(record.get(key), str):
                    raise CheckFailed(f"line {rows + 1} has no {key}")
            count = record.get("pages", 1)  # one line stands for all pages that a dump lacks
            if type(count) is not int or count < 1:
                raise CheckFailed(f"line {rows + 1} counts {ascii(count)} pages")
            counts[str(record["reason"])] += count
            rows += 1
    if rows != entry.rows:
        raise CheckFailed(f"has {rows:,} lines, but {entry.rows:,} in the manifest")
    return counts


def _json_line(line: bytes, number: int) -> dict[str, object]:
    """Parse a line as a JSON object. Raise CheckFailed if it is not one."""
    if not line.endswith(b"\n"):
        raise CheckFailed(f"line {number} has no end")
    try:
        record = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckFailed(f"line {number} is not valid JSON: {' '.join(str(error).split())}") from error
    if not isinstance(record, dict):
        raise CheckFailed(f"line {number} is not a JSON object")
    return record
