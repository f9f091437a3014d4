"""Define the values that `bertdata.trace` returns, and the searches for a document.

`explain` searches a corpus and its lists of drops and rejects for an id, a title or a file name.  `named_rows` finds documents in
a record batch, and `rows_with` finds training rows by the tokens that they contain.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..config.input_kinds import PROJECTS
from ..dataset import shards
from ..dataset.manifest_types import CorpusManifest
from ..errors import UsageError, VerificationError
from ..storage.files import open_file

__all__ = ["Change", "Trace", "TracedRow", "TracedStep", "example", "explain", "named_rows", "records", "rows_with"]

_FILE_NAMED_SOURCES = ("text:", "books:")  # their ids contain the file name
_MAX_SHOWN = 20  # documents of one title or file that are listed; the others are counted


class Change(NamedTuple):
    """Lines that a step changed, before and after it."""

    before: str
    after: str


class TracedStep(NamedTuple):
    """A step of the extraction: its name, the number of characters it removed, and the lines it changed."""

    name: str
    removed: int
    changes: list[Change]


class TracedRow(NamedTuple):
    """A row that contains a sentence of the document: its number in the dataset, and its columns."""

    number: int
    columns: dict[str, Any]


class Trace(NamedTuple):
    """The trace of one document.

    Attributes:
        fate: Lines that say where the document is, or why it is not in the corpus.
        wikitext: The page's source, if its dump was passed, like `steps`, `lost` and `dump`.
        steps: What each step of the extraction removed.
        lost: Templates that produced no words, and how often each was called.
        paragraphs: The document's sentences by paragraph.
        pieces: The tokens of each sentence, if a vocabulary was passed.
        rows: The training rows that contain a sentence of it.
        mark: The mark of tokens that continue a word (or begin one, in other vocabularies than WordPiece).
        dump: The file name of the dump that `wikitext` is from.
    """

    id: str
    title: str
    language: str
    fate: list[str]
    wikitext: str
    steps: list[TracedStep]
    lost: list[tuple[str, int]]
    paragraphs: list[list[str]]
    pieces: list[list[str]]
    rows: list[TracedRow]
    mark: str = "##"
    dump: str = ""


def explain(directory: Path, manifest: CorpusManifest, name: str) -> Iterator[str]:
    """Yield a line for each document, drop and reject with this id, title or file name.

    If there is none, yield lines with possible reasons, then raise UsageError.
    """
    total = 0
    listed: Counter[str] = Counter()
    sources = {entry.source for entry in manifest.inputs} - set(PROJECTS)  # ids of pages end in a number, which names none
    for line in _locations(directory, manifest, name):
        total += 1
        if total <= _MAX_SHOWN:
            yield line
    for verb, files in (("dropped", manifest.drops), ("rejected", manifest.rejects)):
        for file in files:
            for record in records(directory / file.name):
                listed[record["reason"]] += 1
                if _is_named(record["id"], name, sources):
                    total += 1
                    detail = record.get("detail") or record.get("where", "")
                    if total <= _MAX_SHOWN:
                        reason = f"{record['reason']}{f' ({detail})' if detail else ''}"
                        yield f"{record['id']} was {verb}: {reason}; listed in {file.name}"
    if total > _MAX_SHOWN:
        yield f"and {total - _MAX_SHOWN:,} more of {name}"
    if not total:
        yield from _why_not(directory, manifest, name, listed)
        search = f"Find titles with: bertdata inspect {directory} --title WORDS"
        raise UsageError(f"{name}: nothing of this id, title or file name is known in {directory}. {search}")


def _why_not(directory: Path, manifest: CorpusManifest, name: str, listed: Counter[str]) -> Iterator[str]:
    """Yield lines with possible reasons why a name is unknown."""
    if name in [entry.name for entry in manifest.inputs]:
        yield f"{name} was read, but its documents are known by their ids and titles only."
    if listed:
        yield "Dropped and rejected records are listed by id, not by title."
    yield f"{name} is not in {directory}, and not in its lists of drops and rejects."
    counted: Counter[str] = Counter()
    for stage in manifest.counts:
        counted.update(stage.dropped)
    if unlisted := ", ".join(f"{reason} {count:,}" for reason, count in counted.items() if reason not in listed):
        yield f"It may be among those that are counted, and not listed: {unlisted}."
    yield f"Else it was in no input; ids here look like {example(directory, manifest)}."


def _is_named(id: str, name: str, sources: Collection[str] = ()) -> bool:
    """Return True if a name stands for this id: the whole id, the part after one of these sources, or the document's file.

    >>> _is_named("text:a.jsonl:7", "a.jsonl"), _is_named("books:emma", "emma.txt"), _is_named("enwiki:12", "enwiki")
    (True, True, False)
    >>> _is_named("mine:wet:a/1", "a/1", ["mine:wet"]), _is_named("text:a.jsonl:tea", "tea", ["text"])
    (True, True)
    """
    of_file = id.startswith(_FILE_NAMED_SOURCES) and f"{id.partition(':')[2]}:".startswith(_beginnings(name))
    return id == name or of_file or (id.endswith(f":{name}") and id.startswith(tuple(f"{source}:" for source in sources)))


def _beginnings(name: str) -> tuple[str, ...]:
    """Return how ids of a file's documents go on after their source, up to a colon or slash; a book's id has no ``.txt``."""
    return (f"{name}:", f"{name}/", f"{name.removesuffix('.txt')}:")


def _locations(directory: Path, manifest: CorpusManifest, name: str) -> Iterator[str]:
    before = 0
    for shard in manifest.shards:
        row = 0
        for batch in shards.read_batches(directory / shard.name):
            for at in named_rows(batch, name):
                location = f"{batch.column('id')[at]} is in {shard.name}, row {row + at}"
                yield f"{location}; see it with: bertdata inspect {directory} --row {before + row + at}"
            row += batch.num_rows
            del batch  # frees it before the next one is read
        before += shard.rows


def named_rows(batch: pa.RecordBatch, name: str) -> list[int]:
    """Return the rows of a batch with this id, title (in any case) or file, or with this id in its own table."""
    ids, titles = batch.column("id"), batch.column("title")
    named = pc.or_(pc.equal(ids, name), pc.equal(pc.utf8_lower(titles), name.lower()))
    own = pc.and_(pc.ends_with(ids, f":{name}"), pc.invert(pc.is_in(batch.column("source"), pa.array(PROJECTS))))
    named = pc.or_(named, own)
    with_colon = pc.binary_join_element_wise(ids, "", ":")
    for beginning in (f"{source}{rest}" for source in _FILE_NAMED_SOURCES for rest in _beginnings(name)):
        named = pc.or_(named, pc.starts_with(with_colon, beginning))
    rows: list[int] = pc.indices_nonzero(named).to_pylist()
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


def rows_with(batch: Any, probes: Iterable[bytes]) -> list[int]:
    """Return the rows of a record batch that contain one of these runs of token ids, ignoring masks.

    A run is the bytes of the ids in the type of the column ``input_ids``.
    """
    column = batch.column("input_ids")
    ids, ends = column.flatten().to_numpy().copy(), column.offsets.to_numpy()
    if "masked_lm_positions" in batch.schema.names:
        positions, labels = batch.column("masked_lm_positions"), batch.column("masked_lm_labels")
        starts = np.repeat(ends[:-1] - ends[0], np.diff(positions.offsets.to_numpy()))
        ids[starts + positions.flatten().to_numpy()] = labels.flatten().to_numpy()
    data, width = ids.tobytes(), ids.dtype.itemsize
    rows: set[int] = set()
    for probe in probes:
        at = data.find(probe)
        while at >= 0:
            if at % width == 0:
                rows.add(int(np.searchsorted(ends - ends[0], at // width, "right")) - 1)
            at = data.find(probe, at + 1)
    return sorted(rows)
