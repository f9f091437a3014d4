"""Define the selection rules, in order: repeated pages, same texts, near-copies, paragraphs, mixture, sample, words.

The first of identical documents is kept, by order of source (wikipedia, books, text), file name and position.
For a page that occurs in several dumps, the newest copy is kept.

A rule has two parts.  `claims` runs once for each task and turns documents into rows of (hash, task, row, paragraph).  `decide`
runs once for each partition, which has all claims of a hash, and returns the losing ones.  Other facts about a document,
such as its id, arrive with the claim, so no lookup is needed.  For equal texts, with hashes 5 and 9:

    task 0 claims   5 row 0, 9 row 1        partition sorts   5: (0, 0) (1, 0)       (1, 0) loses to (0, 0)
    task 1 claims   5 row 0                                9: (0, 1)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...config import ChoiceConfig
from . import duplicates, facts, samples
from .claims import Columns, Table
from .decisions import REASONS, WHOLE_DOCUMENT, Losses, lose_later
from .duplicates import Indices, fingerprint
from .near import Bands, Near
from .rounds import Received, Rule

__all__ = ["LISTED", "REASONS", "make", "needs"]

LISTED = (
    "repeated id",
    "duplicate",
    "near-duplicate",
    "duplicate paragraphs",
)  # the other reasons do not depend on the document's content
_HASH_FIELD = ("hash", "<u8", 2)


def make(config: ChoiceConfig, root: Path, tasks: int, wiki_tasks: int) -> list[Rule]:
    """Return the rules of a run with this number of tasks, without those that check files. Tasks of wikis come first."""
    # The order matters. A page that occurs twice should not count as its own near-copy, a paragraph
    # should not be lost to a document that is dropped itself, and sizes are sampled last, when it
    # is known which documents remain.
    rules: list[Rule] = []
    if wiki_tasks:
        rules.append(_Repeated(wiki_tasks))
    if config.dedup != "none":
        rules.append(_Same())
    if config.dedup == "near":
        rules += [Bands(config.near_threshold), Near(root, config.near_threshold, tasks)]
    if config.dedup_paragraphs:
        rules.append(_Paragraphs())
    return rules + samples.make(config)


def needs(config: ChoiceConfig) -> facts.Needs:
    """Return the facts that the rules need."""
    premiums = config.premiums
    words = bool(config.word_limits) and not premiums
    group = config.group_by if samples.make(config) else ""
    return facts.Needs(config.dedup == "near", config.dedup_paragraphs, words, group, premiums)


class _ByHash(Rule):
    """Rules that keep one of all claims with the same hash."""

    columns = np.dtype([_HASH_FIELD, ("row", "<u4")])

    def payload(self, table: pa.RecordBatch, rows: Indices) -> pa.Array:
        """Return the ids of documents."""
        return facts.ids(table, rows)


@dataclass(frozen=True)
class _Repeated(_ByHash):
    """Keep the newest of the copies of a page, which share an id, or the first of equally new copies."""

    wiki_tasks: int
    name = "ids"
    columns = np.dtype([_HASH_FIELD, ("row", "<u4"), ("as_of", "<u4")])

    def claims(self, table: pa.RecordBatch, task: int, losses: Losses) -> Columns:
        """Claim the hash of each id."""
        rows = np.flatnonzero(losses.left(table.num_rows)) if task < self.wiki_tasks else np.zeros(0, int)
        made = np.zeros(len(rows), self.columns)
        hashes = b"".join(map(fingerprint, table.column("id").take(pa.array(rows)).to_pylist()))
        made["hash"], made["row"] = np.frombuffer(hashes, ">u8").reshape(-1, 2), rows
        made["as_of"] = table.column("as_of").to_numpy()[rows]
        return made

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        claims = received.all()
        hashes, as_of = claims.columns["hash"], claims.columns["as_of"]
        # Claims arrive in order of position. Sort by age first, so that "keep the first of each hash" keeps the newest.
        claims = claims.take(np.lexsort((np.uint32(WHOLE_DOCUMENT) - as_of, hashes[:, 1], hashes[:, 0])))
        as_of = claims.columns["as_of"]
        newest = as_of[duplicates.first_of_each(claims.columns["hash"])]
        # The list of drops has the date only if it decided. Between copies of the same age, the position decided.
        return lose_later(claims, "repeated id", np.where(as_of < newest, newest, 0))


@dataclass(frozen=True)
class _Same(_ByHash):
    """Keep the first document of each text hash."""

    name = "texts"

    def claims(self, table: pa.RecordBatch, task: int, losses: Losses) -> Columns:
        """Claim the hash of each text."""
        rows = np.flatnonzero(losses.left(table.num_rows))
        made = np.zeros(len(rows), self.columns)
        made["hash"], made["row"] = facts.hashes(table)[rows], rows
        return made

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        return lose_later(received.by_hash(), "duplicate")


@dataclass(frozen=True)
class _Paragraphs(_ByHash):
    """Drop a long paragraph that has occurred before, and drop a document when its last paragraph is dropped."""

    name = "paragraphs"
    columns = np.dtype([_HASH_FIELD, ("row", "<u4"), ("paragraph", "<u4")])

    def per_document(self) -> float:
        """Return about as many as most documents have."""
        return 8.0

    def claims(self, table: pa.RecordBatch, task: int, losses: Losses) -> Columns:
        """Claim the hash of each long paragraph."""
        # Each long paragraph claims its hash. The first claim wins, so a paragraph that ten
        # articles share stays in the first of them.
        row, paragraph = facts.long_paragraphs(table)
        left = losses.left(table.num_rows)[row]
        made = np.zeros(np.count_nonzero(left), self.columns)
        made["hash"], made["row"], made["paragraph"] = facts.long_hashes(table)[left], row[left], paragraph[left]
        return made

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        return lose_later(received.by_hash(), "duplicate paragraphs")
