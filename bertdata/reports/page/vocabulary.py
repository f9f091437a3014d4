"""Write the report of a vocabulary: how well it covers each language, and the kinds of its tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np

from ...dataset.manifest_records import Coverage
from ...dataset.manifest_types import VocabManifest
from ...pieces import Special, bare, continues_word
from ..coverage import split_words
from ..summary import percent
from .charts import histogram, up_to
from .flow import flow, stages_of
from .markup import Column, Html, bar, foreign, join, table, tag
from .section import Section, Subject, counted, figures
from .tokens import language_of

__all__ = ["key_figures", "sections"]

_KINDS = ("beginning of a word, or all of it", "continuing a word", "single character", "special")
_MAX_TOKENS, _MAX_LANGUAGES, _MAX_WORDS = 20, 40, 5


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
    yield Section("pieces", "Pieces", _pieces(subject.vocabulary.pieces, subject.vocabulary.special, manifest.coverage))
    yield Section("flow", "Counts", flow(stages_of("", manifest.counts)))


def _coverage(manifest: VocabManifest, mark: str) -> Html:
    coverage = manifest.coverage
    order = sorted(coverage, key=lambda code: (-coverage[code].words, code))
    names = ("Words", "[UNK]", "Split", "Pieces a word")
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


def _pieces(pieces: list[str], special: Special, languages: Collection[str]) -> Html:
    never = special.never | {special.unk}
    texts = [bare(piece, special.mark) for i, piece in enumerate(pieces) if i not in never]
    kinds = Counter("special" if i in never else _kind(piece, special.mark) for i, piece in enumerate(pieces))
    lengths = np.array([len(text) for text in texts] or [0])
    longest = sorted(texts, key=lambda text: (-len(text), text))[:_MAX_TOKENS]
    shown = [(tag("span", foreign(text, language_of(text, languages), 60), class_="piece"), len(text)) for text in longest]
    picture = histogram("Length of pieces", "characters", up_to(min(24, int(lengths.max())), 24), [("", lengths)])
    tables = join(counted("", "Kind", [(name, kinds[name]) for name in _KINDS], "Pieces"))
    return join(tag("div", picture, tables, class_="pair"), counted("Longest pieces", "Piece", shown, "Characters"))


def _kind(piece: str, mark: str) -> str:
    """Return the kind of a token that is not a special token.

    >>> _kind("##s", "##"), _kind("a", "##"), _kind("Ġtea", "Ġ"), _kind("ing", "Ġ")
    ('continuing a word', 'single character', 'beginning of a word, or all of it', 'continuing a word')
    """
    if continues_word(piece, mark):
        return _KINDS[1]
    return _KINDS[2] if len(bare(piece, mark)) == 1 else _KINDS[0]
