"""Turn JSON into typed records and back: the one place that calls msgspec.

>>> class Cup(Record):
...     name: str
...     sips: Count
>>> decode({"name": "tea", "sips": 3}, Cup)
Cup(name='tea', sips=3)
>>> encode(Cup(name="tea", sips=3))
{'name': 'tea', 'sips': 3}
>>> decode([{"name": "tea", "sips": -3}], list[Cup])
Traceback (most recent call last):
bertdata.codec.WrongValue: [0].sips: expected int >= 0
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

T = TypeVar("T")
encode = msgspec.to_builtins  # returns a record, or records inside of lists and dicts, as values that `json` writes
replace = msgspec.structs.replace  # returns a copy of a record with other values
_INTEGER_LIMIT = 1 << 63  # all stored numbers fit in 64 bits, so NumPy can hold them

Count = Annotated[int, Meta(ge=0, le=_INTEGER_LIMIT - 1)]
Number = Annotated[float, Meta(ge=-float(_INTEGER_LIMIT), le=float(_INTEGER_LIMIT))]  # excludes NaN and infinities, too


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frozen record of a JSON file.  Other keys are ignored when it is read, and fields with their default are not written."""


class WrongValue(ValueError):
    """A value does not have the type that a record needs.

    Attributes:
        field: The path of the value, such as ``shards[0].rows``. Keys that are data are shown as ``[...]``.
        problem: The problem.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field, self.problem = field, problem


def decode(value: Any, kind: type[T]) -> T:
    """Return a value of parsed JSON as a type. Raise WrongValue for the first value that has another type."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        problem = problem.replace("`", "")
        raise WrongValue(path.rstrip("`").lstrip("."), problem[:1].lower() + problem[1:]) from None
