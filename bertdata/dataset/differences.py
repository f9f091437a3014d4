"""Name what differs between the settings, versions and inputs of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["differences", "first_few"]

_FREE = {"given", "seen", "shuffle"}  # in the record of a run: arguments and inputs as they were found, what no byte depends on
_NAMED = 3  # inputs of a kind that a message names


def differences(known: Any, now: Any, path: str = "") -> list[str]:
    """Name what differs between two values of JSON, down to their plain values; at the top, what is in `_FREE` is not compared.

    >>> differences({"seed": 1, "inputs": [{"name": "a"}]}, {"seed": 2, "inputs": [{"name": "b"}, {"name": "c"}]})
    ['2 inputs are new: b, c', '1 input is gone: a', 'seed: 1 then, 2 now']
    """
    if path == "inputs" and isinstance(known, list) and isinstance(now, list):
        return _of_inputs(*({entry["name"]: entry for entry in entries} for entries in (known, now)))
    if _has_parts(known) or _has_parts(now):
        old, new = _parts(known), _parts(now)
        names = sorted({*old, *new} - (set() if path else _FREE))
        plain = [f"{path}: {_plain(known)!r} then, {_plain(now)!r} now"] if _plain(known) != _plain(now) else []
        return plain + [
            d for name in names for d in differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)
        ]
    return [] if known == now else [f"{path}: {known!r} then, {now!r} now"]


def _of_inputs(known: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Say which inputs are new, are gone or have changed, and in what."""
    both = known.keys() & now.keys()
    changed = {
        name: ", ".join(k for k in sorted({*known[name], *now[name]}) if known[name].get(k) != now[name].get(k)) for name in both
    }
    kinds = (
        ("is new", "are new", sorted(now.keys() - known.keys())),
        ("is gone", "are gone", sorted(known.keys() - now.keys())),
        ("has changed", "have changed", [f"{name} ({what})" for name, what in sorted(changed.items()) if what]),
    )
    return [
        f"{len(names)} {f'input {one}' if len(names) == 1 else f'inputs {more}'}: {_few(names)}"
        for one, more, names in kinds
        if names
    ]


def _few(names: Sequence[str]) -> str:
    """Join names: the first three, and how many more there are.

    >>> _few(["a", "b", "c"]), _few(["a", "b", "c", "d", "e"])
    ('a, b, c', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _has_parts(value: Any) -> bool:
    """Tell whether a value is made of named ones, or of a list of such."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value))


def _parts(value: Any) -> dict[str, Any]:
    if not _has_parts(value):
        return {}
    return value if isinstance(value, dict) else {str(index): entry for index, entry in enumerate(value)}


def _plain(value: Any) -> Any:
    """Return a value that has no parts; None for one that has, whose parts are told."""
    return None if _has_parts(value) or value == [] else value


def first_few(changes: list[str]) -> str:
    """Join differences for a message: the first five, and how many more there are.

    >>> first_few(["a: 1 then, 2 now", "b: 1 then, 2 now"]), first_few(list("abcdefgh"))
    ('a: 1 then, 2 now; b: 1 then, 2 now', 'a; b; c; d; e; and 3 more')
    """
    return "; ".join([*changes[:5], *([f"and {len(changes) - 5} more"] if len(changes) > 5 else [])])
