"""Say what became of one document: in the corpus, dropped or rejected and why, or known under no such id."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from .. import shards
from ..files import opened

__all__ = ["explain"]


def explain(directory: Path, manifest: dict[str, Any], id: str) -> Iterator[str]:
    """Yield a line for each place where the corpus knows the id, else lines that say what that may mean."""
    known = False
    for line in _places(directory, manifest, id):
        known = True
        yield line
    listed: Counter[str] = Counter()
    for kind, told in (("drops", "dropped"), ("rejects", "rejected")):
        for file in manifest.get(kind, []):
            for record in _records(directory / file["name"]):
                listed[record["reason"]] += 1
                if record["id"] == id:
                    known = True
                    detail = record.get("detail") or record.get("where", "")
                    yield f"{id} was {told}: {record['reason']}{f' ({detail})' if detail else ''}; listed in {file['name']}"
    if not known:
        yield f"{id} is no document of {directory}, and neither its drops nor its rejects name it."
        counted: Counter[str] = Counter()
        for stage in manifest["counts"]:
            counted.update(stage["dropped"])
        if unlisted := ", ".join(f"{reason} {count:,}" for reason, count in counted.items() if reason not in listed):
            yield f"It may be among those that are counted, and not listed: {unlisted}."
        yield f"Else it was in no input; ids here look like {_example(directory, manifest)}."


def _places(directory: Path, manifest: dict[str, Any], id: str) -> Iterator[str]:
    before = 0
    for shard in manifest["shards"]:
        row = 0
        for batch in shards.read_batches(directory / shard["name"], manifest["config"]["format"]):
            found = pc.index(batch.column("id"), id).as_py()
            if found >= 0:
                number = before + row + found
                yield f"{id} is in {shard['name']}, row {row + found}; see it with: bertdata inspect {directory} --row {number}"
            row += batch.num_rows
            del batch  # or it stays while the next one is read
        before += shard["rows"]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with opened(path) as file:
        for line in file:
            yield json.loads(line)


def _example(directory: Path, manifest: dict[str, Any]) -> str:
    for shard in manifest["shards"]:
        if shard["rows"]:
            batch = next(shards.read_batches(directory / shard["name"], manifest["config"]["format"], 0, 1))
            return str(batch.column("id")[0])
    return "enwiki:12"
