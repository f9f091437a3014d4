"""Count the licences that documents tell of themselves, such as the column `licence` of a table, and name those of a file.

told = {}
count(told, "a.jsonl", "CC BY-SA, as the wiki states")       # of a row
count(told, "a.jsonl", "")                                   # of a row that tells none
named(told["a.jsonl"], "as its owner states")                # "one of: CC BY-SA, as the wiki states; as its owner states"
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from ..config.inputs import ONE_OF

__all__ = ["count", "named"]

_MOST, _LONGEST = 20, 200  # licences of a file that are named, and characters of a name: a column may hold anything
_OTHERS = "\0"  # what further ones are counted under: no name of a licence


def count(told: dict[str, Counter[str]], file: str, licence: str) -> None:
    """Count the licence of a document of a file, ``""`` where it tells none.

    >>> told = {}
    >>> count(told, "a.jsonl", " CC\\n BY "), count(told, "a.jsonl", ""), told
    (None, None, {'a.jsonl': Counter({'CC BY': 1, '': 1})})
    """
    counts = told.setdefault(file, Counter())
    name = _name(licence[: 2 * _LONGEST])
    counts[name if not name or name in counts or len(counts) < _MOST else _OTHERS] += 1


@lru_cache(maxsize=64)
def _name(text: str) -> str:
    words = " ".join(text.replace(";", ",").split())  # what parts licences is in none
    name = "".join(c for c in words if c.isprintable())
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def named(counts: Counter[str], otherwise: str) -> str:
    """Name the licences of a file, by their names; `otherwise` is that of documents that tell none.

    >>> named(Counter({"CC BY": 2, "": 1}), "as its owner states"), named(Counter(), "as its owner states")
    ('one of: CC BY; as its owner states', 'as its owner states')
    """
    names = sorted(name for name in counts if name not in ("", _OTHERS))
    cut = len(names) > _MOST or _OTHERS in counts
    shown = [*names[:_MOST], *(["others, which its documents tell"] if cut else [])]
    shown += [otherwise] * ("" in counts or not shown)
    return (ONE_OF if len(shown) > 1 else "") + "; ".join(shown)
