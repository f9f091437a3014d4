"""Sum the counts of tasks by source. Sums can be summed again, and their size does not grow with the number of tasks.

Only the names of dropped templates are unbounded. A task reports its most frequent names, and a sum keeps `_MAX_NAMES`, although
all calls are counted. A sum keeps `_MAX_EXAMPLES` examples, from the first tasks. Tasks are grouped by their numbers, so the
omitted names are deterministic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...tally import Tally
from ..corpus_report import SourceCounts, Templates
from ..text_counts import Amounts
from .extract import most_frequent

__all__ = ["add_up"]

_MAX_EXAMPLES = 1000
_MAX_NAMES = 20_000  # dropped templates kept; the first thousand tasks of English Wikipedia name fewer
_COUNTERS = ("formulas", "marks", "apparatus", "edits", "removed")


def add_up(parts: Iterable[SourceCounts]) -> list[SourceCounts]:
    """Add up counts of tasks, or sums of them: one sum per source, in order of first appearance."""
    totals: dict[str, _Total] = {}
    for part in parts:
        totals.setdefault(part.kind, _Total(part.kind, Tally(part.tally.stage))).add(part)
    return [total.counts() for total in totals.values()]


@dataclass
class _Total:
    """The running sum of one source's counts. It stores no individual report."""

    kind: str
    tally: Tally
    text_bytes: int = 0
    amounts: Amounts = field(default_factory=Amounts)
    names: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[int, str]] = field(default_factory=dict)  # by template name, from the first task
    calls: int = 0
    counters: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in _COUNTERS})

    def add(self, part: SourceCounts) -> None:
        """Add a report or a sum."""
        # All of these can be added in any grouping with the same result, so the reports of 40,000
        # tasks are added a thousand at a time, on any worker.
        self.tally.merge(Tally.of(part.tally))
        self.text_bytes += part.text_bytes
        self.amounts.merge(part.amounts)
        self.names.update(part.templates.names)
        for name, example in part.templates.examples.items():
            self.examples[name] = min(self.examples.get(name, example), example)
        self.calls += part.templates.calls
        for name, counter in self.counters.items():
            counter.update(getattr(part, name))

    def counts(self) -> SourceCounts:
        """Return the sum in the form that `add` accepts."""
        shown = Counter({name: self.names[name] for name in self.examples})
        return SourceCounts(
            kind=self.kind,
            tally=self.tally.counts(),
            text_bytes=self.text_bytes,
            amounts=self.amounts.to_json(),
            templates=Templates(
                calls=self.calls,
                names=dict(most_frequent(self.names, _MAX_NAMES)),
                examples={name: self.examples[name] for name, _ in most_frequent(shown, _MAX_EXAMPLES)},
            ),
            **self.counters,
        )
