"""Draw lines over a common axis, one panel below another, as an SVG without any plotting library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from ..storage.terminal import clean

__all__ = ["Line", "Panel", "Points", "figure", "ticks"]

_WIDTH, _PANEL, _LEFT, _RIGHT, _TOP, _GAP = 880, 260, 70, 24, 64, 62  # in pixels; a panel is as high as _PANEL
_LINE, _GRID, _TEXT, _FAINT = "#6b7280", "#e5e7eb", "#1f2937", "#6b7280"
_DASHES = ' stroke-dasharray="5 4"'
Points = list[tuple[float, float]]


class Line(NamedTuple):
    """A line: its name (empty: not in the legend), its colour, its points, whether it is dashed, whether points are marked."""

    name: str
    colour: str
    points: Points
    dashed: bool = False
    marked: bool = False


class Panel(NamedTuple):
    """A picture in the picture: title, lines, and a dashed line across (name, height) if any.

    `percent` writes heights as percentages, `zero` draws them from 0 on.
    """

    title: str
    lines: list[Line]
    across: tuple[str, float] | None = None
    percent: bool = False
    zero: bool = False


def figure(title: str, note: str, axis: str, panels: Sequence[Panel]) -> str:
    """Return the SVG of panels over one axis, which has a name and begins at 0."""
    last = max((x for panel in panels for line in panel.lines for x, _ in line.points), default=0.0)
    height = _TOP + len(panels) * (_PANEL + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{_TEXT}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{_LEFT}" y="28" font-size="17" font-weight="bold">{_words(title)}</text>',
        f'<text x="{_WIDTH - _RIGHT}" y="28" text-anchor="end" fill="{_FAINT}">{_words(note)}</text>',
    ]
    for index, panel in enumerate(panels):
        parts += _drawn(panel, _TOP + index * (_PANEL + _GAP), last, axis)
    return "\n".join([*parts, "</svg>", ""])


def _words(text: str) -> str:
    """Write text as XML can hold it: a directory's name may have control characters, which no XML has."""
    return escape(clean(text))


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers that span a range.

    >>> ticks(0.43, 0.58), ticks(0, 1000)
    ([0.4, 0.45, 0.5, 0.55, 0.6], [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0])
    """
    rough = max(high - low, 1e-9) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * power for unit in (1, 2, 5, 10) if unit * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, max(last, first + 1) + 1)]


def _drawn(panel: Panel, top: int, last: float, axis: str) -> list[str]:
    """Draw axes, grid, lines and legend of a panel whose upper edge is at `top`."""
    values = [y for line in panel.lines for _, y in line.points] + ([panel.across[1]] if panel.across else [])
    heights = ticks(0.0 if panel.zero else min(values), max(values)) if values else [0.0, 1.0]
    across, right, bottom = _WIDTH - _LEFT - _RIGHT, _WIDTH - _RIGHT, top + _PANEL

    def x(value: float) -> float:
        return _LEFT + across * value / max(last, 1e-9)

    def y(value: float) -> float:
        return bottom - _PANEL * (value - heights[0]) / (heights[-1] - heights[0])

    parts = [f'<text x="{_LEFT}" y="{top - 10}" font-weight="bold">{_words(panel.title)}</text>']
    for tick in heights:
        label = f"{tick:.0%}" if panel.percent and all(round(100 * t, 6).is_integer() for t in heights) else f"{tick:g}"
        parts.append(f'<path d="M{_LEFT} {y(tick):.1f}H{right}" stroke="{_GRID}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="{_FAINT}">{label}</text>')
    for tick in (tick for tick in ticks(0, last) if tick <= last):
        parts.append(f'<path d="M{x(tick):.1f} {bottom}v5" stroke="{_LINE}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 19}" text-anchor="middle" fill="{_FAINT}">{tick:,.0f}</text>')
    parts.append(f'<path d="M{_LEFT} {bottom}H{right}" stroke="{_LINE}"/>')
    parts.append(f'<text x="{right}" y="{bottom + 35}" text-anchor="end" fill="{_FAINT}">{_words(axis)}</text>')
    legend = [line for line in panel.lines if line.name]
    if panel.across:
        legend.append(Line(panel.across[0], _LINE, [], dashed=True))
        parts.append(f'<path d="M{_LEFT} {y(panel.across[1]):.1f}H{right}" stroke="{_LINE}"{_DASHES}/>')
    for line in panel.lines:
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line.points)
        style = f'stroke="{line.colour}" stroke-width="2" stroke-linejoin="round"{_DASHES if line.dashed else ""}'
        parts.append(f'<polyline points="{points}" fill="none" {style}/>')
        if line.marked:
            parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3" fill="{line.colour}"/>' for a, b in line.points]
    return parts + _legend(legend, right, top - 14)


def _legend(entries: list[Line], right: int, y: int) -> list[str]:
    """Draw the names of the lines from the right edge to the left."""
    parts: list[str] = []
    for line in reversed(entries):
        right -= round(6.1 * len(line.name))
        parts.append(f'<text x="{right}" y="{y + 4}" fill="{_TEXT}">{_words(line.name)}</text>')
        dashes = _DASHES if line.dashed else ""
        parts.append(f'<path d="M{right - 28} {y}h22" stroke="{line.colour}" stroke-width="2"{dashes}/>')
        right -= 46
    return parts
