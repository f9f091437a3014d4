"""Rewrite shards that lose documents. The commit replaces the old shards just before it writes the manifest.

Until then both exist, the new ones below ``work/chosen/``. A repeated task therefore reads the same shard, and the record of the
first step, which has the digest of the old shard, stays valid.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...codec import replace
from ...dataset import shards
from ...dataset.build import STATE
from ...dataset.manifest_records import RowFile
from ...errors import VerificationError
from ...records import Document
from ...storage.files import digest, is_local
from ...storage.moves import move
from ..corpus.extract import CorpusReport
from ..counts import count_text, count_words, without_text
from ..listing import Listing
from .choose import LISTED, WHOLE_DOCUMENT

_AT_ONCE = 16  # files of a store moved at the same time: the last step moves the files of all tasks
_CHOSEN_PREFIX = f"{STATE}/work/chosen/"


def replace_rewritten(root: Path, files: Sequence[RowFile]) -> list[RowFile]:
    """Replace old files by rewritten ones, several at a time in a store. Return the entries of all files under their final names.

    If an engine repeats the commit, a file that has already moved must have the digest of the new one. If the user repeats the
    command, tasks whose files have moved no longer match their record, so `perform` has extracted them again before this call.
    """
    with ThreadPoolExecutor(1 if is_local(root) else _AT_ONCE) as pool:
        groups = (files[start : start + 1000] for start in range(0, len(files), 1000))
        return [entry for group in groups for entry in pool.map(partial(_put, root), group)]


def _put(root: Path, file: RowFile) -> RowFile:
    name = file.name.removeprefix(_CHOSEN_PREFIX)
    if name == file.name:
        return file
    if (root / file.name).is_file():
        move(root / file.name, root / name)
    elif digest(root / name) != file.sha256:
        raise VerificationError(f"{root / name} has changed since its task wrote it: run the same command again")
    return replace(file, name=name)


def rewrite(root: Path, drops_name: str, report: CorpusReport, lost: pa.RecordBatch) -> CorpusReport:
    """Rewrite the shard and the list of drops of a task without its losses, and return the new report of the task."""
    shard = report.shard
    if digest(root / shard.name) != shard.sha256:
        raise VerificationError(f"{root / shard.name} has changed since its task wrote it: run the same command again")
    counts = without_text(report.counts)
    with Listing(root, _CHOSEN_PREFIX + drops_name) as listed:
        for drops in report.drops:  # the new list starts with the drops of the first step
            listed.copy(root, drops)
        batches = _batches(shards.read_batches(root / shard.name), lost, counts, listed)
        written = shards.write(root, _CHOSEN_PREFIX + shard.name, shards.DOCUMENT, batches)
    shard = replace(written, text_bytes=counts["text_bytes"])
    return replace(report, shard=shard, drops=[*listed.entries()], counts=dict(sorted(counts.items())))


def _batches(
    batches: Iterator[pa.RecordBatch], lost: pa.RecordBatch, counts: Counter[str], listed: Listing
) -> Iterator[pa.RecordBatch]:
    """Yield the remaining documents in full batches, as if the shard had been written without the others: at least one batch."""
    losses, rows = lost.to_pylist(), lost.column("row").to_pylist()
    first, done, pending, size = 0, 0, list[pa.RecordBatch](), 0
    for batch in batches:
        before, after = counts["text_bytes"], bisect_left(rows, first + batch.num_rows)
        pending.append(count_text(_remaining(batch, first, losses[done:after], counts, listed), counts))
        first, done = first + batch.num_rows, after
        del batch  # free its memory before the next batch is read
        size += counts["text_bytes"] - before
        if size >= shards.BATCH_BYTES:
            yield from shards.joined(pending)
            pending, size = [], 0
    if pending and (size or not counts["text_bytes"]):
        yield from shards.joined(pending)


def _remaining(
    batch: pa.RecordBatch, first: int, losses: list[dict[str, Any]], counts: Counter[str], listed: Listing
) -> pa.RecordBatch:
    """Remove, count and list the losses of a batch, whose first document is row `first` of the shard.

    A document loses all of its text, some of its paragraphs, or all but its first words:

        losses     (row 4, whole, duplicate)   (row 5, 0) (row 5, 2) duplicate paragraphs   (row 6, 100 words)
        batch      rows 4 to 7 of the shard; row 5 has three paragraphs
        result     row 5 with its paragraph 1, the first 100 words of row 6, row 7
    """
    whole: dict[int, dict[str, Any]] = {}
    emptied: dict[int, dict[str, Any]] = {}  # documents that lose their paragraphs one by one
    edits: dict[int, tuple[set[int], int]] = {}
    for number, group in groupby(losses, itemgetter("row")):
        row, of_row = number - first, [*group]
        trimmed = {loss["paragraph"] for loss in of_row} - {WHOLE_DOCUMENT}
        if trimmed and len(trimmed) == len(batch.column("paragraph_starts")[row]):
            emptied[row] = of_row[0]
            continue
        if trimmed:
            counts["trimmed_documents"] += 1
            counts["removed_paragraphs"] += len(trimmed)
        if of_row[-1]["paragraph"] == WHOLE_DOCUMENT and not of_row[-1]["words"]:  # the last rule comes last
            whole[row] = of_row[-1]
        else:
            edits[row] = trimmed, of_row[-1]["words"]
    kept = np.ones(batch.num_rows, bool)
    for row, loss in (*whole.items(), *emptied.items()):
        kept[row] = False
        counts["out"] -= 1
        counts[f"dropped/{loss['reason']}"] += 1
        if loss["reason"] in LISTED:
            listed.append({"id": batch.column("id")[row].as_py(), "reason": loss["reason"], "detail": loss["detail"]})
    if edits:  # before `filter`, which renumbers the rows
        batch = _edited(batch, edits, counts)
    return batch if kept.all() else batch.filter(pa.array(kept))


def _edited(batch: pa.RecordBatch, edits: dict[int, tuple[set[int], int]], counts: Counter[str]) -> pa.RecordBatch:
    """Remove paragraphs from documents, then all but their first words, and count the removed words."""
    built = shards.DocumentBatch()
    for row, values in enumerate(batch.to_pylist()):
        document, (trimmed, words) = Document(**values), edits.get(row, (set[int](), 0))
        if trimmed:
            document = _without(document, trimmed)
        if words:
            counts["removed_words"] += count_words(document.sentences) - words
            document = _first_words(document, words)
        built.add(document)
    return built.take()


def _without(document: Document, trimmed: set[int]) -> Document:
    """Remove some paragraphs from a document."""
    left = [paragraph for part, paragraph in enumerate(document.paragraphs()) if part not in trimmed]
    starts = np.cumsum([0, *map(len, left)])[:-1].tolist()  # paragraphs of 2 and 3 sentences begin at 0 and 2
    return document._replace(sentences=[s for paragraph in left for s in paragraph], paragraph_starts=starts)


def _first_words(document: Document, words: int) -> Document:
    """Cut a document to its first `words` words. It must have at least that many.

    >>> _first_words(Document("a", "text", "en", "", "", ["One two.", "Three  four five.", "Six."], [0, 2]), 4)[5:7]
    (['One two.', 'Three  four'], [0])
    """
    sentences: list[str] = []
    for sentence in document.sentences:
        if words <= 0:
            break
        # `split(None, n)` splits off n words and leaves the rest as one last element, with its
        # original spaces. So the cut sentence keeps its spaces, too.
        split = sentence.split(None, words)
        fits = len(split) <= words
        sentences.append(sentence if fits else sentence[: len(sentence) - len(split[-1])].rstrip())
        words -= len(split) if fits else words
    return document._replace(
        sentences=sentences, paragraph_starts=[start for start in document.paragraph_starts if start < len(sentences)]
    )
