"""Describe a manifest's counts in words."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ..config import LABEL_1_COUNTS, OBJECTIVES, PairsConfig
from ..dataset.manifest_records import Statistics
from ..dataset.manifest_types import CorpusManifest, ExportManifest, Manifest, PairsManifest, VocabManifest
from ..tally import StageCounts


def size(count: int) -> str:
    """Return a number of bytes as people say it.

    >>> size(999), size(1_530_000)
    ('999 B', '1.5 MB')
    """
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def count(number: int, what: str) -> str:
    """Return a number of things as people say it.

    >>> count(1, "shard"), count(1200, "shard")
    ('1 shard', '1,200 shards')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def percent(share: float) -> str:
    """Return a share in percent, with more digits where it is small or nearly all.

    >>> percent(0.5), percent(0.012), percent(0.00031), percent(0.00001), percent(0.0), percent(1.0)
    ('50.0 %', '1.2 %', '0.03 %', '<0.01 %', '0 %', '100 %')
    """
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    if min(share, 1 - share) < 5e-5:
        return "<0.01 %" if share < 0.5 else ">99.99 %"
    return f"{100 * share:.1f} %" if 0.01 <= share <= 0.99 else f"{100 * share:.2f} %"


def number(value: float) -> str:
    """Return a number with thousands separators, and with decimals unless it is an integer.

    >>> number(1234), number(12.345), number(0.00123)
    ('1,234', '12.3', '0.0012')
    """
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.2g}"


def unit_of(stage: str) -> str:
    """Return what a stage counts: the last word of its name.

    >>> unit_of("wikipedia pages"), unit_of("tokens")
    ('pages', 'tokens')
    """
    return stage.rpartition(" ")[2]


def cell(text: str) -> str:
    """Keep a name from ending a cell of a Markdown table, or from starting markup.

    >>> cell("a|b_c")
    'a&#124;b&#95;c'
    """
    return "".join(f"&#{ord(c)};" if c in "|<>&`[]*_\\" else c for c in text if c.isprintable())


def describe(manifest: Manifest, directory: Path) -> str:
    """Return a few lines: the contents of the dataset, and its losses by stage."""
    lines = [f"{directory}: {_content(manifest)}"]
    for stage in manifest.counts:
        lines.append(f"  {stage.stage}: {stage.entered:,} in, {stage.left:,} out{_gone(stage)}")
    if isinstance(manifest, VocabManifest) and manifest.accents:
        lines.append(f"  accents {manifest.accents}")
    if isinstance(manifest, PairsManifest):
        lines += _statistics(manifest)
    if isinstance(manifest, CorpusManifest):
        lines += _of_corpus(manifest, directory)
    return "\n".join(lines)


def _statistics(manifest: PairsManifest) -> list[str]:
    splits = manifest.splits if len(manifest.splits) > 1 else {"": manifest.statistics}
    lines = [f"  {split}{': ' if split else ''}{_rows(values, manifest.settings)}" for split, values in splits.items()]
    if repeated := manifest.statistics.repeated_ids:
        lines.append(f"  {repeated:,} documents share their id with another one (two dumps of one wiki?). They are never paired.")
    return lines


def _of_corpus(manifest: CorpusManifest, directory: Path) -> list[str]:
    """Describe the text of sources, and the omitted templates, formulas and lists."""
    lines, sources = [], manifest.sources
    if len(sources) > 1:
        shares = (
            f"{name} {percent(s.share)} ({count(s.documents, 'document')}, {size(s.text_bytes)})" for name, s in sources.items()
        )
        lines.append(f"  shares of the text: {', '.join(shares)}")
    if removed := sum(source.removed_paragraphs or 0 for source in sources.values()):
        lines.append(f"  repeated paragraphs: {removed:,} removed")
    if edits := sum((Counter(source.edits) for source in sources.values()), Counter[str]()):
        lines.append(f"  edits: {', '.join(f'{name} {number:,}' for name, number in edits.most_common())}")
    templates, formulas = manifest.dropped_templates, manifest.formulas
    if templates.calls:
        names = ", ".join(f"{name} {count:,}" for name, count in templates.most_frequent[:5])
        lines.append(f"  unknown templates, whose text is missing: {count(templates.calls, 'call')}, most often {names}")
    if total := sum(formulas.found.values()):
        written, left_out = sum(formulas.written.values()), sum(formulas.left_out.values())
        sentences = count(formulas.dropped_sentences, "sentence")
        lines.append(f"  formulas: {total:,} found, {written:,} kept, {left_out:,} outside prose; {sentences} dropped")
    is_cut = any(reason.startswith(("truncated", "damaged")) for stage in manifest.counts for reason in stage.rejected)
    lost = "; of files named as truncated or damaged, a part is lost: download them again" if is_cut else ""
    for kind, folder, files in (("rejects", "rejects", manifest.rejects), ("drops", "dropped", manifest.drops)):
        if files:
            more = f"; explain one with bertdata inspect {directory} --explain ID" if kind == "drops" else lost
            lines.append(f"  {kind} are listed in {directory}/{folder} ({sum(file.rows for file in files):,}){more}")
    return lines


def _content(manifest: Manifest) -> str:
    if isinstance(manifest, VocabManifest):
        sample = manifest.sample
        return f"{manifest.size:,} tokens from {sample.words:,} words ({sample.distinct_words:,} distinct)"
    if isinstance(manifest, ExportManifest):
        what, total = "row" if manifest.of == "pairs" else "document", size(sum(shard.bytes for shard in manifest.shards))
        shards = count(len(manifest.shards), "shard")
        return f"{count(manifest.rows, what)} as {manifest.settings.to} in {shards}, {total}"
    pairs = isinstance(manifest, PairsManifest) and manifest.settings.objective in LABEL_1_COUNTS and not manifest.settings.pack
    kind = "rows" if isinstance(manifest, PairsManifest) and not pairs else manifest.kind
    total = size(sum(shard.bytes for shard in manifest.shards))
    return f"{count(manifest.rows, kind.removesuffix('s'))} in {count(len(manifest.shards), 'shard')}, {total}"


def _rows(values: Statistics, config: PairsConfig) -> str:
    """Describe how many rows have label 1, how full rows are, and how much of them is masked."""
    text = f"mean length {values.mean_length:.1f}, padding {percent(values.padding_share)}, [UNK] {percent(values.unknown_share)}"
    if values.masked_share is not None:
        text += f", masked {percent(values.masked_share)}"
    parts = values.rows if values.parts is None else values.parts
    if values.parts is not None:
        text = f"{count(parts, 'segment')} in {count(values.rows, 'packed row')}, {text}"
    if not (names := OBJECTIVES[config.objective].labels):
        return text if values.parts is not None else f"{parts:,} rows, {text}"
    return f"{names[1]} {values.ones:,} of {parts:,} ({values.ones_share:.4f}), {text}"


def _gone(stage: StageCounts) -> str:
    """Describe the losses of a stage. Reasons may name documents while the stage counts tokens, so the unit is stated."""
    return "".join(
        f"; {count(sum(lost.values()), unit_of(stage.stage).removesuffix('s'))} {verb}: "
        + ", ".join(f"{reason} {number:,}" for reason, number in lost.items())
        for verb, lost in (("dropped", stage.dropped), ("rejected", stage.rejected))
        if lost
    )
