"""List the differences between the settings, versions and inputs of two runs."""

from __future__ import annotations

import re
from typing import Any

from ..errors import few

FIELDS_WITHOUT_EFFECT = {"seen"}  # fields of a run that affect no output byte: timestamps of inputs
_MAX_NAMED, _MAX_SHOWN = 3, 24  # maximum inputs of a kind, or parts of a value, that a message names, and characters of a value


def differences(known: Any, now: Any, path: str = "") -> list[str]:
    """List the differences between two JSON values, recursively. Top-level keys in `FIELDS_WITHOUT_EFFECT` are ignored.

    >>> differences({"seed": 1, "inputs": [{"name": "a"}]}, {"seed": 2, "inputs": [{"name": "b"}, {"name": "c"}]})
    ['2 inputs are new: b, c', '1 input is gone: a', 'seed: 1 then, 2 now']
    >>> differences({"config": {"max_seq_length": 64}}, {"config": {"max_seq_length": 128}})
    ['`max_seq_length`: 64 then, 128 now']
    """
    if path == "inputs" and isinstance(known, list) and isinstance(now, list):
        return _of_inputs(*({entry["name"]: entry for entry in entries} for entries in (known, now)))
    old, new = _parts(known), _parts(now)
    if old is not None and new is not None:
        names = sorted({*old, *new} - (set() if path else FIELDS_WITHOUT_EFFECT))
        return [d for name in names for d in differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)]
    name = re.sub(r"^config\.(\w+\.)?(\w+)$", r"`\2`", path)  # an option, which the command line names --like-this
    return [] if known == now else [f"{name}: {_shown(known)} then, {_shown(now)} now"]


def _shown(value: Any) -> str:
    """Return the names of parts, or a value: of a long one, such as a digest, the beginning."""
    if (parts := _parts(value)) is not None:
        return few(sorted(parts), _MAX_NAMED)
    return text if len(text := repr(value)) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _of_inputs(known: dict[str, dict[str, object]], now: dict[str, dict[str, object]]) -> list[str]:
    """List inputs that are new, missing or changed, with the changed fields."""
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
        f"{len(names)} {f'input {one}' if len(names) == 1 else f'inputs {more}'}: {few(names, _MAX_NAMED)}"
        for one, more, names in kinds
        if names
    ]


def _parts(value: Any) -> dict[str, object] | None:
    """Return the values of a dict, or of a list that contains dicts or lists, by name."""
    if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        return {str(index): entry for index, entry in enumerate(value)}
    return value if isinstance(value, dict) else None
