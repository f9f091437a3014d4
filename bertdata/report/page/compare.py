"""Compare two or more data sets or runs of one kind: their figures, and in what their options differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..words import percent
from .markup import Column, join, number, table
from .section import Section, Subject

__all__ = ["compare"]

_SHARE = "share"


def compare(sets: list[Subject]) -> Section:
    """Return the figures of data sets in columns, the difference from the first to the last, and what options differ."""
    columns = [Column(""), *(Column(subject.name, numbers=True) for subject in sets)]
    columns += [Column("Difference", numbers=True)] if len(sets) == 2 else []
    figures_of_sets = [dict(_figures(subject.manifest)) for subject in sets]
    rows = []
    for name in dict.fromkeys(name for of_set in figures_of_sets for name in of_set):
        values = [of_set.get(name) for of_set in figures_of_sets]
        row = [name, *("–" if value is None else _written(name, value) for value in values)]
        rows.append([*row, _difference(name, values)] if len(sets) == 2 else row)
    options = [dict(_options(subject.manifest["config"])) for subject in sets]
    differing = [
        [name, *(of_set.get(name, "–") for of_set in options)]
        for name in dict.fromkeys(name for of_set in options for name in of_set)
        if len({of_set.get(name) for of_set in options}) > 1
    ]
    settings = table("Options that differ", [Column("Option"), *(Column(subject.name) for subject in sets)], differing)
    return Section("compare", "Compared", join(table("Figures", columns, rows), settings))


def _figures(manifest: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield what a manifest counts, by name."""
    yield "rows", manifest["rows"]
    yield "shards", len(manifest["shards"])
    yield "bytes", sum(shard["bytes"] for shard in manifest["shards"])
    for stage in manifest["counts"]:
        yield f"{stage['stage']}: in", stage["in"]
        yield f"{stage['stage']}: kept", stage["out"]
        for key in ("dropped", "rejected"):
            for reason, count in stage[key].items():
                yield f"{stage['stage']}: {reason}", count
    for name, source in manifest.get("sources", {}).items():
        for key in ("documents", "words", "text_bytes", "share"):
            if key in source:
                yield f"{name}: {key.replace('_', ' ')}", source[key]
    for name, value in manifest.get("statistics", {}).items():
        yield name.replace("_", " "), value
    for code, counts in manifest.get("coverage", {}).items():
        for key in ("unknown_share", "split_share", "pieces_per_word"):
            yield f"{code or 'unknown'}: {key.replace('_', ' ')}", counts[key]


def _options(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _options(value)
        else:
            yield name, str(value)


def _written(name: str, value: float) -> str:
    return percent(value) if name.endswith(_SHARE) else number(value)


def _difference(name: str, values: list[float | None]) -> str:
    """Say how much larger the last value is: in points of shares, else in percent.

    >>> _difference("rows", [100, 150]), _difference("padding share", [0.2, 0.1]), _difference("rows", [1, 1])
    ('+50.0 %', '-10.00 points', '=')
    """
    first, last = values[0], values[-1]
    if first is None or last is None:
        return "–"
    if first == last:
        return "="
    if name.endswith(_SHARE):
        points = round(100 * (last - first), 2)
        return f"{points:+.2f} points" if points else "under 0.01 points"
    return f"{100 * (last / first - 1):+.1f} %" if first else f"+{number(last)}"
