"""Extract a task's documents: write a shard, lists of rejects and drops, and a report with all counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from dataclasses import replace as replace_config
from functools import partial
from pathlib import Path

import pyarrow as pa

from ...codec import replace
from ...config import CorpusConfig
from ...config.input_kinds import PROJECTS
from ...dataset import shards
from ...dataset.build import STATE
from ...dataset.tasks import InputRange
from ...records import Document, Drop, FileRange, Reject, Task
from ...storage.files import digest
from ...storage.stamp import read_unchanged
from ...storage.storage import storage_errors
from ..corpus_report import CorpusReport, without_rare_templates
from ..learning import bodies_by_wiki
from ..listing import Listing
from ..selection.facts import Facts
from ..text_counts import count_text
from . import source_records
from .plan_tasks import quota
from .sources import source

WORK = f"{STATE}/work"  # directory of files that later stages read
_MAX_TEMPLATES = 1000  # dropped templates in a task's report; enough for correct totals of the most frequent ones


@dataclass(frozen=True)
class Extract:
    """Extract the shard of a task. With `choosing`, also write the facts by which documents are selected."""

    root: Path
    config: CorpusConfig
    count: int
    choosing: bool = False

    def __call__(self, task: Task) -> CorpusReport:
        with storage_errors("cannot read the input"):
            return read_unchanged((part.path for part in task.parts), partial(self._read, task))

    def _read(self, task: Task) -> CorpusReport:
        root, kind, name = self.root, task.kind, f"{task.number:05d}-of-{self.count:05d}"
        most = quota(task.number, self.count, self.config.max_documents)  # of a trial
        # Facts are collected while the documents are in memory, so that no rule has to read them again.
        facts = Facts(self.config.choice, kind in PROJECTS) if self.choosing else None
        counts, config = Counter[str](), replace_config(self.config, learned=bodies_by_wiki(root), unpacked=str(root / WORK))
        with Listing(root, f"rejects/{name}.jsonl") as rejects, Listing(root, f"dropped/{name}.jsonl") as drops:
            ledger = _Ledger(counts, rejects, drops, most, facts)
            records = source_records.read(kind, task.parts, config, counts)
            shard = shards.write(root, shards.name("train", task.number, self.count), shards.DOCUMENT, ledger.batches(records))
        return CorpusReport(
            kind=kind,
            stage=source(kind).stage,
            shard=replace(shard, text_bytes=counts["text_bytes"]),
            rejects=[*rejects.entries()],
            drops=[*drops.entries()],
            counts=dict(sorted(without_rare_templates(counts, _MAX_TEMPLATES).items())),
            inputs=[] if most else _inputs(task.parts),  # a trial never reads a file to its end
            facts=None if facts is None else facts.write(root, task.number),
        )


def _inputs(parts: Iterable[FileRange]) -> list[InputRange]:
    return [InputRange(**part._asdict(), sha256=digest(part.path, part.start, part.end)) for part in parts]


@dataclass
class _Ledger:
    """Count a task's records and route them: documents into record batches, rejects and drops into their lists."""

    counts: Counter[str]
    rejects: Listing
    drops: Listing
    most: int
    facts: Facts | None
    _batch: shards.DocumentBatch = field(default_factory=shards.DocumentBatch)

    def batches(self, records: Iterable[Document | Drop | Reject]) -> Iterator[pa.RecordBatch]:
        """Yield record batches of documents. There is at least one, which may be empty."""
        counts = self.counts
        for record in records:
            counts["in"] += 1
            if isinstance(record, Document):
                self._add(record)
                if self._batch.is_full:
                    yield count_text(self._batch.take(), counts)
            elif isinstance(record, Drop):
                counts[f"dropped/{record.reason}"] += 1
                if record.id:
                    self.drops.append({"id": record.id, "reason": record.reason, "detail": record.detail})
            else:
                counts[f"rejected/{record.reason}"] += 1
                counts["lost_bytes"] += record.lost
                self.rejects.append({key: value for key, value in record._asdict().items() if value != 0})
            if counts["out"] == self.most > 0:
                break
        if self._batch.rows or not counts["text_bytes"]:
            yield count_text(self._batch.take(), counts)

    def _add(self, document: Document) -> None:
        self.counts["out"] += 1
        before = self._batch.bytes
        self._batch.add(document)
        if self.facts is not None:
            self.facts.add(document, self._batch.bytes - before)
