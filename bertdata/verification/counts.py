"""Compare the manifest's counts with the shards: rows, tokens, labels, masks, bytes. Check that its counts add up."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..config import LABEL_1_COUNTS, PairsConfig
from ..dataset.manifest_records import SourceEntry, Statistics
from ..dataset.manifest_types import CorpusManifest, ExportManifest, Manifest, PairsManifest
from ..errors import VerificationError
from ..rows.masking import max_predictions_of
from ..tally import Tally, stage_name
from . import leaks
from .documents import SOURCES
from .pairs import not_half

__all__ = ["documents", "export", "pairs", "stages"]

_SHARD = re.compile(r"data/train-(\d{5})-of-(\d{5})\.(arrow|parquet)")


def stages(manifest: Manifest) -> Iterator[str]:
    """Check the counts of each stage, which all datasets have."""
    for tally in map(Tally.of, manifest.counts):
        try:
            tally.check()
        except VerificationError:
            gone = sum(tally.dropped.values()) + sum(tally.rejected.values())
            yield f"{tally.stage}: {tally.entered:,} in, {tally.left:,} out, {gone:,} dropped or rejected do not add up"
    if unversioned := sorted(name for name, version in manifest.versions.items() if not version):
        yield f"versions has none of {unversioned[0]}"


def documents(manifest: CorpusManifest, counted: Counter[str], rejects: Counter[str], drops: Counter[str]) -> Iterator[str]:
    """Check a corpus: documents and text by source, and the lists of rejects and drops against their counts."""
    names = [_SHARD.fullmatch(shard.name) for shard in manifest.shards]
    numbers = [(int(name[1]), int(name[2])) for name in names if name]
    rising = all(one < other for one, other in zip(numbers, numbers[1:], strict=False))
    if len(numbers) < len(names) or len({count for _, count in numbers}) > 1 or not rising or any(i >= n for i, n in numbers):
        yield "shards are not data/train-00000-of-00001 and so on, in order"
    tallies = list(map(Tally.of, manifest.counts))
    yield from _same("counts, documents that came out", sum(tally.left for tally in tallies), manifest.rows)
    sources = manifest.sources
    yield from _same("sources", sorted(sources), sorted(set(sources) | {s for s in SOURCES if counted[f"documents of {s}"]}))
    for source, entry in sources.items():
        yield from _source(source, entry, counted)
    formulas = manifest.formulas
    parts = (formulas.written, formulas.dropped, formulas.left_out)
    for name in sorted({name for what in (formulas.found, *parts) for name in what}):
        yield from _same(f"formulas.found.{name}", formulas.found.get(name, 0), sum(what.get(name, 0) for what in parts))
    came = sorted(tally.left for tally in tallies if tally.left)
    yield from _same("counts, documents of each source", came, sorted(s.documents for s in sources.values() if s.documents))
    rejected: Counter[str] = sum((tally.rejected for tally in tallies), Counter())
    for reason in sorted(rejected | rejects):
        yield from _same(f"counts, rejected as {reason}", rejected[reason], rejects[reason])
    dropped: Counter[str] = sum((tally.dropped for tally in tallies), Counter())
    for reason in sorted(drops):  # other reasons are counted but not listed
        yield from _same(f"counts, dropped as {reason}", dropped[reason], drops[reason])


def _source(source: str, entry: SourceEntry, counted: Counter[str]) -> Iterator[str]:
    for what in ("documents", "text_bytes", *(("words", "characters") if entry.languages is not None else ())):
        yield from _same(f"sources.{source}.{what}", getattr(entry, what), counted[f"{what} of {source}"])
    if entry.languages is not None:
        for what in ("words", "characters", "documents"):
            of_languages = sum(getattr(each, what) for each in entry.languages.values())
            yield from _same(f"sources.{source}.languages, {what}", of_languages, getattr(entry, what))
    if apparatus := entry.apparatus:
        gone = sum(apparatus.dropped.values())
        yield from _same(f"sources.{source}.apparatus.characters", apparatus.characters, apparatus.kept + gone)
    share = counted[f"text_bytes of {source}"] / max(1, counted["text_bytes"])
    yield from _near(f"sources.{source}.share", entry.share, share)


def pairs(manifest: PairsManifest, counted: dict[str, Counter[str]]) -> Iterator[str]:
    """Check rows. `counted` are the counts of each split's shards, including the number of `shards`.

    Checks statistics, splits, the output of each stage, and that half of the labels of each split are 1.
    """
    config, tallies = manifest.settings, {stage.stage: Tally.of(stage) for stage in manifest.counts}
    wanted = [stage_name(what, split) for split in manifest.splits for what in ("documents", "chunks", "tokens")]
    if stages := list(_same("counts, stages", sorted(stage.stage for stage in manifest.counts), sorted(wanted))):
        yield from stages
        return
    for split, entry in manifest.splits.items():
        chunks, tokens, documents = (stage_name(what, split) for what in ("chunks", "tokens", "documents"))
        yield from _same(f"counts, {chunks} that came out", tallies[chunks].left, counted[split][_chunks(config)])
        yield from _same(f"counts, {tokens} that came out", tallies[tokens].left, counted[split]["text"])
        yield from _same(f"splits.{split}.documents", entry.documents, tallies[documents].entered)
        yield from _statistics(f"splits.{split}", entry, counted[split], config)
        if config.objective in LABEL_1_COUNTS and (problem := not_half(counted[split])):
            yield f"splits.{split} has {problem}"
    if sources := manifest.tokens:
        in_all = sum(sum(of_source.values()) for of_source in sources.values())
        entered = sum(stage.entered for stage in manifest.counts_of("tokens"))
        yield from _same("tokens, of all sources, in all copies", in_all * config.dupe_factor, entered)
        known = manifest.corpus.sources if manifest.corpus else {}
        expected = {(source, code) for source, of_source in known.items() for code in of_source.languages or {}}
        if unexpected := sorted({(source, code) for source, of_source in sources.items() for code in of_source} - expected):
            yield f"tokens: {' '.join(unexpected[0])} is not a source and language of the corpus"
    total: Counter[str] = sum(counted.values(), Counter())
    yield from _statistics("statistics", manifest.statistics, total, config)
    if manifest.unknown_tokens is not None and manifest.tokens is not None:
        by_source = (manifest.unknown_tokens, manifest.tokens)
        count, of = (sum(sum(source.values()) for source in counts.values()) for counts in by_source)
        yield from _near("statistics.unknown_share", manifest.statistics.unknown_share, count / max(1, of))
    yield from leaks.partners(manifest, total)
    for name in ("documents", "repeated_ids"):
        values = [getattr(entry, name) for entry in manifest.splits.values()]
        yield from _same(f"statistics.{name}", getattr(manifest.statistics, name), sum(values))


def export(manifest: ExportManifest) -> Iterator[str]:
    """Check that the output count equals the number of rows or documents in the shards."""
    yield from _same("counts, rows that came out", sum(stage.left for stage in manifest.counts), manifest.rows)


def _chunks(config: PairsConfig) -> str:
    """Name the result of a chunk: a row or a segment."""
    return "parts" if config.pack else "rows"


def _statistics(where: str, stated: Statistics, counted: Counter[str], config: PairsConfig) -> Iterator[str]:
    counts = {"rows": counted["rows"], "tokens": counted["tokens"]}
    counts |= {"parts": counted["parts"]} if config.pack else {}
    rows = max(1, counted["rows"])
    shares = {"mean_length": counted["tokens"] / rows, "padding_share": 1 - counted["tokens"] / (rows * config.max_seq_length)}
    if name := LABEL_1_COUNTS.get(config.objective):
        counts[name], shares[f"{name}_share"] = counted["ones"], counted["ones"] / max(1, counted[_chunks(config)])
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


def _near(what: str, stated: float, counted: float) -> Iterator[str]:
    if not math.isclose(stated, counted, rel_tol=1e-9, abs_tol=1e-12):
        yield f"{what}: {stated} in the manifest, {counted} was found"


def _short(value: Any) -> str:
    return f"{value:,}" if type(value) is int else ascii(value)[:200]
