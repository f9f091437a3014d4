"""Drop near-copies in two rounds: find documents that share a band of their signatures, then compare the signatures.

    task 7 claims    bands of row 3      partition of a band's hash       row 3 of task 7 shares it with row 5 of task 2
    task 7 claims    (2, 5) for row 3, with row 3's signature       partition of task 2, which reads its facts, compares

No lookup is needed: a document sends its signature to each earlier document that it may be a copy of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import facts, minhash
from .claims import Columns, Table, concat, join, split
from .decisions import PAIRS, Losses, lost, read_kept
from .duplicates import Indices, first_of_each
from .rounds import Received, Rule

__all__ = ["Bands", "Near"]

_CLAIM_BATCH_BYTES = 16 << 20  # bytes of claims compared at a time


@dataclass(frozen=True)
class Bands(Rule):
    """Find pairs of a document and an earlier one that share a band of their signatures. `Near` compares the pairs.

    A claim contains a hash and no signature, because a document has one claim per band, and few bands are shared.
    """

    threshold: float
    name = "bands"
    columns = np.dtype([("hash", "<u8", (1,)), ("row", "<u4")])
    drops = False

    def per_document(self) -> float:
        """Return the number of bands."""
        return float(minhash.layout(self.threshold)[0])

    def claims(self, table: pa.RecordBatch, task: int, losses: Losses) -> Columns:
        """Claim the hash of each band of a signature. Documents that share a band meet in one partition."""
        bands, rows = minhash.layout(self.threshold)
        signatures = facts.signatures(table)
        # An all-zero signature belongs to a text without words. Such texts are not copies of each other.
        documents = np.flatnonzero(losses.left(len(signatures)) & signatures.any(1)).astype(np.uint32)
        made = np.zeros(len(documents) * bands, self.columns)
        made["hash"][:, 0] = minhash.band_hashes(signatures[documents], bands, rows).ravel()
        made["row"] = np.repeat(documents, bands)
        return made

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        """Pair each document with the first document that shares a band with it, and with the closest one before it.

        For n documents with one band, these are 2n pairs instead of n squared: a template that a wiki uses for 100,000
        pages must not take 5 billion comparisons.  For documents a b c d with one band: b with a, c with a and b, d with a and c.
        """
        # Claims are sorted by band hash, then by position in the corpus, so the claims of a band
        # are neighbors and the first one is the earliest document. For a band with documents a b c
        # d:
        #
        #   index   0  1  2  3
        #   first   0  0  0  0
        #   later      1  2  3          without the first of a band
        #   pairs   (b,a) (c,a) (d,a)   each later document with the first one
        #           (b,a) (c,b) (d,c)   and with the one just before it
        #
        # Copies made by a template usually resemble all others, so the first one stands for the
        # group. The one before catches groups that share a band and are not all alike.
        claims = received.by_hash().columns
        first = first_of_each(claims["hash"])
        later = np.flatnonzero(first != np.arange(len(first)))
        third = later[later - 1 != first[later]]  # the second of a band already has both pairs in one
        own, earlier = claims[np.append(later, third)], claims[np.append(first[later], third - 1)]
        pairs = np.zeros(len(own), PAIRS)
        pairs["row"], pairs["first_task"], pairs["first_row"] = own["row"], earlier["task"], earlier["row"]
        return split(Table(pairs), own["task"])


@dataclass(frozen=True)
class Near(Rule):
    """Drop a document that is a near-copy of an earlier one, even if the earlier one is dropped too.

    If a is like b, and b is like c, then c is dropped because of b, although b is dropped because of a. Otherwise the decision
    about c would depend on the decision about b, which another partition makes at the same time.

    A pair is compared in the partition of the earlier document. A partition is a range of tasks and reads their facts once. The
    signature of the later document arrives with the claim.
    """

    root: Path
    threshold: float
    tasks: int
    name = "near"
    columns = PAIRS

    def per_document(self) -> float:
        """Return a larger number than most documents need: a partition holds signatures of its documents, 128 bytes each."""
        return 2.0

    def claims(self, table: pa.RecordBatch, task: int, losses: Losses) -> Columns:
        """Claim each pair of one of the task's documents and an earlier one to compare."""
        return read_kept(self.root, Bands.name, task, PAIRS).columns

    def payload(self, table: pa.RecordBatch, rows: Indices) -> pa.Array:
        """Return the signatures of documents."""
        return facts.signature_payloads(table, rows)

    def partition(self, claims: Columns, count: int) -> Indices:
        """Return the partition of the earlier document's task."""
        return np.asarray(claims["first_task"].astype(np.int64) * count // self.tasks)

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        """Compare signatures, and drop the later document of each pair that is similar enough."""
        # A partition covers a range of tasks, so each task's facts are read by one partition only.
        known: dict[int, tuple[minhash.Signatures, pa.RecordBatch]] = {}  # by task in this partition's range
        for claims in join(received.by_task(), _CLAIM_BATCH_BYTES):
            tasks, losses = list[npt.NDArray[Any]](), list[Table]()
            for first_task, pairs in split(claims, claims.columns["first_task"]):
                if first_task not in known:
                    table = facts.read(self.root, first_task)
                    known[first_task] = facts.signatures(table), table
                near = pairs.columns[self._similar(pairs, known[first_task][0])]
                ids = facts.ids(known[first_task][1], near["first_row"])
                tasks.append(near["task"])
                losses.append(lost(ids, reason=b"near-duplicate", **{name: near[name] for name in PAIRS.names or ()}))
            yield from split(concat(losses), np.concatenate(tasks))

    def _similar(self, pairs: Table, signatures: minhash.Signatures) -> Indices:
        """Return the documents that are near-copies of the earlier one in their pair. `signatures` are those of the earlier one's
        task."""
        assert pairs.payload is not None
        own = np.frombuffer(pairs.payload.buffers()[2] or b"", np.uint8)[: len(pairs.columns) * minhash.SIGNATURE_VALUES]
        # A shared band is only a hint. Now compare all 128 values.
        similarity = minhash.similarity(own.reshape(-1, minhash.SIGNATURE_VALUES), signatures[pairs.columns["first_row"]])
        return np.flatnonzero(similarity >= self.threshold)
