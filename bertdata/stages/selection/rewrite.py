"""Rewrite shards that lose documents. The commit replaces the old shards just before it writes the manifest.

Until then both exist, the new ones below ``work/chosen/``. A repeated task therefore reads the same shard, and the record of the
first step, which has the digest of the old shard, stays valid.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
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
from ..corpus_report import CorpusReport
from ..listing import Listing
from ..text_counts import count_text, count_words, without_text
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
    with Listing(root, _CHOSEN_PREFIX + drops_name) as listed:
        removal = _Removal(lost.to_pylist(), without_text(report.counts), listed)
        for drops in report.drops:  # the new list starts with the drops of the first step
            listed.copy(root / drops.name)
        batches = removal.batches(shards.read_batches(root / shard.name))
        written = shards.write(root, _CHOSEN_PREFIX + shard.name, shards.DOCUMENT, batches)
    counts = removal.counts
    shard = replace(written, text_bytes=counts["text_bytes"])
    return replace(report, shard=shard, drops=[*listed.entries()], counts=dict(sorted(counts.items())))


@dataclass
class _Removal:
    """Remove, count and list the losses of a task's documents, batch by batch.

    A loss has a row of the shard, and either the complete document, one of its paragraphs, or its new number of words:

        losses     (row 4, whole, duplicate)   (row 5, 0) (row 5, 2) duplicate paragraphs   (row 6, 100 words)
        batch      rows 4 to 7 of the shard; row 5 has three paragraphs
        result     row 5 with its paragraph 1, the first 100 words of row 6, row 7
    """

    losses: list[dict[str, Any]]  # in order of rows
    counts: Counter[str]
    listed: Listing
    _row: int = 0
    _next: int = 0  # the next loss

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the remaining documents in full batches, as if the shard had been written without the others. There is at least
        one."""
        counts, pending, size = self.counts, list[pa.RecordBatch](), 0
        for batch in batches:
            before = counts["text_bytes"]
            pending.append(count_text(self._left(batch), counts))
            del batch  # free its memory before the next batch is read
            size += counts["text_bytes"] - before
            if size >= shards.BATCH_BYTES:
                yield from shards.joined(pending)
                pending, size = [], 0
        if pending and (size or not counts["text_bytes"]):
            yield from shards.joined(pending)

    def _left(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        # Three kinds of losses, from large to small: complete documents, paragraphs, and words at
        # the end.
        start, end = self._row, self._row + batch.num_rows  # rows of the shard; below, `row` counts from the start of the batch
        self._row = end
        kept = np.ones(batch.num_rows, bool)
        cuts: dict[int, int] = {}  # new number of words by document
        trimmed = defaultdict[int, set[int]](set)  # lost paragraphs of a document
        firsts: dict[int, dict[str, Any]] = {}  # its first loss
        while self._next < len(self.losses) and (loss := self.losses[self._next])["row"] < end:
            self._next += 1
            row = loss["row"] - start
            if loss["words"]:
                cuts[row] = loss["words"]
            elif loss["paragraph"] == WHOLE_DOCUMENT:
                self._lose(batch, kept, row, loss)
            else:
                trimmed[row].add(loss["paragraph"])
                firsts.setdefault(row, loss)
        for row, parts in trimmed.items():
            if len(parts) == len(batch.column("paragraph_starts")[row]):  # it loses all paragraphs
                self._lose(batch, kept, row, firsts[row])
            else:
                self.counts["trimmed_documents"] += 1
                self.counts["removed_paragraphs"] += len(parts)
        if cuts or any(kept[row] for row in trimmed):  # before `filter`, which renumbers the rows
            batch = self._shorten(batch, trimmed, cuts)
        return batch if kept.all() else batch.filter(pa.array(kept))

    def _shorten(self, batch: pa.RecordBatch, trimmed: dict[int, set[int]], cuts: dict[int, int]) -> pa.RecordBatch:
        """Remove paragraphs from documents, then all but their first words, and count the removed words."""
        built = shards.DocumentBatch()
        for row, values in enumerate(batch.to_pylist()):
            document = _without(Document(**values), trimmed.get(row, set()))
            if row in cuts:
                self.counts["removed_words"] += count_words(document.sentences) - cuts[row]
                document = _first_words(document, cuts[row])
            built.add(document)
        return built.take()

    def _lose(self, batch: pa.RecordBatch, kept: Any, row: int, loss: dict[str, Any]) -> None:
        kept[row] = False
        self.counts["out"] -= 1
        self.counts[f"dropped/{loss['reason']}"] += 1
        if loss["reason"] in LISTED:
            self.listed.append({"id": batch.column("id")[row].as_py(), "reason": loss["reason"], "detail": loss["detail"]})


def _without(document: Document, trimmed: set[int]) -> Document:
    """Remove paragraphs from a document. One that would lose all of them is unchanged, because the caller drops it."""
    left = [paragraph for part, paragraph in enumerate(document.paragraphs()) if part not in trimmed]
    if not trimmed or not left:
        return document
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
