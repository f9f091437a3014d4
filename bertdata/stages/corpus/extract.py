"""Extract a task's documents: write a shard, lists of rejects and drops, and a report with all counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace as replace_config
from functools import partial
from pathlib import Path

import pyarrow as pa

from ...codec import Count, replace
from ...config import CorpusConfig
from ...config.input_kinds import PROJECTS
from ...dataset import shards
from ...dataset.build import STATE
from ...dataset.manifest_records import RowFile
from ...dataset.tasks import InputRange, TaskReport
from ...records import Document, Drop, Reject, Task
from ...storage.files import digest
from ...storage.problems import storage_errors
from ...storage.stamp import read_unchanged
from ..counts import count_text, without_rare_templates
from ..learning import read_learned
from ..listing import Listing
from ..selection.facts import Facts
from . import source_records
from .plan_tasks import quota
from .sources import source

WORK = f"{STATE}/work"  # directory of files that later stages read
_MAX_TEMPLATES = 1000  # dropped templates in a task's report; enough for correct totals of the most frequent ones


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


def extract(root: Path, config: CorpusConfig, count: int, choosing: bool, task: Task) -> CorpusReport:
    """Extract the shard of a task, one of `count`. With `choosing`, also write the facts by which documents are selected."""
    with storage_errors("cannot read the input"):
        return read_unchanged((part.path for part in task.parts), partial(_extract, root, config, count, choosing, task))


def _extract(root: Path, config: CorpusConfig, count: int, choosing: bool, task: Task) -> CorpusReport:
    kind, name = task.kind, f"{task.number:05d}-of-{count:05d}"
    most = quota(task.number, count, config.max_documents)  # of a trial
    # Facts are collected while the documents are in memory, so that no rule has to read them again.
    facts = Facts(config.choice, kind in PROJECTS) if choosing else None
    learned = tuple((wiki, json.dumps(templates.bodies)) for wiki, templates in read_learned(root).items())
    counts, config = Counter[str](), replace_config(config, learned=learned, unpacked=str(root / WORK))
    with Listing(root, f"rejects/{name}.jsonl") as rejects, Listing(root, f"dropped/{name}.jsonl") as drops:
        records = source_records.read(kind, task.parts, config, counts)
        batches = _batches(records, most, counts, rejects, drops, facts)
        shard = shards.write(root, shards.name("train", task.number, count), shards.DOCUMENT, batches)
    ranges = () if most else task.parts  # a trial never reads a file to its end
    return CorpusReport(
        kind=kind,
        stage=source(kind).stage,
        shard=replace(shard, text_bytes=counts["text_bytes"]),
        rejects=[*rejects.entries()],
        drops=[*drops.entries()],
        counts=dict(sorted(without_rare_templates(counts, _MAX_TEMPLATES).items())),
        inputs=[InputRange(**part._asdict(), sha256=digest(part.path, part.start, part.end)) for part in ranges],
        facts=facts.write(root, task.number) if facts else None,
    )


def _batches(
    records: Iterable[Document | Drop | Reject],
    most: int,
    counts: Counter[str],
    rejects: Listing,
    drops: Listing,
    facts: Facts | None,
) -> Iterator[pa.RecordBatch]:
    """Count a task's records, list rejects and drops, and yield record batches of documents: at least one, which may be empty."""
    batch = shards.DocumentBatch()
    for record in records:
        counts["in"] += 1
        if isinstance(record, Document):
            counts["out"] += 1
            before = batch.bytes
            batch.add(record)
            if facts:
                facts.add(record, batch.bytes - before)
            if batch.is_full:
                yield count_text(batch.take(), counts)
                batch = shards.DocumentBatch()
        elif isinstance(record, Drop):
            counts[f"dropped/{record.reason}"] += 1
            if record.id:
                drops.append({"id": record.id, "reason": record.reason, "detail": record.detail})
        else:
            counts[f"rejected/{record.reason}"] += 1
            counts["lost_bytes"] += record.lost
            rejects.append({key: value for key, value in record._asdict().items() if value != 0})
        if counts["out"] == most > 0:
            break
    if batch.rows or not counts["text_bytes"]:
        yield count_text(batch.take(), counts)
