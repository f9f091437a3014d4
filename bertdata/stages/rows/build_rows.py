"""Build the rows of one partition: order its documents, build each output's rows, and write their shards."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import keys, rows
from ...codec import Count
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
Numbered = tuple[list[T], npt.NDArray[np.int64]]  # distinct values, and the index of each document's value [D]


class PartitionReport(TaskReport, frozen=True, kw_only=True):
    """The shard of a partition's rows, and their counts.

    Attributes:
        split: Name of the split.
        shard: The manifest entry of the shard.
        tallies: Counts of each stage.
        counts: All other counts, by name: ``rows``, ``documents``, ``masked``, …; ``tokens/books/en`` and ``unknown/books/en``
            by source and language of the documents; ``pairs/language/en``, ``not_next/language/en`` and ``other/language/en``
            (NotNext pairs whose B has another value) by the language, script or source of A.
    """

    split: str
    shard: RowFile
    tallies: Sequence[StageCounts]
    counts: dict[str, Count]

    @property
    def files(self) -> Sequence[RowFile]:
        """The shard."""
        return [self.shard]


class RowsOutput(NamedTuple):
    """An output directory of rows and its settings."""

    root: Path
    config: PairsConfig


class _Documents(NamedTuple):
    """The documents of a partition, as all outputs use them."""

    partition: rows.Partition
    origin: npt.NDArray[np.uint16]  # the number of each document's source and language in the manifest
    facts: dict[str, Numbered[str]]  # language, script and source, whose pairs are counted
    counts: dict[str, int]


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
    batch = joined(pieces, schema(vocabulary))
    ids = batch.column("id").to_pylist()
    drawn = keys.many(layout.seed, "order", last=zip(ids)).tolist()
    order = sorted(range(len(drawn)), key=[*zip(drawn, ids, strict=True)].__getitem__)
    batch = batch.take(pa.array(order, pa.int64()))
    # The digest of everything the rows are made from. It is part of the task's description, so rows are made again if a document
    # changed, and reused if not.
    content = hashlib.sha256(batch.serialize()).hexdigest()
    origins = origins_in(batch)
    partition = _partition(stored, layout.partners, batch, origins)
    del batch
    numbers = {origin: n for n, origin in enumerate(corpus_origins)}
    documents = _Documents(
        partition=partition,
        origin=np.array([numbers[origin[:2]] for origin in origins], np.uint16),
        facts=_facts(origins) if layout.partners.scripts else {},
        counts=_document_counts(partition, origins, vocabulary.special.unk),
    )
    for output in outputs:
        work = partial(_build, output, vocabulary, documents, *layout.split_of(number))
        perform(output.root, "pairs", number, [number, content], work, PartitionReport)


def _partition(
    stored: StoredValue, partners: Partners, documents: pa.RecordBatch, origins: list[DocumentOrigin]
) -> rows.Partition:
    tokens, sizes, words = (documents.column(name).flatten().to_numpy(False) for name in ("ids", "sizes", "continues"))
    continues = words if len(words) else vocab.of_run(stored).continues.take(tokens)
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


@functools.lru_cache(maxsize=2)
def _variants_of_run(vocabulary: StoredValue) -> npt.NDArray[np.int8]:
    """Return, for each vocabulary id, its number of traditional minus simplified characters [V]."""
    known = vocab.of_run(vocabulary)
    return writing.signs([bare(piece, known.special.mark) for piece in known.pieces])


def _numbered(origins: list[DocumentOrigin], function: Callable[[DocumentOrigin], T]) -> Numbered[T]:
    """Return the distinct values of a function of origins, sorted, and the index of each document's value."""
    values = {origin: function(origin) for origin in {*origins}}
    names = sorted({*values.values()}, key=tuple)
    index = {origin: names.index(value) for origin, value in values.items()}
    return names, np.array([index[origin] for origin in origins], np.int64)


def _facts(origins: list[DocumentOrigin]) -> dict[str, Numbered[str]]:
    return {
        "source": _numbered(origins, lambda origin: origin.source),
        "language": _numbered(origins, lambda origin: writing.plain(origin.language)),
        "script": _numbered(origins, lambda origin: origin.script),
    }


def _document_counts(partition: rows.Partition, origins: list[DocumentOrigin], unk: int) -> dict[str, int]:
    """Count the documents, repeated ids, and the tokens and [UNK] tokens of all documents and by source and language."""
    names, numbers = _numbered(origins, lambda origin: f"{origin.source}/{origin.language}")
    is_unknown = partition.tokens == unk
    ends = partition.sentences[partition.documents[1:]]
    unknown_in = numbers[np.searchsorted(ends, np.flatnonzero(is_unknown), "right")]  # the origin of each [UNK]
    tokens = np.bincount(numbers, partition.sizes, len(names)).astype(np.int64).tolist()
    unknown = np.bincount(unknown_in, minlength=len(names)).tolist()
    return {
        "documents": len(partition.ids),
        "repeated_ids": len(partition.ids) - len(set(partition.ids)),
        "text_tokens": len(partition.tokens),
        "unknown": int(np.count_nonzero(is_unknown)),
        **{f"tokens/{name}": count for name, count in zip(names, tokens, strict=True)},
        **{f"unknown/{name}": count for name, count in zip(names, unknown, strict=True)},
    }


def _build(
    output: RowsOutput, vocabulary: vocab.Vocabulary, documents: _Documents, split: str, number: int, count: int
) -> PartitionReport:
    """Build one output's rows of a partition, and write their shard."""
    root, config = output
    built = rows.build(documents.partition, config, vocabulary.special)
    columns = _columns(built, documents, config)
    counts = {**documents.counts, **rows.statistics(built), **_pair_counts(built, documents.facts)}
    if config.masking == "static":
        masked, masks = mask_rows(built, vocabulary, config, split, number)
        columns, counts = {**columns, **masked}, {**counts, **masks}
    schema = shards.pair_schema(len(vocabulary.pieces), columns)
    file = shards.write(root, shards.name(split, number, count), schema, [shards.pair_batch(schema, columns)])
    return PartitionReport(split=split, shard=file, tallies=[tally.counts() for tally in built.tallies], counts=counts)


def _columns(built: rows.Pairs, documents: _Documents, config: PairsConfig) -> shards.Columns:
    """Return the unmasked columns of the shard. With `provenance`, pairs name the documents of A and B, other rows all."""
    columns: shards.Columns = {"ends": built.ends, "input_ids": built.input_ids, "token_type_ids": built.token_type_ids}
    part_ends, first = np.arange(len(built.ends)), built.ends[:-1]
    if built.parts is not None:
        part_ends, first = np.searchsorted(built.parts, built.ends), built.parts[:-1]
        columns["part_ends"] = part_ends
        columns["document_starts"] = first - np.repeat(built.ends[:-1], np.diff(part_ends))
    if built.labels is not None:
        columns["next_sentence_label"] = built.labels
    if built.continues is not None:
        columns["continues_word"] = built.continues
    columns["origin"] = documents.origin[built.a_documents[part_ends[:-1]]]  # of the first document of each row
    if config.provenance:
        ids = documents.partition.ids
        a = [ids[document] for document in built.a_documents.tolist()]
        if built.b_documents is None:
            columns |= {"documents": a, "document_ends": part_ends}
        else:
            columns |= {"a_document": a, "b_document": [ids[document] for document in built.b_documents.tolist()]}
    return columns


def _pair_counts(built: rows.Pairs, facts: dict[str, Numbered[str]]) -> dict[str, int]:
    """Count pairs, NotNext pairs, and those whose B has a different value, for each fact of A's document."""
    counts: dict[str, int] = {}
    if built.labels is None or built.b_documents is None:
        return counts
    for fact, (names, of) in facts.items():
        a, other = of[built.a_documents], of[built.a_documents] != of[built.b_documents]
        for what, which in (("pairs", slice(None)), ("not_next", built.labels == 1), ("other", other)):
            numbers = np.bincount(a[which], minlength=len(names)).tolist()
            counts |= {f"{what}/{fact}/{name}": count for name, count in zip(names, numbers, strict=True)}
    return counts
