"""Sample documents: reduce sources or languages to the shares of a mixture, to a number of documents, or to a number of words.

Each rule keeps the documents with the smallest keys.  A key is a hash of the seed and the id.  The size of a document is its
bytes or words.  With byte premiums, it is the bytes divided by the premium of the language, so that languages are comparable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import keys
from ...config import ChoiceConfig
from ...config.byte_premiums import BYTES_PER_WORD
from . import facts, mixture
from .claims import Columns, Table
from .decisions import Losses, lost, whole
from .duplicates import Indices
from .rounds import Received, Rule

__all__ = ["make"]

Keys = npt.NDArray[np.uint64]
Sizes = npt.NDArray[np.int64]
# Yields each task, its claims, and the number of words to keep of each.
Items = Callable[[], Iterator[tuple[int, Columns, Sizes]]]


def make(config: ChoiceConfig) -> list[Rule]:
    """Return the sampling rules of a configuration, in the order in which they are applied."""
    rules: list[Rule] = []
    if config.mix.strip() or config.sample_documents:
        rules.append(_Selection(config))
    if config.word_limits:
        rules.append(_Words(config))
    return rules


@dataclass(frozen=True)
class _ByKey(Rule):
    """A rule that keeps the documents with the smallest keys. A cut depends on all claims, so they go to one partition."""

    config: ChoiceConfig
    columns = np.dtype([("key", "<u8"), ("row", "<u4"), ("size", "<u8"), ("group", "<u8")])  # group: hash of source or language

    def per_document(self) -> float:
        """Return 0, so that all claims go to one partition."""
        return 0.0

    def partition(self, claims: Columns, count: int) -> Indices:
        """Return the only partition."""
        return np.zeros(len(claims), np.int64)

    def _keyed(self, table: pa.RecordBatch, losses: Losses, unit: str, purpose: str) -> Columns:
        """Return a claim for each remaining document: its key, and its size in `unit` (``bytes`` or ``words``)."""
        size, left, lost = table.column(unit).to_numpy().copy(), losses.left(table.num_rows), losses.table.columns
        # Subtract the size of paragraphs that an earlier rule removed, and omit documents without remaining paragraphs.
        if len(cut := lost[~whole(lost)]):
            rows, paragraphs = facts.long_paragraphs(table)
            # (row, paragraph) as one sorted number. `subtract.at`, because a document may lose several paragraphs.
            index = np.searchsorted(rows << 32 | paragraphs, cut["row"].astype(np.int64) << 32 | cut["paragraph"])
            np.subtract.at(size, cut["row"], facts.flat(table, f"long_{unit}")[index])
            left &= np.bincount(cut["row"], minlength=len(size)) < table.column("paragraphs").to_numpy()
        if self.config.premiums:
            size = np.rint(size / table.column("premium").to_numpy()).astype(np.uint64)
        claims = np.zeros(np.count_nonzero(left), self.columns)
        # The key is a hash of the seed and the id. Choosing the documents with the smallest keys is a
        # uniform sample that depends on neither the number of tasks nor their order, and a larger
        # sample contains every smaller one.
        claims["row"], claims["size"], claims["group"] = np.flatnonzero(left), size[left], table.column("group").to_numpy()[left]
        ids = table.column("id").take(pa.array(claims["row"])).to_pylist()
        claims["key"] = np.array([keys.key(self.config.seed, purpose, id) for id in ids], np.uint64)
        return claims


@dataclass(frozen=True)
class _Selection(_ByKey):
    """Reduce sources or languages to their shares of the text, then the corpus to a number of documents."""

    name = "selection"

    def claims(self, table: pa.RecordBatch, task: int, losses: Losses) -> Columns:
        """Claim a key for each document, with the size of its text."""
        return self._keyed(table, losses, "bytes", "choose")

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        cuts = self._mixture(received)
        last = mixture.ALL
        # The sample is taken from the mixture. Each group's keys lie below a different cut, so they are first scaled to the same
        # range. Otherwise, a sample would take more of a group with a low cut, and change the shares.
        if self.config.sample_documents:
            last = mixture.cut(
                lambda: ((k[kept], kept[kept].astype(np.int64)) for _, _, k, kept in self._kept(received, cuts)),
                self.config.sample_documents,
            )
        before = 0
        for task, claims, scaled, kept in self._kept(received, cuts):
            chosen = kept.copy()
            chosen[kept] = last.admits(scaled[kept], before)
            before += last.equals(scaled[kept])
            if not chosen.all():
                yield task, _lost(claims["row"][~chosen], np.where(kept[~chosen], b"sample", b"mixture"))

    def _mixture(self, received: Received) -> dict[int, mixture.Cut]:
        """Return the cut of each group: keys below it are kept, so that the groups have the shares of the mixture."""
        if not self.config.mix.strip():
            return {}
        sizes = Counter[int]()
        for _, (claims, _) in received.by_task():
            groups = claims["group"]
            sizes.update({group: int(claims["size"][groups == group].sum()) for group in np.unique(groups).tolist()})
        names = {facts.group_of(name): name for name in self.config.shares}
        shares = self.config.shares
        if self.config.temperature is not None:
            shares = {str(group): float(size**self.config.temperature) for group, size in sizes.items() if size}
        named = {names.get(group, str(group)): size for group, size in sizes.items()}
        targets = mixture.targets(shares, named)
        # A language without a share has no target and is dropped. Sources without a share are an error before the run starts.
        return {
            group: mixture.cut(lambda group=group: self._sizes_of(group, received), targets[name])  # type: ignore[misc]
            if (name := names.get(group, str(group))) in targets
            else mixture.NONE
            for group in sizes
        }

    def _sizes_of(self, group: int, received: Received) -> Iterator[tuple[Keys, Sizes]]:
        """Yield the keys and sizes of a group's documents, task by task."""
        for _, (claims, _) in received.by_task():
            which = claims["group"] == group
            yield claims["key"][which], claims["size"][which].astype(np.int64)

    def _kept(
        self, received: Received, cuts: dict[int, mixture.Cut]
    ) -> Iterator[tuple[int, Columns, Keys, npt.NDArray[np.bool_]]]:
        """Yield each task, its claims, keys comparable between groups, and a mask of the claims that the mixture keeps."""
        before = Counter[int]()
        for task, (claims, _) in received.by_task():
            groups, key = claims["group"], claims["key"]
            scaled, kept = np.zeros(len(key), np.uint64), np.zeros(len(key), bool)
            for group in np.unique(groups).tolist():
                which, cut = groups == group, cuts.get(group, mixture.ALL)
                scaled[which], kept[which] = mixture.scaled(key[which], cut), cut.admits(key[which], before[group])
                before[group] += cut.equals(key[which])
            yield task, claims, scaled, kept


@dataclass(frozen=True)
class _Words(_ByKey):
    """Keep a number of words of each source or language that has a limit, and then of the corpus ("").

    The first document over the limit is cut to fit, so the number is exact. With byte premiums, it is dropped.
    """

    name = "words"

    def claims(self, table: pa.RecordBatch, task: int, losses: Losses) -> Columns:
        """Claim a key for each document, with its number of words, or with byte premiums its bytes of equivalent English."""
        # After a mixture, the remaining keys of a group are all below its cut, so its documents would be chosen first. New keys
        # keep the shares of the mixture.
        purpose = "words" if self.config.mix.strip() else "choose"
        return self._keyed(table, losses, "bytes" if self.config.premiums else "words", purpose)

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        """Yield documents that are lost completely or cut."""

        def items() -> Iterator[tuple[int, Columns, Sizes]]:
            for task, (claims, _) in received.by_task():
                yield task, claims, claims["size"].astype(np.int64)

        left: Items = items
        premiums = bool(self.config.premiums)
        for name, limit in self.config.word_limits.items():
            group = facts.group_of(name) if name else None
            left = _limited(left, round(limit * BYTES_PER_WORD) if premiums else limit, group, not premiums)
        for task, claims, words in left():
            reduced = words < claims["size"].astype(np.int64)
            if reduced.any():
                yield task, _lost(claims["row"][reduced], b"words", words[reduced])


def _limited(items: Items, limit: int, group: int | None, cuts_last: bool) -> Items:
    """Keep `limit` words of the documents of a group, or of all documents: those with the smallest keys.

    If `cuts_last` is set, also keep the first words of the next one, so that the number is exact.
    """

    def members(claims: Columns) -> npt.NDArray[np.bool_]:
        return np.ones(len(claims), bool) if group is None else np.asarray(claims["group"] == group)

    def ours() -> Iterator[tuple[Keys, Sizes]]:
        for _, claims, words in items():
            which = members(claims)
            yield claims["key"][which], words[which]

    end = mixture.cut(ours, limit)
    if end == mixture.ALL:
        return items

    def admitted() -> Iterator[tuple[int, Columns, Sizes, npt.NDArray[np.bool_]]]:
        before = 0
        for task, claims, words in items():
            which, chosen = members(claims), np.ones(len(words), bool)
            chosen[which] = end.admits(claims["key"][which], before)
            before += end.equals(claims["key"][which])
            yield task, claims, words, chosen

    # The documents below the cut have at most `limit` words together. The one with the next larger
    # key is cut to the remaining words, so that the number is exact. Find it in one more pass.
    used, key, cut_at = 0, 1 << 64, (-1, -1)
    for task, claims, words, chosen in admitted() if cuts_last else ():
        used += int(words[chosen & members(claims)].sum())
        out = np.flatnonzero(~chosen & (words > 0))
        if len(out) and int(claims["key"][out].min()) < key:
            first = out[int(np.argmin(claims["key"][out]))]
            key, cut_at = int(claims["key"][first]), (task, int(claims["row"][first]))

    def cut() -> Iterator[tuple[int, Columns, Sizes]]:
        for task, claims, words, chosen in admitted():
            kept = np.where(chosen, words, 0)
            if task == cut_at[0]:
                kept[claims["row"] == cut_at[1]] = limit - used
            yield task, claims, kept

    return cut


def _lost(row: npt.NDArray[np.uint32], reason: Any, words: Any = 0) -> Table:
    """Return a table of dropped documents (`words` is 0) and of documents cut to `words` words."""
    return lost(pa.array([b""] * len(row), pa.large_binary()), row=row, reason=reason, words=words)
