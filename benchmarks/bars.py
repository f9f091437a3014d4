"""Draw ratios as an SVG: a bar for each row on a logarithmic axis, with a line from the minimum to the maximum run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

__all__ = ["Bar", "picture"]

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 1000, 520, 88, 72, 26  # pixels; names are left of _LEFT
_BETTER, _WORSE, _GRID, _TEXT, _FAINT = "#2563eb", "#c2410c", "#e5e7eb", "#1f2937", "#6b7280"


class Bar(NamedTuple):
    """A row: its name, and the median, minimum and maximum of its runs' ratios."""

    name: str
    middle: float
    least: float
    most: float


def picture(title: str, note: str, bars: Sequence[Bar]) -> str:
    """Return the SVG. Ratios must be positive, and bars start at 1."""
    powers = [math.log10(value) for bar in bars for value in (bar.least, bar.most)]
    first, last = min([math.floor(min(powers, default=0)), 0]), max([math.ceil(max(powers, default=1)), 1])
    height, right, bottom = _TOP + _ROW * len(bars) + 40, _WIDTH - _RIGHT, _TOP + _ROW * len(bars)

    def x(value: float) -> float:
        return _LEFT + (right - _LEFT) * (math.log10(value) - first) / (last - first)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{_TEXT}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="16" y="28" font-size="17" font-weight="bold">{escape(title)}</text>',
        f'<text x="16" y="48" font-size="12" fill="{_FAINT}">{escape(note)}</text>',
    ]
    for power in range(first, last + 1):
        at = x(10.0**power)
        parts.append(f'<path d="M{at:.1f} {_TOP - 8}V{bottom}" stroke="{_TEXT if power == 0 else _GRID}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 20}" text-anchor="middle" fill="{_FAINT}">{10.0**power:g} ×</text>')
    for number, bar in enumerate(bars):
        parts += _drawn(bar, _TOP + _ROW * number + _ROW / 2 - 4, x)
    return "\n".join([*parts, "</svg>", ""])


def _drawn(bar: Bar, y: float, x: Callable[[float], float]) -> list[str]:
    """Draw a row centered at `y`."""
    left, right = sorted((x(1.0), x(bar.middle)))
    colour = _BETTER if bar.middle >= 1 else _WORSE
    return [
        f'<text x="{_LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(bar.name)}</text>',
        f'<rect x="{left:.1f}" y="{y - 7:.1f}" width="{max(right - left, 2):.1f}" height="14" fill="{colour}"/>',
        f'<path d="M{x(bar.least):.1f} {y:.1f}H{x(bar.most):.1f}" stroke="{_TEXT}" stroke-width="2"/>',
        f'<text x="{max(x(bar.most), right) + 8:.1f}" y="{y + 4:.1f}">{bar.middle:.3g} ×</text>',
    ]
