"""Define what a task of `build-corpus` reports: its files, and one counter of everything that it has counted.

    in, out, dropped/redirect, rejected/truncated     records; those that enter are kept, dropped or rejected
    documents/en, words/en, characters/en             text that was kept, by language
    templates/sfn, formulas/written/math, marks/…     markup and text left out of documents, by name
    text_bytes, lost_bytes, removed_words, …          sums

A sum of tasks is `Counter.update`. The manifest divides the names at the slashes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..codec import Count
from ..dataset.manifest_records import RowFile
from ..dataset.tasks import InputRange, TaskReport
from ..tally import Tally

TEMPLATES = "templates"


class CorpusReport(TaskReport, frozen=True, kw_only=True):
    """The report of a task."""

    kind: str
    """Kind of input."""
    stage: str
    """Name of the stage in the manifest's counts."""
    shard: RowFile
    rejects: Sequence[RowFile]
    """The list of malformed records, if there are any."""
    drops: Sequence[RowFile]
    """The list of records that were filtered on purpose, if there are any."""
    counts: dict[str, Count]
    inputs: Sequence[InputRange] = ()
    """The file ranges that were read. Empty in a trial, which reads only the beginning of each."""
    facts: RowFile | None = None
    """The file with one row per document that the selection rules read: hashes, sizes and the like."""

    @property
    def files(self) -> Sequence[RowFile]:
        """The shard, the lists, and the facts."""
        return [self.shard, *self.rejects, *self.drops, *([self.facts] if self.facts else ())]


def under(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    """Return the counts below a prefix, in order of name.

    >>> under(Counter({"dropped/redirect": 2, "dropped/empty page": 1, "in": 9}), "dropped")
    {'empty page': 1, 'redirect': 2}
    """
    return {name[len(prefix) + 1 :]: count for name, count in sorted(counts.items()) if name.startswith(f"{prefix}/") and count}


def add_under(counts: Counter[str], prefix: str, more: Mapping[str, int]) -> None:
    """Add counts below a prefix."""
    counts.update({f"{prefix}/{name}": count for name, count in more.items()})


def tally(stage: str, counts: Mapping[str, int]) -> Tally:
    """Return the counts of records."""
    dropped, rejected = (Counter(under(counts, name)) for name in ("dropped", "rejected"))
    return Tally(stage, counts.get("in", 0), counts.get("out", 0), dropped, rejected)


def most_frequent(counts: Mapping[str, int], most: int) -> list[tuple[str, int]]:
    """Return the names with the highest counts. Ties are sorted by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def without_rare_templates(counts: Counter[str], most: int) -> Counter[str]:
    """Keep the most frequent names of templates, because pages can name any number of them."""
    templates = under(counts, TEMPLATES)
    if len(templates) <= most:
        return counts
    rare = templates.keys() - dict(most_frequent(templates, most)).keys()
    return Counter({name: count for name, count in counts.items() if name.removeprefix(f"{TEMPLATES}/") not in rare})
