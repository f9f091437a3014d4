"""docs/reference/reasons.md has every reason under which build-corpus rejects or drops a record, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from conftest import REPOSITORY

from bertdata.stages.selection.choose import REASONS

DOC = (REPOSITORY / "docs" / "reference" / "reasons.md").read_text(encoding="utf-8")
REASON_AT = {"Reject": 1, "Drop": 0, "reject": 0, "Unreadable": 0, "Damage": 2}  # the argument of these calls that is a reason


def given() -> Iterator[str]:
    """Yield the reasons that stand as constants in calls."""
    for pattern in ("sources/**/*.py", "stages/corpus/**/*.py", "text/filters.py"):
        for path in (REPOSITORY / "bertdata").glob(pattern):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
                if isinstance(node, ast.Call) and len(node.args) > REASON_AT.get(name, 99):
                    values = ast.walk(node.args[REASON_AT[name]])
                    yield from (
                        value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)
                    )


def test_every_reason_is_documented() -> None:
    told = {name for cell in re.findall(r"^\| (`.*?`) \|", DOC, re.M) for name in re.findall(r"`([^`]+)`", cell)}
    reasons = {*given(), *REASONS}
    assert len(reasons) > 25
    assert reasons <= told, reasons - told


def test_every_documented_reason_is_one_of_the_code() -> None:
    told = {name for cell in re.findall(r"^\| (`.*?`) \|", DOC, re.M) for name in re.findall(r"`([^`]+)`", cell)}
    code = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "bertdata").rglob("*.py"))
    assert [name for name in told if f'"{name}"' not in code] == []
