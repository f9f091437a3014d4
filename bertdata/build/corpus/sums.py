"""The sums of what tasks report, source by source: sums of sums are sums, and none grows with the number of tasks.

Only the names of dropped templates have no end.  A task reports its most frequent ones, a sum keeps `_NAMES`; all calls are
counted.  Of their examples a sum keeps `_EXAMPLES`, those of the first tasks.  Which tasks are added up together goes by their
numbers, so what is left out does too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ...tally import Tally
from ..amounts import Amounts
from . import missing
from .extract import most_frequent
from .sources import is_check

__all__ = ["add_up", "counts", "kept", "of"]

_EXAMPLES = 1000
_NAMES = 20_000  # of dropped templates: more than the first thousand tasks of English Wikipedia name
_ADDED = ("kind", "tally", "amounts", "lost", "templates", "formulas", "marks", "apparatus")
_KEPT = ("kind", "files", "inputs", "checksum", "index", "name")


def of(report: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a task's report adds to the sums; nothing for one that has checked a file."""
    if is_check(report["kind"]):
        return None
    given = Counter(documents=report["tally"]["out"], text_bytes=report["files"][0]["text_bytes"])
    if report.get("removed_words"):
        given["removed_words"] = report["removed_words"]
    if "trimmed" in report:
        given.update(dict(zip(("trimmed_documents", "removed_paragraphs"), report["trimmed"], strict=True)))
    return {"given": given, **{key: report[key] for key in _ADDED}}


def kept(report: dict[str, Any]) -> dict[str, Any]:
    """Return what the commit has to know of each task: its files, what it has read, what it has checked."""
    entry = {key: report[key] for key in _KEPT if key in report}
    if report["kind"] == "wikipedia":
        entry |= {"pages": missing.pages_in(report["tally"]), "lost": report["lost"]}
    return entry


def add_up(parts: Iterable[dict[str, Any] | None]) -> list[dict[str, Any]]:
    """Add up what tasks have reported, or sums of it: a sum for each source, in the order in which they come."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        if part is not None:
            by_kind.setdefault(part["kind"], []).append(part)
    return [_sum(kind, own) for kind, own in by_kind.items()]


def _sum(kind: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    tally, amounts, names = Tally(parts[0]["tally"]["stage"]), Amounts(), Counter[str]()
    for part in parts:
        tally.merge(Tally.from_json(part["tally"]))
        amounts.merge(part["amounts"])
        names.update(dict(part["templates"]["names"]))
    return {
        "kind": kind,
        "given": counts(part["given"] for part in parts),
        "tally": tally.to_json(),
        "amounts": amounts.to_json(),
        "lost": sum(part["lost"] for part in parts),
        "templates": {
            "calls": sum(part["templates"]["calls"] for part in parts),
            "names": most_frequent(names, _NAMES),
            "examples": _examples(names, parts),
        },
        **{key: counts(part[key] for part in parts) for key in ("formulas", "marks", "apparatus")},
    }


def _examples(names: Counter[str], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return by name the example of the first task, of the most frequent names that have one."""
    found: dict[str, Any] = {}
    for name, example in (item for part in parts for item in part["templates"]["examples"].items()):
        found[name] = min(found.get(name, example), example)
    kept = most_frequent(Counter({name: names[name] for name in found}), _EXAMPLES)
    return {str(name): found[str(name)] for name, _ in kept}


def counts(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Add up counts by name, in the order in which names come."""
    total: Counter[str] = Counter()
    for each in parts:
        total.update(each)
    return dict(total)
