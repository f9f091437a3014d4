"""Count the licenses in documents' metadata, such as the column `licence` of a table, and name those of a file.

found = {}
count(found, "a.jsonl", "CC BY-SA, as the wiki states")       # a row with a license
count(found, "a.jsonl", "")                                   # a row without one
named(found["a.jsonl"], "as its owner states")                # "one of: CC BY-SA, as the wiki states; as its owner states"
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from ..config.input_kinds import ONE_OF

__all__ = ["count", "name_of", "named"]

_MAX_NAMED, _MAX_NAME = 20, 200  # licenses named per file, and characters of a name: a column may contain anything
_OTHER_LICENCES = "\0"  # key for all further licenses; not a license name


def count(found: dict[str, Counter[str]], file: str, licence: str) -> None:
    """Count the license of a document of a file, ``""`` if it has none.

    >>> found = {}
    >>> count(found, "a.jsonl", " CC\\n BY "), count(found, "a.jsonl", ""), found
    (None, None, {'a.jsonl': Counter({'CC BY': 1, '': 1})})
    """
    counts = found.setdefault(file, Counter())
    name = name_of(licence, "")
    counts[name if not name or name in counts or len(counts) < _MAX_NAMED else _OTHER_LICENCES] += 1


def name_of(licence: str, otherwise: str) -> str:
    """Return the name of a document's license, or `otherwise` if it has none."""
    return _name(licence[: 2 * _MAX_NAME]) or otherwise


@lru_cache(maxsize=64)
def _name(text: str) -> str:
    words = " ".join(text.replace(";", ",").split())  # ";" separates licenses
    name = "".join(c for c in words if c.isprintable())
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"


def named(counts: Counter[str], otherwise: str) -> str:
    """List the licenses of a file by name; `otherwise` is the license of documents without one.

    >>> named(Counter({"CC BY": 2, "": 1}), "as its owner states"), named(Counter(), "as its owner states")
    ('one of: CC BY; as its owner states', 'as its owner states')
    """
    names = sorted(name for name in counts if name not in ("", _OTHER_LICENCES))
    cut = len(names) > _MAX_NAMED or _OTHER_LICENCES in counts
    shown = [*names[:_MAX_NAMED], *(["others, listed in its documents"] if cut else [])]
    shown += [otherwise] * ("" in counts or not shown)
    return (ONE_OF if len(shown) > 1 else "") + "; ".join(shown)
