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
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import keys
from ...config import ChoiceConfig
from ...config.input_kinds import PROJECTS
from . import duplicates, facts, mixture
from .claims import Columns, Table
from .decisions import LOST, REASONS, WHOLE, Losses, lose_later, whole
from .duplicates import Indices, fingerprint
from .kinds import Kinds
from .near import Bands, Near
from .rounds import Received, Rule
from .word_limits import Items, limited

__all__ = ["LISTED", "REASONS", "make", "needs"]

LISTED = (
    "repeated id",
    "duplicate",
    "near-duplicate",
    "duplicate paragraphs",
)  # the other reasons do not depend on the document's content
_HASH = ("hash", "<u8", 2)


def make(config: ChoiceConfig, root: str, kinds: Kinds) -> list[Rule]:
    """Return the rules of a run. `kinds` are the sources of its tasks, without tasks that check files."""
    # The order matters. A page that occurs twice should not count as its own near-copy, a paragraph
    # should not be lost to a document that is dropped itself, and sizes are sampled last, when it
    # is known which documents remain.
    rules: list[Rule] = []
    if not set(PROJECTS).isdisjoint(kinds.names):
        rules.append(_Repeated(kinds))
    if config.dedup != "none":
        rules.append(_Same())
    if config.dedup == "near":
        rules += [Bands(config.near_threshold), Near(root, config.near_threshold, kinds.total)]
    if config.dedup_paragraphs:
        rules.append(_Paragraphs())
    if config.shares or config.sample_documents:
        rules.append(_Selection(config.seed, tuple(config.shares.items()), config.sample_documents, kinds))
    if config.word_limits:
        rules.append(_Words(config.seed, tuple(config.word_limits.items()), kinds))
    return rules


def needs(config: ChoiceConfig) -> facts.Needs:
    """Return the facts that the rules need."""
    return facts.Needs(config.dedup == "near", config.dedup_paragraphs, bool(config.word_limits))


class _ByHash:
    """Rules that keep one of all claims with the same hash."""

    columns = np.dtype([_HASH, ("row", "<u4")])
    payload = staticmethod(facts.ids)
    per_document = 1.0
    drops = True

    def partition(self, columns: Columns, count: int) -> Indices:
        return duplicates.partition(columns["hash"], count)


@dataclass(frozen=True)
class _Repeated(_ByHash):
    """Keep the newest of the copies of a page, which share an id, or the first of equally new copies."""

    kinds: Kinds
    name = "ids"
    columns = np.dtype([_HASH, ("row", "<u4"), ("as_of", "<u4")])

    def claims(self, table: pa.Table, task: int, losses: Losses) -> Columns:
        """Claim the hash of each id."""
        rows = np.flatnonzero(losses.left(table.num_rows)) if self.kinds.kind(task) in PROJECTS else np.zeros(0, int)
        made = np.zeros(len(rows), self.columns)
        hashes = [fingerprint(id) for id in table.column("id").take(pa.array(rows)).to_pylist()]
        made["hash"], made["row"] = np.array(hashes, np.uint64).reshape(-1, 2), rows
        made["as_of"] = table.column("as_of").to_numpy()[rows]
        return made

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        claims = received.all()
        hashes, as_of = claims.columns["hash"], claims.columns["as_of"]
        # Claims arrive in order of position. Sort by age first, so that "keep the first of each hash" keeps the newest.
        claims = claims.take(np.lexsort((np.uint32(WHOLE) - as_of, hashes[:, 1], hashes[:, 0])))
        as_of = claims.columns["as_of"]
        newest = as_of[duplicates.first_of_each(claims.columns["hash"])]
        # The list of drops has the date only if it decided. Between copies of the same age, the position decided.
        return lose_later(claims, "repeated id", np.where(as_of < newest, newest, 0))


@dataclass(frozen=True)
class _Same(_ByHash):
    """Keep the first document of each text hash."""

    name = "texts"

    def claims(self, table: pa.Table, task: int, losses: Losses) -> Columns:
        """Claim the hash of each text."""
        rows = np.flatnonzero(losses.left(table.num_rows))
        made = np.zeros(len(rows), self.columns)
        for number, name in enumerate(("high", "low")):
            made["hash"][:, number] = table.column(name).to_numpy()[rows]
        made["row"] = rows
        return made

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        return lose_later(received.by_hash(), "duplicate")


@dataclass(frozen=True)
class _Paragraphs(_ByHash):
    """Drop a long paragraph that has occurred before, and drop a document when its last paragraph is dropped."""

    name = "paragraphs"
    columns = np.dtype([_HASH, ("row", "<u4"), ("paragraph", "<u4")])
    per_document = 8.0

    def claims(self, table: pa.Table, task: int, losses: Losses) -> Columns:
        """Claim the hash of each long paragraph."""
        # Each long paragraph claims its hash. The first claim wins, so a paragraph that ten
        # articles share stays in the first of them.
        row, paragraph = _long_paragraphs(table)
        left = losses.left(table.num_rows)[row]
        made = np.zeros(np.count_nonzero(left), self.columns)
        for number, name in enumerate(("part_high", "part_low")):
            made["hash"][:, number] = _flat(table, name)[left]
        made["row"], made["paragraph"] = row[left], paragraph[left]
        return made

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        return lose_later(received.by_hash(), "duplicate paragraphs")


class _ByKey:
    """Rules that choose by a key hashed from the id. All claims go to one partition, because a cut depends on all of them."""

    payload = None
    per_document = 0.0
    drops = True

    def partition(self, columns: Columns, count: int) -> Indices:
        return np.zeros(len(columns), np.int64)


@dataclass(frozen=True)
class _Selection(_ByKey):
    """Sample sources to their shares of the text, then sample the corpus to a number of documents.

    Documents with the smallest keys are kept.
    """

    seed: int
    shares: tuple[tuple[str, float], ...]
    sample: int
    kinds: Kinds
    name = "selection"
    columns = np.dtype([("key", "<u8"), ("row", "<u4"), ("bytes", "<u8")])

    def claims(self, table: pa.Table, task: int, losses: Losses) -> Columns:
        """Claim a key for each document, with the bytes of its text."""
        return _drawn(self.columns, self.seed, table, losses, "bytes")

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        cuts = self._mixture(received)
        last = mixture.ALL
        # The sample is taken from the mixture. Each source's keys lie below a different cut, so they are first scaled to the same
        # range. Otherwise, a sample would take more of a source with a low cut, and change the shares.
        if self.sample:
            last = mixture.cut(
                lambda: ((k[kept], kept[kept].astype(np.int64)) for _, _, k, kept in self._kept(received, cuts)), self.sample
            )
        before = 0
        for task, claims, scaled, kept in self._kept(received, cuts):
            chosen = kept.copy()
            chosen[kept] = last.admits(scaled[kept], before)
            before += last.equals(scaled[kept])
            if not chosen.all():
                yield task, _out(claims["row"][~chosen], np.where(kept[~chosen], b"sample", b"mixture"))

    def _mixture(self, received: Received) -> dict[str, mixture.Cut]:
        if not self.shares:
            return {}
        sizes: dict[str, int] = {}
        for task, table in received.by_task():
            sizes[self.kinds.kind(task)] = sizes.get(self.kinds.kind(task), 0) + int(table.columns["bytes"].sum())
        return {
            source: mixture.cut(lambda source=source: self._of(source, received), target)  # type: ignore[misc]
            for source, target in mixture.targets(dict(self.shares), sizes).items()
        }

    def _of(self, source: str, received: Received) -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]]:
        for task, (claims, _) in received.by_task():
            if self.kinds.kind(task) == source:
                yield claims["key"], claims["bytes"].astype(np.int64)

    def _kept(
        self, received: Received, cuts: dict[str, mixture.Cut]
    ) -> Iterator[tuple[int, Columns, npt.NDArray[np.uint64], npt.NDArray[np.bool_]]]:
        """Yield each task, its claims, keys comparable between sources, and a mask of the claims that the mixture keeps."""
        before: dict[str, int] = {}
        for task, (claims, _) in received.by_task():
            source, key = self.kinds.kind(task), claims["key"]
            cut = cuts.get(source, mixture.ALL)
            yield task, claims, mixture.scaled(key, cut), cut.admits(key, before.get(source, 0))
            before[source] = before.get(source, 0) + cut.equals(key)


@dataclass(frozen=True)
class _Words(_ByKey):
    """Keep a number of words of each source that has a limit, and then of the corpus ("").

    The first document over the limit is cut to fit, so the number is exact.
    """

    seed: int
    limits: tuple[tuple[str, int], ...]
    kinds: Kinds
    name = "words"
    columns = np.dtype([("key", "<u8"), ("row", "<u4"), ("words", "<u8")])

    def claims(self, table: pa.Table, task: int, losses: Losses) -> Columns:
        """Claim a key for each document, with its number of words."""
        return _drawn(self.columns, self.seed, table, losses, "words")

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        """Yield documents that are lost completely or cut."""

        def items() -> Iterator[tuple[int, Columns, npt.NDArray[np.int64]]]:
            for task, (claims, _) in received.by_task():
                yield task, claims, claims["words"].astype(np.int64)

        left: Items = items
        for source, limit in self.limits:
            left = limited(left, limit, self.kinds.tasks(source))
        for task, claims, words in left():
            lost = words < claims["words"].astype(np.int64)
            if lost.any():
                yield task, _out(claims["row"][lost], b"words", words[lost])


def _out(row: npt.NDArray[np.uint32], reason: Any, words: Any = 0) -> Table:
    """Return a table of documents lost without a kept counterpart, or cut to `words` words."""
    lost = np.zeros(len(row), LOST)
    lost["row"], lost["paragraph"], lost["reason"], lost["words"] = row, WHOLE, reason, words
    return Table(lost, pa.array([b""] * len(row), pa.large_binary()))


def _drawn(columns: np.dtype[Any], seed: int, table: pa.Table, losses: Losses, what: str) -> Columns:
    """Claim a key for each remaining document, with its number of ``bytes`` or ``words`` (`what`)."""
    size, left, lost = table.column(what).to_numpy().copy(), losses.left(table.num_rows), losses.table.columns
    # Subtract the size of paragraphs that the previous rule removed, and drop a document that has no paragraph left.
    if len(cut := lost[~whole(lost)]):
        rows, paragraphs = _long_paragraphs(table)
        # (row, paragraph) as one sorted number. `subtract.at`, because a document may lose several paragraphs.
        index = np.searchsorted(rows << 32 | paragraphs, cut["row"].astype(np.int64) << 32 | cut["paragraph"])
        np.subtract.at(size, cut["row"], _flat(table, f"part_{what}")[index])
        left &= np.bincount(cut["row"], minlength=len(size)) < table.column("paragraphs").to_numpy()
    made = np.zeros(np.count_nonzero(left), columns)
    # The key is a hash of the seed and the id. Choosing the documents with the smallest keys is a
    # uniform sample that depends on neither the number of tasks nor their order, and a larger
    # sample contains every smaller one.
    made["row"], made[what] = np.flatnonzero(left), size[left]
    ids = table.column("id").take(pa.array(made["row"])).to_pylist()
    made["key"] = np.array([keys.key(seed, "choose", id) for id in ids], np.uint64)
    return made


def _flat(table: pa.Table, name: str) -> npt.NDArray[np.uint64]:
    """Concatenate the values of a list column."""
    return np.asarray(table.column(name).combine_chunks().flatten().to_numpy())


def _long_paragraphs(table: pa.Table) -> tuple[Any, Any]:
    """Return the document of each long paragraph, and the paragraph's index in it."""
    lengths = table.column("parts").combine_chunks().value_lengths().to_numpy()
    return np.repeat(np.arange(len(lengths)), lengths), _flat(table, "parts").astype(np.int64)
