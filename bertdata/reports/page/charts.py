"""Draw the charts of report.html as SVG: the flow through the stages, histograms and curves.

A drawing is 400 units wide. The page scales it to the width of its column. Classes name the colours, which report.html defines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from rich.cells import cell_len, set_cell_size

from ...storage.terminal import clean
from ...tally import StageCounts
from ..summary import count, number, percent, unit_of

Values = npt.NDArray[Any]
Series = Sequence[tuple[str, Values]]  # names and values
Points = list[tuple[float, float]]
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _FOOT = 400, 190, 54, 8, 12, 40  # _FOOT holds the labels of the x axis and its name
_BOTTOM, _ACROSS = _HEIGHT - _FOOT, _WIDTH - _LEFT - _RIGHT
_MAX_LABELS, _MAX_BINS, _MAX_POINTS = 7, 16, 300
_BAR, _EDGE, _LINE = 110, 9, 20  # of the flow: width of a full stage, height of its bar, height of a line of text
_MAX_REASONS, _MAX_LETTERS = 12, 37  # beside a stage


def flow(stages: Sequence[StageCounts]) -> Markup:
    """Draw a bar for each stage, the kept records going down and each loss turning to the right.

    Bands are as wide as their counts.

        |kept kept kept kept|loss 2|loss 1|    69 in
        |                   |      `--------   redirect 6 (8.7 %)
        |                   `---------------   namespace 5 (7.2 %)
    """
    parts, y = [Markup("")], 0.0
    for stage in stages:
        entered, unit, scale = max(1, stage.entered), unit_of(stage.stage), _BAR / max(1, stage.entered)
        losses = [(name, number, "drop") for name, number in stage.dropped.items()]
        losses += [(name, number, "reject") for name, number in stage.rejected.items()]
        losses.sort(key=lambda loss: (-loss[1], loss[0]))
        if rest := losses[_MAX_REASONS:]:
            losses[_MAX_REASONS:] = [(f"{len(rest)} other reasons", sum(number for _, number, _ in rest), "drop")]
        kept = max(stage.left * scale, 0.8) if stage.left else 0.0
        top, bottom = y + 20, y + 20 + _EDGE + (_LINE * len(losses) + 10 if losses else 14)
        parts.append(_text(0, y + 13, f"{stage.stage}: {stage.entered:,} in", "title"))
        parts.append(_rect(0, top + _EDGE, kept, bottom - top - _EDGE, "kept"))
        right = float(_BAR)
        for index, (name, lost, kind) in enumerate(losses):
            left, middle = max(kept, right - lost * scale), top + _EDGE + _LINE * (index + 0.5) + 2
            parts.append(_turn(left, max(right, left + 0.8), top + _EDGE, middle, kind))
            parts.append(_text(_BAR + 26, middle + 4, _label(name, lost, unit, entered), kind))
            right = left
        parts += [_rect(0, top, _BAR, _EDGE, "edge"), _rect(0, bottom, kept, _EDGE, "edge")]
        share = "all" if stage.left == stage.entered else percent(stage.left / entered)
        parts.append(_text(0, bottom + _EDGE + 15, f"{stage.left:,} kept ({share})"))
        y = bottom + _EDGE + 38
    summary = "; ".join(f"{stage.stage}: {stage.entered:,} in, {stage.left:,} kept" for stage in stages)
    return _svg(y, summary, parts)


def _turn(left: float, right: float, top: float, middle: float, kind: str) -> Markup:
    """Draw a band that goes down from a bar and turns to the right, where it is at most as high as a line of text."""
    half, end = max(1.0, min(13.0, right - left) / 2), _BAR + 20
    low, high = middle + half, middle - half
    path = f"M{left:.1f} {top:.1f}C{left:.1f} {low:.1f} {left:.1f} {low:.1f} {end} {low:.1f}V{high:.1f}"
    path += f"C{right:.1f} {high:.1f} {right:.1f} {high:.1f} {right:.1f} {top:.1f}Z"
    return Markup('<path d="{}" class="{}-band"/>').format(path, kind)


def _label(name: str, number: int, unit: str, entered: int) -> str:
    """Describe a loss in at most _MAX_LETTERS: cut a long name, or leave out the share.

    >>> _label("redirect", 12, "pages", 400), _label("documents of one sentence", 1, "tokens", 400)
    ('redirect 12 pages (3.0 %)', 'documents of one sentence 1 token')
    """
    name, figures = clean(name), f" {count(number, unit.removesuffix('s'))}"
    share = f" ({percent(number / entered)})"
    figures += share if cell_len(name + figures + share) <= _MAX_LETTERS else ""
    room = _MAX_LETTERS - len(figures)
    return (name if cell_len(name) <= room else f"{set_cell_size(name, room - 1).rstrip()}…") + figures


def histogram(title: str, axis: str, series: Series, longest: int | None = None) -> tuple[str, Markup, str]:
    """Draw the distribution of one or two series of whole numbers: in equal bins up to `longest`, or in bins that double.

    Return the title, the drawing, and a line with median, 95th percentile and maximum, because lengths have a long tail.
    """
    if longest:
        edges = 1 + np.unique(np.linspace(0, longest, min(_MAX_BINS, longest) + 1).round().astype(int))
    else:
        values = np.concatenate([values for _, values in series])
        low, high = (int(np.log2(max(1, bound))) for bound in (values.min(), values.max()))
        edges = 1 << np.arange(max(low, high - _MAX_BINS), high + 2)
    shares = [np.histogram(np.clip(values, edges[0], edges[-1] - 1), edges)[0] / max(1, len(values)) for _, values in series]
    parts, ticks = _scale(0.0, max(float(share.max()) for share in shares) or 1.0, 3, shares=True)
    step = _ACROSS / (len(edges) - 1)
    width = step * 0.86 / len(series)
    for index, share in enumerate(shares):
        for place, value in enumerate(share.tolist()):
            if value:
                height = max(0.8, (_BOTTOM - _TOP) * value / ticks[-1])
                parts.append(_rect(_LEFT + step * (place + 0.07) + width * index, _BOTTOM - height, width, height, f"s{index}"))
    places = range(0, len(edges), -(-len(edges) // _MAX_LABELS))
    parts += _axis([(place / (len(edges) - 1), int(edges[place])) for place in places], axis)
    spreads = []
    for name, values in series:
        half, most = np.percentile(values, [50, 95]).round().tolist() if len(values) else (0, 0)
        spread = f"median {number(half)}, 95 % up to {number(most)}, longest {number(int(values.max(initial=0)))}"
        spreads.append(f"{name}: {spread}" if name else spread)
    return title, _svg(_HEIGHT, f"{title}: {'; '.join(spreads)}", parts), "; ".join(spreads)


def curves(lines: Sequence[tuple[str, Points]], across: float | None = None, *, shares: bool = False) -> Markup:
    """Draw up to two lines of (step, value), and a dashed line at the height `across`. `shares` are written as percentages."""
    lines = [(name, [point for point in points if math.isfinite(point[1])]) for name, points in lines]
    if not any(points for _, points in lines):
        return Markup("")
    heights = [y for _, points in lines for _, y in points] + ([] if across is None else [across])
    parts, ticks = _scale(min(heights), max(heights), 4, shares=shares)
    last = max(x for _, points in lines for x, _ in points) or 1

    def draw(points: Points, kind: str) -> None:  # the y axis of SVG points down
        rise = (_BOTTOM - _TOP) / (ticks[-1] - ticks[0])
        places = " ".join(f"{_LEFT + _ACROSS * x / last:.1f},{_BOTTOM - rise * (y - ticks[0]):.1f}" for x, y in points)
        parts.append(Markup('<polyline points="{}" class="{}"/>').format(places, kind))

    parts += _axis([(value / last, int(value)) for value in _ticks(0, last, 4) if value <= last], "step")
    if across is not None:
        draw([(0, across), (last, across)], "across")
    for index, (_, points) in enumerate(lines):  # a long run logs more points than the drawing has pixels
        draw(points[:: -(len(points) // _MAX_POINTS + 1)][::-1], f"l{index}")
    ends = "; ".join(f"{name} ends at {number(points[-1][1])}" for name, points in lines if points)
    return _svg(_HEIGHT, ends, parts)


def _ticks(low: float, high: float, about: int) -> list[float]:
    """Return round numbers that span a range.

    >>> _ticks(0.43, 0.58, 5), _ticks(0, 1000, 5)
    ([0.4, 0.45, 0.5, 0.55, 0.6], [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0])
    """
    rough = max(high - low, 1e-9) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * power for unit in (1, 2, 5, 10) if unit * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(first, max(last, first + 1) + 1)]


def _scale(low: float, high: float, about: int, *, shares: bool) -> tuple[list[Markup], list[float]]:
    """Draw grid lines with their values. Also return the values."""
    ticks, parts = _ticks(low, high, about), []
    for value in ticks:
        y = _BOTTOM - (_BOTTOM - _TOP) * (value - ticks[0]) / (ticks[-1] - ticks[0])
        parts.append(_rect(_LEFT, y, _ACROSS, 0.7, "axis" if value == ticks[0] else "grid"))
        parts.append(_text(_LEFT - 6, y + 4, f"{100 * value:g} %" if shares else f"{value:g}", "faint", "end"))
    return parts, ticks


def _axis(labels: Sequence[tuple[float, int]], name: str) -> list[Markup]:
    """Draw the labels of the x axis, each at a share of the width, and its name."""
    parts = [_text(_WIDTH - _RIGHT, _HEIGHT - 6, name, "faint", "end")]
    for place, value in labels:
        brief = f"{value / 1e6:.2g}M" if value >= 1e6 else f"{value / 1e3:.0f}k" if value >= 1000 else str(value)
        parts.append(_text(_LEFT + _ACROSS * place, _BOTTOM + 18, brief, "faint", "end" if place > 0.95 else "middle"))
    return parts


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> Markup:
    template = Markup('<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>')
    return template.format(x, y, kind, anchor, clean(words))


def _rect(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    template = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="{}"/>')
    return template.format(x, y, width, height, kind)


def _svg(height: float, description: str, parts: Sequence[Markup]) -> Markup:
    """Return a drawing. Screen readers read the description."""
    template = Markup('<svg viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">{}</svg>')
    return template.format(_WIDTH, height, clean(description), Markup("").join(parts))
