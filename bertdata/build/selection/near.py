"""The rule for near-copies, in two rounds: find documents that share a band of their signatures, and compare signatures.

    task 7 claims    bands of row 3      bucket of a band's hash       row 3 of task 7 shares it with row 5 of task 2
    task 7 claims    (2, 5) for row 3, with row 3's signature       bucket of task 2, which reads its facts, compares

So nothing is looked up: a document sends its signature to each earlier one that it may be a copy of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...io.files import to_path
from . import facts, minhash, round_files
from .duplicates import WHOLE, Claims, first_of_each
from .losing import REASONS, address, lose, split_address
from .rounds import BucketClaims, Losses

__all__ = ["Bands", "Near"]

REASON = REASONS.index("near-duplicate")
_PAIRS = 1 << 16  # of documents whose signatures are sent at a time
_COMPARED = 16 << 20  # bytes of claims that are compared at a time


@dataclass(frozen=True)
class Bands:
    """Find the documents that share a band of their signatures: pairs of a document and an earlier one, which `Near` compares.

    A claim is a hash and no signature: a document has one for each band, and few share any.
    """

    root: str
    threshold: float
    name = "bands"
    columns = ("high", "row")
    drops = False

    @property
    def per_document(self) -> float:
        """Return how many bands there are."""
        return float(minhash.layout(self.threshold)[0])

    def claims(self, task: int, losses: Losses) -> Iterator[Claims]:
        """Claim the hash of each band of a signature: documents that share a band come to one bucket."""
        bands, rows = minhash.layout(self.threshold)
        signatures, _ = _signed(self.root, task)
        # A signature of zeros is that of a text without words; such texts are no copies of each other.
        documents = np.flatnonzero(losses.left(len(signatures)) & signatures.any(1)).astype(np.uint32)
        hashes = minhash.band_hashes(signatures[documents], bands, rows).ravel()
        yield Claims.of(task, np.broadcast_to(hashes[:, None], (len(hashes), 2)), np.repeat(documents, bands))

    def decide(self, received: BucketClaims) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Pair each document with the first one that shares a band with it, and with the last one before it.

        Of n documents with one band these are 2n pairs, where all would be n squared: a template of which a wiki has 100,000
        pages must not take 5 billion comparisons.  Of documents a b c d with one band: b with a, c with a and b, d with a and c.
        """
        claims = received.all()
        index, first = np.arange(len(claims.high)), first_of_each(claims)
        later = index[first != index]
        pairs = np.concatenate([np.stack([later, first[later]], 1), np.stack([later, later - 1], 1)])
        at = address(claims.task, claims.row)
        documents = np.unique(at[pairs], axis=0)  # (document, earlier document); several bands may give the same pair
        whole, names = np.full(len(documents), WHOLE, np.uint32), pa.array([""] * len(documents))
        return lose(documents[:, 0], whole, documents[:, 1], names, REASON)


@dataclass(frozen=True)
class Near:
    """Drop a document of which an earlier one is a near-copy, even if that one is dropped too.

    With a like b, and b like c, c is dropped for b although b is dropped for a.  Otherwise whether c is kept would depend on
    what becomes of b, which another bucket decides at the same time.

    Pairs are compared where the earlier document is: a bucket is a range of tasks, whose facts it reads once, and the signature
    of the later document comes to it.
    """

    root: str
    threshold: float
    tasks: int
    name = "near"
    columns = ("high", "low", "row", "signature")
    per_document = 2.0  # what a bucket holds is signatures of its documents, of 128 bytes
    drops = True

    def claims(self, task: int, losses: Losses) -> Iterator[Claims]:
        """Claim the address of each earlier document that is to be compared (`low`), and where it is in the corpus (`high`)."""
        pairs = Losses(self.root, task, ("bands",))
        row, first_task, first_row = (pairs.column(name).astype(np.uint64) for name in ("row", "first_task", "first_row"))
        low = address(first_task, first_row)
        high = (first_task << np.uint64(32)) // np.uint64(self.tasks) << np.uint64(32) | first_row
        signatures = _signed(self.root, task)[0] if len(row) else np.zeros((0, minhash.VALUES), np.uint8)
        for start in range(0, len(row), _PAIRS):
            span = slice(start, start + _PAIRS)
            payload = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(minhash.VALUES), len(row[span]), [None, pa.py_buffer(signatures[row[span]])]
            )
            yield Claims.of(task, np.stack([high[span], low[span]], 1), row[span].astype(np.uint32), payload=payload)

    def decide(self, received: BucketClaims) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Compare signatures, and drop the later document of each pair that is similar enough."""
        known: dict[int, tuple[minhash.Signatures, pa.Array]] = {}  # of tasks in this bucket's range
        for claims in round_files.in_batches(received.parts(), _COMPARED):
            first_task, first_row = split_address(claims.low)
            lost: list[tuple[npt.NDArray[np.int64], pa.Array]] = []  # which claims, and the ids of what is kept instead
            for task in np.unique(first_task).tolist():
                if task not in known:
                    known[task] = _signed(self.root, task)
                signatures, ids = known[task]
                of_task = np.flatnonzero(first_task == task)
                near = of_task[
                    minhash.similarity(facts.signatures(claims.payload)[of_task], signatures[first_row[of_task]])
                    >= self.threshold
                ]
                lost.append((near, ids.take(pa.array(first_row[near]))))
            at = address(claims.task, claims.row)
            near, ids = np.concatenate([indices for indices, _ in lost]), pa.concat_arrays([names for _, names in lost])
            order = np.argsort(at[near], kind="stable")
            at, low = at[near[order]], claims.low[near[order]]
            yield from lose(at, np.full(len(at), WHOLE, np.uint32), low, ids.take(pa.array(order)), REASON)


def _signed(root: str, task: int) -> tuple[minhash.Signatures, pa.Array]:
    """Return the signatures and ids of a task's documents."""
    table = facts.read(to_path(root), task)
    return facts.signatures(table.column("signature").combine_chunks()), table.column("id").combine_chunks()
