"""Define what a task of `build-corpus` reports: its files, inputs and checks, and the counts of its documents."""

from __future__ import annotations

from collections.abc import Sequence

from ..codec import Count, Record
from ..dataset.manifest_records import RowFile
from ..dataset.tasks import InputRange, TaskReport
from ..tally import StageCounts

__all__ = ["CorpusReport", "SourceCounts", "TaskEntry", "Templates"]


class Templates(Record, frozen=True, kw_only=True):
    """Template calls that produced no words.

    Attributes:
        calls: Number of calls.
        names: Number of calls by template, for the most frequent templates.
        examples: A line with a call, for some of these templates.
    """

    calls: Count
    names: dict[str, Count]
    examples: dict[str, str]


class SourceCounts(Record, frozen=True, kw_only=True):
    """The counts of a task's documents.

    `formulas`, `marks`, `apparatus` and `edits` count text that the task left out (see `corpus.sources.base.Counts`).

    Attributes:
        kind: Kind of input.
        tally: Records that entered and left the stage, with those dropped and rejected by reason.
        text_bytes: Size of the text in UTF-8.
        amounts: Documents, words and characters, by language.
        templates: Template calls that produced no words.
        formulas: Formulas, by tag or template and outcome.
        marks: Marks of transcripts and subtitles, and lines of wikis, by kind.
        apparatus: Characters of books that are not prose, such as notes and indexes, by kind.
        put_back: Characters of books that are kept although a rule had dropped them, by rule.
        edits: Edits of the user's functions, by function.
        removed: Number of words, paragraphs and shortened documents that the selection removed.
    """

    kind: str
    tally: StageCounts
    text_bytes: Count
    amounts: dict[str, dict[str, Count]]
    templates: Templates
    formulas: list[tuple[str, str, Count]]
    marks: dict[str, Count]
    apparatus: dict[str, Count]
    put_back: dict[str, Count]
    edits: dict[str, Count]
    removed: dict[str, Count] = {}


class TaskEntry(Record, frozen=True, kw_only=True):
    """The files and checks of a task. The commit reads these entries one by one, and only adds up `SourceCounts`.

    Attributes:
        kind: Kind of input, or of a check.
        inputs: The file ranges that were read. Empty in a trial, which reads only the beginning of each.
        shard: The shard of documents. A check writes none.
        rejects: Manifest entry of the list of malformed records. Empty if there are none.
        drops: Manifest entry of the list of records that were filtered on purpose. Empty if there are none.
        licences: Documents by licence, for each file.
        lost: Bytes of the input that could not be read.
        checksum: The published checksum of a dump that was checked.
    """

    kind: str
    inputs: Sequence[InputRange] = ()
    shard: RowFile | None = None
    rejects: Sequence[RowFile] = ()
    drops: Sequence[RowFile] = ()
    licences: dict[str, dict[str, Count]] = {}
    lost: Count = 0
    checksum: str = ""

    @property
    def files(self) -> list[RowFile]:
        """The shard and the lists."""
        return [*([self.shard] if self.shard else ()), *self.rejects, *self.drops]


class CorpusReport(TaskReport, frozen=True, kw_only=True):
    """The report of a task.

    Attributes:
        entry: Files and checks of the task.
        counts: Counts of the documents. None for a check.
        facts: The file with one row per document that the selection rules read: hashes, sizes and the like.
    """

    entry: TaskEntry
    counts: SourceCounts | None = None
    facts: RowFile | None = None

    @property
    def inputs(self) -> Sequence[InputRange]:
        """The file ranges that were read."""
        return self.entry.inputs

    @property
    def files(self) -> Sequence[RowFile]:
        """The shard, the lists, and the facts."""
        return [*self.entry.files, *([self.facts] if self.facts else ())]
