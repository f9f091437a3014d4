"""Read the arguments of ``{{convert}}``: values with their precision, units, target units and the decimal place.

>>> call = read_call(["5", "to", "1+1/2", "km", "mi nmi", "1"])
>>> [amount.shown for amount in call.amounts], call.unit.code, call.outputs, call.digits
(['5', '1 1⁄2'], 'km', ['mi', 'nmi'], 1)
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .units import Unit, find_unit, tables

_DECIMAL = re.compile(r"([-+]?)(?=\.?[0-9])([0-9][0-9,]*)?(?:\.([0-9]*))?(?:[eE]([-+]?[0-9]{1,2}))?")
_FRACTION = re.compile(r"(-?)(?:([0-9][0-9,]{0,11})[-+ ])?([0-9]{1,9})(//?|⁄)([0-9]{1,9})")
_WHOLE = re.compile(r"[-−+]?[0-9]{1,3}")
_RANGE = re.compile(r"\s*(–|—|-|×|±|\+/-|(?<=\s)(?:to|and|or|by|x)(?=\s)|(?<=[0-9])[x*](?=[0-9]))\s*")
_MAX_ARGUMENTS, _MAX_NUMBER, _MAX_LIST = 40, 40, 200  # arguments; characters of a number; characters of a list


@dataclass(frozen=True)
class Amount:
    """A number: its value, its precision as a decimal place (-2: hundreds), and how it is written."""

    value: float
    digits: float
    shown: str
    fraction: bool = False  # a fraction below one: its unit is singular


@dataclass
class Call:
    """The parsed positional arguments."""

    amounts: list[Amount]
    unit: Unit
    between: list[tuple[str, str, bool]]  # for each word in a range, from units.toml
    smaller: list[tuple[Amount, Unit]] = field(default_factory=list)  # the inches of 6 ft 2 in
    outputs: list[str] = field(default_factory=list)
    digits: int | None = None


def read_amount(text: str) -> Amount | None:
    """Read a number; one of four digits or more is written in groups of three."""
    text = text.strip().replace("&minus;", "-").replace("−", "-")
    if len(text) > _MAX_NUMBER:
        return None
    if match := _DECIMAL.fullmatch(text):
        sign, whole, part, exponent = match.groups(default="")
        whole, power = whole.replace(",", "") or "0", int(exponent or 0)
        value = float(f"{whole}.{part or 0}e{power}")
        # The precision of the result follows from how the number is written: 12,300 is exact to hundreds (-2), 5.20 to
        # hundredths (2), and an exponent shifts the place.
        zeros = 0 if part or not value else len(whole) - len(whole.rstrip("0"))
        shown = f"{int(whole):,}" + (f".{part}" if part else "") + (power_of_ten(power) if exponent else "")
        digits, fraction = float(len(part) - zeros - power), False
    elif (match := _FRACTION.fullmatch(text)) and int(match[5]):  # with a level bar if it is doubled: 1+2//3
        sign, whole, over, bar, under = match.groups(default="")
        whole = whole.replace(",", "")
        value = int(whole or 0) + int(over) / int(under)
        shown = (f"{int(whole):,} " if whole else "") + over + ("/" if bar == "//" else "⁄") + under
        digits, fraction = max(1.0, math.log10(int(under))), not whole and value <= 1
    else:
        return None
    return Amount(-value if sign == "-" else value, digits, sign.replace("-", "−") + shown, fraction)


def power_of_ten(power: int) -> str:
    """Return the factor of a number in scientific notation, as wikitext."""
    return f"×10<sup>{power}</sup>".replace("-", "−")


def read_call(arguments: Sequence[str]) -> Call | None:
    """Parse the positional arguments; return None if a number or unit is missing or unknown."""
    words = list(filter(None, (argument.strip() for argument in arguments[:_MAX_ARGUMENTS])))
    if words and read_amount(words[0]) is None:
        words[:1] = _RANGE.split(words[0][:_MAX_LIST])  # one argument can contain a range
    amounts: list[Amount] = []
    between: list[tuple[str, str, bool]] = []
    while words and (amount := read_amount(words[0])):
        amounts.append(amount)
        del words[0]
        joint = tables()["ranges"].get(words[0]) if len(words) > 1 and read_amount(words[1]) else None
        if joint is None:
            break
        between.append(joint)
        del words[0]
    unit = find_unit(words.pop(0)) if amounts and words else None
    if unit is None:
        return None
    call = Call(amounts, unit, between)
    while len(words) > 1 and len(amounts) == 1:
        amount, part = read_amount(words[0]), find_unit(words[1])
        last = call.smaller[-1][1] if call.smaller else unit
        if amount is None or part is None or part.dimension != unit.dimension or part.scale >= last.scale:
            break
        call.smaller.append((amount, part))
        del words[:2]
    if words and not _WHOLE.fullmatch(words[0]):
        # One code, which may be split over units, or several separated by spaces.
        codes, composites = words.pop(0)[:_MAX_LIST], tables()["composites"]
        call.outputs = [codes] if codes in composites or find_unit(codes) else codes.replace("+", " ").split()
        if not call.outputs or not all(code in composites or find_unit(code) for code in call.outputs):
            return None
    if words and _WHOLE.fullmatch(words[0]):
        call.digits = int(words[0].replace("−", "-"))
    return call
