"""Look up units of measurement by code, such as ``km``, ``sqmi``, ``e6acre`` or ``lb/cuft``.

``units.toml`` lists the units. Prefixed units, squares, cubes, multiples and quotients are derived from them.

>>> find_unit("kg/m3").name, find_unit("MW").symbol, find_unit("e6acre").multiple, find_unit("quux")
('kilogram per cubic metre', 'MW', 'million', None)
"""

import math
import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ....config import read_toml

_POWER = re.compile(r"(?:square_|sq)(?P<two>.+)|(?:cubic_|cu)(?P<three>.+)|(?P<base>.+?)(?P<power>[23])")
_SQUARE_OR_CUBE = re.compile(r"(?<=[a-z])[23]\b")  # in a symbol; not H2O
_SPELLING = str.maketrans({" ": "_", "²": "2", "³": "3", "^": None, "·": ".", "⋅": ".", "µ": "μ"})
_MAX_CODE_CHARACTERS = 32


@dataclass(frozen=True)
class Unit:
    """A unit of measurement, and the units that a value is converted to by default."""

    code: str
    dimension: str
    scale: float  # size in the base unit of the dimension
    name: str
    plural: str
    symbol: str = ""  # empty: use the name
    outputs: str = ""  # codes of the default outputs
    flags: frozenset[str] = frozenset()  # the flags column of units.toml
    below: tuple[float, str] = (0.0, "")  # a limit, and the default output for smaller values
    zero: float = 0.0  # value 0 of this unit, in the base unit
    multiple: str = ""  # "million" for e6
    power: int = 0  # 6 for e6
    american: bool = False  # the code is in American spelling

    def to_base(self, value: float) -> float:
        """Convert ``value`` in this unit to the base unit of its dimension."""
        return self.scale / value if "inverse" in self.flags else value * self.scale + self.zero

    def from_base(self, value: float) -> float:
        """Convert ``value`` in the base unit to this unit."""
        return self.scale / value if "inverse" in self.flags else (value - self.zero) / self.scale

    def word(self, *, symbol: bool, singular: bool = False, american: bool = False) -> str:
        """Return the symbol as wikitext, with nonbreaking spaces, or the name."""
        word = self.symbol if symbol else self.name if singular else self.plural
        word = _american(word) if american else word
        return _SQUARE_OR_CUBE.sub(r"<sup>\g<0></sup>", word.replace(" ", "\u00a0")) if symbol else word


@cache
def tables() -> dict[str, dict[str, Any]]:
    """Return the tables of units.toml, such as ``ranges``, ``composites``, ``disp`` or ``abbr``."""
    return read_toml(Path(__file__).with_name("units.toml"))


@cache
def _rows() -> dict[str, Unit]:
    """Return the units of units.toml by each of their codes. In names and symbols, {} is the place of an SI prefix."""
    rows: dict[str, Unit] = {}
    for dimension, lines in tables()["units"].items():
        for line in filter(None, lines.splitlines()):
            codes, size, names, symbol, outputs, flags = (column.strip() for column in f"{line}|".split("|")[:6])
            factor, _, base = size.partition(" ")
            name, _, plural = names.partition(", ")
            values = dict(flag.partition("=")[::2] for flag in flags.split())
            limit, _, small_output = values.get("below", "0:").partition(":")
            scale, below = float(factor) * (rows[base].scale if base else 1.0), (float(limit), small_output)
            columns = (codes.split()[0], dimension, scale, name, plural or f"{name}s", symbol, outputs, frozenset(values), below)
            rows.update(dict.fromkeys(codes.split(), Unit(*columns, zero=float(values.get("zero", 0)))))
    return rows


@cache
def _names() -> dict[str, tuple[str, bool]]:
    """Map each name, with _ between words, to its code. Also return whether the name is in American spelling."""
    names: dict[str, tuple[str, bool]] = {}
    for unit in _rows().values():
        for name in (unit.name, unit.plural):
            name = re.sub("[ -]", "_", name.replace("{}", "").strip())
            names.setdefault(name, (unit.code, False))
            names.setdefault(_american(name), (unit.code, True))
    return names


@lru_cache(maxsize=4096)
def find_unit(code: str) -> Unit | None:
    """Return the unit with a code, or None."""
    if len(code) > _MAX_CODE_CHARACTERS:
        return None
    # Try the most specific rule first. "mi/h" is in units.toml, "Mg" has a prefix (megagram), "kg/m3" is a quotient of two
    # units, "e6acre" is a multiple and "sqmi" is a square.
    code = code.translate(_SPELLING)
    unit = _listed(code) or _prefixed(code) or _quotient(code) or _multiplied(code) or _raised(code)
    if unit is not None or not code:
        return unit
    if (plain := re.sub(r"U\.S\.|u\.s\.", "US", code)) != code:
        unit = find_unit(plain)
        return unit and replace(unit, american=True)
    plain = code.lstrip("-+*").removeprefix("g-")  # "g-" is for gram calories; the template's own pages use the others
    return find_unit(plain) if plain != code else None


def _listed(code: str) -> Unit | None:
    """Return a unit of units.toml, by code or name."""
    if code.startswith("us") and f"US{code[2:]}" in _rows():
        code = f"US{code[2:]}"
    if code in _rows():
        return _with_prefix(code)
    code, american = _names().get(code.replace("-", "_"), ("", False))
    return replace(_with_prefix(code), american=american) if code else None


def _with_prefix(code: str, prefix: str = "") -> Unit:
    """Return a unit of units.toml with the SI prefix of this symbol, or without a prefix."""
    unit = _rows()[code]
    prefix_name, power = tables()["prefixes"].get(prefix, ("", 0))
    shift = 0 if "inverse" in unit.flags else power
    outputs = " ".join(_shifted(output, shift) for output in unit.outputs.split()) if prefix else unit.outputs
    return replace(
        unit,
        code=prefix + unit.code,
        scale=unit.scale * 10.0 ** (power if shift else -power),
        name=unit.name.replace("{}", prefix_name).strip(),
        plural=unit.plural.replace("{}", prefix_name).strip(),
        symbol=unit.symbol.replace("{}", prefix),
        outputs=tables()["outputs"].get(prefix + unit.code, outputs),
        below=(0.0, "") if prefix else unit.below,
    )


def _takes_prefixes(code: str) -> bool:
    return code in _rows() and "si" in _rows()[code].flags


def _shifted(output: str, power: int) -> str:
    """Multiply an output by a power of ten if it takes prefixes: kJ is converted to kcal because J is converted to cal."""
    if output in _rows() and not _takes_prefixes(output):  # ft is a foot, not a femtotonne
        return output
    powers: dict[str, int] = {prefix: size for prefix, (_, size) in tables()["prefixes"].items()} | {"": 0}
    for prefix, size in powers.items():
        if output.startswith(prefix) and _takes_prefixes(output[len(prefix) :]):
            wanted = max(size + power, min(powers.values()))
            return next((other for other, at in powers.items() if at == wanted), prefix) + output[len(prefix) :]
    return output


def _prefixed(code: str) -> Unit | None:
    """Return a unit with an SI prefix, such as ``MW`` or ``uW``."""
    for symbol, (name, _) in tables()["prefixes"].items():
        for prefix in (symbol, name, "u" if name == "micro" else name):
            rest = code[len(prefix) :] if code.startswith(prefix) else ""
            for base in (rest, _names().get(rest, ("",))[0]):
                if _takes_prefixes(base):
                    return _with_prefix(base, symbol)
    return None


def _multiplied(code: str) -> Unit | None:
    """Return a multiple such as ``e6acre``, ``million acres`` or ``Moilbbl``, shown as a word or a power of ten."""
    for symbol, (word, power) in tables()["multiples"].items():
        for prefix in (f"e{power}", f"{word}_", symbol):
            base = find_unit(code[len(prefix) :]) if code.startswith(prefix) else None
            if base is None or base.multiple or base.zero or (prefix == symbol and "counted" not in base.flags):
                continue
            canonical = (f"{word} " if prefix == f"{word}_" else prefix) + base.code
            defaults, engineering = default_outputs(base, 1e9), prefix != symbol
            outputs = f"e{power}{defaults[0]}" if engineering and len(defaults) == 1 else base.outputs
            barrels = prefix == symbol and base.symbol == "bbl"
            return replace(
                base,
                code=canonical,
                scale=base.scale * 10.0**power,
                symbol=f"{symbol}bbl" if barrels else base.symbol,
                outputs=tables()["outputs"].get(canonical, outputs),
                multiple=word,
                power=0 if barrels else power,
                below=(0.0, ""),
            )
    return None


def _raised(code: str) -> Unit | None:
    """Return a square or cube, such as ``sqmi``, or a power of time, as in ``m/s2``."""
    match = _POWER.fullmatch(code)
    base = find_unit(match["two"] or match["three"] or match["base"]) if match else None
    if match is None or base is None or base.dimension not in ("length", "time") or "inverse" in base.flags:
        return None
    power = 3 if match["three"] or match["power"] == "3" else 2
    word, short = {2: ("square", "sq"), 3: ("cubic", "cu")}[power]
    metric = "si" in base.flags or base.dimension == "time"
    canonical = f"{base.code}{power}" if metric else short + base.code
    if canonical in _rows():
        return _with_prefix(canonical)
    before, after = (f"{word} ", "") if base.dimension == "length" else ("", " squared")
    return Unit(
        code=canonical,
        dimension=f"{base.dimension}{power}",
        scale=base.scale**power,
        name=before + base.name + after,
        plural=before + base.plural + after,
        symbol=f"{base.symbol}{power}" if metric else f"{short} {base.symbol or base.name}",
        outputs=tables()["outputs"].get(canonical) or " ".join(f"{short}{code}" for code in default_outputs(base, 1e9)),
        flags=base.flags & {"si"},
        american=base.american,
    )


def _quotient(code: str) -> Unit | None:
    """Return a quotient of units, such as ``kg/m3``. After the slash, ``a`` is a year, as in ``m/a``."""
    head, slash, rest = code.rpartition("/")
    if not slash or not head or head.count("/") > 1:
        return None
    top, bottom = find_unit(head), find_unit("annum" if rest == "a" else rest)
    if top is None or bottom is None or top.zero or bottom.zero or "inverse" in top.flags | bottom.flags or bottom.multiple:
        return None
    dimension = f"{top.dimension}/{bottom.dimension}"
    canonical = f"{top.code}/{'a' if rest == 'a' else bottom.code}"
    below = bottom.code if bottom.dimension.startswith("time") else default_outputs(bottom, 1e9)[0]
    return Unit(
        code=canonical,
        dimension=tables()["same"].get(dimension, dimension),
        scale=top.scale / bottom.scale,
        name=f"{top.name} per {bottom.name}",
        plural=f"{top.plural} per {bottom.name}",
        symbol=f"{top.symbol or top.name}/{bottom.symbol or bottom.name}",
        outputs=tables()["outputs"].get(canonical) or f"{top.outputs.split()[0]}/{below}",
        flags=top.flags & {"counted"},
        multiple=top.multiple,
        power=top.power,
        american=top.american or bottom.american,
    )


def default_outputs(unit: Unit, value: float) -> list[str]:
    """Return the codes of the default outputs for ``value`` in ``unit``.

    A unit that is a multiple, such as a million, is converted to a multiple.
    """
    if 0 < value < unit.below[0]:
        return [unit.below[1]]
    codes = unit.outputs.split()
    output = find_unit(codes[0]) if unit.multiple and len(codes) == 1 and not codes[0].startswith("e") else None
    if output is not None and "counted" in unit.flags and not output.multiple and value > 0:
        power = 3 * math.floor(math.log10(value * unit.scale / output.scale) / 3)
        return [f"e{min(power, 15)}{codes[0]}"] if power > 0 and unit.code not in tables()["outputs"] else codes
    return codes


@lru_cache(maxsize=4096)
def _american(name: str) -> str:
    """Return a name or symbol in American spelling."""
    for british, american in tables()["american"].items():
        name = name.replace(british, american)
    return name
