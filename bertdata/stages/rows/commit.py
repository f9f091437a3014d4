"""Commit rows: check that the counts of partitions add up, then write the vocabulary, the data card and, last, the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from ...codec import decode
from ...config import LABEL_1, PairsConfig
from ...dataset import manifest
from ...dataset.manifest_records import Pairing, ShardEntry, Statistics
from ...dataset.manifest_types import PairsManifest
from ...dataset.plan_files import StoredValue
from ...errors import EmptyResultError, VerificationError
from ...reports import card
from ...reports.page import write_beside
from ...rows.masking import max_predictions_of
from ...storage.files import to_path
from ...tally import Tally
from ...tokens import vocab
from ..corpus_reader import DocumentReader
from .build_rows import PARTNERS, TOKENS_OF, UNKNOWN_OF, Output
from .partitions import different_ids
from .partners import origins_of

__all__ = ["PairsCommit", "describe"]


@dataclass(frozen=True)
class PairsCommit:
    """Check that the counts add up, then write each output's vocabulary, data card and, last, manifest."""

    vocabulary: StoredValue
    outputs: list[Output]
    source: DocumentReader
    documents: int
    spill: str

    kinds: ClassVar = dict, list, list

    def roots(self) -> list[Path]:
        """Return the directories of the rows."""
        return [to_path(output.root) for output in self.outputs]

    def add_up(self, reports: Iterable[list[dict[str, Any]]]) -> tuple[list[list[dict[str, Any]]], list[Any]]:
        """Return, for each output, the summed report of each split and the files of each partition."""
        held = list(reports)  # about 1 kB each
        return [_add_up(of_output) for of_output in zip(*held, strict=True)], [
            [output["files"] for output in report] for report in held
        ]

    def __call__(self, sums: Iterable[list[list[dict[str, Any]]]], entries: Iterable[list[list[dict[str, Any]]]]) -> None:
        for number, output in enumerate(self.outputs):
            total = _add_up(chain.from_iterable(of_outputs[number] for of_outputs in sums))
            self._commit(output, total, [file for files in entries for file in files[number]])

    def _commit(self, output: Output, total: list[dict[str, Any]], files: list[dict[str, Any]]) -> None:
        root, config = to_path(output.root), output.config
        counts = {of_split["split"]: Counter(of_split["statistics"]) for of_split in total}
        in_all = sum(counts.values(), Counter[str]())
        if in_all["documents"] != self.documents:
            raise VerificationError(f"of {self.documents} documents in the corpus {in_all['documents']} came to their partitions")
        tallies = [Tally.from_json(tally) for of_split in total for tally in _named(of_split)]
        for split, count in counts.items():
            if not count["rows"]:
                raise EmptyResultError(_why_empty(split, tallies))
        vocabulary = vocab.of_run(self.vocabulary)
        names = vocab.write(root, vocabulary)
        shards = decode(files, list[ShardEntry])
        contents = PairsManifest(
            **manifest.head("pairs", config, shards, tallies, config.packages),
            inputs=self.source.inputs(),
            corpus=self.source.about(),
            shards=shards,
            files=[manifest.entry(root, name) for name in names],
            **vocabulary.in_manifest(),
            different_ids=different_ids(to_path(self.spill)),
            statistics=describe(in_all, config),
            tokens=_by_source(in_all, TOKENS_OF),
            unknown_tokens=_by_source(in_all, UNKNOWN_OF),
            origins=origins_of(self.source.manifest()) or None,
            pairings=_pairings(in_all) if config.objective == "nsp" else None,
            splits={
                of_split["split"]: describe(counts[of_split["split"]], config, shards=of_split["partitions"])
                for of_split in total
            },
        )
        manifest.check_rows(contents, in_all["rows"])
        chunks = sum(tally.left for tally in tallies if tally.stage.endswith("chunks"))
        if chunks != (held := in_all["parts" if config.pack else "rows"]):
            raise VerificationError(f"{chunks} chunks came out, but the rows hold {held}: please report this")
        write_beside(root, contents)
        manifest.write(root, contents, card.write(contents))


def _by_source(counts: Counter[str], prefix: str) -> dict[str, dict[str, int]]:
    """Return the counts whose names begin with a prefix, by source and language, such as the tokens of the documents.

    >>> _by_source(Counter({"rows": 3, "tokens of books en": 7, "tokens of books ": 2}), TOKENS_OF)
    {'books': {'': 2, 'en': 7}}
    """
    tokens: dict[str, dict[str, int]] = {}
    for name in sorted(name for name in counts if name.startswith(prefix)):
        source, _, language = name.removeprefix(prefix).partition(" ")
        tokens.setdefault(source, {})[language] = counts[name]
    return tokens


def _pairings(counts: Counter[str]) -> dict[str, dict[str, Pairing]]:
    """Return, by language, script and source of A: pairs, NotNext pairs, and NotNext pairs whose B has a different value.

    >>> _pairings(Counter({"pairs of source books": 7, "not_next of source books": 3}))
    {'language': {}, 'script': {}, 'source': {'books': Pairing(pairs=7, not_next=3, other=0)}}
    """
    found: dict[str, dict[str, Pairing]] = {}
    for fact in ("language", "script", "source"):
        prefix = f"{PARTNERS[0]} of {fact} "
        values = sorted(name.removeprefix(prefix) for name, count in counts.items() if name.startswith(prefix) and count)
        found[fact] = {value: Pairing(**{what: counts[f"{what} of {fact} {value}"] for what in PARTNERS}) for value in values}
    return found


def _add_up(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add up the partition reports of an output, or sums of them: one sum per split, in order of first appearance."""
    totals: dict[str, dict[str, Any]] = {}
    for part in parts:
        tallies = [Tally(tally["stage"]) for tally in part["tallies"]]
        new = {"split": part["split"], "partitions": 0, "statistics": Counter(), "tallies": tallies}
        total = totals.setdefault(part["split"], new)
        total["partitions"] += part.get("partitions", 1)
        total["statistics"].update(part["statistics"])
        for tally, more in zip(total["tallies"], part["tallies"], strict=True):
            tally.merge(Tally.from_json(more))
    return [{**total, "tallies": [tally.to_json() for tally in total["tallies"]]} for total in totals.values()]


def _named(total: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the counts of a split. Names in ``validation`` include the split."""
    prefix = "" if total["split"] == "train" else f"{total['split']} "
    return [{**tally, "stage": f"{prefix}{tally['stage']}"} for tally in total["tallies"]]


def _why_empty(split: str, tallies: list[Tally]) -> str:
    if split != "train":
        return f"no document of {split} produced a row. Add documents, or use a larger `validation_fraction`"
    reasons = ", ".join(f"{reason} {n}" for reason, n in tallies[0].dropped.items() if n)
    return (
        f"no document produced a row (dropped: {reasons}). A pair needs a document of two sentences, and a NotNext pair two "
        "documents of one language and script. Add documents, or use `pair_across_languages`"
    )


def describe(counts: Counter[str], config: PairsConfig, shards: int | None = None) -> Statistics:
    """Return the manifest's row statistics: number of rows, rows with label 1 under its name, and fill rate."""
    rows, tokens = counts["rows"], counts["tokens"]
    more: dict[str, Any] = {}
    if name := LABEL_1.get(config.objective):
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
