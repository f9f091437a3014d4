"""Commit rows: check that the counts of partitions add up, then write the vocabulary, the data card and, last, the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ...config import LABEL_1_COUNTS, PairsConfig
from ...dataset import croissant, manifest
from ...dataset.manifest_records import Pairing, ShardEntry, Statistics
from ...dataset.manifest_types import PairsManifest
from ...dataset.plan_files import StoredValue
from ...errors import EmptyResultError, VerificationError
from ...reports import card
from ...reports.page import write_beside
from ...rows.masking import max_predictions_of
from ...tally import Tally, stage_name
from ...tokens import vocab
from ..corpus_reader import DocumentReader
from .build_rows import Groups, PartitionReport, RowsOutput, SplitCounts
from .partitions import different_ids
from .partners import origins_of

__all__ = ["PairsCommit", "describe"]


@dataclass(frozen=True)
class PairsCommit:
    """Check that the counts add up, then write each output's vocabulary, data card and, last, manifest."""

    vocabulary: StoredValue
    outputs: list[RowsOutput]
    source: DocumentReader
    documents: int
    spill: Path

    kind: ClassVar = PartitionReport

    def roots(self) -> list[Path]:
        """Return the directories of the rows."""
        return [output.root for output in self.outputs]

    def __call__(self, reports: Iterable[list[PartitionReport]]) -> None:
        sums = [dict[str, SplitCounts]() for _ in self.outputs]  # by split
        shards = [list[ShardEntry]() for _ in self.outputs]
        for of_partition in reports:
            for total, listed, report in zip(sums, shards, of_partition, strict=True):
                counts = report.counts
                total[counts.split] = _sum(total[counts.split], counts) if counts.split in total else counts
                listed.append(report.shard)
        for output, total, listed in zip(self.outputs, sums, shards, strict=True):
            self._commit(output, list(total.values()), listed)

    def _commit(self, output: RowsOutput, total: list[SplitCounts], shards: list[ShardEntry]) -> None:
        root, config = output.root, output.config
        counts = {part.split: Counter(part.statistics) for part in total}
        groups = _add_groups(part.groups for part in total)
        in_all = sum(counts.values(), Counter[str]())
        if in_all["documents"] != self.documents:
            raise VerificationError(f"of {self.documents} documents in the corpus {in_all['documents']} came to their partitions")
        tallies = [tally for part in total for tally in _named(part)]
        for split, count in counts.items():
            if not count["rows"]:
                raise EmptyResultError(_why_empty(split, tallies))
        vocabulary = vocab.of_run(self.vocabulary)
        names = vocab.write(root, vocabulary)
        contents = PairsManifest(
            **manifest.head("pairs", config, shards, tallies, config.packages),
            inputs=self.source.inputs(),
            corpus=self.source.about(),
            shards=shards,
            files=[manifest.entry(root, name) for name in names],
            **vocabulary.in_manifest(),
            different_ids=different_ids(self.spill),
            statistics=describe(in_all, config),
            tokens=_sorted(groups["tokens"]),
            unknown_tokens=_sorted(groups["unknown"]),
            origins=origins_of(self.source.manifest()) or None,
            pairings=_pairings(groups) if config.objective == "nsp" else None,
            splits={part.split: describe(counts[part.split], config, shards=part.partitions) for part in total},
        )
        manifest.check_rows(contents, in_all["rows"])
        chunks = sum(stage.left for stage in contents.counts_of("chunks"))
        if chunks != (held := in_all["parts" if config.pack else "rows"]):
            raise VerificationError(f"{chunks} chunks came out, but the rows have {held}: please report this")
        write_beside(root, contents)
        manifest.store(root, contents, card.write(contents), croissant.text(contents, croissant.columns(root, contents)))


def _sorted(counts: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Return the counts that are not zero, by source and language."""
    found = {source: {language: n for language, n in sorted(counts[source].items()) if n} for source in sorted(counts)}
    return {source: languages for source, languages in found.items() if languages}


def _pairings(groups: Groups) -> dict[str, dict[str, Pairing]]:
    """Return, by language, script and source of A: pairs, NotNext pairs, and NotNext pairs whose B has a different value.

    >>> _pairings({"pairs": {"source": {"books": 7}}, "not_next": {"source": {"books": 3}}, "other": {"source": {"books": 0}}})
    {'language': {}, 'script': {}, 'source': {'books': Pairing(pairs=7, not_next=3, other=0)}}
    """
    pairs, not_next, other = groups["pairs"], groups["not_next"], groups["other"]
    return {
        fact: {
            value: Pairing(pairs=count, not_next=not_next[fact][value], other=other[fact][value])
            for value, count in sorted(pairs.get(fact, {}).items())
            if count
        }
        for fact in ("language", "script", "source")
    }


def _sum(one: SplitCounts, two: SplitCounts) -> SplitCounts:
    tallies, statistics = [Tally.of(counts) for counts in one.tallies], Counter(one.statistics)
    for tally, more in zip(tallies, two.tallies, strict=True):
        tally.merge(Tally.of(more))
    statistics.update(two.statistics)
    return SplitCounts(
        split=one.split,
        partitions=one.partitions + two.partitions,
        tallies=[tally.counts() for tally in tallies],
        statistics=statistics,
        groups=_add_groups([one.groups, two.groups]),
    )


def _add_groups(parts: Iterable[Groups]) -> Groups:
    total: dict[str, dict[str, Counter[str]]] = {}
    for part in parts:
        for what, groups in part.items():
            of_what = total.setdefault(what, {})
            for group, counts in groups.items():
                of_what.setdefault(group, Counter()).update(counts)
    return {what: {**groups} for what, groups in total.items()}


def _named(part: SplitCounts) -> list[Tally]:
    """Return the counts of a split. Names in ``validation`` include the split."""
    tallies = [Tally.of(counts) for counts in part.tallies]
    for tally in tallies:
        tally.stage = stage_name(tally.stage, part.split)
    return tallies


def _why_empty(split: str, tallies: list[Tally]) -> str:
    if split != "train":
        return f"no document of {split} produced a row. Add documents, use a larger `validation_fraction`, or omit it"
    reasons = ", ".join(f"{reason} {n}" for reason, n in tallies[0].dropped.items() if n)
    return (
        f"no document produced a row (dropped: {reasons}). A pair needs a document of two sentences, and a NotNext pair two "
        "documents of one language and script. Add documents, or use `pair_across_languages`"
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
