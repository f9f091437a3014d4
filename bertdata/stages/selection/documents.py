"""Read facts of all documents, numbered in order of the corpus: by source (wikipedia, books, text), file name and position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import facts

Array = npt.NDArray[Any]


class Documents:
    """The documents of a corpus, whose tasks are given by source, in order."""

    def __init__(self, root: Path, tasks: Mapping[str, int]) -> None:
        self._root = root
        rows, self.long_paragraphs = [0], 0
        for batches in map(self._read, range(sum(tasks.values()))):
            rows.append(0)
            for batch in batches:
                rows[-1] += batch.num_rows
                if "long_index" in batch.schema.names:
                    self.long_paragraphs += len(facts.values(batch.column("long_index")))
        self.ends = np.cumsum(rows)  # the documents of task n are ends[n] to ends[n + 1]
        edges = self.ends[[0, *accumulate(tasks.values())]].tolist()
        self.sources = dict(zip(tasks, pairwise(edges), strict=True))  # first and last document of each source

    @property
    def count(self) -> int:
        """Number of documents."""
        return int(self.ends[-1])

    def _read(self, task: int) -> Iterator[pa.RecordBatch]:
        return facts.read(self._root, task)

    def column(self, name: str, mask: Array | None = None, *, end: int | None = None) -> Array:
        """Return a column of the documents in a mask, or of the first `end`: numbers [N], or bytes [N, width].

        The values of lists follow one another, so there may be more or fewer than documents.
        """
        end = self.count if end is None else end
        result, filled, at = np.zeros(0), 0, 0
        total = self.long_paragraphs if name.startswith("long_") else end if mask is None else int(np.count_nonzero(mask))
        for batch in (batch for task in range(int(np.searchsorted(self.ends, end))) for batch in self._read(task)):
            chosen = slice(at, at + batch.num_rows)
            column = batch.column(name) if mask is None else batch.column(name).filter(pa.array(mask[chosen]))
            part, at = facts.values(column), chosen.stop
            if not filled:  # one array for all: joining parts would need the memory twice
                result = np.empty((total, *part.shape[1:]), part.dtype)
            result[filled : filled + len(part)] = part
            filled += len(part)
        return result[:filled]

    def hashes(self, name: str, mask: Array | None = None, *, end: int | None = None) -> Array:
        """Return a column of hashes, as two numbers each [2, N]."""
        return np.ascontiguousarray(self.column(name, mask, end=end).view(np.uint64).T)

    def long(self, mask: Array) -> Array:
        """Return the document of each long paragraph of the documents in a mask."""
        lengths = [np.zeros(0, np.int32)]
        for task in range(len(self.ends) - 1):
            lengths += [batch.column("long_index").value_lengths().to_numpy() for batch in self._read(task)]
        return np.repeat(np.flatnonzero(mask).astype(np.uint32), np.concatenate(lengths)[mask])

    def ids(self, documents: Array) -> pa.Array:
        """Return the ids of documents, which are in order."""
        found = [pa.array([], pa.string())]
        edges = np.searchsorted(documents, self.ends)
        for task, (start, end) in enumerate(pairwise(edges.tolist())):
            if start < end:
                column = pa.chunked_array([batch.column("id") for batch in self._read(task)])
                found.append(column.take(pa.array(documents[start:end] - self.ends[task])).combine_chunks())
        return pa.concat_arrays(found)
