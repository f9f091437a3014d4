"""Dumps, books and other text to documents: plan tasks, extract each into a shard, commit the manifest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apache_beam as beam

from bertdata import manifest, shards
from bertdata.config import CorpusConfig
from bertdata.errors import EmptyResultError, TooManyRejectsError
from bertdata.files import digest, file_entry, storage_errors, write_json, write_text
from bertdata.manifest import Tally
from bertdata.records import Document, Drop, Piece, Task, unpack
from bertdata.report import card
from bertdata.sources import checksums, multistream

from . import documents, missing
from .plan_corpus import CHECKSUM, INDEX, Plan, plan
from .repeats import REPEATED, Pages, drop_repeated
from .transforms import Gather, Perform, Tasks

__all__ = ["BuildCorpus", "Plan", "plan"]

BATCH_BYTES = 2 << 20  # text in one record batch; it is in memory until the batch is written
OF_A_TASK, OF_ALL = 1000, 100  # names of dropped templates that a task reports, and that the manifest lists


class BuildCorpus(beam.PTransform):
    """Tasks -> a shard of documents each, or a check -> one manifest."""

    def __init__(self, plan: Plan, config: CorpusConfig, root: Path) -> None:
        super().__init__()
        self._plan, self._config, self._root = plan, config, root

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        work = Extract(str(self._root), self._config, self._plan.shards)
        return (
            begin
            | "Tasks" >> Tasks(self._plan.tasks)
            | "Extract" >> beam.ParDo(Perform(self._root, "extract", work))
            | "Commit" >> Gather(Commit(str(self._root), self._config, self._plan.inputs))
        )


@dataclass(frozen=True)
class Extract:
    """Turn a task's input into a shard of documents and a list of rejects, or check it."""

    root: str
    config: CorpusConfig
    count: int

    def __call__(self, task: Task) -> dict[str, Any]:
        pieces = unpack(task.pieces)
        kind, _, checksum = task.kind.partition(" ")
        with storage_errors("cannot read the input"):
            if kind == CHECKSUM:
                checksums.check(pieces[0].path, checksum)
                return {"kind": kind, "files": []}
            if kind == INDEX:
                index = multistream.read_index(pieces[0].path, pieces[1].path)._asdict()
                return {"kind": kind, "files": [], "inputs": _inputs(pieces[:1]), "index": index, "name": pieces[1].name}
            return self._extract(task, pieces)

    def _extract(self, task: Task, pieces: list[Piece]) -> dict[str, Any]:
        name = shards.name("train", task.number, self.count, self.config.format)
        ledger = Ledger(Tally(documents.STAGES[task.kind]))
        batches = ledger.batches(documents.read(task.kind, pieces, self.config, ledger.templates))
        shard = shards.write(Path(self.root), name, shards.DOCUMENT, batches, self.config.format)
        files = [{**shard, "text_bytes": ledger.text_bytes}]
        if ledger.rejects:
            rejects = f"rejects/{task.number:05d}-of-{self.count:05d}.jsonl"
            files.append(_write_rejects(Path(self.root), rejects, ledger.rejects))
        return {
            "kind": task.kind,
            "files": files,
            "inputs": _inputs(pieces),
            "tally": ledger.tally.to_json(),
            "lost": ledger.lost,
            "pages": ledger.pages.span,
            "templates": {"calls": ledger.templates.total(), "names": _most_frequent(ledger.templates, OF_A_TASK)},
        }


def _inputs(pieces: list[Piece]) -> list[dict[str, Any]]:
    return [{**piece._asdict(), "sha256": digest(Path(piece.path), piece.start, piece.end)} for piece in pieces]


@dataclass
class Ledger:
    """Count a task's records, as documents go into batches and rejects into a list."""

    tally: Tally
    rejects: list[dict[str, Any]] = field(default_factory=list)
    text_bytes: int = 0
    lost: int = 0
    pages: Pages = field(default_factory=Pages)
    templates: Counter[str] = field(default_factory=Counter)

    def batches(self, records: Iterable[documents.Record]) -> Iterator[Any]:
        """Yield record batches of documents; at least one, which may be empty."""
        batch = shards.DocumentBatch()
        for record in records:
            self.tally.entered += 1
            if isinstance(record, Document):
                if record.source == "wikipedia" and not self.pages.add(record.id):
                    self.tally.dropped[REPEATED] += 1
                    continue
                self.tally.left += 1
                batch.add(record)
                if batch.bytes >= BATCH_BYTES:
                    self.text_bytes += batch.bytes
                    yield batch.take()
            elif isinstance(record, Drop):
                self.tally.dropped[record.reason] += 1
            else:
                self.tally.rejected[record.reason] += 1
                self.rejects.append({key: value for key, value in record._asdict().items() if value != 0})
                self.lost += record.lost
        if batch.rows or not self.text_bytes:
            self.text_bytes += batch.bytes
            yield batch.take()


def _write_rejects(root: Path, name: str, rejects: list[dict[str, Any]]) -> dict[str, Any]:
    lines = "".join(json.dumps(reject, ensure_ascii=False) + "\n" for reject in rejects)
    write_text(root / name, lines)
    return {"name": name, "rows": len(rejects), **file_entry(root, name)}


@dataclass(frozen=True)
class Commit:
    """Check that the counts add up, and write the data card and, last, the manifest."""

    root: str
    config: CorpusConfig
    inputs: list[dict[str, Any]]

    def roots(self) -> list[Path]:
        """Return the directory of the corpus."""
        return [Path(self.root)]

    def __call__(self, reports: list[dict[str, Any]]) -> None:
        root = Path(self.root)
        indexes = [report for report in reports if report["kind"] == INDEX]
        reports = [report for report in reports if report["kind"] in documents.STAGES]
        reports = drop_repeated(root, reports, self.config.format)
        tallies = {stage: Tally(stage) for stage in documents.STAGES.values()}
        for report in reports:
            tally = Tally.from_json(report["tally"])
            tallies[tally.stage].merge(tally)
        files = [file for report in reports for file in report["files"]]
        files += self._count_missing(tallies[documents.STAGES["wikipedia"]], indexes, reports)
        counted = [tally for tally in tallies.values() if tally.entered]
        self._check_share(counted, sum(report["lost"] for report in reports))
        made = manifest.make(
            "documents",
            config=self.config.identity(),
            inputs=[{**entry, "sha256": _input_digest(entry, reports)} for entry in self.inputs],
            shards=[file for file in files if file["name"].startswith("data/")],
            tallies=counted,
            rejects=[file for file in files if file["name"].startswith("rejects/")],
            dropped_templates=_dropped_templates(reports),
        )
        manifest.check_rows(made, sum(tally.left for tally in counted))
        write_text(root / "README.md", card.write(made))
        write_json(root / manifest.NAME, made)

    def _count_missing(self, tally: Tally, indexes: list[dict[str, Any]], reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Count the pages that a dump's index names and the dump does not hold; return the file that tells of them."""
        root, name = Path(self.root), "rejects/missing-pages.jsonl"
        rejects = missing.find(indexes, reports)
        for reject in rejects:
            tally.entered += reject["pages"]
            tally.rejected[missing.REASON] += reject["pages"]
        if not rejects:
            (root / name).unlink(missing_ok=True)  # of a commit that was broken off before an index was moved away
            return []
        return [_write_rejects(root, name, rejects)]

    def _check_share(self, tallies: list[Tally], lost: int) -> None:
        entered, left = sum(tally.entered for tally in tallies), sum(tally.left for tally in tallies)
        rejected = sum(sum(tally.rejected.values()) for tally in tallies)
        reasons = _most(tally.rejected for tally in tallies)
        if rejected > self.config.max_rejects * entered:
            raise TooManyRejectsError(
                f"{rejected} of {entered} records were rejected ({reasons}), more than --max-rejects {self.config.max_rejects} "
                f"allows: look at {self.root}/rejects, mend the input, or run again with --resume and a larger --max-rejects"
            )
        size = sum(entry["bytes"] for entry in self.inputs)
        if lost > self.config.max_rejects * size:
            raise TooManyRejectsError(
                f"{lost} of {size} bytes of the input are damaged and could not be read ({reasons}), a larger share than "
                f"--max-rejects {self.config.max_rejects} allows: look at {self.root}/rejects, fetch the damaged dump again, or "
                "take what there is with --resume and a larger --max-rejects"
            )
        if not left:
            reasons = _most(tally.dropped + tally.rejected for tally in tallies)
            raise EmptyResultError(f"none of {entered} records gave a document ({reasons or 'it is empty'}): check the input")


def _most_frequent(counts: Counter[str], most: int) -> list[list[str | int]]:
    """List the names with the highest counts; of equal ones, in order of name."""
    return [[name, count] for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]]


def _dropped_templates(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Add up the calls of templates that gave no words; a name counts in the tasks where it is among the most frequent."""
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(dict(report["templates"]["names"]))
    return {"calls": sum(report["templates"]["calls"] for report in reports), "most_frequent": _most_frequent(counts, OF_ALL)}


def _most(counters: Iterable[Counter[str]]) -> str:
    """Name the most frequent reasons."""
    return ", ".join(f"{reason} {n}" for reason, n in sum(counters, Counter[str]()).most_common(5))


def _input_digest(entry: dict[str, Any], reports: list[dict[str, Any]]) -> str:
    """Return a file's SHA-256; of a file read in pieces, that of its pieces' digests, in order, as text."""
    found = [i for report in reports for i in report["inputs"] if (report["kind"], i["name"]) == (entry["source"], entry["name"])]
    digests = [i["sha256"] for i in sorted(found, key=lambda i: int(i["start"]))]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
