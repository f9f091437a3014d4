"""Draw histograms and lines as SVG for report.html, without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..summary import percent
from .markup import Html, number, tag

__all__ = [
    "COLOURS",
    "WIDTH_PX",
    "Line",
    "Panel",
    "Points",
    "by_doubling",
    "figure",
    "histogram",
    "label",
    "lines",
    "svg",
    "ticks",
    "up_to",
]

WIDTH_PX = 400
_HEIGHT, _LEFT, _RIGHT, _TOP, _FOOT = 190, 54, 8, 12, 40  # of a chart with axes; _FOOT holds labels and the axis' name
_MAX_LABELS, _MAX_BINS = 7, 16
COLOURS = ("blue", "orange", "green", "red")  # of series and lines, in their order; style.py defines them for report.html
Values = npt.NDArray[Any]
Points = list[tuple[float, float]]


class Line(NamedTuple):
    """A line: its name, its points, and whether each point is marked."""

    name: str
    points: Points
    marked: bool = False


class Panel(NamedTuple):
    """A chart of lines: title, lines, and the name and height of a dashed line across, if any.

    `percent` writes heights as percentages.
    """

    title: str
    lines: list[Line]
    across: tuple[str, float] | None = None
    percent: bool = False


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


def figure(title: str, drawing: Html, note: object = "") -> Html:
    """Return a chart with its title, and a line of figures below it."""
    return tag("figure", tag("h3", title) if title else "", drawing, tag("figcaption", note) if note else "")


def label(x: float, y: float, *words: object, kind: str = "", anchor: str = "") -> Html:
    """Return a text in a chart."""
    return tag("text", *words, x=f"{x:.1f}", y=f"{y:.1f}", class_=kind or None, text_anchor=anchor or None)


def svg(height: float, description: str, *parts: Html) -> Html:
    """Return a drawing; `description` is what a screen reader says of it."""
    return tag("svg", *parts, viewBox=f"0 0 {WIDTH_PX} {height:.0f}", role="img", aria_label=description)


def by_doubling(values: Sequence[Values], most: int = 18) -> Values:
    """Return edges of bins that double, from the least value to the largest.

    >>> by_doubling([np.array([3, 9])]).tolist()
    [2, 4, 8, 16]
    """
    known = [each for each in values if len(each)]
    low = max(0, int(np.log2(max(1, min(int(each.min()) for each in known))))) if known else 0
    high = int(np.log2(max(1, max(int(each.max()) for each in known)))) + 1 if known else 1
    return 1 << np.arange(max(low, high - most), max(high, low + 1) + 1)


def up_to(most: int) -> Values:
    """Return edges of equal bins from 1 to a length.

    >>> up_to(5).tolist()
    [1, 2, 3, 4, 5, 6]
    """
    return 1 + np.unique(np.round(np.linspace(0, most, min(_MAX_BINS, most) + 1)).astype(int))


def histogram(title: str, axis: str, edges: Values, series: Sequence[tuple[str, Values]]) -> Html:
    """Return the distribution of whole numbers over bins, of one to four series, with medians and largest values below."""
    shares = [np.histogram(np.clip(values, edges[0], edges[-1] - 1), edges)[0] / max(1, len(values)) for _, values in series]
    bottom, across = _HEIGHT - _FOOT, WIDTH_PX - _LEFT - _RIGHT
    high = ticks(0.0, max((float(share.max(initial=0)) for share in shares), default=0.0) or 1.0, 3)
    parts = _scale(high, bottom, percent_of=True)
    step = across / (len(edges) - 1)
    wide = step * 0.86 / max(1, len(series))
    for nth, share in enumerate(shares):
        for at, value in enumerate(share.tolist()):
            if value:
                tall = max(0.8, (bottom - _TOP) * value / high[-1])
                x = _LEFT + step * at + step * 0.07 + wide * nth
                size = {"x": f"{x:.1f}", "y": f"{bottom - tall:.1f}", "width": f"{wide:.1f}", "height": f"{tall:.1f}"}
                parts.append(tag("rect", **size, class_=f"s{nth}"))
    every = -(-len(edges) // _MAX_LABELS)
    for at in range(0, len(edges), every):
        anchor = "end" if at == len(edges) - 1 else "middle"
        parts.append(label(_LEFT + step * at, bottom + 18, _brief(int(edges[at])), kind="f", anchor=anchor))
    parts.append(label(WIDTH_PX - _RIGHT, _HEIGHT - 6, axis, kind="f", anchor="end"))
    spreads = "; ".join(f"{name}{': ' if name else ''}{_spread(values)}" for name, values in series if len(values))
    return figure(title, svg(_HEIGHT, f"{title}: {spreads}", *parts), spreads)


def _spread(values: Values) -> str:
    # Lengths have a long tail, so the median and the 95th percentile say more than mean and
    # maximum.
    half, most = np.percentile(values, [50, 95])
    return f"median {number(round(float(half)))}, 95 % up to {number(round(float(most)))}, longest {number(int(values.max()))}"


def _brief(value: int) -> str:
    """Write a number in few characters.

    >>> [_brief(value) for value in (512, 4096, 65536, 2097152)]
    ['512', '4k', '66k', '2.1M']
    """
    if value < 1000:
        return str(value)
    return f"{value / 1000:.0f}k" if value < 1_000_000 else f"{value / 1_000_000:.2g}M"


def _scale(high: Sequence[float], bottom: float, *, percent_of: bool) -> list[Html]:
    """Draw the lines of a grid from `high[0]`, at the bottom, up to the last, with their values."""
    parts = []
    for value in high:
        y = bottom - (bottom - _TOP) * (value - high[0]) / (high[-1] - high[0])
        parts.append(tag("path", d=f"M{_LEFT} {y:.1f}H{WIDTH_PX - _RIGHT}", class_="axis" if value == high[0] else "grid"))
        written = f"{100 * value:g} %" if percent_of else f"{value:g}"
        parts.append(label(_LEFT - 6, y + 4, written, kind="f", anchor="end"))
    return parts


def lines(panel: Panel, axis: str) -> Html:
    """Return the lines of a panel with axes and grid, the first line in blue, over steps from 0; nothing without points."""
    values = [y for line in panel.lines for _, y in line.points] + ([panel.across[1]] if panel.across else [])
    if not any(line.points for line in panel.lines):
        return Html("")
    high = ticks(min(values), max(values), 4)
    last = max(x for line in panel.lines for x, _ in line.points)
    bottom, across = _HEIGHT - _FOOT, WIDTH_PX - _LEFT - _RIGHT

    def screen(points: Points) -> list[tuple[float, float]]:
        # SVG's y axis points down: subtract from the bottom.
        rise = (bottom - _TOP) / (high[-1] - high[0])
        return [(_LEFT + across * x / max(last, 1e-9), bottom - rise * (y - high[0])) for x, y in points]

    parts = _scale(high, bottom, percent_of=panel.percent)
    for value in (value for value in ticks(0, last, 4) if value <= last):
        anchor = "end" if value > 0.95 * last else "middle"
        parts.append(label(_LEFT + across * value / max(last, 1e-9), bottom + 18, _brief(int(value)), kind="f", anchor=anchor))
    if panel.across:
        parts.append(_line(screen([(0, panel.across[1]), (last, panel.across[1])]), "across"))
    for at, line in enumerate(panel.lines):
        parts.append(_line(screen(line.points), f"l{at}"))
        if line.marked:
            parts += [tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=2.5, class_=f"s{at}") for x, y in screen(line.points)]
    parts.append(label(WIDTH_PX - _RIGHT, _HEIGHT - 6, axis, kind="f", anchor="end"))
    legend = _legend(panel)
    return figure(panel.title, svg(_HEIGHT, f"{panel.title}: {legend}", *parts), legend)


def _legend(panel: Panel) -> str:
    """Return the name, last value and color of each line of a panel."""
    write: Callable[[float], str] = percent if panel.percent else number
    ends = [f"{line.name} ends at {write(line.points[-1][1])}" for line in panel.lines if line.points]
    ends += [f"{panel.across[0]} {write(panel.across[1])}"] if panel.across else []
    return "; ".join(f"{each}, {colour}" for each, colour in zip(ends, [*COLOURS[: len(panel.lines)], "dashed"], strict=False))


def _line(points: Points, kind: str) -> Html:
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=kind)
