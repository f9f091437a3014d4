"""Define the values that `bertdata.trace` returns, and the searches for a document in a corpus, its lists and rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..dataset import shards
from ..dataset.manifest_types import CorpusManifest
from ..errors import UsageError, VerificationError
from ..storage.files import open_file


class Change(NamedTuple):
    """Lines that a step changed, before and after it."""

    before: str
    after: str


class TracedStep(NamedTuple):
    """A step of the extraction: its name, the number of characters it removed, and the lines it changed."""

    name: str
    removed: int
    changes: list[Change]


class Trace(NamedTuple):
    """The trace of one document. `wikitext`, `steps`, `lost` and `dump` need its dump."""

    id: str
    title: str
    language: str
    fate: list[str]  # lines that say where the document is, or why it is not in the corpus
    wikitext: str
    steps: list[TracedStep]
    lost: list[tuple[str, int]]  # templates that produced no words, and how often each was called
    paragraphs: list[list[str]]
    dump: str = ""


def explain(directory: Path, manifest: CorpusManifest, id: str) -> Iterator[str]:
    """Yield a line for each document, drop and reject with this id. Raise UsageError if there is none."""
    found, before = False, 0
    for shard in manifest.shards:
        row = 0
        for batch in shards.read_batches(directory / shard.name):
            for at in pc.indices_nonzero(pc.equal(batch.column("id"), id)).to_pylist():
                found = True
                number = before + row + at
                yield f"{id} is in {shard.name}, row {row + at}; see it with: bertdata inspect {directory} --row {number}"
            row += batch.num_rows
            del batch  # frees it before the next one is read
        before += shard.rows
    for verb, files in (("dropped", manifest.drops), ("rejected", manifest.rejects)):
        for file in files:
            for record in records(directory / file.name):
                if record["id"] == id:
                    found = True
                    detail = record.get("detail") or record.get("where", "")
                    yield f"{id} was {verb}: {record['reason']}{f' ({detail})' if detail else ''}; listed in {file.name}"
    if not found:
        raise UsageError(
            f"{id}: this id is not in {directory}, and not in its lists of drops and rejects. Ids look like "
            f"{example(directory, manifest)}. Find titles with: bertdata inspect {directory} --title WORDS"
        )


def named_rows(batch: pa.RecordBatch, name: str) -> list[int]:
    """Return the rows of a batch with this id, or with this title in any case."""
    titles = pc.equal(pc.utf8_lower(batch.column("title")), name.lower())
    rows: list[int] = pc.indices_nonzero(pc.or_(pc.equal(batch.column("id"), name), titles)).to_pylist()
    return rows


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a list of drops or rejects. Raise VerificationError for a damaged line."""
    with open_file(path) as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                known = type(record) is dict and all(type(record.get(key)) is str for key in ("id", "reason"))
            except (ValueError, RecursionError):
                known = False
            if not known:
                raise VerificationError(f"{path}: line {number} is damaged. Run bertdata verify to find all damage")
            yield record


def example(directory: Path, manifest: CorpusManifest) -> str:
    """Return the id of a corpus' first document."""
    for shard in manifest.shards:
        if shard.rows:
            batch = next(shards.read_batches(directory / shard.name, 0, 1))
            return str(batch.column("id")[0])
    return "enwiki:12"


def rows_with(batch: pa.RecordBatch, probes: Iterable[bytes]) -> list[int]:
    """Return the rows of a record batch that contain one of these runs of token ids, ignoring masks.

    A run is the bytes of the ids in the type of the column ``input_ids``.
    """
    ids, ends = shards.flat(batch.column("input_ids"))
    if "masked_lm_positions" in batch.schema.names:
        positions, of_row = shards.flat(batch.column("masked_lm_positions"))
        labels, _ = shards.flat(batch.column("masked_lm_labels"))
        ids = ids.copy()
        ids[np.repeat(ends[:-1], np.diff(of_row)) + positions] = labels
    data, width = ids.tobytes(), ids.dtype.itemsize
    rows: set[int] = set()
    for probe in probes:
        at = data.find(probe)
        while at >= 0:
            if at % width == 0:
                rows.add(int(np.searchsorted(ends, at // width, "right")) - 1)
            at = data.find(probe, at + 1)
    return sorted(rows)
