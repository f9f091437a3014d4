"""Commit rows: the counts of all buckets must add up; vocabulary, data card and, last, the manifest are written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...config import LABEL_1, PairsConfig
from ...dataset import manifest
from ...errors import EmptyResultError, VerificationError
from ...io.files import file_entry, to_path
from ...report import card
from ...report.page import write_beside
from ...rows.masking import max_predictions_of
from ...tally import Tally
from ...tokens import vocab
from ..documents import Reader
from .bucket import Output

__all__ = ["PairsCommit", "describe"]


@dataclass(frozen=True)
class PairsCommit:
    """Check that the counts add up, and write each output's vocabulary, data card and, last, manifest."""

    vocabulary: vocab.Vocabulary
    outputs: list[Output]
    source: Reader
    documents: int

    def roots(self) -> list[Path]:
        """Return the directories of the pairs."""
        return [to_path(output.root) for output in self.outputs]

    def __call__(self, reports: list[list[dict[str, Any]]]) -> None:
        for number, output in enumerate(self.outputs):
            self._commit(output, [report[number] for report in reports])

    def _commit(self, output: Output, reports: list[dict[str, Any]]) -> None:
        root, config = to_path(output.root), output.config
        splits = {split: [r for r in reports if r["split"] == split] for split in dict.fromkeys(r["split"] for r in reports)}
        counts = {split: _add_up(own) for split, own in splits.items()}
        entered = sum(count["documents"] for count in counts.values())
        if entered != self.documents:
            raise VerificationError(f"of {self.documents} documents in the corpus {entered} came to their buckets")
        tallies = [tally for split, own in splits.items() for tally in _merge(split, own)]
        for split, count in counts.items():
            if not count["rows"]:
                raise EmptyResultError(_why_empty(split, tallies))
        names = vocab.write(root, self.vocabulary)
        made = manifest.make(
            "pairs",
            config=config.identity(),
            inputs=self.source.inputs(),
            corpus=self.source.about(),
            shards=[file for report in reports for file in report["files"]],
            tallies=tallies,
            packages=config.packages,
            files=[file_entry(root, name) for name in names],
            vocab_size=len(self.vocabulary.pieces),
            statistics=describe(sum(counts.values(), Counter[str]()), config),
            splits={s: {"shards": len(splits[s]), **describe(count, config)} for s, count in counts.items()},
        )
        total: Counter[str] = sum(counts.values(), Counter())
        manifest.check_rows(made, total["rows"])
        chunks = sum(tally.left for tally in tallies if tally.stage.endswith("chunks"))
        if chunks != (held := total["parts" if config.pack else "rows"]):
            raise VerificationError(f"{chunks} chunks came out, but the rows hold {held}: please report this")
        write_beside(root, made)
        manifest.write(root, made, card.write(made))


def _add_up(reports: list[dict[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report["statistics"])
    return counts


def _merge(split: str, reports: list[dict[str, Any]]) -> list[Tally]:
    """Add up the counts of a split; those of ``validation`` say so in their names."""
    merged = [Tally(t["stage"] if split == "train" else f"{split} {t['stage']}") for t in reports[0]["tallies"]]
    for report in reports:
        for tally, more in zip(merged, report["tallies"], strict=True):
            tally.merge(Tally.from_json(more))
    return merged


def _why_empty(split: str, tallies: list[Tally]) -> str:
    if split != "train":
        return f"no document of {split} gave a row: give more documents, or a larger `validation_fraction`"
    reasons = ", ".join(f"{reason} {n}" for reason, n in tallies[0].dropped.items() if n)
    return f"no document gave a row (dropped: {reasons}): a pair takes a document of two sentences"


def describe(counts: Counter[str], config: PairsConfig) -> dict[str, Any]:
    """Return what a manifest says of rows: their number, how many have label 1 under its name, and how full they are."""
    rows, tokens = counts["rows"], counts["tokens"]
    found: dict[str, Any] = {name: counts[name] for name in ("rows", "documents", "repeated_ids", "tokens")}
    if config.pack:
        found |= {"parts": counts["parts"]}
    if name := LABEL_1.get(config.objective):
        found |= {name: counts["ones"], f"{name}_share": counts["ones"] / counts["parts" if config.pack else "rows"]}
    found |= {"mean_length": tokens / rows, "padding_share": 1 - tokens / (rows * config.max_seq_length)}
    found["unknown_share"] = counts["unknown"] / counts["text_tokens"]  # [UNK] among the documents' tokens
    if config.masking == "static":
        masked = counts["masked"]
        found |= {"masked": masked, "masked_share": masked / counts["maskable"], "max_predictions": max_predictions_of(config)}
    return found
