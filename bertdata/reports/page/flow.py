"""Draw the flow of records through the stages as a Sankey diagram: bands as wide as counts, with the name of each loss.

A stage is a bar of its input. The kept records continue down, and each reason for a loss branches off to the side.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from ...tally import StageCounts
from ..summary import percent
from .charts import WIDTH_PX, figure, label, svg
from .markup import Column, Html, bar, join, number, table, tag

__all__ = ["Stage", "anchor", "flow", "losses", "stages_of"]

_ACROSS, _EDGE, _ROW = 110, 9, 20  # of the bars; _ROW is the height of a name
_NAMES_X = WIDTH_PX - _ACROSS - 30  # where names are written
_MAX_REASONS = 9  # named in the picture; the table has all
_LETTER_WIDTH = 7.9  # units, on a telephone, where letters are largest; a Chinese character has twice as many


class Stage(NamedTuple):
    """A stage: its group, its name, its input and output, and (name, count, whether it was broken) of each loss."""

    group: str
    name: str
    entered: int
    left: int
    lost: list[tuple[str, int, bool]]


def stages_of(group: str, counts: Sequence[StageCounts]) -> list[Stage]:
    """Return the stages of a manifest, the largest losses first."""
    stages = []
    for stage in counts:
        lost = [(name, count, False) for name, count in stage.dropped.items()]
        lost += [(name, count, True) for name, count in stage.rejected.items()]
        lost.sort(key=lambda each: (-each[1], each[0]))
        stages.append(Stage(group, stage.stage, stage.entered, stage.left, lost))
    return stages


def anchor(kind: str, reason: str) -> str:
    """Return the id of the place on a page that lists the ``drops`` or ``rejects`` of a reason.

    >>> anchor("drops", "repeated page")
    'drops-repeated-page'
    """
    return f"{kind}-{'-'.join(reason.split())}"


def flow(stages: Sequence[Stage], listed: Collection[str] = ()) -> Html:
    """Return the picture of stages, those of a group one below the other, and the table of their losses; see `losses`."""
    parts: list[Html] = []
    y = 4.0
    for group, of_group in groupby(stages, key=lambda stage: stage.group):
        if group:
            parts.append(label(0, y + 12, group, kind="f"))
            y += 22
        for stage in of_group:
            drawn, y = _stage(stage, y)
            parts += drawn
    summary = "; ".join(f"{s.name}: {s.entered:,} in, {s.left:,} kept" for s in stages)
    picture = svg(y, f"Counts by stage: {summary}", *parts)
    return tag("div", figure("", picture), losses(stages, listed), class_="pair")


def _stage(stage: Stage, y: float) -> tuple[list[Html], float]:
    """Draw a stage whose upper edge is at `y`; return it and where it ends."""
    shown = stage.lost if len(stage.lost) <= _MAX_REASONS else stage.lost[: _MAX_REASONS - 1]
    if rest := stage.lost[len(shown) :]:
        shown = [*shown, (f"{len(rest)} other reasons", sum(count for _, count, _ in rest), False)]
    # One unit of width is the same number of records for the whole stage. Kept records go straight
    # down at the left. The losses turn to the right, the largest first and outermost, and each is as
    # wide as its count:
    #
    #   |kept kept kept kept|loss 2|loss 1|   entered
    #   |                   |      `-------- 12 (0.3 %)
    #   |                   `--------------- 5 (0.1 %)
    scale = _ACROSS / max(1, stage.entered)
    kept = stage.left * scale
    top = y + 20
    bottom = top + _EDGE + (_ROW * len(shown) + 10 if shown else 14)
    entered = join(tag("tspan", stage.name, class_="b"), f"  {stage.entered:,} in")
    parts = [label(0, y + 13, entered)]
    if stage.left:
        parts.append(tag("path", d=f"M0 {top + _EDGE}H{max(kept, 0.8):.1f}V{bottom:.1f}H0Z", class_="keep"))
    right = float(_ACROSS)
    for index, (name, count, broken) in enumerate(shown):
        left = max(kept, right - count * scale)
        middle = top + _EDGE + _ROW * (index + 0.5) + 2
        parts.append(_turn(left, max(right, left + 0.8), top + _EDGE, middle))
        text = _fitting(name, f" {number(count)}", f" ({percent(count / max(1, stage.entered))})")
        parts.append(label(_ACROSS + 26, middle + 4, text, kind="r" if broken else "d"))
        right = left
    parts.append(_rect(0, top, _ACROSS, "edge"))
    parts.append(_rect(0, bottom, max(kept, 0.8) if stage.left else 0, "edge"))
    share = "all" if stage.left == stage.entered else percent(stage.left / max(1, stage.entered))
    parts.append(label(0, bottom + _EDGE + 15, f"{stage.left:,} kept ({share})"))
    return parts, bottom + _EDGE + 38


def _rect(x: float, y: float, width: float, kind: str) -> Html:
    return tag("rect", x=x, y=f"{y:.1f}", width=f"{width:.1f}", height=_EDGE, class_=kind)


def _turn(left: float, right: float, top: float, middle: float) -> Html:
    """Draw a band that goes down and turns to the right, and gets no wider there than a line of text."""
    half = max(1.0, min(13.0, right - left) / 2)
    # Two Bézier curves, the lower and the upper edge of the band, joined by a short vertical line.
    low, high, end = middle + half, middle - half, _ACROSS + 20
    path = f"M{left:.1f} {top:.1f}C{left:.1f} {low:.1f} {left:.1f} {low:.1f} {end} {low:.1f}V{high:.1f}"
    return tag("path", d=f"{path}C{right:.1f} {high:.1f} {right:.1f} {high:.1f} {right:.1f} {top:.1f}Z", class_="lost")


def _fitting(name: str, amount: str, more: str, most: int = int(_NAMES_X / _LETTER_WIDTH)) -> str:
    """Put a count behind a name, and more where there is room; cut a name that is too long, in which a wide character takes two.

    >>> _fitting("redirect", " 12", " (3.0 %)", 20), _fitting("documents of one", " 12", " (3.0 %)", 20)
    ('redirect 12 (3.0 %)', 'documents of one 12')
    >>> _fitting("青山县行政区划", " 12", " (3.0 %)", 11)
    '青山县… 12'
    """
    for each in (amount + more, amount):
        if cell_len(name) + len(each) <= most:
            return name + each
    return f"{set_cell_size(name, most - len(amount) - 1).rstrip()}…{amount}"


def losses(stages: Sequence[Stage], listed: Collection[str] = ()) -> Html:
    """Return a table of losses by stage and reason. A reason whose `anchor` is in `listed` links to it."""
    columns = (Column("Stage"), Column("Left out for"), Column("Number", numbers=True), Column("Share", numbers=True), Column(""))
    rows = []
    for stage in stages:
        for name, count, broken in stage.lost:
            share = count / max(1, stage.entered)
            place = anchor("rejects" if broken else "drops", name)
            shown = tag("a", name, href=f"#{place}") if place in listed else name
            why = join(shown, " (broken)" if broken else "")
            rows.append((stage.name, why, f"{count:,}", percent(share), bar(share, "broken" if broken else "drop")))
    return table("Everything that was left out", columns, rows)
