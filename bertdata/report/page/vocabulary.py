"""The report of a vocabulary: how well it covers each language, and what its pieces are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...wordpiece import continues_word
from .charts import histogram, up_to
from .flow import flow, stages_of
from .markup import Column, Html, bar, foreign, join, percent, table, tag
from .section import Made, Section, counted, figures

__all__ = ["key_figures", "sections"]

_LONGEST, _LANGUAGES, _WORDS = 20, 40, 5


def key_figures(made: Made) -> Html:
    """Return the figures that come first."""
    manifest, sample = made.manifest, made.manifest["sample"]
    words = sum(own["words"] for own in manifest["coverage"].values()) or 1
    unknown = sum(own["words"] * own["unknown_share"] for own in manifest["coverage"].values()) / words
    known = [
        ("pieces", f"{manifest['size']:,}"),
        ("words counted", f"{sample['words']:,}"),
        ("distinct", f"{sample['distinct_words']:,}"),
        ("[UNK]", percent(unknown)),
    ]
    return figures(known)


def sections(made: Made) -> Iterator[Section]:
    """Yield the sections of a vocabulary."""
    manifest = made.manifest
    yield Section("coverage", "Languages", _coverage(manifest))
    yield Section("pieces", "Pieces", _pieces(made.vocabulary.pieces))
    yield Section("flow", "What was counted", flow(stages_of("", manifest["counts"])))


def _coverage(manifest: dict[str, Any]) -> Html:
    coverage = manifest["coverage"]
    order = sorted(coverage, key=lambda code: (-coverage[code]["words"], code))
    names = ("Words", "[UNK]", "Split", "Pieces a word")
    columns = (Column("Language"), *(Column(name, numbers=True) for name in names), Column("Split words"))
    rows = []
    for code in order[:_LANGUAGES]:
        own = coverage[code]
        shares = (percent(own["unknown_share"]), percent(own["split_share"]), f"{own['pieces_per_word']:.2f}")
        rows.append((code or "unknown", f"{own['words']:,}", *shares, bar(own["split_share"], "drop")))
    told = f"Accents are {manifest['accents']}." if manifest.get("accents") else ""
    longest = table("The longest words that are split", ("Language", "Word", "Its pieces"), _split(coverage, order))
    return join(tag("p", told) if told else "", table("", columns, rows), longest)


def _split(coverage: dict[str, Any], order: list[str]) -> Iterator[tuple[object, ...]]:
    for code in order[:_LANGUAGES]:
        for word, pieces in list(coverage[code]["longest_split"].items())[:_WORDS]:
            yield code or "unknown", foreign(word, code, 60), foreign(pieces, most=90)


def _pieces(pieces: list[str]) -> Html:
    kinds = Counter(map(_kind, pieces))
    lengths = np.array([len(piece.removeprefix("##")) for piece in pieces if _kind(piece) != "special"] or [0])
    longest = sorted((p for p in pieces if _kind(p) != "special"), key=lambda p: (-len(p.removeprefix("##")), p))[:_LONGEST]
    names = ("beginning of a word, or all of it", "continuing a word (##)", "single character", "special")
    shown = [(tag("span", foreign(piece, most=60), class_="piece"), len(piece.removeprefix("##"))) for piece in longest]
    picture = histogram("Length of pieces", "characters", up_to(min(24, int(lengths.max())), 24), [("", lengths)])
    tables = join(counted("", "Kind", [(name, kinds[name]) for name in names], "Pieces"))
    return join(tag("div", picture, tables, class_="pair"), counted("Longest pieces", "Piece", shown, "Characters"))


def _kind(piece: str) -> str:
    """Say what kind of piece it is.

    >>> _kind("[CLS]"), _kind("##s"), _kind("a"), _kind("tea")
    ('special', 'continuing a word (##)', 'single character', 'beginning of a word, or all of it')
    """
    if len(piece) > 2 and piece[0] == "[" and piece[-1] == "]":
        return "special"
    if continues_word(piece):
        return "continuing a word (##)"
    return "single character" if len(piece) == 1 else "beginning of a word, or all of it"
