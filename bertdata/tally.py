"""What a stage took, kept, dropped and rejected: counts that must add up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .codec import Count, Record
from .errors import VerificationError


def stage_name(stage: str, split: str) -> str:
    """Return the name of a stage in the counts of rows: that of ``validation`` includes the split."""
    return stage if split == "train" else f"{split} {stage}"


class StageCounts(Record, frozen=True, kw_only=True, rename={"entered": "in", "left": "out"}):
    """The counts of a finished stage, with reasons in order of name."""

    stage: str
    entered: Count
    left: Count
    dropped: dict[str, Count]
    rejected: dict[str, Count]


@dataclass
class Tally:
    """Count what a stage took, kept, dropped on purpose and rejected as broken.

    >>> tally = Tally("pages", entered=3, left=1)
    >>> tally.dropped["redirect"] += 2
    >>> tally.check()
    """

    stage: str
    entered: int = 0
    left: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Tally) -> None:
        """Add the counts of another part of the same stage."""
        self.entered += other.entered
        self.left += other.left
        self.dropped.update(other.dropped)
        self.rejected.update(other.rejected)

    def check(self) -> None:
        """Raise unless what entered is what left, was dropped or was rejected; no count is below zero."""
        gone = sum(self.dropped.values()) + sum(self.rejected.values())
        least = min([0, *self.dropped.values(), *self.rejected.values()])
        if self.entered != self.left + gone or least < 0:
            raise VerificationError(
                f"the counts of {self.stage} do not add up: {self.entered} went in, {self.left} came out, {gone} were dropped or "
                "rejected: this is a fault in bertdata, please report it"
            )

    def counts(self) -> StageCounts:
        """Return the counts as a record."""
        dropped, rejected = ({k: n for k, n in sorted(counter.items()) if n} for counter in (self.dropped, self.rejected))
        return StageCounts(stage=self.stage, entered=self.entered, left=self.left, dropped=dropped, rejected=rejected)

    @classmethod
    def of(cls, counts: StageCounts) -> Tally:
        """Return the tally of a record."""
        return cls(counts.stage, counts.entered, counts.left, Counter(counts.dropped), Counter(counts.rejected))
