"""Extract a task's documents: write a shard, lists of rejects and drops, and a report with all counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...codec import replace
from ...config import CorpusConfig
from ...config.input_kinds import PROJECTS
from ...dataset import shards
from ...dataset.tasks import InputRange
from ...records import Document, Drop, FileRange, Reject, Task
from ...sources import checksums
from ...storage.files import digest
from ...storage.stamp import read_unchanged
from ...storage.storage import storage_errors
from ...tally import Tally
from ..corpus_report import CorpusReport, SourceCounts, TaskEntry, Templates
from ..listing import Listing
from ..selection.facts import Facts
from . import source_records
from .filtering import check_dependencies
from .ledger import Ledger
from .plan_tasks import quota
from .sources import CHECKSUM, Counts, source

__all__ = ["MAX_EXAMPLES", "Extract", "most_frequent", "write_shard"]

MAX_EXAMPLES = 50  # dropped templates shown with an example line
_MAX_NAMES = 1000  # dropped templates in a task's report; enough for correct totals of the most frequent ones


@dataclass(frozen=True)
class Extract:
    """Extract a shard of documents and a list of rejects from a task's input, or check a file."""

    root: Path
    config: CorpusConfig
    count: int
    choosing: bool = False

    def __call__(self, task: Task) -> CorpusReport:
        parts, kind = list(task.parts), task.kind
        check_dependencies(self.config.depends_on)
        with storage_errors("cannot read the input"):
            if kind == CHECKSUM:
                digests = checksums.check(parts, task.checksum)
                return CorpusReport(entry=TaskEntry(kind=kind, inputs=_inputs(parts, digests), checksum=task.checksum))
            return read_unchanged((part.path for part in parts), partial(self._read, task, parts))

    def _read(self, task: Task, parts: list[FileRange]) -> CorpusReport:
        # `quota` limits a trial, `facts` collects hashes and sizes for the selection rules while
        # the documents are in memory, so that no rule has to read them again.
        kind = task.kind
        most = quota(task.number, self.count, self.config.max_documents)
        facts = Facts(self.config.choice, kind in PROJECTS) if self.choosing else None
        read = partial(source_records.read, kind, parts, self.config)
        entry, counts = write_shard(self.root, kind, task.number, self.count, read, most, facts)
        written = None if facts is None else facts.write(self.root, task.number)
        inputs = [] if most else _inputs(parts)  # a trial never reads a file to its end
        return CorpusReport(entry=replace(entry, inputs=inputs), counts=counts, facts=written)


def write_shard(
    root: Path,
    kind: str,
    number: int,
    count: int,
    read: Callable[[Counts], Iterator[Document | Drop | Reject]],
    most: int = 0,
    facts: Facts | None = None,
) -> tuple[TaskEntry, SourceCounts]:
    """Write the records of one kind into a shard and lists of rejects and drops. Return the files and the counts of the records.

    Args:
        root: Output directory.
        kind: Kind of input.
        number: Number of the shard.
        count: Total number of shards, which is part of the file names.
        read: Function that returns the records and counts the text it leaves out.
        most: Maximum number of documents, or 0 for all.
        facts: Collector of document facts for the selection rules.
    """
    name = f"{number:05d}-of-{count:05d}"
    with Listing(root, f"rejects/{name}.jsonl") as rejects, Listing(root, f"dropped/{name}.jsonl") as drops:
        ledger = Ledger(Tally(source(kind).stage), rejects, drops, most, facts)
        batches = ledger.batches(read(ledger.counts))
        shard = shards.write(root, shards.name("train", number, count), shards.DOCUMENT, batches)
    tally, counts = ledger.tally, ledger.counts
    return TaskEntry(
        kind=kind,
        shard=replace(shard, text_bytes=ledger.text_bytes),
        rejects=[*rejects.entries()],
        drops=[*drops.entries()],
        licences={name: dict(sorted(of_file.items())) for name, of_file in counts.licences.items()},
        lost=ledger.lost,
    ), SourceCounts(
        kind=kind,
        tally=tally.counts(),
        text_bytes=ledger.text_bytes,
        amounts=ledger.amounts.to_json(),
        templates=_templates(counts),
        formulas=[(*kind, count) for kind, count in sorted(counts.formulas.items())],
        marks=dict(sorted(counts.marks.items())),
        apparatus=dict(sorted(counts.apparatus.items())),
        put_back=dict(sorted(counts.put_back.items())),
        edits=dict(sorted(counts.edits.items())),
    )


def _templates(counts: Counts) -> Templates:
    """Return the number of template calls without words, the most frequent names, and examples."""
    names = most_frequent(counts.templates, _MAX_NAMES)
    examples = {name: counts.examples[name] for name, _ in names[:MAX_EXAMPLES] if name in counts.examples}
    return Templates(calls=counts.templates.total(), names=dict(names), examples=examples)


def _inputs(parts: list[FileRange], digests: Iterable[str] = ()) -> list[InputRange]:
    found = digests or (digest(part.path, part.start, part.end) for part in parts)
    return [InputRange(**part._asdict(), sha256=sha256) for part, sha256 in zip(parts, found, strict=True)]


def most_frequent(counts: Counter[str], most: int) -> list[tuple[str, int]]:
    """Return the names with the highest counts. Ties are sorted by name."""
    return [(name, count) for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]]
