"""Write the output of ``{{convert}}`` and ``{{cvt}}``: a measurement, and its conversion to other units.

>>> convert(["10", "km", "mi"], {}).replace("\\xa0", " ")
'10 kilometres (6.2 mi)'
>>> convert(["6", "ft", "2", "in"], {"abbr": "on"}).replace("\\xa0", " ")
'6 ft 2 in (1.88 m)'
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .call import Amount, Call, power_of_ten, read_amount, read_call
from .units import Unit, default_outputs, find_unit, tables

_HARD_SPACE = "\u00a0"
_LOG_ERROR = 1e-12  # error bound of logarithms
_ROUNDING_OFFSET = 2e-14  # added by the template before it rounds; of values below one, this share
_MIN_LARGE, _MAX_SMALL = 1e9, 1e-4  # from these values on, use powers of ten
_MAX_DIGITS = 60
_MIN_PRECISE_KELVIN = 0.2  # kelvins; below, the third figure no longer indicates a temperature's precision
_JOINT = re.compile(r" (?:[a-z ]+|×) ")  # words of a range that get hyphens before a unit's name: 5-to-about-10-foot
_ADJECTIVE = ("on", "mid")


class _Part(NamedTuple):
    """Numbers and their unit; for a range, all numbers if they share the unit."""

    shown: list[str]
    unit: Unit
    singular: bool


# A measurement in one unit, or in several such as feet and inches; for a range, one for each value.
_Result = list[list[_Part]]


def convert(arguments: Sequence[str], options: Mapping[str, str], *, abbreviate: bool = False) -> str | None:
    """Return the text of ``{{convert|arguments|options}}``; with ``abbreviate``, of ``{{cvt}}``.

    The options are abbr, adj, disp, order, round, sigfig, sing, sp and spell, as far as articles use them; others are ignored.
    Return None if it cannot be converted: no number, an unknown unit, or units of different dimensions.

    >>> convert(["10", "ft"], {"adj": "on"}).replace("\\xa0", " "), convert(["10", "quux"], {})
    ('10-foot (3.0 m)', None)
    """
    call = None if options.get("input") else read_call(arguments)  # `input` takes the amount from Wikidata
    try:
        return _Conversion(call, options, abbreviate).text() if call else None
    except (OverflowError, ZeroDivisionError, ValueError):  # impossible values: 0 mpg, 1e99 light-years
        return None


class _Conversion:
    """The state of one call."""

    def __init__(self, call: Call, options: Mapping[str, str], abbreviate: bool) -> None:
        named = {name: value.strip() for name, value in options.items()}
        self.call = call
        self.disp = named.get("disp", "")
        self.adjective = (named.get("adj") or named.get("sing")) in _ADJECTIVE
        self.abbr = named.get("abbr") or ("on" if abbreviate else "")
        self.spelled = {"on": (True, True), "in": (True, False)}.get(named.get("spell", "").lower(), (False, False))
        self.capital = named.get("spell", "")[:1].isupper()
        self.american = named.get("sp", "").lower() == "us" or call.unit.american
        self.flip = "flip" in (self.disp, named.get("order"))
        figures, step = named.get("sigfig", ""), read_amount(named.get("round", ""))
        self.figures = int(figures) if figures.isdecimal() and len(figures) < 3 else 0
        self.step = max(step.value, 0.0) if step else 0.0
        # For the left and right side: use symbols, names, or (None) names except for units better known by symbol.
        names = None if self.disp == "or" or self.spelled[1] else True
        self.symbols: Sequence[bool | None] = tables()["abbr"].get(self.abbr, (None, names))
        self.finest = call.smaller[-1][1] if call.smaller else call.unit
        if "inches" in call.unit.flags:
            hands = [math.trunc(amount.value) + math.fmod(amount.value, 1) * 10 / 4 for amount in call.amounts]
            call.amounts = [Amount(value, 1, amount.shown) for value, amount in zip(hands, call.amounts, strict=True)]
        self.amounts = call.amounts
        if call.smaller:  # the amount in the smallest of its units; a trailing zero is exact
            first, last = call.amounts[0], call.smaller[-1][0]
            small = sum(amount.value * unit.scale for amount, unit in call.smaller)
            value = (abs(first.value) * call.unit.scale + small) / self.finest.scale
            self.amounts = [Amount(-value if first.shown.startswith("−") else value, max(0, last.digits), "")]

    def text(self) -> str | None:
        """Return the complete text."""
        codes = self.call.outputs or default_outputs(self.call.unit, self.amounts[0].value)
        right = [self.output(code) for code in codes]
        if not all(right):
            return None
        last = self.call.amounts[-1]
        parts = [_Part([amount.shown for amount in self.call.amounts], self.call.unit, _is_one(last))]
        left = [[parts + [_Part([amount.shown], unit, _is_one(amount)) for amount, unit in self.call.smaller]]]
        if self.disp in ("table", "number", "output number only"):
            cells = [" ".join(number for parts in result for part in parts for number in part.shown) for result in left + right]
            if self.disp != "table":
                return "; ".join(cells[1:])
            return " |".join(f'style="text-align:right;"|{cell}' for cell in cells)
        if self.flip:
            left, right = right, left
        frame: Sequence[str] = tables()["disp"].get(self.disp, (" (", ")", "; "))
        converted = frame[2].join(self.result(result, 1) for result in right)
        if self.disp in ("out", "output only"):
            return converted
        shown = "; ".join(self.result(result, 0) for result in left)
        return (shown[0].upper() + shown[1:] if self.capital else shown) + frame[0] + converted + frame[1]

    # --- numbers

    def output(self, code: str) -> _Result:
        """Return one output, without values if its unit has another dimension."""
        pieces: list[str | int] = tables()["composites"].get(code, [])
        unit = find_unit(str(pieces[-1]) if pieces else code)
        if unit is None or unit.dimension != self.finest.dimension:
            return []
        values = [unit.from_base(self.finest.to_base(amount.value)) for amount in self.amounts]
        for index, (joint, _, _) in enumerate(self.call.between, 1):
            if joint == " ± ":  # a difference
                values[index] = self.amounts[index].value * self.finest.scale / unit.scale
        digits = [self.digits(amount, value, unit) for amount, value in zip(self.amounts, values, strict=True)]
        if not self.figures:
            digits = [max(digits)] * len(digits)
        if pieces:
            return [self.split(*pair, pieces) for pair in zip(values, digits, strict=True)]
        shown = [self.write(*pair) for pair in zip(values, digits, strict=True)]
        return [[_Part(shown, unit, shown[-1] in ("1", "−1"))]]

    def digits(self, amount: Amount, value: float, unit: Unit) -> int:
        """Return the decimal place for rounding.

        By default, the result is as precise as the input: a factor of 2 to 20 costs a digit.  It has at least two
        significant figures, a temperature three in kelvins.  The template has three special rules: zero is an
        integer; integers have the same precision in feet or pounds as in the base unit; with feet and inches, the
        result is precise to the centimeter.
        """
        if self.call.digits is not None:
            return self.call.digits
        if self.figures:
            rounded = round_number(value, digits_for(value, self.figures))  # may have one more digit
            return digits_for(rounded, self.figures)
        if unit.dimension == "temperature" and "first" in self.finest.flags:
            kelvins = max(abs(self.finest.to_base(amount.value)), _MIN_PRECISE_KELVIN)
            return max(math.floor(amount.digits), digits_for(kelvins, 3))
        if not value or not amount.value:
            return 0
        if self.call.smaller and self.finest.code == "in":
            ratio = 100 * unit.scale
        elif "fine" in unit.flags and amount.value == math.floor(amount.value):
            ratio = 1 / self.finest.scale
        else:
            ratio = abs(amount.value / value)
        return max(math.floor(amount.digits + math.log10(ratio) + math.log10(2) + _LOG_ERROR), digits_for(value, 2))

    def write(self, value: float, digits: int) -> str:
        """Write a result as the options specify."""
        if self.step and self.call.digits is None:
            value = math.copysign(math.floor(abs(value) / self.step + 0.5) * self.step, value)
            digits = len(f"{value:.3f}".rstrip("0").partition(".")[2])
        return write_number(value, digits, "×" in self.amounts[0].shown)

    def split(self, value: float, digits: int, pieces: list[str | int]) -> list[_Part]:
        """Split a value over units, such as feet and inches; leading zeros are omitted."""
        places = max(0, digits)
        rest = round_number(abs(value), places)
        units, counts = pieces[::2], [int(count) for count in pieces[1::2]]
        parts: list[_Part] = []
        for index, code in enumerate(units):
            unit, last = find_unit(str(code)), index + 1 == len(units)
            count, rest = (rest, 0.0) if last else divmod(rest, math.prod(counts[index:]))
            if unit is None or not (count or parts or last):
                continue
            if last:
                shown = write_number(count, places) if parts else self.write(value, digits)
            else:
                shown = ("−" if value < 0 and not parts else "") + write_number(count, 0)
            parts.append(_Part([shown], unit, shown == "1"))
        return parts

    # --- words

    def result(self, result: _Result, side: int) -> str:
        """Write a measurement on the left (0) or right (1); in several units, put spaces around a dash between two values."""
        joint = "-" if self.adjective and not self.by_symbol(result[0][0].unit, side) else " "
        values = [joint.join(self.quantity(part, side) for part in parts) for parts in result]
        return values[0] if len(values) == 1 else self.joined(values, True, side).replace("–", " – ")

    def by_symbol(self, unit: Unit, side: int) -> bool:
        """Return True if a unit is written by its symbol."""
        choice = self.symbols[side]
        if choice is None:
            return "first" in unit.flags
        return choice and ("named" not in unit.flags or self.abbr != "")

    def quantity(self, part: _Part, side: int) -> str:
        """Write numbers and their unit."""
        unit, shown = part.unit, part.shown
        if self.spelled[side]:
            shown = [spell_number(number) for number in shown]
        by_symbol = self.by_symbol(unit, side)
        singular = (part.singular and not unit.multiple) or self.adjective
        word = unit.word(symbol=by_symbol and unit.symbol != "", singular=singular, american=self.american)
        if by_symbol and unit.power:
            word = f"{power_of_ten(unit.power)}{'' if word.startswith('/') else _HARD_SPACE}{word}"
        elif unit.multiple and (unit.power or not by_symbol):
            word = f"{unit.multiple} {word}"
        if self.adjective and not (by_symbol and unit.symbol):
            return f"{self.joined(shown, False, side)}-{word.replace(' ', '-')}"
        space = "" if word.startswith(("/", "×")) else _HARD_SPACE if by_symbol else " "
        if by_symbol and any(each for _, _, each in self.call.between):
            return self.joined([f"{number}{space}{word}" for number in shown], True, side)  # 3 ft × 6 ft
        return f"{self.joined(shown, by_symbol, side)}{space}{word}"

    def joined(self, shown: list[str], by_symbol: bool, side: int) -> str:
        """Write the values of a range."""
        text = shown[0]
        hyphens = self.adjective and (not by_symbol or self.abbr == "on")
        for number, (named, other, _) in zip(shown[1:], self.call.between, strict=False):
            between = other if (bool(side) != self.flip if other == "–" else by_symbol) else named
            if hyphens and (between.strip().isalpha() or (not by_symbol and _JOINT.fullmatch(between))):
                between = between.replace(" ", "-")
            text += between + number
        return text


def _is_one(amount: Amount) -> bool:
    """Return True if the unit after the amount is singular."""
    return abs(amount.value) == 1 or amount.fraction


def digits_for(value: float, figures: int) -> int:
    """Return the decimal place that leaves ``value`` with ``figures`` significant figures."""
    return figures - 1 - _magnitude(value)


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)) + 1e-14) if value else 0  # 1e-14: the logarithm of 1000 may be below 3


def round_number(value: float, digits: int) -> float:
    """Round half away from zero, like the template: 2e-14 corrects small binary values, but not those from 256 on."""
    digits = max(-_MAX_DIGITS, min(_MAX_DIGITS, digits))
    if digits >= 0:
        return math.copysign(float(f"{abs(value) + min(1.0, abs(value)) * _ROUNDING_OFFSET:.{digits}f}"), value)
    scaled = abs(value) * 10.0**digits
    return math.copysign(float(math.floor(scaled + 0.5) * 10**-digits), value) if scaled < 1e15 else value


def write_number(value: float, digits: int, powers: bool = False) -> str:
    """Write a number to a decimal place, with powers of ten if it is very large or small.

    With ``powers``, use them from a thousand on, for input written with powers of ten.

    >>> write_number(28748.4, -1), write_number(-3.05, 1), write_number(4.53e12, -11), write_number(2e-7, 8)
    ('28,750', '−3.1', '4.5×10<sup>12</sup>', '2.0×10<sup>−7</sup>')
    """
    if not math.isfinite(value):
        raise OverflowError("no finite value")
    rounded = round_number(value, digits)
    size, sign = abs(rounded), "−" if rounded < 0 else ""
    # Scientific notation keeps the decimal place: digits counts from the point of the whole number, so the power is added.
    if size and not _MAX_SMALL <= size < (1000 if powers else _MIN_LARGE):
        power = _magnitude(size)
        return f"{sign}{size / 10.0**power:.{max(0, min(_MAX_DIGITS, power + digits))}f}{power_of_ten(power)}"
    return f"{sign}{size:,.{max(0, min(_MAX_DIGITS, digits))}f}"


def spell_number(shown: str) -> str:
    """Return a number in words; return anything that is not an integer or a decimal unchanged."""
    whole, point, part = shown.replace(",", "").removeprefix("−").partition(".")
    if not (whole.isdecimal() and len(whole) <= 12 and (part.isdecimal() or not point)):
        return shown
    decimals = ["point", *(tables()["words"]["small"][int(digit)] for digit in part)] if point else []
    return " ".join([*(["minus"] if shown.startswith("−") else []), _spell_whole(int(whole)), *decimals])


def _spell_whole(number: int) -> str:
    words = tables()["words"]
    if number < 20:
        return str(words["small"][number])
    if number < 100:
        return f"{words['tens'][number // 10]}-{words['small'][number % 10]}".removesuffix("-zero")
    name, size = next(group for group in words["groups"].items() if number >= group[1])
    count, rest = divmod(number, size)
    return f"{_spell_whole(count)} {name}" + (f"{' and ' if rest < 100 else ' '}{_spell_whole(rest)}" if rest else "")
