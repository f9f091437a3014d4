"""Units of measurement by the codes that editors write: ``km``, ``sqmi``, ``e6acre``, ``lb/cuft``.

The units stand in ``units.toml``; prefixes, multiples and quotients are made from them.

>>> find_unit("kg/m3").name, find_unit("MW").symbol, find_unit("e6acre").multiple, find_unit("smoot")
('kilogram per cubic metre', 'MW', 'million', None)
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ....config import read_toml

__all__ = ["Unit", "composite", "default_outputs", "find_unit", "range_words"]

_MULTIPLE = re.compile(r"(e(?:3|6|9|12|15))(.+)")
_LONGEST_CODE = 32
_LISTS = frozenset(
    ["defaults", "small_defaults", "composites", "aliases", "prefixes", "multiples", "american", "ranges"]
)  # the tables of the file that are no dimension


@dataclass(frozen=True)
class Unit:
    """A unit: how many of its dimension's base units it is, what it is called, and what it is converted to."""

    code: str
    dimension: str
    scale: float
    name: str
    plural: str
    symbol: str = ""  # empty: the name is shown instead
    to: str = ""
    below: tuple[float, str] | None = None
    zero: float = 0.0
    multiple: str = ""  # "million", for e6
    power: int = 0  # 6, for e6
    inverse: bool = False
    symbol_first: bool = False
    counted: bool = False
    si: int = 0

    def to_base(self, value: float) -> float:
        """Return ``value`` of this unit in the base unit of its dimension."""
        return self.scale / value if self.inverse else value * self.scale + self.zero

    def from_base(self, value: float) -> float:
        """Return ``value`` of the base unit in this unit."""
        return self.scale / value if self.inverse else (value - self.zero) / self.scale

    def called(self, *, singular: bool, american: bool) -> str:
        """Return the name.

        >>> find_unit("km/h").called(singular=False, american=True)
        'kilometers per hour'
        """
        name = self.name if singular else self.plural
        return _american(name) if american else name

    def sign(self, *, american: bool) -> str:
        """Return the symbol, whose spaces do not break."""
        symbol = _american(self.symbol) if american else self.symbol
        return symbol.replace(" ", "\u00a0")


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    return read_toml(Path(__file__).with_name("units.toml"))


@lru_cache(maxsize=1)
def _units() -> dict[str, Unit]:
    """Return the units of the file by code and alias."""
    units: dict[str, Unit] = {}
    for dimension, lines in _tables().items():
        if dimension in _LISTS:
            continue
        for code, line in lines.items():
            fields = {"plural": line["name"] + "s", **line}
            if "below" in fields:
                fields["below"] = tuple(fields["below"])
            units[code] = Unit(code=code, dimension=dimension, **fields)
    return units


@lru_cache(maxsize=1)
def _aliases() -> dict[str, str]:
    """Return the code for every other spelling."""
    return {alias: code for code, aliases in _tables()["aliases"].items() for alias in aliases.split()}


def _code(code: str) -> str:
    """Return the usual spelling of a code, of both parts where one unit is per another."""
    code = _aliases().get(code, code)
    if "/" in code and code not in _units():
        code = "/".join(_aliases().get(part, part) for part in code.split("/"))
        code = _aliases().get(code, code)
    return code


def find_unit(code: str) -> Unit | None:
    """Return the unit for a code, None where there is none."""
    return _find(code) if len(code) <= _LONGEST_CODE else None


@lru_cache(maxsize=4096)
def _find(code: str) -> Unit | None:
    code = _code(code)
    unit = _units().get(code)
    if unit is not None:
        return replace(unit, name=unit.name.format(""), plural=unit.plural.format(""), symbol=unit.symbol.format(""))
    return _prefixed(code) or _multiplied(code) or _quotient(code)


def _prefixed(code: str) -> Unit | None:
    """Return a unit with an SI prefix, such as ``mm2``, or a counted one, such as ``Moilbbl``."""
    for length in (1, 2):
        head, rest = code[:length], code[length:]
        base = _units().get(rest)
        if base is not None and base.si and head in _tables()["prefixes"]:
            name, power = _tables()["prefixes"][head]
            return replace(
                base,
                code=code,
                scale=base.scale * 10.0 ** (power * base.si),
                name=base.name.format(name),
                plural=base.plural.format(name),
                symbol=base.symbol.format("μ" if name == "micro" else head),
                below=None,
            )
        base = _units().get(_code(rest))
        if base is not None and base.counted and head in _tables()["multiples"]:
            word, power = _tables()["multiples"][head]
            symbol = head + base.symbol if base.symbol == "bbl" else f"{word} {base.symbol}"
            name, plural = f"{word} {base.name}", f"{word} {base.plural}"
            scale = base.scale * 10.0**power
            return replace(base, code=code, scale=scale, name=name, plural=plural, symbol=symbol, multiple=word)
    return None


def _multiplied(code: str) -> Unit | None:
    """Return a unit such as ``e6acre``; the multiple is shown as a word or a power of ten."""
    match = _MULTIPLE.fullmatch(code)
    base = find_unit(match[2]) if match else None
    if match is None or base is None or base.multiple or base.zero:
        return None
    word, power = _tables()["multiples"][match[1]]
    return replace(base, code=code, scale=base.scale * 10.0**power, multiple=word, power=power, below=None)


def _quotient(code: str) -> Unit | None:
    """Return a unit per another, such as ``kg/m3``."""
    head, slash, rest = code.partition("/")
    if not slash or not head or "/" in rest:
        return None
    top, bottom = find_unit(head), find_unit(rest)
    if top is None or bottom is None or top.zero or bottom.zero or top.inverse or bottom.multiple:
        return None
    return Unit(
        code=code,
        dimension=f"{top.dimension}/{bottom.dimension}",
        scale=top.scale / bottom.scale,
        name=f"{top.name} per {bottom.name}",
        plural=f"{top.plural} per {bottom.name}",
        symbol=f"{top.symbol or top.name}/{bottom.symbol or bottom.name}",
        to=f"{default_outputs(top, 1e9)[0]}/{default_outputs(bottom, 1e9)[0]}",
        multiple=top.multiple,
        power=top.power,
    )


def default_outputs(unit: Unit, value: float) -> list[str]:
    """Return the codes that ``value`` of ``unit`` is converted to where the editor names none.

    >>> default_outputs(find_unit("m"), 1.8), default_outputs(find_unit("nmi"), 3)
    (['ftin'], ['km', 'mi'])
    """
    multiple = _MULTIPLE.fullmatch(unit.code)
    if multiple:
        base = find_unit(multiple[2])
        return [multiple[1] + code for code in default_outputs(base, value)] if base else []
    below = _tables()["small_defaults"].get(unit.code, unit.below)
    if below is not None and 0 < value < below[0]:
        return [below[1]]
    codes: str = _tables()["defaults"].get(unit.code, unit.to)
    return codes.split()


def composite(code: str) -> tuple[str | int, ...]:
    """Return the units, and how many of each make the one before, that a code such as ``ftin`` is split over.

    >>> composite("ydftin"), composite("km")
    (('yd', 3, 'ft', 12, 'in'), ())
    """
    return tuple(_tables()["composites"].get(code, ()))


def range_words(word: str) -> tuple[str, str] | None:
    """Return what ``word`` between two values shows in the input and in the output, None where it is no such word.

    >>> range_words("to(-)"), range_words("km")
    ((' to ', '–'), None)
    """
    found = _tables()["ranges"].get(word)
    return None if found is None else (found[0], found[-1])


@lru_cache(maxsize=4096)
def _american(name: str) -> str:
    """Return a name or symbol in American spelling."""
    for british, american in _tables()["american"].items():
        name = name.replace(british, american)
    return name
