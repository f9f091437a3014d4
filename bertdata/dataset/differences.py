"""List the differences between the settings, versions and inputs of two runs."""

from __future__ import annotations

from typing import Any

from ..config import CorpusConfig, ExportConfig, PairsConfig, VocabConfig
from ..errors import few

__all__ = ["FIELDS_WITHOUT_EFFECT", "differences", "translate_identity"]

FIELDS_WITHOUT_EFFECT = {"seen", "shuffle"}  # run record fields that affect no output byte: input timestamps, shuffle method
_CONFIGS = {"build-corpus": CorpusConfig, "train-vocab": VocabConfig, "make-pairs": PairsConfig, "export": ExportConfig}
_MAX_NAMED_INPUTS = 3  # maximum inputs of a kind that a message names


def differences(known: Any, now: Any, path: str = "") -> list[str]:
    """List the differences between two JSON values, recursively. Top-level keys in `FIELDS_WITHOUT_EFFECT` are ignored.

    >>> differences({"seed": 1, "inputs": [{"name": "a"}]}, {"seed": 2, "inputs": [{"name": "b"}, {"name": "c"}]})
    ['2 inputs are new: b, c', '1 input is gone: a', 'seed: 1 then, 2 now']
    """
    if path == "inputs" and isinstance(known, list) and isinstance(now, list):
        return _of_inputs(*({entry["name"]: entry for entry in entries} for entries in (known, now)))
    if _has_parts(known) and _has_parts(now):
        old, new = _parts(known), _parts(now)
        names = sorted({*old, *new} - (set() if path else FIELDS_WITHOUT_EFFECT))
        return [d for name in names for d in differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)]
    if known == now:
        return []
    if _has_parts(known) or _has_parts(now):
        return [f"{path}: {_in_words(known)} then, {_in_words(now)} now"]
    return [f"{path}: {known!r} then, {now!r} now"]


def translate_identity(finished: dict[str, object], identity: dict[str, object]) -> dict[str, object]:
    """Return an identity as the version that made a finished dataset would have recorded it.

    The result has the versions of the dataset.  An option unknown to its version is omitted if it has its default value, and
    an option unknown to this version is copied.

    >>> made = {"command": "export", "config": {"to": "mds", "old": 1}, "versions": {"bertdata": "0.1.0"}}
    >>> now = {"command": "export", "config": {"to": "mds", "split": "train"}, "versions": {"bertdata": "0.2.0"}}
    >>> translate_identity(made, now) == made
    True
    """
    config = _CONFIGS.get(str(finished.get("command")))
    adapted = {**identity, **{key: finished[key] for key in ("versions",) if key in finished and key in identity}}
    then, now = finished.get("config"), identity.get("config")
    if config and isinstance(then, dict) and isinstance(now, dict):
        adapted["config"] = _translate_options(then, now, config().identity())
    return adapted


def _translate_options(finished: dict[str, object], now: dict[str, object], defaults: dict[str, object]) -> dict[str, object]:
    adapted = {name: value for name, value in finished.items() if name not in now and name not in defaults}
    for name, value in now.items():
        then, default = finished.get(name), defaults.get(name)
        if isinstance(value, dict) and isinstance(then, dict):
            adapted[name] = _translate_options(then, value, default if isinstance(default, dict) else {})
        elif name in finished or value != default:
            adapted[name] = value
    return adapted


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
        f"{len(names)} {f'input {one}' if len(names) == 1 else f'inputs {more}'}: {few(names, _MAX_NAMED_INPUTS)}"
        for one, more, names in kinds
        if names
    ]


def _has_parts(value: Any) -> bool:
    """Return True if a value is a dict, or a list of dicts."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value))


def _parts(value: Any) -> dict[str, object]:
    return value if isinstance(value, dict) else {str(index): entry for index, entry in enumerate(value)}


def _in_words(value: Any) -> str:
    """Format a value that has parts, or is compared with such a value."""
    return "set" if _has_parts(value) else "not set" if value is None else repr(value)
