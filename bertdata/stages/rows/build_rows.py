"""Build the rows of one partition: order its documents, build each output's rows, and write their shards."""

from __future__ import annotations

import functools
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import keys, rows
from ...codec import Count, Record
from ...config import PairsConfig
from ...dataset import shards
from ...dataset.manifest_records import RowFile
from ...dataset.tasks import StoredValue, TaskReport, perform
from ...pieces import bare
from ...tally import StageCounts
from ...text.language import writing
from ...tokens import vocab
from .partitions import Layout, joined, origins_in, schema
from .partners import DocumentOrigin, Partners
from .static_masks import mask_rows

T = TypeVar("T", bound="str | tuple[str, ...]")
_PARTNERS = ("pairs", "not_next", "other")  # counted by language, script and source of A
Groups = dict[str, dict[str, dict[str, Count]]]  # counts of what, by group and name: see `SplitCounts`


class SplitCounts(Record, frozen=True, kw_only=True):
    """The counts of a partition's rows.

    Attributes:
        split: Name of the split.
        tallies: Counts of each stage.
        statistics: Rows, documents and tokens, by name.
        groups: ``tokens`` and ``unknown`` by source and language of the documents. ``pairs``, ``not_next`` and ``other`` (the
            NotNext pairs whose B has a different value) by fact and value of A: its language, script or source.
    """

    split: str
    tallies: Sequence[StageCounts]
    statistics: dict[str, Count]
    groups: Groups


class PartitionReport(TaskReport, frozen=True, kw_only=True):
    """The shard of a partition's rows, and their counts."""

    shard: RowFile
    counts: SplitCounts

    @property
    def files(self) -> Sequence[RowFile]:
        """The shard."""
        return [self.shard]


class RowsOutput(NamedTuple):
    """An output directory of rows and its settings."""

    root: Path
    config: PairsConfig


def build_partition(
    stored: StoredValue,
    outputs: Sequence[RowsOutput],
    layout: Layout,
    corpus_origins: Sequence[tuple[str, str]],
    number: int,
    pieces: Iterable[bytes],
) -> None:
    """Build a partition's rows, once for each output. `corpus_origins` are sources and languages, in order of their numbers."""
    # Pieces arrive in order of tasks, which depends on how the input was divided. Sort by a random key of the document instead,
    # so that any division makes the same rows.
    vocabulary = vocab.of_run(stored)
    documents = joined(pieces, schema(vocabulary))
    ids = documents.column("id").to_pylist()
    drawn = keys.many(layout.seed, "order", last=zip(ids)).tolist()
    order = sorted(range(len(drawn)), key=[*zip(drawn, ids, strict=True)].__getitem__)
    documents = documents.take(pa.array(order, pa.int64()))
    # The digest of everything the rows are made from. It is part of the task's description, so rows are made again if a document
    # changed, and reused if not.
    content = hashlib.sha256(documents.serialize()).hexdigest()
    origins = origins_in(documents)
    partition = _partition(stored, layout.partners, documents, origins)
    del documents
    tokens = _tokens(origins, partition, vocabulary.special.unk)
    numbers = {origin: n for n, origin in enumerate(corpus_origins)}
    origin = np.array([numbers[each[:2]] for each in origins], np.uint16) if numbers else None
    facts = _facts(origins) if layout.partners.scripts else {}
    for output in outputs:
        work = _Build(output, vocabulary, partition, origin, tokens, facts, *layout.split_of(number))
        perform(output.root, "pairs", number, [number, content], work, PartitionReport)


def _partition(
    stored: StoredValue, partners: Partners, documents: pa.RecordBatch, origins: list[DocumentOrigin]
) -> rows.Partition:
    tokens, sizes, words = (documents.column(name).flatten().to_numpy(False) for name in ("ids", "sizes", "continues"))
    continues = words if len(words) else _continues_of_run(stored).take(tokens)
    sentences = np.append(0, np.cumsum(sizes, dtype=np.int64))
    begin = sentences[sentences < len(tokens)]
    if continues[begin].any():  # the first token of a sentence always begins a word
        continues = continues.copy()
        continues[begin] = False
    names, groups = _numbered(origins, partners.group)
    is_chinese = not partners.across and any(origin.script in writing.CHINESE for origin in {*origins})
    variants = _variants_of_run(stored) if is_chinese else None
    first = np.append(0, np.cumsum(documents.column("sizes").value_lengths().to_numpy()))
    of_group = groups if len(names) > 1 else None
    return rows.Partition(tokens, continues, sentences, first, documents.column("id").to_pylist(), of_group, variants)


@dataclass(frozen=True)
class _Build:
    """Build one output's rows of a partition, and write their shard."""

    output: RowsOutput
    vocabulary: vocab.Vocabulary
    partition: rows.Partition
    origin: npt.NDArray[np.uint16] | None  # the origin number of each document
    tokens: Groups
    facts: Facts
    split: str
    number: int
    count: int

    def __call__(self) -> PartitionReport:
        config = self.output.config
        built = rows.build(self.partition, self.output.config, self.vocabulary.special)
        columns, counts = self._columns(built), self._counts(built)
        if config.masking == "static":
            masked, masks = mask_rows(built, self.vocabulary, config, self.split, self.number)
            columns, counts = {**columns, **masked}, {**counts, **masks}
        schema = shards.pair_schema(len(self.vocabulary.pieces), columns)
        name = shards.name(self.split, self.number, self.count)
        file = shards.write(self.output.root, name, schema, [shards.pair_batch(schema, columns)])
        tallies, groups = [tally.counts() for tally in built.tallies], {**self.tokens, **self._partners(built)}
        return PartitionReport(
            shard=file, counts=SplitCounts(split=self.split, tallies=tallies, statistics=counts, groups=groups)
        )

    def _columns(self, built: rows.Pairs) -> shards.Columns:
        """Return the unmasked columns of the shard."""
        columns: shards.Columns = {"ends": built.ends, "input_ids": built.input_ids, "token_type_ids": built.token_type_ids}
        if built.parts is not None:
            part_ends = np.searchsorted(built.parts, built.ends)
            columns["part_ends"] = part_ends
            columns["document_starts"] = built.parts[:-1] - np.repeat(built.ends[:-1], np.diff(part_ends))
        if built.labels is not None:
            columns["next_sentence_label"] = built.labels
        if built.continues is not None:
            columns["continues_word"] = built.continues
        if self.origin is not None:
            columns["origin"] = self.origin[built.a_documents[_first_documents(built)]]
        if self.output.config.provenance:
            columns |= self._documents(built)
        return columns

    def _documents(self, built: rows.Pairs) -> shards.Columns:
        """Return the columns with the document ids: of A and B for pairs, else of each row."""
        a = [self.partition.ids[d] for d in built.a_documents.tolist()]
        if built.b_documents is not None:
            return {"a_document": a, "b_document": [self.partition.ids[d] for d in built.b_documents.tolist()]}
        ends = np.arange(len(built.ends)) if built.parts is None else np.searchsorted(built.parts, built.ends)
        return {"documents": a, "document_ends": ends}

    def _counts(self, built: rows.Pairs) -> dict[str, int]:
        """Count the rows and, for documents, their number, repeated ids, tokens and [UNK] tokens."""
        documents, unk = self.partition.ids, self.vocabulary.special.unk
        return {
            **rows.statistics(built),
            "documents": len(documents),
            "repeated_ids": len(documents) - len(set(documents)),
            "text_tokens": len(self.partition.tokens),
            "unknown": int(np.count_nonzero(self.partition.tokens == unk)),
        }

    def _partners(self, built: rows.Pairs) -> Groups:
        """Count pairs, NotNext pairs, and those whose B has a different value, for each fact of A's document."""
        counts: Groups = {what: {} for what in _PARTNERS}
        if built.labels is None or built.a_documents is None or built.b_documents is None:
            return counts
        for fact, (names, of) in self.facts.items():
            a, other = of[built.a_documents], of[built.a_documents] != of[built.b_documents]
            for what, which in zip(_PARTNERS, (slice(None), built.labels == 1, other), strict=True):
                numbers = np.bincount(a[which], minlength=len(names)).tolist()
                counts[what][fact] = dict(zip(names, numbers, strict=True))
        return counts


def _first_documents(built: rows.Pairs) -> npt.NDArray[np.int64]:
    """Return where the first document of each row is in `a_documents` [N]: that of A in a pair."""
    return np.arange(len(built.ends) - 1) if built.parts is None else np.searchsorted(built.parts[:-1], built.ends[:-1])


Facts = dict[str, tuple[list[str], npt.NDArray[np.int64]]]  # by fact: its values, and the value index of each document


def _facts(origins: list[DocumentOrigin]) -> Facts:
    """Return the language, script and source of documents."""
    return {
        "source": _numbered(origins, lambda origin: origin.source),
        "language": _numbered(origins, lambda origin: writing.plain(origin.language)),
        "script": _numbered(origins, lambda origin: origin.script),
    }


def _numbered(origins: list[DocumentOrigin], function: Callable[[DocumentOrigin], T]) -> tuple[list[T], npt.NDArray[np.int64]]:
    """Return the distinct values of a function of origins, sorted, and the index of each document's value [D]."""
    values = {origin: function(origin) for origin in {*origins}}
    names = sorted({*values.values()}, key=tuple)
    index = {origin: names.index(value) for origin, value in values.items()}
    return names, np.array([index[origin] for origin in origins], np.int64)


@functools.lru_cache(maxsize=2)
def _variants_of_run(vocabulary: StoredValue) -> npt.NDArray[np.int8]:
    """Return, for each vocabulary id, its number of traditional minus simplified characters [V]."""
    known = vocab.of_run(vocabulary)
    return writing.signs([bare(piece, known.special.mark) for piece in known.pieces])


@functools.lru_cache(maxsize=2)
def _continues_of_run(vocabulary: StoredValue) -> npt.NDArray[np.bool_]:
    """Return a mask of the vocabulary ids that continue a word [V]."""
    return vocab.of_run(vocabulary).continues()


def _tokens(origins: list[DocumentOrigin], partition: rows.Partition, unk: int) -> Groups:
    """Count the tokens and the [UNK] tokens of documents by source and language."""
    tokens, unknown = defaultdict[str, dict[str, int]](dict), defaultdict[str, dict[str, int]](dict)
    names, numbers = _numbered(origins, lambda origin: origin[:2])
    ends = partition.sentences[partition.documents[1:]]
    unknown_in = np.searchsorted(ends, np.flatnonzero(partition.tokens == unk), "right")  # the document of each [UNK]
    counts = np.bincount(numbers, partition.sizes, len(names)).astype(np.int64).tolist()
    unknown_counts = np.bincount(numbers[unknown_in], minlength=len(names)).tolist()
    for number in dict.fromkeys(numbers.tolist()):  # in order of documents
        source, language = names[number]
        tokens[source][language], unknown[source][language] = counts[number], unknown_counts[number]
    return {"tokens": {**tokens}, "unknown": {**unknown}}
