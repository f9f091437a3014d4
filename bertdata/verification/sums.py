"""Compare the manifest's counts with the shards: rows, tokens, labels, masks, bytes. Check that its counts add up."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ..config import LABEL_1_COUNTS, PairsConfig
from ..dataset.manifest_records import Statistics
from ..dataset.manifest_types import CorpusManifest, ExportManifest, Manifest, PairsManifest
from ..rows.masking import max_predictions_of
from ..tally import stage_name

_SHARD = re.compile(r"data/(train|validation)-(\d{5})-of-(\d{5})\.arrow")
Counts = Mapping[str, Counter[str]]  # of the files of a group (shards, rejects, drops), or of a split


def check(manifest: Manifest, groups: Counts, splits: Counts) -> Iterator[str]:
    """Yield the counts that are wrong."""
    for stage in manifest.counts:
        gone = sum(stage.dropped.values()) + sum(stage.rejected.values())
        if stage.entered != stage.left + gone:
            yield f"{stage.stage}: {stage.entered:,} in, {stage.left:,} out, {gone:,} dropped or rejected do not add up"
    if isinstance(manifest, CorpusManifest):
        yield from _names(manifest)
        yield from _documents(manifest, groups)
    elif isinstance(manifest, PairsManifest):
        yield from _names(manifest)
        yield from _pairs(manifest, splits)
    elif isinstance(manifest, ExportManifest):
        yield from _same("counts, rows that came out", sum(stage.left for stage in manifest.counts), manifest.rows)


def split_of(name: str) -> str:
    """Return the split of a shard, or an empty string if it has another name."""
    match = _SHARD.fullmatch(name)
    return match[1] if match else ""


def _names(manifest: CorpusManifest | PairsManifest) -> Iterator[str]:
    """Check the names of the shards. A corpus may lack some numbers, because a task that checks a file writes no shard."""
    names = [shard.name for shard in manifest.shards]
    if isinstance(manifest, PairsManifest):
        for split, count in ((split, entry.shards or 0) for split, entry in manifest.splits.items()):
            expected = [f"data/{split}-{number:05d}-of-{count:05d}.arrow" for number in range(count)]
            if [name for name in names if split_of(name) == split] != expected:
                yield f"shards of {split} are not data/{split}-00000-of-{count:05d} and so on, in order"
    elif names != sorted(set(names)) or len({name[-11:] for name in names}) > 1:
        yield "shards of train are not in order, or not of one number of tasks"
    if others := [name for name in names if split_of(name) not in getattr(manifest, "splits", ("train",))]:
        yield f"shards has {ascii(others[0])}, which is of no split"


def _documents(manifest: CorpusManifest, groups: Counts) -> Iterator[str]:
    """Check a corpus: documents and text by source, and the lists of rejects and drops against their counts."""
    counted, stages, sources = groups["shards"], manifest.counts, manifest.sources
    yield from _same("counts, documents that came out", sum(stage.left for stage in stages), manifest.rows)
    found = {name.removeprefix("documents of ") for name, count in counted.items() if name.startswith("documents of ") and count}
    yield from _same("sources", sorted(sources), sorted(set(sources) | found))
    for source, entry in sources.items():
        for what in ("documents", "text_bytes", "words", "characters"):
            yield from _same(f"sources.{source}.{what}", getattr(entry, what), counted[f"{what} of {source}"])
        for what in ("words", "characters", "documents"):
            of_languages = sum(getattr(amounts, what) for amounts in entry.languages.values())
            yield from _same(f"sources.{source}.languages, {what}", of_languages, getattr(entry, what))
        share = counted[f"text_bytes of {source}"] / max(1, counted["text_bytes"])
        yield from _near(f"sources.{source}.share", entry.share, share)
    came = sorted(stage.left for stage in stages if stage.left)
    yield from _same("counts, documents of each source", came, sorted(s.documents for s in sources.values() if s.documents))
    formulas = manifest.formulas
    parts = (formulas.written, formulas.dropped, formulas.left_out)
    for name in sorted({name for counts in (formulas.found, *parts) for name in counts}):
        yield from _same(f"formulas.found.{name}", formulas.found.get(name, 0), sum(counts.get(name, 0) for counts in parts))
    rejected: Counter[str] = sum((Counter(stage.rejected) for stage in stages), Counter())
    dropped: Counter[str] = sum((Counter(stage.dropped) for stage in stages), Counter())
    for reason in sorted(rejected | groups["rejects"]):
        yield from _same(f"counts, rejected as {reason}", rejected[reason], groups["rejects"][reason])
    for reason in sorted(groups["drops"]):  # other reasons are counted but not listed
        yield from _same(f"counts, dropped as {reason}", dropped[reason], groups["drops"][reason])


def _pairs(manifest: PairsManifest, splits: Counts) -> Iterator[str]:
    """Check rows: statistics, splits, the output of each stage, and that half of all labels are 1."""
    config, stages = manifest.settings, {stage.stage: stage for stage in manifest.counts}
    wanted = [stage_name(stage, split) for split in manifest.splits for stage in ("documents", "chunks", "tokens")]
    if problems := list(_same("counts, stages", sorted(stage.stage for stage in manifest.counts), sorted(wanted))):
        yield from problems
        return
    for split, entry in manifest.splits.items():
        documents, chunks, tokens = (stages[stage_name(stage, split)] for stage in ("documents", "chunks", "tokens"))
        yield from _same(f"counts, {chunks.stage} that came out", chunks.left, splits[split]["parts"])
        yield from _same(f"counts, {tokens.stage} that came out", tokens.left, splits[split]["text"])
        yield from _same(f"splits.{split}.documents", entry.documents, documents.entered)
        yield from _statistics(f"splits.{split}", entry, splits[split], config)
    total: Counter[str] = sum(splits.values(), Counter())
    yield from _statistics("statistics", manifest.statistics, total, config)
    for name in ("documents", "repeated_ids"):
        values = [getattr(entry, name) for entry in manifest.splits.values()]
        yield from _same(f"statistics.{name}", getattr(manifest.statistics, name), sum(values))
    in_all, unknown = (sum(sum(n.values()) for n in sources.values()) for sources in (manifest.tokens, manifest.unknown_tokens))
    entered = sum(stage.entered for stage in manifest.counts_of("tokens"))
    yield from _same("tokens, of all sources, in all copies", in_all * config.dupe_factor, entered)
    yield from _near("statistics.unknown_share", manifest.statistics.unknown_share, unknown / max(1, in_all))
    for fact, pairings in (manifest.pairings or {}).items():
        yield from _same(f"pairings.{fact}, pairs", sum(each.pairs for each in pairings.values()), total["labels"])
        yield from _same(f"pairings.{fact}, not_next", sum(each.not_next for each in pairings.values()), total["ones"])
        for value, each in pairings.items():  # the language, script or source of A gives no label away
            if fact != "source" and not config.pair_across_languages and 2 * each.not_next != each.pairs:
                yield f"pairings.{fact}.{ascii(value)[:100]}: {each.not_next:,} of {each.pairs:,} pairs are NotNext, not half"


def _statistics(where: str, stated: Statistics, counted: Counter[str], config: PairsConfig) -> Iterator[str]:
    rows = max(1, counted["rows"])
    counts = {"rows": counted["rows"], "tokens": counted["tokens"], **({"parts": counted["parts"]} if config.pack else {})}
    shares = {"mean_length": counted["tokens"] / rows, "padding_share": 1 - counted["tokens"] / (rows * config.max_seq_length)}
    if name := LABEL_1_COUNTS.get(config.objective):
        counts[name], shares[f"{name}_share"] = counted["ones"], counted["ones"] / max(1, counted["labels"])
    if config.masking == "static":
        counts |= {"masked": counted["masked"], "max_predictions": max_predictions_of(config)}
        shares["masked_share"] = counted["masked"] / max(1, counted["maskable"])
    for name, count in counts.items():
        yield from _same(f"{where}.{name}", getattr(stated, name), count)
    for name, share in shares.items():
        yield from _near(f"{where}.{name}", getattr(stated, name), share)
    if not 0 <= stated.unknown_share <= 1 or not 0 <= stated.repeated_ids <= stated.documents:
        yield f"{where} has an impossible unknown_share or repeated_ids"


def _same(what: str, stated: Any, counted: Any) -> Iterator[str]:
    if stated != counted:
        yield f"{what}: {_short(stated)} in the manifest, {_short(counted)} were found"


def _near(what: str, stated: float | None, counted: float) -> Iterator[str]:
    if stated is None or not math.isclose(stated, counted, rel_tol=1e-9, abs_tol=1e-12):
        yield f"{what}: {stated} in the manifest, {counted} was found"


def _short(value: Any) -> str:
    return f"{value:,}" if type(value) is int else ascii(value)[:200]
