"""Commit rows: check that the counts of partitions add up, then write the vocabulary, the data card and, last, the manifest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...config import LABEL_1_COUNTS, PairsConfig
from ...dataset import manifest
from ...dataset.manifest_records import Pairing, RowFile, Statistics
from ...dataset.manifest_types import PairsManifest
from ...errors import EmptyResultError, VerificationError
from ...reports import card
from ...reports.page import write_beside
from ...rows.masking import max_predictions_of
from ...tally import Tally, stage_name
from ...tokens import vocab
from ...tokens.vocab import Vocabulary
from ..corpus_reader import DocumentReader
from ..counts import under
from .build_rows import PartitionReport, RowsOutput
from .partners import origins_of


@dataclass
class _Split:
    """The shards of a split, and the sums of their counts. The names of stages in ``validation`` include the split."""

    shards: list[RowFile] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)  # by stage
    counts: Counter[str] = field(default_factory=Counter)


def commit(
    outputs: list[RowsOutput], vocabulary: Vocabulary, source: DocumentReader, reports: Iterable[list[PartitionReport]]
) -> None:
    """Check that the counts add up, then write each output's vocabulary, data card and, last, manifest."""
    sums = [defaultdict[str, _Split](_Split) for _ in outputs]
    for of_partition in reports:
        for splits, report in zip(sums, of_partition, strict=True):
            split = splits[report.split]
            split.shards.append(report.shard)
            split.counts.update(report.counts)
            for counts in report.tallies:
                name = stage_name(counts.stage, report.split)
                split.tallies.setdefault(name, Tally(name)).merge(Tally.of(counts))
    for output, splits in zip(outputs, sums, strict=True):
        _commit(output, vocabulary, source, splits)


def _commit(output: RowsOutput, vocabulary: Vocabulary, source: DocumentReader, splits: dict[str, _Split]) -> None:
    root, config = output
    corpus = source.manifest()
    in_all = sum((split.counts for split in splits.values()), Counter[str]())
    if in_all["documents"] != corpus.rows:
        raise VerificationError(f"of {corpus.rows} documents in the corpus {in_all['documents']} came to their partitions")
    tallies = [tally for split in splits.values() for tally in split.tallies.values()]
    for name, split in splits.items():
        if not split.counts["rows"]:
            raise EmptyResultError(_why_empty(name, tallies))
    names = vocab.write(root, vocabulary)
    shards = [shard for split in splits.values() for shard in split.shards]
    contents = PairsManifest(
        **manifest.head("pairs", config, shards, tallies, config.packages),
        inputs=source.inputs(),
        corpus=source.about(),
        files=[manifest.entry(root, name) for name in names],
        **vocabulary.in_manifest(),
        statistics=describe(in_all, config),
        tokens=_by_source(in_all, "tokens"),
        unknown_tokens=_by_source(in_all, "unknown"),
        origins=origins_of(corpus),
        pairings=_pairings(in_all) if config.objective == "nsp" else None,
        splits={name: describe(split.counts, config, shards=len(split.shards)) for name, split in splits.items()},
    )
    manifest.check_rows(contents, in_all["rows"])
    chunks = sum(stage.left for stage in contents.counts_of("chunks"))
    if chunks != (held := in_all["parts" if config.pack else "rows"]):
        raise VerificationError(f"{chunks} chunks came out, but the rows have {held}: please report this")
    write_beside(root, contents)
    manifest.store(root, contents, card.write(contents))


def _by_source(counts: Counter[str], what: str) -> dict[str, dict[str, int]]:
    """Return the counts that are not zero, by source and language."""
    found = defaultdict[str, dict[str, int]](dict)
    for name, count in under(counts, what).items():
        source, _, language = name.partition("/")
        found[source][language] = count
    return {**found}


def _pairings(counts: Mapping[str, int]) -> dict[str, dict[str, Pairing]]:
    """Return, by language, script and source of A: pairs, NotNext pairs, and NotNext pairs whose B has a different value.

    >>> _pairings(Counter({"pairs/source/books": 7, "not_next/source/books": 3}))
    {'language': {}, 'script': {}, 'source': {'books': Pairing(pairs=7, not_next=3, other=0)}}
    """
    return {
        fact: {
            value: Pairing(pairs=count, not_next=counts[f"not_next/{fact}/{value}"], other=counts[f"other/{fact}/{value}"])
            for value, count in under(counts, f"pairs/{fact}").items()
        }
        for fact in ("language", "script", "source")
    }


def _why_empty(split: str, tallies: list[Tally]) -> str:
    if split != "train":
        return f"no document of {split} produced a row. Add documents, use a larger `validation_fraction`, or omit it"
    reasons = ", ".join(f"{reason} {n}" for reason, n in tallies[0].dropped.items() if n)
    return (
        f"no document produced a row (dropped: {reasons}). A pair needs two sentences, and four pairs need several documents of "
        "one language and script in a shard. Add documents, use fewer `shards`, `pair_across_languages`, or another `objective`"
    )


def describe(counts: Counter[str], config: PairsConfig, shards: int | None = None) -> Statistics:
    """Return the manifest's row statistics: number of rows, rows with label 1 under its name, and fill rate."""
    rows, tokens = counts["rows"], counts["tokens"]
    more: dict[str, Any] = {}
    if name := LABEL_1_COUNTS.get(config.objective):
        more |= {name: counts["ones"], f"{name}_share": counts["ones"] / counts["parts" if config.pack else "rows"]}
    if config.masking == "static":
        more |= {"masked": counts["masked"], "masked_share": counts["masked"] / counts["maskable"]}
        more |= {"max_predictions": max_predictions_of(config)}
    return Statistics(
        shards=shards,
        rows=rows,
        documents=counts["documents"],
        repeated_ids=counts["repeated_ids"],
        tokens=tokens,
        parts=counts["parts"] if config.pack else None,
        mean_length=tokens / rows,
        padding_share=1 - tokens / (rows * config.max_seq_length),
        unknown_share=counts["unknown"] / counts["text_tokens"],  # share of [UNK] among the documents' tokens
        **more,
    )
