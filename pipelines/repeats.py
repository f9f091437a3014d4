"""A page that several tasks have read is kept once: where it comes first, in the order of files and of places in them.

Two parts of a wiki may overlap, and a dump may hold a page twice.  Tasks report between which numbers their pages lie, so that
only those are looked at that can share one: of a dump in order of its pages, none.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bertdata import shards
from bertdata.errors import VerificationError
from bertdata.files import digest, storage_errors
from bertdata.output import STATE

__all__ = ["REPEATED", "Pages", "drop_repeated"]

REPEATED = "repeated id"  # the reason under which they are counted
_CHUNK = 4096  # ids in one integer of bits: ids of pages are dense
_WHOLE = Path(STATE, "work", "repeated")  # shards as their tasks have written them


class Pages:
    """The documents of one wiki by their numbers, a bit each.

    >>> pages = Pages()
    >>> [pages.add(id) for id in ("enwiki:12", "enwiki:9000", "enwiki:12")]
    [True, True, False]
    >>> pages.span
    ['enwiki', 12, 9000]
    """

    def __init__(self) -> None:
        self._bits: dict[int, int] = {}
        self._wiki, self._lowest, self._highest = "", sys.maxsize, -1

    @property
    def span(self) -> list[str | int]:
        """The wiki, the lowest number and the highest; nothing where there are none."""
        return [self._wiki, self._lowest, self._highest] if self._bits else []

    def add(self, id: str) -> bool:
        """Note a page; tell whether it is new."""
        wiki, _, digits = id.rpartition(":")
        number = int(digits)
        chunk, place = divmod(number, _CHUNK)
        known = self._bits.get(chunk, 0)
        if known >> place & 1:
            return False
        self._bits[chunk] = known | 1 << place
        self._wiki = wiki
        self._lowest, self._highest = min(number, self._lowest), max(number, self._highest)
        return True


def drop_repeated(root: Path, reports: list[dict[str, Any]], format: str) -> list[dict[str, Any]]:
    """Return the reports of tasks, in order, after taking repeated pages out of their shards and counts.

    A shard as its task has written it is kept until the run is complete, so a commit that is broken off can be done again.
    """
    seen: dict[str, Pages] = defaultdict(Pages)
    crowded = _crowded([report.get("pages", []) for report in reports])
    return [
        _first_only(root, report, seen[report["pages"][0]], format) if number in crowded else report
        for number, report in enumerate(reports)
    ]


def _crowded(spans: list[list[Any]]) -> set[int]:
    """Number the spans that overlap another one of their wiki.

    >>> sorted(_crowded([["en", 1, 9], ["de", 1, 9], ["en", 10, 20], [], ["en", 15, 16]]))
    [2, 4]
    """
    found: set[int] = set()
    furthest: tuple[Any, ...] = ("", -1, 0)  # the wiki, the highest number so far and whose it is
    for wiki, low, high, number in sorted((*span, number) for number, span in enumerate(spans) if span):
        if wiki == furthest[0] and low <= furthest[1]:
            found |= {number, furthest[2]}
        if wiki != furthest[0] or high > furthest[1]:
            furthest = (wiki, high, number)
    return found


def _first_only(root: Path, report: dict[str, Any], seen: Pages, format: str) -> dict[str, Any]:
    shard, *others = report["files"]
    source = _as_written(root, shard)
    ids = map(_ids, shards.read_batches(source, format))  # so that no batch stays while the next one is read
    kept = [[seen.add(id) for id in batch] for batch in ids]
    repeated = sum(batch.count(False) for batch in kept)
    if not repeated:
        return report
    whole = root / _WHOLE / source.name
    if source != whole:
        with storage_errors(f"cannot move {source}"):
            whole.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, whole)
    text = [0]
    entry = shards.write(root, shard["name"], shards.DOCUMENT, _filtered(whole, format, kept, text), format)
    tally = {**report["tally"], "out": report["tally"]["out"] - repeated}
    dropped = tally["dropped"]
    tally["dropped"] = {**dropped, REPEATED: dropped.get(REPEATED, 0) + repeated}
    return {**report, "files": [{**entry, "text_bytes": text[0]}, *others], "tally": tally}


def _ids(batch: pa.RecordBatch) -> list[str]:
    return batch.column("id").to_pylist()  # type: ignore[no-any-return]


def _as_written(root: Path, shard: dict[str, Any]) -> Path:
    """Find a shard as its task has written it: a commit that was broken off may have put it aside."""
    here: Path = root / shard["name"]
    for path in (root / _WHOLE / here.name, here):
        if path.is_file() and digest(path) == shard["sha256"]:
            return path
    raise VerificationError(f"{here} is not what its task has written: run again with --resume")


def _filtered(path: Path, format: str, kept: list[list[bool]], text: list[int]) -> Iterator[pa.RecordBatch]:
    """Yield the rows to keep, batch by batch, and count the bytes of their text."""
    batches = shards.read_batches(path, format)
    for rows in kept:
        batch = next(batches)
        if not all(rows):
            batch = batch.filter(pa.array(rows, pa.bool_()))
        text[0] += pc.sum(pc.binary_length(batch.column("sentences").flatten())).as_py() or 0
        yield batch
        del batch  # or it stays while the next one is read
