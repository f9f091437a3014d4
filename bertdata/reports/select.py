"""Find documents and rows: by language, words of the title, id, or words of the text."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..dataset import shards
from ..dataset.manifest_types import PairsManifest, ReadableManifest
from ..errors import UsageError
from ..tokens.read import read_any
from .trace import rows_with

_WORD_BEFORE = "a"  # a word before the one to find


def select(directory: Path, manifest: ReadableManifest, wanted: Mapping[str, str]) -> Iterator[int]:
    """Yield the numbers of documents or rows that have all that is `wanted`.

    `wanted` has a text for ``language``, ``title`` and ``search`` (words of it, in any case) and ``id``. Empty ones are ignored.

    Raise UsageError if the dataset lacks the column: rows have no language, and have document ids only with `provenance`.
    """
    filters = {name: text for name, text in wanted.items() if text}
    pairs, probes = isinstance(manifest, PairsManifest), set[bytes]()
    for name in filters if pairs else ():
        if name in ("language", "title"):
            raise UsageError(f"--{name}: {directory} contains rows, which have no {name}. Search the corpus of the rows")
        if name == "id" and isinstance(manifest, PairsManifest) and not manifest.settings.provenance:
            raise UsageError(
                f"--id: the rows in {directory} have no document ids. Run make-pairs with `provenance` to store them"
            )
        if name == "search":
            encoder = read_any(directory).encoder()
            for first in ([], [_WORD_BEFORE]):  # first in a text, and behind a word
                ids, ends = encoder.encode_documents(pa.array([[*first, filters["search"]]]), pa.array([[0]]))
                probes.add(ids[ends[0] if first else 0 :].tobytes())
    if b"" in probes:
        return
    before = 0
    for shard in manifest.shards:
        for batch in shards.read_batches(directory / shard.name):
            yield from (before + row for row in (_rows(batch, filters, probes) if pairs else _documents(batch, filters)))
            before += batch.num_rows
            del batch


def longest(directory: Path, manifest: ReadableManifest, count: int) -> list[int]:
    """Return the numbers of the longest documents, by characters, or rows, by tokens; the longest first."""
    return [-number for _, number in heapq.nlargest(count, _lengths(directory, manifest))]


def _lengths(directory: Path, manifest: ReadableManifest) -> Iterator[tuple[int, int]]:
    """Yield the length of each row and its negated number, so that of equal lengths the first row is the largest."""
    number = 0
    for shard in manifest.shards:
        for batch in shards.read_batches(directory / shard.name):
            if isinstance(manifest, PairsManifest):
                lengths = np.diff(_ends(batch.column("input_ids")))
            else:
                sentences = batch.column("sentences")
                lengths = np.diff(np.cumsum([0, *pc.utf8_length(sentences.flatten()).to_numpy()])[_ends(sentences)])
            yield from zip(lengths.tolist(), range(-number, -number - batch.num_rows, -1), strict=True)
            number += batch.num_rows


def _ends(lists: pa.ListArray) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *pc.list_value_length(lists).to_numpy()])


def _documents(batch: pa.RecordBatch, filters: Mapping[str, str]) -> list[int]:
    matches = set(range(batch.num_rows))
    for name, text in filters.items():
        if name == "search":
            sentences = batch.column("sentences")
            hits = pc.indices_nonzero(pc.match_substring(sentences.flatten(), text, ignore_case=True))
            matches &= set((np.searchsorted(_ends(sentences), hits, "right") - 1).tolist())
        elif name == "title":
            matches &= set(pc.indices_nonzero(pc.match_substring(batch.column("title"), text, ignore_case=True)).to_pylist())
        else:
            matches &= set(pc.indices_nonzero(pc.equal(batch.column(name), text)).to_pylist())
    return sorted(matches)


def _rows(batch: pa.RecordBatch, filters: Mapping[str, str], probes: set[bytes]) -> list[int]:
    matches = set(rows_with(batch, probes)) if "search" in filters else set(range(batch.num_rows))
    if id := filters.get("id"):
        names = [name for name in ("a_document", "b_document", "documents") if name in batch.schema.names]
        values = {row: [batch.column(name)[row].as_py() for name in names] for row in matches}
        matches = {
            row for row, ids in values.items() if any(id == value or isinstance(value, list) and id in value for value in ids)
        }
    return sorted(matches)
