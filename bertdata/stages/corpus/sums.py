"""Sum the counts of tasks by source. The memory of a sum does not grow with the number of tasks.

Only the names of dropped templates are unbounded. A task reports its most frequent names, and a sum keeps `_MAX_NAMES`, although
all calls are counted. The reports are added in order of tasks, so the omitted names are deterministic.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ...tally import Tally
from ..corpus_report import SourceCounts
from ..text_counts import Amounts
from .extract import most_frequent

__all__ = ["SourceSum"]

_MAX_NAMES = 20_000  # dropped templates kept; the first thousand tasks of English Wikipedia name fewer


@dataclass
class SourceSum:
    """The running sum of one source's counts. It stores no individual report."""

    kind: str
    tally: Tally
    text_bytes: int = 0
    amounts: Amounts = field(default_factory=Amounts)
    names: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # by template name, from the first task
    calls: int = 0
    formulas: Counter[tuple[str, str]] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    apparatus: Counter[str] = field(default_factory=Counter)
    put_back: Counter[str] = field(default_factory=Counter)
    edits: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)

    def add(self, counts: SourceCounts) -> None:
        """Add the counts of the next task."""
        self.tally.merge(Tally.of(counts.tally))
        self.text_bytes += counts.text_bytes
        self.amounts.merge(counts.amounts)
        self.calls += counts.templates.calls
        self.names.update(counts.templates.names)
        for name, line in counts.templates.examples.items():
            self.examples.setdefault(name, line)
        if len(self.names) > 2 * _MAX_NAMES:
            self.names = Counter(dict(most_frequent(self.names, _MAX_NAMES)))
            self.examples = {name: line for name, line in self.examples.items() if name in self.names}
        self.formulas.update({(what, name): count for what, name, count in counts.formulas})
        for name in ("marks", "apparatus", "put_back", "edits", "removed"):
            getattr(self, name).update(getattr(counts, name))
