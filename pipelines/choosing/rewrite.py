"""Shards that lose documents are written anew; what they replace stays in its place until the manifest is about to be written."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bertdata import shards
from bertdata.errors import VerificationError
from bertdata.fence import Fence
from bertdata.files import digest, move, place, read_json
from bertdata.manifest import Tally
from bertdata.output import STATE, perform, probe
from bertdata.records import Document, Report

from ..listing import Listing
from .rounds import WHOLE, Gone
from .rules import LISTED, REASONS

__all__ = ["Rewrite", "put_in_place"]

_CHOSEN = f"{STATE}/work/chosen/"


def put_in_place(root: Path, files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give new files the place of old ones, or see that they have it: a commit that was broken off is done again."""
    found = []
    for file in files:
        name = file["name"].removeprefix(_CHOSEN)
        if name != file["name"]:
            if (root / file["name"]).is_file():
                move(root / file["name"], root / name)
            elif digest(root / name) != file["sha256"]:
                raise VerificationError(f"{root / name} is not what its task has written: run again with --resume")
        found.append({**file, "name": name})
    return found


@dataclass(frozen=True)
class Rewrite:
    """Return what a task reported, after taking what it has lost out of its shard and its counts."""

    root: str
    rounds: tuple[str, ...]
    format: str
    count: int
    fence: Fence

    def __call__(self, task: int) -> Report:
        root = place(self.root)
        probe(root)
        report = read_json(root / STATE / "tasks" / "extract" / f"{task:05d}.json")["report"]
        gone = Gone(self.root, task, self.rounds)
        if gone.table.num_rows:
            identity = [report["files"][0]["sha256"], *gone.digests()]
            with self.fence.closed():
                report |= perform(root, "choose", task, identity, partial(self._rewrite, root, task, report, gone))
        return Report(task, json.dumps(report))

    def _rewrite(self, root: Path, task: int, report: dict[str, Any], gone: Gone) -> dict[str, Any]:
        shard, *others = report["files"]
        if digest(root / shard["name"]) != shard["sha256"]:
            raise VerificationError(f"{root / shard['name']} is not what its task has written: run again with --resume")
        name = f"dropped/{task:05d}-of-{self.count:05d}.jsonl"
        with Listing(root, _CHOSEN + name) as listed:
            sieve = _Sieve(gone, Tally.from_json(report["tally"]), listed)
            for _ in (file for file in others if file["name"] == name):
                listed.copy(root / name)
            batches = sieve.joined(shards.read_batches(root / shard["name"], self.format))
            entry = shards.write(root, _CHOSEN + shard["name"], shards.DOCUMENT, batches, self.format)
        files = [{**entry, "text_bytes": sieve.text_bytes}, *(file for file in others if file["name"] != name)]
        files += listed.entries()
        return {"files": files, "tally": sieve.tally.to_json(), "trimmed": [sieve.documents, sieve.paragraphs]}


@dataclass
class _Sieve:
    """Let through what is left of a task's documents; count and list what is not."""

    gone: Gone
    tally: Tally
    listed: Listing
    text_bytes: int = 0
    documents: int = 0  # that lose paragraphs, and stay
    paragraphs: int = 0  # that these lose
    _row: int = 0

    def __post_init__(self) -> None:
        part, row = self.gone.column("part"), self.gone.column("row")
        whole = np.flatnonzero(part == WHOLE)
        self._whole = whole[np.argsort(row[whole], kind="stable")]  # where what is lost tells of documents, in their order
        self._rows = row[self._whole]
        self._why = [self.gone.table.column(name).to_pylist() for name in ("reason", "first")]
        self._parts: dict[int, set[int]] = defaultdict(set)
        self._firsts: dict[int, int] = {}
        for at in np.flatnonzero(part != WHOLE).tolist():
            self._parts[int(row[at])].add(int(part[at]))
            self._firsts.setdefault(int(row[at]), at)

    def joined(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what is left in batches of full size; at least one, which may be empty."""
        pending: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            pending.append(self._left(batch))
            del batch  # or it stays while the next one is read
            own = pc.sum(pc.binary_length(pending[-1].column("sentences").flatten())).as_py() or 0
            self.text_bytes, size = self.text_bytes + own, size + own
            if size >= shards.BATCH_BYTES:
                yield from shards.joined(pending)
                pending, size = [], 0
        if pending and (size or not self.text_bytes):
            yield from shards.joined(pending)

    def _left(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        start, end = self._row, self._row + batch.num_rows
        self._row = end
        keep = np.ones(batch.num_rows, bool)
        low, high = np.searchsorted(self._rows, [start, end])
        for at, row in zip(self._whole[low:high].tolist(), self._rows[low:high].tolist(), strict=True):
            self._lose(batch, keep, row - start, at)
        trimmed = {row - start: parts for row, parts in self._parts.items() if start <= row < end}
        for row, parts in trimmed.items():
            if len(parts) == len(batch.column("paragraph_starts")[row]):
                self._lose(batch, keep, row, self._firsts[row + start])
            else:
                self.documents, self.paragraphs = self.documents + 1, self.paragraphs + len(parts)
        if any(keep[row] for row in trimmed):
            batch = _trim(batch, trimmed)
        return batch if keep.all() else batch.filter(pa.array(keep))

    def _lose(self, batch: pa.RecordBatch, keep: Any, row: int, at: int) -> None:
        reason, first = REASONS[self._why[0][at]], self._why[1][at]
        keep[row] = False
        self.tally.left -= 1
        self.tally.dropped[reason] += 1
        if reason in LISTED:
            self.listed.append({"id": batch.column("id")[row].as_py(), "reason": reason, "detail": f"of {first}"})


def _trim(batch: pa.RecordBatch, trimmed: dict[int, set[int]]) -> pa.RecordBatch:
    """Take paragraphs out of documents; one that loses all is left as it is."""
    built = shards.DocumentBatch()
    for row, values in enumerate(batch.to_pylist()):
        document = Document(**values)
        paragraphs = document.paragraphs()
        left = [own for part, own in enumerate(paragraphs) if part not in trimmed.get(row, ())]
        if left and len(left) < len(paragraphs):
            starts = np.cumsum([0, *map(len, left)])[:-1].tolist()
            document = document._replace(sentences=[s for own in left for s in own], paragraph_starts=starts)
        built.add(document)
    return built.take()
