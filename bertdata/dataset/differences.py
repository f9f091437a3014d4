"""Name what differs between the settings, versions and inputs of two runs."""

from __future__ import annotations

from typing import Any

__all__ = ["differences", "first_few"]

_FREE = {"given", "seen", "shuffle"}  # in the record of a run: arguments and inputs as they were found, what no byte depends on


def differences(known: Any, now: Any, path: str = "") -> list[str]:
    """Name what differs between two values of JSON; at the top, what is in `_FREE` is not compared."""
    if isinstance(known, dict) and isinstance(now, dict):
        names = sorted({*known, *now} - (set() if path else _FREE))
        return [d for name in names for d in differences(known.get(name), now.get(name), f"{path}.{name}" if path else name)]
    if isinstance(known, list) and isinstance(now, list) and path == "inputs":
        old, new = ({entry["name"]: entry for entry in entries} for entries in (known, now))
        return differences(old, new, path)
    return [] if known == now else [f"{path}: {known!r} then, {now!r} now"]


def first_few(changes: list[str]) -> str:
    """Join differences for a message: the first five, and how many more there are.

    >>> first_few(["a: 1 then, 2 now", "b: 1 then, 2 now"]), first_few(list("abcdefgh"))
    ('a: 1 then, 2 now; b: 1 then, 2 now', 'a; b; c; d; e; and 3 more')
    """
    return "; ".join([*changes[:5], *([f"and {len(changes) - 5} more"] if len(changes) > 5 else [])])
