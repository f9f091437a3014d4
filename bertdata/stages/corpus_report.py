"""Define what a task of `build-corpus` reports: its files, inputs and checks, and the counts of its documents."""

from __future__ import annotations

from collections.abc import Sequence

from ..codec import Count, Record
from ..dataset.manifest_records import CorpusShard, ListEntry, ShardEntry
from ..dataset.reports import InputRange, TaskReport
from ..sources.dumps.multistream import Index
from ..tally import StageCounts

__all__ = ["CorpusReport", "SourceCounts", "TaskEntry", "Templates"]


class Templates(Record, frozen=True, kw_only=True):
    """Template calls that produced no words: all calls, the most frequent names, and for some of them a line with a call."""

    calls: Count
    names: dict[str, Count]
    examples: dict[str, str]


class SourceCounts(Record, frozen=True, kw_only=True):
    """The counts of a task's documents. `removed` is text that a selection removed."""

    kind: str
    tally: StageCounts
    text_bytes: Count
    amounts: dict[str, dict[str, Count]]
    templates: Templates
    formulas: dict[str, Count]
    marks: dict[str, Count]
    apparatus: dict[str, Count]
    edits: dict[str, Count]
    removed: dict[str, Count] = {}


class TaskEntry(Record, frozen=True, kw_only=True):
    """What the commit reads of each task in addition to the counts.

    Attributes:
        kind: Kind of input, or of a check.
        inputs: The file ranges that were read to their end.
        shard: The shard of documents. A check writes none.
        rejects: The list of rejects, if there are any.
        drops: The list of drops, if there are any.
        licences: Documents by licence, for each file.
        pages: Number of pages read from a dump.
        lost: Bytes of the input that could not be read.
        checksum: The published checksum of a dump that was checked.
        index: The counts of a dump's index.
        dump: The dump of the index.
    """

    kind: str
    inputs: Sequence[InputRange] = ()
    shard: CorpusShard | None = None
    rejects: Sequence[ListEntry] = ()
    drops: Sequence[ListEntry] = ()
    licences: dict[str, dict[str, Count]] = {}
    pages: Count = 0
    lost: Count = 0
    checksum: str = ""
    index: Index | None = None
    dump: str = ""

    @property
    def files(self) -> list[CorpusShard | ListEntry]:
        """The shard and the lists."""
        return [*([self.shard] if self.shard else ()), *self.rejects, *self.drops]


class CorpusReport(TaskReport, frozen=True, kw_only=True):
    """The report of a task. `facts` is the file of facts by which documents are selected."""

    entry: TaskEntry
    counts: SourceCounts | None = None
    facts: ShardEntry | None = None

    @property
    def inputs(self) -> Sequence[InputRange]:
        """The file ranges that were read to their end."""
        return self.entry.inputs

    @property
    def files(self) -> Sequence[ShardEntry | ListEntry]:
        """The shard, the lists, and the facts."""
        return [*self.entry.files, *([self.facts] if self.facts else ())]
