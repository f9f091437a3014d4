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
from ..dataset.manifest_records import RowFile
from ..dataset.shards import DOCUMENT
from .files import CheckFailed, batches

_CODE = r"^[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{1,8}){0,3}$"  # language code with optional script, region, variant
Array = npt.NDArray[Any]


def check(path: Path, entry: RowFile, config: CorpusConfig) -> Counter[str]:
    """Check a shard of documents. Return its documents and text, total and by source."""
    counts: Counter[str] = Counter()
    for batch in batches(path, DOCUMENT, entry):
        counts.update(check_rows(batch, counts["documents"], config))
        del batch
    if counts["text_bytes"] != entry.text_bytes:
        raise CheckFailed(f"contains {counts['text_bytes']:,} bytes of text, but the manifest lists {entry.text_bytes:,}")
    return counts


def check_rows(batch: pa.RecordBatch, first: int, config: CorpusConfig) -> Counter[str]:
    """Check documents, of which the first has the number `first`. Return their documents and text, total and by source."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    for name in ("id", "source", "language"):
        _require(_numbers(pc.binary_length(columns[name])) > 0, first, f"has no {name}")
    is_code = pc.match_substring_regex(columns["language"], _CODE)
    _require(_values(is_code), first, "has a language that is not a code, such as en")
    if config.language:
        same = pc.equal(columns["language"], config.language)
        _require(_values(same), first, f"is in another language than `language` {config.language}")
    sizes = _text_sizes(columns, first)
    counts = Counter(documents=batch.num_rows, text_bytes=int(sizes.sum()))
    for source, size, sentences in zip(columns["source"].to_pylist(), sizes.tolist(), columns["sentences"], strict=True):
        text = sentences.as_py()
        counts[f"documents of {source}"] += 1
        counts[f"text_bytes of {source}"] += size
        counts[f"words of {source}"] += len(" ".join(text).split())
        counts[f"characters of {source}"] += sum(map(len, text))
    return counts


def _text_sizes(columns: dict[str, pa.Array], first: int) -> Array:
    """Return the bytes of text of each document [N], after checking its sentences and paragraphs."""
    sentences, paragraphs = (_numbers(pc.list_value_length(columns[name])) for name in ("sentences", "paragraph_starts"))
    _require((sentences > 0) & (paragraphs > 0), first, "has no sentence or no paragraph")
    sizes, ends = _numbers(pc.binary_length(columns["sentences"].flatten())), np.cumsum(sentences)
    _require(_all_of(sizes > 0, ends), first, "has an empty sentence")
    # Paragraph starts are numbers of sentences: 0, then rising, the last one before the number of sentences.
    starts, paragraph_ends = _numbers(columns["paragraph_starts"].flatten()), np.cumsum(paragraphs)
    follows = np.diff(starts, prepend=0) > 0
    follows[paragraph_ends - paragraphs] = starts[paragraph_ends - paragraphs] == 0
    in_order = _all_of(follows, paragraph_ends) & (starts[paragraph_ends - 1] < sentences)
    _require(in_order, first, "has paragraphs that are not in order")
    return np.add.reduceat(sizes, ends - sentences) if len(ends) else sizes


def _all_of(holds: Array, ends: Array) -> Array:
    """Return, for each list [N], whether a condition holds for all of its values. No list is empty."""
    return np.logical_and.reduceat(holds, np.append(0, ends[:-1])) if len(ends) else np.zeros(0, bool)


def _require(holds: Array, first: int, what: str) -> None:
    """Raise CheckFailed with the number of the first document [N] that breaks a rule."""
    if not holds.all():
        raise CheckFailed(f"row {first + int(np.argmin(holds))} {what}")


def _numbers(column: pa.Array) -> Array:
    return _values(column).astype(np.int64)


def _values(column: pa.Array) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False))
