"""Write the report of a vocabulary: how well it covers each language."""

from __future__ import annotations

from collections.abc import Iterator

from ...dataset.manifest_records import Coverage
from ...dataset.manifest_types import VocabManifest
from ..coverage import split_words
from ..summary import percent
from .flow import flow, stages_of
from .markup import Column, Html, bar, foreign, join, table, tag
from .section import Section, Subject, figures

__all__ = ["key_figures", "sections"]

_MAX_LANGUAGES, _MAX_WORDS = 40, 5


def key_figures(subject: Subject[VocabManifest]) -> Html:
    """Return the figures that come first."""
    manifest, sample = subject.manifest, subject.manifest.sample
    words = sum(counts.words for counts in manifest.coverage.values()) or 1
    unknown = sum(counts.words * counts.unknown_share for counts in manifest.coverage.values()) / words
    known = [
        ("pieces", f"{manifest.size:,}"),
        ("words counted", f"{sample.words:,}"),
        ("distinct", f"{sample.distinct_words:,}"),
        ("[UNK]", percent(unknown)),
    ]
    return figures(known)


def sections(subject: Subject[VocabManifest]) -> Iterator[Section]:
    """Yield the sections of a vocabulary."""
    manifest = subject.manifest
    yield Section("coverage", "Languages", _coverage(manifest, subject.vocabulary.special.mark))
    yield Section("flow", "Counts", flow(stages_of("", manifest.counts)))


def _coverage(manifest: VocabManifest, mark: str) -> Html:
    coverage = manifest.coverage
    order = sorted(coverage, key=lambda code: (-coverage[code].words, code))
    names = ("Words", "[UNK]", "Split", "Pieces per word")
    columns = (Column("Language"), *(Column(name, numbers=True) for name in names), Column("Split words"))
    rows = []
    for code in order[:_MAX_LANGUAGES]:
        counts = coverage[code]
        shares = (percent(counts.unknown_share), percent(counts.split_share), f"{counts.pieces_per_word:.2f}")
        rows.append((code or "unknown", f"{counts.words:,}", *shares, bar(counts.split_share, "drop")))
    accents = f"Accents are {manifest.accents}." if manifest.accents else ""
    longest = table("The longest words that are split", ("Language", "Word", "Its pieces"), _split(coverage, order, mark))
    return join(tag("p", accents) if accents else "", table("", columns, rows), longest)


def _split(coverage: dict[str, Coverage], order: list[str], mark: str) -> Iterator[tuple[object, ...]]:
    for code in order[:_MAX_LANGUAGES]:
        for word, pieces in split_words(coverage[code].longest_split, mark)[:_MAX_WORDS]:
            yield code or "unknown", foreign(word, code, 60), foreign(pieces, most=90)
