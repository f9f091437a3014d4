"""Check the rules for documents: id, source, language, non-empty sentences, paragraphs in order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..config import CorpusConfig
from ..config.input_kinds import INPUTS, PROJECTS
from ..dataset.manifest_records import RowFile
from ..dataset.shards import DOCUMENT
from . import batches
from .directory import CheckFailed, require

__all__ = ["SOURCES", "check", "check_batch"]

SOURCES = tuple(dict.fromkeys((*PROJECTS, *INPUTS)))
_CODE = r"^[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{1,8}){0,3}$"  # language code with optional script, region, variant
Array = npt.NDArray[Any]


def check(path: Path, entry: RowFile, config: CorpusConfig) -> Counter[str]:
    """Check a shard of documents. Return its documents and text, total and by source."""
    counts: Counter[str] = Counter()
    for batch in batches.read(path, DOCUMENT, entry):
        if batch.num_rows:
            counts.update(check_batch(batch, counts["documents"], config.language))
        del batch
    if counts["text_bytes"] != entry.text_bytes:
        raise CheckFailed(f"contains {counts['text_bytes']:,} bytes of text, but the manifest lists {entry.text_bytes}")
    return counts


def check_batch(batch: pa.RecordBatch, first: int, language: str) -> Counter[str]:
    """Check documents, of which the first has the number `first`. Return their documents and text, total and by source."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    for name in ("id", "source", "language"):
        require(_numbers(pc.binary_length(columns[name])) > 0, first, f"has no {name}")
    require(_flags(pc.match_substring_regex(columns["language"], _CODE)), first, "has a language that is not a code, such as en")
    if language:
        require(_flags(pc.equal(columns["language"], language)), first, f"is in another language than `language` {language}")
    sizes, sentences_of = _sentences(columns["sentences"], first)
    _paragraphs(columns["paragraph_starts"], sentences_of, first)
    counts = Counter(documents=batch.num_rows, text_bytes=int(sizes.sum()))
    for source, sentences in zip(columns["source"].to_pylist(), columns["sentences"], strict=True):
        text = sentences.as_py()
        counts[f"words of {source}"] += sum(len(sentence.split()) for sentence in text)
        counts[f"characters of {source}"] += sum(map(len, text))
    known = np.zeros(batch.num_rows, bool)
    for source in SOURCES:
        from_it = _flags(pc.equal(columns["source"], source))
        known |= from_it
        if from_it.any():
            counts[f"documents of {source}"] = int(from_it.sum())
            counts[f"text_bytes of {source}"] = int(sizes[from_it].sum())
    require(known, first, f"is of another source than {', '.join(SOURCES)}")
    return counts


def _sentences(column: pa.Array, first: int) -> tuple[Array, Array]:
    """Check that each document has sentences and none is empty. Return each document's text bytes and sentences, both [N]."""
    counts, sizes = _numbers(pc.list_value_length(column)), _numbers(pc.binary_length(column.flatten()))
    require(counts > 0, first, "has no sentence")
    ends = np.cumsum(counts)
    if not sizes.all():
        raise CheckFailed(f"row {first + int(np.searchsorted(ends, int(np.argmin(sizes)), 'right'))} has an empty sentence")
    return np.add.reduceat(sizes, ends - counts), counts


def _paragraphs(column: pa.Array, sentences: Array, first: int) -> None:
    """Check that paragraph starts begin at sentence 0, increase, and are valid sentence indices."""
    counts, starts = _numbers(pc.list_value_length(column)), _numbers(column.flatten())
    require(counts > 0, first, "has no paragraph")
    ends = np.cumsum(counts)
    require(starts[ends - counts] == 0, first, "has a first paragraph that does not begin with its first sentence")
    rising = np.diff(starts) > 0
    rising[ends[:-1] - 1] = True  # the first paragraph of the next document
    if not rising.all():
        row = int(np.searchsorted(ends, int(np.argmin(rising)), "right"))
        raise CheckFailed(f"row {first + row} has paragraphs that are not in order")
    require(starts[ends - 1] < sentences, first, "has a paragraph that begins after its last sentence")


def _numbers(column: pa.Array) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)


def _flags(column: pa.Array) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False))
