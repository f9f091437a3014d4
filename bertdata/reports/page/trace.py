"""Write the page of one document: its wikitext, the text removed by each step, its sentences and tokens, and its rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...dataset import manifest
from ...dataset.manifest_types import PairsManifest
from ...pieces import shown
from ...storage.files import write_text
from ...tokens.read import read_any
from ..diff import Span, diff
from ..mask_rules import MaskRule
from ..summary import count
from ..trace import Trace
from .frame import frame, section_of
from .markup import Html, foreign, join, short, tag, text
from .measure import masks_of
from .sample import RowSample
from .section import Section, counted
from .tokens import row_article

__all__ = ["write_trace"]

_CHANGES, _CHARACTERS, _SENTENCES = 200, 2_000, 1_000
_OPEN = 5  # paragraphs and rows that are shown at once; the others are folded


def write_trace(traced: Trace, output: Path, pairs: Path | None = None, rule: MaskRule | None = None) -> None:
    """Write the page of a trace; its rows are of `pairs`, and have the masks of this rule, those of epoch 0 if not given."""
    sections = [section for section in _sections(traced, pairs, rule) if section.body]
    links = [(section.name, section.title) for section in sections]
    title = traced.title or traced.id
    write_text(output, frame(title, traced.id, Html(""), links, [section_of(section) for section in sections]))


def _sections(traced: Trace, pairs: Path | None, rule: MaskRule | None) -> Iterator[Section]:
    yield Section("fate", "History", join(*map(_fate, traced.fate)))
    if traced.steps:
        yield Section("steps", "Removed text", _steps(traced))
    if traced.paragraphs:
        yield Section("sentences", "Sentences", _sentences(traced))
    if pairs is not None and traced.rows:
        yield Section("rows", "Rows", _rows(traced, pairs, rule))
    if traced.wikitext:
        source = tag("pre", foreign(traced.wikitext, traced.language, len(traced.wikitext)), tabindex=0, aria_label="Wikitext")
        yield Section("wikitext", "Wikitext", source)


def _fate(line: str) -> Html:
    """Return a line about the location of a document. A command at its end can be copied."""
    told, see, command = line.partition(": bertdata ")
    return tag("p", foreign(told, most=_CHARACTERS), *([": ", tag("code", f"bertdata {command}")] if see else []))


def _steps(traced: Trace) -> Html:
    parts: list[Html] = []
    for step in (step for step in traced.steps if step.changes):
        summary = f"{max(0, step.removed):,} characters, {len(step.changes):,} changes"
        changes = [tag("p", tag("bdi", *map(_span, diff(c.before, c.after)))) for c in step.changes[:_CHANGES]]
        name = tag("summary", tag("b", step.name[:1].upper() + step.name[1:]), f": {summary}")
        parts.append(tag("details", name, *(tag("article", change) for change in changes)))
    lost = counted(
        "Templates that gave no text", "Template", [(foreign(name, most=60), times) for name, times in traced.lost], "Calls"
    )
    return join(*parts, lost)


def _span(span: Span) -> Html:
    """Mark removed and inserted text."""
    words = short(span.text, _CHARACTERS)
    return tag(span.kind, words) if span.kind else text(words)


def _sentences(traced: Trace) -> Html:
    parts: list[Html] = []
    number = 0
    for paragraph in traced.paragraphs:
        body = []
        for sentence in paragraph:
            if number < _SENTENCES:
                body.append(tag("p", foreign(sentence, traced.language, _CHARACTERS)))
                if traced.pieces:
                    pieces = " ".join(shown(piece, traced.mark) for piece in traced.pieces[number])
                    body.append(tag("p", foreign(pieces, most=_CHARACTERS), class_="faint"))
            number += 1
        if body:
            parts.append(tag("article", *body))
    more = tag("p", f"… {number - _SENTENCES:,} more sentences") if number > _SENTENCES else ""
    return join(_folded(parts, "paragraph"), more)


def _rows(traced: Trace, pairs: Path, rule: MaskRule | None) -> Html:
    config, known = manifest.read(pairs, PairsManifest).settings, read_any(pairs)
    table = pa.Table.from_pylist([row.columns for row in traced.rows])
    rows = RowSample(table, np.array([row.number for row in traced.rows]), np.zeros(len(traced.rows)))
    masks = masks_of(rows, config, known, rule)
    when_masked = [rule.when(row.number) if rule is not None and masks is not None else "" for row in traced.rows]
    spoken = [traced.language] if traced.language else []
    articles = [row_article(rows, masks, index, config, known, when, spoken) for index, when in enumerate(when_masked)]
    return _folded(articles, "row")


def _folded(parts: list[Html], what: str) -> Html:
    """Return the first parts, and the others behind a line that opens them."""
    more = parts[_OPEN:]
    hidden = tag("details", tag("summary", count(len(more), f"more {what}")), *more) if more else ""
    return join(*parts[:_OPEN], hidden)
