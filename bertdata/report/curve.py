"""The picture of a training run: loss of words and accuracy of pairs by step, as an SVG without any plotting library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from ..files import write_text
from .metrics import NAME as METRICS
from .metrics import Record, read_metrics

__all__ = ["NAME", "draw", "picture"]

NAME = "curve.svg"
_WIDTH, _PANEL, _LEFT, _RIGHT, _TOP, _GAP = 880, 260, 70, 24, 64, 62  # in pixels; a panel is as high as _PANEL
_TRAIN, _EVALUATION, _LINE, _GRID, _TEXT, _FAINT = "#8db4de", "#c2410c", "#6b7280", "#e5e7eb", "#1f2937", "#6b7280"
_MOST = 300  # points of a line; more of them are averaged
Points = list[tuple[float, float]]


class _Panel(NamedTuple):
    """A picture in the picture: title, lines (name, colour, points), and a dashed line across (name, height) if any."""

    title: str
    lines: list[tuple[str, str, Points]]
    across: tuple[str, float] | None
    percent: bool


def draw(output: Path) -> bool:
    """Draw the metrics of a run's directory into curve.svg there; return False where there is nothing to draw."""
    records = read_metrics(output / METRICS)
    if not any(record["kind"] in ("train", "evaluation") for record in records):
        return False
    write_text(output / NAME, picture(records, output.resolve().name))
    return True


def picture(records: Sequence[Record], name: str) -> str:
    """Return the SVG of a run's records."""
    panels = [_panel(records, "mlm_loss", "Loss of masked words (nats)")]
    entropies = [record["unigram_entropy"] for record in records if record.get("unigram_entropy")]
    if entropies:
        panels[0] = panels[0]._replace(across=("entropy of the words by frequency alone", entropies[-1]))
    if any("nsp_accuracy" in record for record in records):
        pairs = _panel(records, "nsp_accuracy", "Pairs told right")
        panels.append(pairs._replace(across=("chance", 0.5), percent=True))
    last = max(record["step"] for record in records)
    height = _TOP + len(panels) * (_PANEL + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{_TEXT}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{_LEFT}" y="28" font-size="17" font-weight="bold">Training of {escape(name)}</text>',
        f'<text x="{_WIDTH - _RIGHT}" y="28" text-anchor="end" fill="{_FAINT}">{last:,} steps</text>',
    ]
    for index, panel in enumerate(panels):
        parts += _drawn(panel, _TOP + index * (_PANEL + _GAP), last)
    return "\n".join([*parts, "</svg>", ""])


def _panel(records: Sequence[Record], field: str, title: str) -> _Panel:
    lines = []
    for kind, colour, label in (("train", _TRAIN, "training"), ("evaluation", _EVALUATION, "evaluation")):
        points = [(record["step"], record[field]) for record in records if record["kind"] == kind and field in record]
        if points := _thinned([point for point in points if math.isfinite(point[1])]):
            lines.append((label, colour, points))
    return _Panel(title, lines, None, False)


def _thinned(points: Points) -> Points:
    """Average neighbours until there are few enough points to see.

    >>> len(_thinned([(float(x), 1.0) for x in range(1000)])) <= 300
    True
    """
    run = math.ceil(len(points) / _MOST)
    groups = [points[start : start + run] for start in range(0, len(points), run or 1)]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers that span a range.

    >>> _ticks(0.43, 0.58), _ticks(0, 1000)
    ([0.4, 0.45, 0.5, 0.55, 0.6], [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0])
    """
    rough = max(high - low, 1e-9) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * power for unit in (1, 2, 5, 10) if unit * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, max(last, first + 1) + 1)]


def _drawn(panel: _Panel, top: int, last: int) -> list[str]:
    """Draw axes, grid, lines and legend of a panel whose upper edge is at `top`."""
    values = [y for _, _, points in panel.lines for _, y in points] + ([panel.across[1]] if panel.across else [])
    ticks = _ticks(min(values), max(values)) if values else [0.0, 1.0]
    across, right, bottom = _WIDTH - _LEFT - _RIGHT, _WIDTH - _RIGHT, top + _PANEL

    def x(step: float) -> float:
        return _LEFT + across * step / max(last, 1)

    def y(value: float) -> float:
        return bottom - _PANEL * (value - ticks[0]) / (ticks[-1] - ticks[0])

    parts = [f'<text x="{_LEFT}" y="{top - 10}" font-weight="bold">{panel.title}</text>']
    for tick in ticks:
        label = f"{tick:.0%}" if panel.percent and all(round(100 * t, 6).is_integer() for t in ticks) else f"{tick:g}"
        parts.append(f'<path d="M{_LEFT} {y(tick):.1f}H{right}" stroke="{_GRID}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="{_FAINT}">{label}</text>')
    for tick in (tick for tick in _ticks(0, last) if tick <= last):
        parts.append(f'<path d="M{x(tick):.1f} {bottom}v5" stroke="{_LINE}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 19}" text-anchor="middle" fill="{_FAINT}">{tick:,.0f}</text>')
    parts.append(f'<path d="M{_LEFT} {bottom}H{right}" stroke="{_LINE}"/>')
    parts.append(f'<text x="{right}" y="{bottom + 35}" text-anchor="end" fill="{_FAINT}">step</text>')
    legend = [(name, colour, "") for name, colour, _ in panel.lines]
    if panel.across:
        legend.append((panel.across[0], _LINE, ' stroke-dasharray="5 4"'))
        parts.append(f'<path d="M{_LEFT} {y(panel.across[1]):.1f}H{right}" stroke="{_LINE}" stroke-dasharray="5 4"/>')
    for name, colour, points in panel.lines:
        line = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>')
        if name == "evaluation" and len(points) <= 60:
            parts += [f'<circle cx="{x(step):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"/>' for step, value in points]
    return parts + _legend(legend, right, top - 14)


def _legend(entries: list[tuple[str, str, str]], right: int, y: int) -> list[str]:
    """Draw the names of the lines from the right edge to the left."""
    parts: list[str] = []
    for name, colour, dashes in reversed(entries):
        right -= round(6.1 * len(name))
        parts.append(f'<text x="{right}" y="{y + 4}" fill="{_TEXT}">{escape(name)}</text>')
        parts.append(f'<path d="M{right - 28} {y}h22" stroke="{colour}" stroke-width="2"{dashes}/>')
        right -= 46
    return parts
