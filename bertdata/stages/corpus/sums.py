"""Sum the reports of tasks by source. Sums can be summed again, and their size does not grow with the number of tasks.

Only the names of dropped templates are unbounded. A task reports its most frequent names, and a sum keeps `_NAMES`, although all
calls are counted. A sum keeps `_EXAMPLES` examples, from the first tasks. Tasks are grouped by their numbers, so the omitted
names are deterministic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...config.input_kinds import PROJECTS
from ...tally import Tally
from ..text_counts import Amounts
from . import missing
from .extract import most_frequent
from .sources import is_check

__all__ = ["add_up", "counts", "kept", "of"]

_EXAMPLES = 1000
_NAMES = 20_000  # dropped templates kept; the first thousand tasks of English Wikipedia name fewer
_ADDED = ("kind", "tally", "amounts", "lost", "templates", "formulas", "marks", "apparatus", "edits")
_COUNTS = ("given", "formulas", "marks", "apparatus", "edits")
_KEPT = ("kind", "files", "inputs", "checksum", "index", "name")


def of(report: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a task's report contributes to the sums, or None for a task that checked a file."""
    if is_check(report["kind"]):
        return None
    given = Counter(documents=report["tally"]["out"], text_bytes=report["files"][0]["text_bytes"])
    if report.get("removed_words"):
        given["removed_words"] = report["removed_words"]
    if "trimmed" in report:
        given.update(dict(zip(("trimmed_documents", "removed_paragraphs"), report["trimmed"], strict=True)))
    return {"given": given, **{key: report[key] for key in _ADDED}}


def kept(report: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a task's report that the commit needs: files, inputs and checks."""
    entry = {key: report[key] for key in _KEPT if key in report}
    if report.get("licences"):
        entry["licences"] = report["licences"]
    if report["kind"] in PROJECTS:
        entry |= {"pages": missing.pages_in(report["tally"]), "lost": report["lost"]}
    return entry


def add_up(parts: Iterable[dict[str, Any] | None]) -> list[dict[str, Any]]:
    """Add up task reports, or sums of them: one sum per source, in order of first appearance."""
    totals: dict[str, _Total] = {}
    for part in parts:
        if part is not None:
            totals.setdefault(part["kind"], _Total(Tally(part["tally"]["stage"]))).add(part)
    return [{"kind": kind, **total.to_json()} for kind, total in totals.items()]


@dataclass
class _Total:
    """The running sum of one source's reports. It stores no individual report."""

    tally: Tally
    amounts: Amounts = field(default_factory=Amounts)
    names: Counter[str] = field(default_factory=Counter)
    examples: dict[str, Any] = field(default_factory=dict)  # by template name, from the first task
    lost: int = 0
    calls: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {key: Counter() for key in _COUNTS})

    def add(self, part: dict[str, Any]) -> None:
        """Add a report or a sum."""
        # All of these can be added in any grouping with the same result, so the reports of 40,000
        # tasks are added a thousand at a time, on any worker.
        self.tally.merge(Tally.from_json(part["tally"]))
        self.amounts.merge(part["amounts"])
        self.names.update(dict(part["templates"]["names"]))
        for name, example in part["templates"]["examples"].items():
            self.examples[name] = min(self.examples.get(name, example), example)
        self.lost += part["lost"]
        self.calls += part["templates"]["calls"]
        for key, count in self.counts.items():
            count.update(part[key])

    def to_json(self) -> dict[str, Any]:
        """Return the sum in the form that `add` accepts."""
        shown = Counter({name: self.names[name] for name in self.examples})
        return {
            "given": dict(self.counts["given"]),
            "tally": self.tally.to_json(),
            "amounts": self.amounts.to_json(),
            "lost": self.lost,
            "templates": {
                "calls": self.calls,
                "names": most_frequent(self.names, _NAMES),
                "examples": {str(name): self.examples[str(name)] for name, _ in most_frequent(shown, _EXAMPLES)},
            },
            **{key: dict(count) for key, count in self.counts.items() if key != "given"},
        }


def counts(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Add up counts by name, in order of first appearance."""
    total: Counter[str] = Counter()
    for each in parts:
        total.update(each)
    return dict(total)
