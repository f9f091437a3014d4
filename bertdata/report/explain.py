"""Say what became of a document, named by its id, its title or its file: in the corpus, dropped or rejected and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..dataset import shards
from ..errors import UsageError, VerificationError, did_you_mean
from ..io.files import open_file

__all__ = ["alike", "example", "explain", "named_rows"]

_SOURCES = ("text:", "books:")  # whose ids name their file
_PAGES = "wikipedia"  # the source whose ids end in the number of a page, which is no name
_LOOKED = 200_000  # documents among whose titles a like one is looked for: seconds
_MOST = 20  # documents of one title or file that are shown; the others are counted


def explain(directory: Path, manifest: dict[str, Any], name: str) -> Iterator[str]:
    """Yield a line for each row or list entry that has this id, title or file name.

    Raise UsageError, after lines that say what that may mean, where it knows none.
    """
    total = 0
    listed: Counter[str] = Counter()
    sources = {entry["source"] for entry in manifest["inputs"]} - {_PAGES}
    for line in _locations(directory, manifest, name):
        total += 1
        if total <= _MOST:
            yield line
    for kind, verb in (("drops", "dropped"), ("rejects", "rejected")):
        for file in manifest.get(kind, []):
            for record in _records(directory / file["name"]):
                listed[record["reason"]] += 1
                if _is_named(record["id"], name, sources):
                    total += 1
                    detail = record.get("detail") or record.get("where", "")
                    if total <= _MOST:
                        reason = f"{record['reason']}{f' ({detail})' if detail else ''}"
                        yield f"{record['id']} was {verb}: {reason}; listed in {file['name']}"
    if total > _MOST:
        yield f"and {total - _MOST:,} more of {name}"
    if not total:
        yield from _why_not(directory, manifest, name, listed)
        meant = did_you_mean(name, alike(directory, manifest, name))
        raise UsageError(f"{name}: nothing of this id, title or file name is known in {directory}{meant}")


def _why_not(directory: Path, manifest: dict[str, Any], name: str, listed: Counter[str]) -> Iterator[str]:
    """Say what may have become of a document that nothing names."""
    if name in [entry["name"] for entry in manifest["inputs"]]:
        yield f"{name} was read, but its documents are known by their ids and titles only."
    if listed:
        yield "What was dropped or rejected is listed by its id, not by its title."
    yield f"{name} is no document of {directory}, and neither its drops nor its rejects name it."
    counted: Counter[str] = Counter()
    for stage in manifest["counts"]:
        counted.update(stage["dropped"])
    if unlisted := ", ".join(f"{reason} {count:,}" for reason, count in counted.items() if reason not in listed):
        yield f"It may be among those that are counted, and not listed: {unlisted}."
    yield f"Else it was in no input; ids here look like {example(directory, manifest)}."


def _is_named(id: str, name: str, sources: Collection[str] = ()) -> bool:
    """Tell whether an id is this one, or ends with it behind one of these sources, or is that of a document in such a file.

    >>> _is_named("text:a.jsonl:7", "a.jsonl"), _is_named("books:emma", "emma.txt"), _is_named("enwiki:12", "enwiki")
    (True, True, False)
    >>> _is_named("mine:wet:a/1", "a/1", ["mine:wet"]), _is_named("text:a.jsonl:tea", "tea", ["text"])
    (True, True)
    """
    of_file = id.startswith(_SOURCES) and f"{id.partition(':')[2]}:".startswith(_beginnings(name))
    return id == name or of_file or (id.endswith(f":{name}") and id.startswith(tuple(f"{source}:" for source in sources)))


def _beginnings(name: str) -> tuple[str, ...]:
    """Return what follows the source in the ids that are of a file, up to a colon or a slash: a book's has no ``.txt``."""
    return (f"{name}:", f"{name}/", f"{name.removesuffix('.txt')}:")


def _locations(directory: Path, manifest: dict[str, Any], name: str) -> Iterator[str]:
    before = 0
    for shard in manifest["shards"]:
        row = 0
        for batch in shards.read_batches(directory / shard["name"], manifest["config"]["format"]):
            for at in named_rows(batch, name):
                location = f"{batch.column('id')[at]} is in {shard['name']}, row {row + at}"
                yield f"{location}; see it with: bertdata inspect {directory} --row {before + row + at}"
            row += batch.num_rows
            del batch  # or it stays while the next one is read
        before += shard["rows"]


def alike(directory: Path, manifest: dict[str, Any], name: str, columns: Sequence[str] = ("title", "id")) -> Iterator[str]:
    """Yield titles and ids that begin as a name does, or are about as long: for `did_you_mean`.

    They are those of the first documents of a large corpus.  Ids are left out where the name ends in a number: all are like it.
    """
    length, spare = len(name), max(2, len(name) // 4)
    read = 0
    for shard in manifest["shards"]:
        for batch in shards.read_batches(directory / shard["name"], manifest["config"]["format"]):
            for column in columns if not name[-1:].isdigit() else [each for each in columns if each != "id"]:
                names = batch.column(column)
                long = pc.utf8_length(names)
                near = pc.and_(pc.greater_equal(long, length - spare), pc.less_equal(long, length + spare))
                yield from names.filter(pc.or_(near, pc.starts_with(names, name, ignore_case=True))).unique().to_pylist()
            read += batch.num_rows
            del batch
            if read > _LOOKED:
                return


def named_rows(batch: pa.RecordBatch, name: str) -> list[int]:
    """Return the rows of a batch whose id, title, in whatever case, or file is this one, or whose id in its table is."""
    ids, titles = batch.column("id"), batch.column("title")
    named = pc.or_(pc.equal(ids, name), pc.equal(pc.utf8_lower(titles), name.lower()))
    own = pc.and_(pc.ends_with(ids, f":{name}"), pc.not_equal(batch.column("source"), _PAGES))
    named = pc.or_(named, own)
    with_colon = pc.binary_join_element_wise(ids, "", ":")
    for beginning in (f"{source}{rest}" for source in _SOURCES for rest in _beginnings(name)):
        named = pc.or_(named, pc.starts_with(with_colon, beginning))
    rows: list[int] = pc.indices_nonzero(named).to_pylist()
    return rows


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with open_file(path) as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                known = type(record) is dict and all(type(record.get(key)) is str for key in ("id", "reason"))
            except (ValueError, RecursionError):
                known = False
            if not known:
                raise VerificationError(f"{path}: line {number} is damaged: bertdata verify tells what else is")
            yield record


def example(directory: Path, manifest: dict[str, Any]) -> str:
    """Return the id of a corpus' first document."""
    for shard in manifest["shards"]:
        if shard["rows"]:
            batch = next(shards.read_batches(directory / shard["name"], manifest["config"]["format"], 0, 1))
            return str(batch.column("id")[0])
    return "enwiki:12"
