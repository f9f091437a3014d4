"""Find documents and rows: by language, words of the title, id, or words of the text."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..dataset import shards
from ..dataset.manifest_types import Manifest, PairsManifest, ReadableManifest
from ..errors import UsageError
from ..tokens.read import read_any
from .trace import rows_with

__all__ = ["longest", "select"]

_DOCUMENTS = ("language", "title")
_WORD_BEFORE = "a"  # a word before the one to find


def select(directory: Path, manifest: Manifest, wanted: Mapping[str, str]) -> Iterator[int]:
    """Yield the numbers of documents or rows that have all that is `wanted`.

    That is a text for each of ``language``, ``title`` and ``search`` (words of it, in whatever case) and ``id``; an
    empty one asks for nothing.

    Raise UsageError if the dataset lacks the column: rows have no language, and have document ids only with `provenance`.
    """
    filters = {name: text for name, text in wanted.items() if text}
    if not isinstance(manifest, ReadableManifest):
        raise UsageError(f"{directory} contains {manifest.kind}, which cannot be searched. Pass a corpus or rows")
    pairs = isinstance(manifest, PairsManifest)
    if pairs and (corpus_filter := next((name for name in _DOCUMENTS if name in filters), "")):
        raise UsageError(
            f"--{corpus_filter}: {directory} contains rows, which have no {corpus_filter}. Search the corpus that they were made "
            "from"
        )
    if isinstance(manifest, PairsManifest) and "id" in filters and not manifest.settings.provenance:
        raise UsageError(f"--id: the rows in {directory} have no document ids. Run make-pairs with `provenance` to store them")
    probes: set[bytes] | None = None
    if pairs and "search" in filters:
        encoder, probes = read_any(directory).encoder(), set()
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
                lengths = pc.list_value_length(batch.column("input_ids")).to_numpy()
            else:
                sentences = batch.column("sentences")
                characters = np.cumsum([0, *pc.utf8_length(sentences.flatten()).to_numpy()])
                ends = sentences.offsets.to_numpy()
                lengths = np.diff(characters[ends - ends[0]])
            yield from zip(lengths.tolist(), range(-number, -number - batch.num_rows, -1), strict=True)
            number += batch.num_rows


def _documents(batch: pa.RecordBatch, filters: Mapping[str, str]) -> list[int]:
    matching = pa.array(np.ones(batch.num_rows, bool))
    for name in {"language", "id"} & filters.keys():
        matching = pc.and_(matching, pc.equal(batch.column(name), filters[name]))
    if "title" in filters:
        matching = pc.and_(matching, pc.match_substring(batch.column("title"), filters["title"], ignore_case=True))
    matches = np.flatnonzero(matching.to_numpy(zero_copy_only=False))
    if "search" in filters:
        sentences = batch.column("sentences")
        hits = np.flatnonzero(
            pc.match_substring(sentences.flatten(), filters["search"], ignore_case=True).to_numpy(zero_copy_only=False)
        )
        ends = sentences.offsets.to_numpy()
        matches = np.intersect1d(matches, np.searchsorted(ends - ends[0], hits, "right") - 1)
    rows: list[int] = matches.tolist()
    return rows


def _rows(batch: pa.RecordBatch, filters: Mapping[str, str], probes: set[bytes] | None) -> list[int]:
    matches = set(range(batch.num_rows)) if probes is None else set(rows_with(batch, probes))
    if "id" in filters:
        names = [name for name in ("a_document", "b_document", "documents") if name in batch.schema.names]
        matches &= {row for row in matches for name in names if _names(batch.column(name)[row], filters["id"])}
    return sorted(matches)


def _names(value: pa.Scalar, id: str) -> bool:
    ids = value.as_py()
    return id in ids if isinstance(ids, list) else bool(ids == id)
