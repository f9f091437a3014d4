"""Dumps, books and other text to documents: plan tasks, extract each into a shard, commit the manifest."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam

from bertdata import manifest, shards
from bertdata.config import CorpusConfig
from bertdata.errors import EmptyResultError, NoInputError, TooManyRejectsError
from bertdata.files import digest, file_entry, storage_errors, write_json, write_text
from bertdata.manifest import Tally
from bertdata.records import Document, Drop, Piece, Task, pack, unpack
from bertdata.report import card
from bertdata.sources import text, wikipedia

from . import documents
from .transforms import Gather, Perform, Tasks

__all__ = ["BuildCorpus", "Plan", "plan"]

BATCH_BYTES = 4 << 20  # text in one record batch; it is in memory until the batch is written
_LICENCES = {"wikipedia": "CC BY-SA, as the wiki states", "books": "as each book states", "text": "as its owner states"}


class Plan(NamedTuple):
    """What a run will do: its tasks in order, and its input files."""

    tasks: list[Task]
    inputs: list[dict[str, Any]]


class BuildCorpus(beam.PTransform):
    """Tasks -> a shard of documents each -> one manifest."""

    def __init__(self, plan: Plan, config: CorpusConfig, root: Path) -> None:
        super().__init__()
        self._plan, self._config, self._root = plan, config, root

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        work = Extract(str(self._root), self._config, len(self._plan.tasks))
        return (
            begin
            | "Tasks" >> Tasks(self._plan.tasks)
            | "Extract" >> beam.ParDo(Perform(self._root, "extract", work))
            | "Commit" >> Gather(Commit(str(self._root), self._config, self._plan.inputs))
        )


def plan(config: CorpusConfig, sources: dict[str, list[tuple[str, str]]]) -> Plan:
    """Cut the input files, (name, path) by kind, into tasks of about `task_bytes`; the order given does not matter."""
    groups: list[tuple[str, list[Piece]]] = []
    inputs: list[dict[str, Any]] = []
    for kind in ("wikipedia", "books", "text"):
        files = sorted(sources.get(kind, []))
        pieces = [_pieces(kind, name, path, config.task_bytes) for name, path in files]
        inputs += [_describe(kind, file) for file in pieces if file]
        if kind == "wikipedia":
            groups += [(kind, [piece]) for file in pieces for piece in file]
        else:
            groups += [(kind, group) for group in _group(chain.from_iterable(pieces), config.task_bytes)]
    if not inputs:
        raise NoInputError("nothing to read: give --wikipedia, --books or --text")
    return Plan([Task(index, kind, pack(pieces)) for index, (kind, pieces) in enumerate(groups)], inputs)


def _pieces(kind: str, name: str, path: str, target: int) -> list[Piece]:
    with storage_errors(f"cannot read {path}"):
        size = Path(path).stat().st_size
        if kind == "wikipedia":
            wikipedia.read_site(path)  # refuses what is no dump before anything runs
            ranges = wikipedia.split(path, target)
        elif path.lower().endswith(".jsonl"):
            ranges = text.split_lines(path, size, target)
        else:
            ranges = [(0, size)]
    return [Piece(name, path, start, end) for start, end in ranges or [(0, 0)]]


def _describe(kind: str, pieces: list[Piece]) -> dict[str, Any]:
    date = re.search(r"(?<!\d)((?:19|20)\d{6})(?!\d)", pieces[0].name)
    entry = {"name": pieces[0].name, "source": kind, "bytes": pieces[-1].end, "pieces": len(pieces), "licence": _LICENCES[kind]}
    return {**entry, "date": date.group(1)} if date else entry


def _group(pieces: Iterable[Piece], target: int) -> Iterator[list[Piece]]:
    """Put small files together."""
    group: list[Piece] = []
    size = 0
    for piece in pieces:
        if group and size + piece.end - piece.start > target:
            yield group
            group, size = [], 0
        group.append(piece)
        size += piece.end - piece.start
    if group:
        yield group


@dataclass(frozen=True)
class Extract:
    """Turn a task's input into a shard of documents and a list of rejects."""

    root: str
    config: CorpusConfig
    count: int

    def __call__(self, task: Task) -> dict[str, Any]:
        pieces = unpack(task.pieces)
        name = shards.name("train", task.number, self.count, self.config.format)
        ledger = Ledger(Tally(documents.STAGES[task.kind]))
        with storage_errors("cannot read the input"):
            inputs = [{**piece._asdict(), "sha256": digest(Path(piece.path), piece.start, piece.end)} for piece in pieces]
            batches = ledger.batches(documents.read(task.kind, pieces, self.config))
            shard = shards.write(Path(self.root), name, shards.DOCUMENT, batches, self.config.format)
        files = [{**shard, "text_bytes": ledger.text_bytes}]
        if ledger.rejects:
            rejects = f"rejects/{task.number:05d}-of-{self.count:05d}.jsonl"
            files.append(_write_rejects(Path(self.root), rejects, ledger.rejects))
        return {"kind": task.kind, "files": files, "inputs": inputs, "tally": ledger.tally.to_json(), "lost": ledger.lost}


@dataclass
class Ledger:
    """Count a task's records, as documents go into batches and rejects into a list."""

    tally: Tally
    rejects: list[dict[str, Any]] = field(default_factory=list)
    text_bytes: int = 0
    lost: int = 0

    def batches(self, records: Iterable[documents.Record]) -> Iterator[Any]:
        """Yield record batches of documents; at least one, which may be empty."""
        batch = shards.DocumentBatch()
        for record in records:
            self.tally.entered += 1
            if isinstance(record, Document):
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
        tallies = {stage: Tally(stage) for stage in documents.STAGES.values()}
        for report in reports:
            tally = Tally.from_json(report["tally"])
            tallies[tally.stage].merge(tally)
        counted = [tally for tally in tallies.values() if tally.entered]
        self._check_share(counted, sum(report["lost"] for report in reports))
        files = [file for report in reports for file in report["files"]]
        made = manifest.make(
            "documents",
            config=self.config.identity(),
            inputs=[{**entry, "sha256": _input_digest(entry, reports)} for entry in self.inputs],
            shards=[file for file in files if file["name"].startswith("data/")],
            tallies=counted,
            rejects=[file for file in files if file["name"].startswith("rejects/")],
        )
        manifest.check_rows(made, sum(tally.left for tally in counted))
        write_text(root / "README.md", card.write(made))
        write_json(root / manifest.NAME, made)

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


def _most(counters: Iterable[Counter[str]]) -> str:
    """Name the most frequent reasons."""
    return ", ".join(f"{reason} {n}" for reason, n in sum(counters, Counter[str]()).most_common(5))


def _input_digest(entry: dict[str, Any], reports: list[dict[str, Any]]) -> str:
    """Return a file's SHA-256; of a file read in pieces, that of its pieces' digests, in order, as text."""
    found = [i for report in reports for i in report["inputs"] if (report["kind"], i["name"]) == (entry["source"], entry["name"])]
    digests = [i["sha256"] for i in sorted(found, key=lambda i: int(i["start"]))]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
