"""Write the output of ``{{convert}}`` and ``{{cvt}}``: a measurement, and its conversion to other units.

>>> convert(["10", "km", "mi"], {}).replace("\\xa0", " ")
'10 kilometres (6.2 mi)'
>>> convert(["6", "ft", "2", "in"], {"abbr": "on"}).replace("\\xa0", " ")
'6 ft 2 in (1.88 m)'
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .amounts import Amount, digits_for, power_of_ten, round_number, round_to_multiple, spell_number, write_number
from .call import Call, Style, read_call
from .units import Unit, default_outputs, find_unit, table

_HARD_SPACE = "\u00a0"
_LOG_2 = math.log10(2)
_LOG_ERROR = 1e-12  # error bound of logarithms
_MIN_PRECISE_KELVIN = 0.2  # kelvins; below, the third figure no longer indicates a temperature's precision
_PROPERTY = re.compile(r"[PQ][0-9]+")
_JOINT = re.compile(r" (?:[a-z ]+|×) ")  # words of a range that get hyphens before a unit's name: 5-to-about-10-foot


@dataclass
class _Part:
    """Numbers and their unit; for a range, all numbers if they share the unit."""

    shown: list[str]
    unit: Unit
    singular: bool = False


# A measurement in one unit, or in several such as feet and inches; for a range, one for each value.
_Result = list[list[_Part]]


def _numbers(result: _Result) -> str:
    return " ".join(number for parts in result for part in parts for number in part.shown)


def convert(arguments: Sequence[str], options: Mapping[str, str], *, abbreviate: bool = False) -> str | None:
    """Return the text of ``{{convert|arguments|options}}``; with ``abbreviate``, of ``{{cvt}}``.

    Return None if it cannot be converted: no number, an unknown unit, or units of different dimensions.

    >>> convert(["10", "ft"], {"adj": "on"}).replace("\\xa0", " "), convert(["10", "quux"], {})
    ('10-foot (3.0 m)', None)
    """
    if value := options.get("input"):  # a measurement, or a Wikidata property
        return None if _PROPERTY.fullmatch(value) else value
    style = Style(options, abbreviate)
    call = read_call(arguments)
    if call is None:
        return None
    try:
        return _Conversion(call, style).text()
    except (OverflowError, ZeroDivisionError, ValueError):  # impossible values: 0 mpg, 1e99 light-years
        return None


class _Conversion:
    """The state of one call."""

    def __init__(self, call: Call, style: Style) -> None:
        self.call, self.style = call, style
        self.finest = call.smaller[-1][1] if call.smaller else call.unit
        if "inches" in call.unit.flags:
            hands = [math.trunc(amount.value) + math.fmod(amount.value, 1) * 10 / 4 for amount in call.amounts]
            call.amounts = [Amount(value, 1, amount.shown) for value, amount in zip(hands, call.amounts, strict=True)]
        self.amounts = [self.total()] if call.smaller else call.amounts
        self.american = style.american or call.unit.american
        self.frame = table("disp").get(style.disp, table("disp")["b"])

    def text(self) -> str | None:
        """Return the complete text."""
        style = self.style
        codes = self.call.outputs or default_outputs(self.call.unit, self.amounts[0].value)
        results = [self.output(code) for code in codes]
        if not all(results):
            return None
        left, right = [self.source()], results
        if style.disp in ("number", "output number only"):
            return "; ".join(_numbers(result) for result in results)
        if style.disp in ("unit", "unit2"):
            side = int(style.disp == "unit2")
            parts = [result[0][-1] for result in (left, right)[side]]
            return "; ".join(self.word(part, self.by_symbol(part.unit, side), side) for part in parts)
        if style.disp == "table":
            return " |".join(f'style="text-align:right;"|{_numbers(result)}' for result in left + right)
        if style.order == "flip":
            left, right = right, left
        elif style.order == "out" and len(right) > 1:
            left, right = right[:1], right[1:]
        converted = self.side(right, 1)
        if style.disp in ("out", "output only"):
            return converted
        return f"{self.side(left, 0)}{self.frame[0]}{converted}{self.frame[1]}"

    # --- numbers

    def total(self) -> Amount:
        """Return the amount in the smallest of its input units; a trailing zero is exact."""
        first, last = self.call.amounts[0], self.call.smaller[-1][0]
        small = sum(amount.value * unit.scale for amount, unit in self.call.smaller)
        value = (abs(first.value) * self.call.unit.scale + small) / self.finest.scale
        return Amount(-value if first.shown.startswith("−") else value, max(0, last.digits), "")

    def source(self) -> _Result:
        """Return the input."""
        call, last = self.call, self.call.amounts[-1]
        parts = [_Part([amount.shown for amount in call.amounts], call.unit, _is_one(last))]
        parts += [_Part([amount.shown], unit, _is_one(amount)) for amount, unit in call.smaller]
        return [parts]

    def output(self, code: str) -> _Result:
        """Return one output, without values if its unit has another dimension."""
        pieces: list[str | int] = table("composites").get(code, [])
        unit = find_unit(str(pieces[-1]) if pieces else code)
        if unit is None or unit.dimension != self.finest.dimension:
            return []
        values = [self.converted(amount.value, unit, index) for index, amount in enumerate(self.amounts)]
        if not all(map(math.isfinite, values)):
            raise OverflowError(code)
        digits = [self.digits(amount, value, unit) for amount, value in zip(self.amounts, values, strict=True)]
        if not self.style.figures:
            digits = [max(digits)] * len(digits)
        if pieces:
            return [self.split(*pair, pieces) for pair in zip(values, digits, strict=True)]
        shown = [self.write(*pair) for pair in zip(values, digits, strict=True)]
        return [[_Part(shown, unit, shown[-1] in ("1", "−1"))]]

    def converted(self, value: float, unit: Unit, index: int) -> float:
        """Return ``value`` in ``unit``; a number after ± is a difference."""
        if index and self.call.between[index - 1][0] == " ± ":
            return value * self.finest.scale / unit.scale
        return unit.from_base(self.finest.to_base(value))

    def digits(self, amount: Amount, value: float, unit: Unit) -> int:
        """Return the decimal place for rounding.

        By default, the result is as precise as the input: a factor of 2 to 20 costs a digit.  It has at least two
        significant figures, a temperature three in kelvins.  The template has three special rules: zero is an
        integer; integers have the same precision in feet or pounds as in the base unit; with feet and inches, the
        result is precise to the centimeter.
        """
        if self.call.digits is not None:
            return self.call.digits
        if self.style.figures:
            rounded = round_number(value, digits_for(value, self.style.figures))  # may have one more digit
            return digits_for(rounded, self.style.figures)
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
        return max(math.floor(amount.digits + math.log10(ratio) + _LOG_2 + _LOG_ERROR), digits_for(value, 2))

    def write(self, value: float, digits: int) -> str:
        """Write a result as the options specify."""
        if self.style.step and self.call.digits is None:
            value = round_to_multiple(value, self.style.step)
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

    def side(self, results: list[_Result], side: int) -> str:
        """Write one side of the conversion: 0 is the left, 1 the right."""
        joint = self.frame[2] if side else "; "
        return joint.join(self.result(result, side) for result in results)

    def result(self, result: _Result, side: int) -> str:
        """Write a measurement; in several units, put spaces around a dash between two values."""
        joint = "-" if self.style.adjective and not self.by_symbol(result[0][0].unit, side) else " "
        values = [joint.join(self.quantity(part, side) for part in parts) for parts in result]
        if len(values) == 1:
            return values[0]
        return self.joined(values, True, side).replace("–", " – ")

    def by_symbol(self, unit: Unit, side: int) -> bool:
        """Return True if a unit is written by its symbol."""
        choice = self.style.symbols[side]
        if choice is None:
            return "first" in unit.flags
        return choice and ("named" not in unit.flags or self.style.abbr != "")

    def quantity(self, part: _Part, side: int) -> str:
        """Write numbers and their unit."""
        style, unit, shown = self.style, part.unit, part.shown
        if style.spelled[side]:
            shown = [spell_number(number) for number in shown]
            if style.capital and not side:
                shown[0] = shown[0][:1].upper() + shown[0][1:]
        by_symbol = self.by_symbol(unit, side)
        if style.abbr == "values":
            return " ".join(filter(None, [self.joined(shown, True, side), unit.multiple]))
        word = self.word(part, by_symbol, side)
        if by_symbol and style.abbr != "unit" and unit.power:
            word = f"{power_of_ten(unit.power)}{'' if word.startswith('/') else _HARD_SPACE}{word}"
        elif unit.multiple and (unit.power or not by_symbol):
            word = f"{unit.multiple} {word}"
        if style.adjective and not (by_symbol and unit.symbol):
            return f"{self.joined(shown, False, side)}-{word.replace(' ', '-')}"
        space = "" if word.startswith(("/", "×")) else _HARD_SPACE if by_symbol else " "
        if by_symbol and any(each for _, _, each in self.call.between):
            return self.joined([f"{number}{space}{word}" for number in shown], True, side)  # 3 ft × 6 ft
        return f"{self.joined(shown, by_symbol, side)}{space}{word}"

    def joined(self, shown: list[str], by_symbol: bool, side: int) -> str:
        """Write the values of a range."""
        text = shown[0]
        style, converted = self.style, bool(side) != (self.style.order == "flip")
        hyphens = style.adjective and (not by_symbol or style.abbr == "on")
        for number, (named, other, _) in zip(shown[1:], self.call.between, strict=False):
            between = other if (converted if other == "–" else by_symbol) else named
            if hyphens and (between.strip().isalpha() or (not by_symbol and _JOINT.fullmatch(between))):
                between = between.replace(" ", "-")
            text += between + number
        return text

    def word(self, part: _Part, by_symbol: bool, side: int) -> str:
        """Return the symbol or name of a unit, with the editor's own words."""
        unit, style = part.unit, self.style
        singular = (part.singular and not unit.multiple) or style.adjective or (style.adj == "1" and not side)
        word = unit.word(symbol=by_symbol and unit.symbol != "", singular=singular, american=self.american)
        if style.abbr == "~" and not side and unit.symbol:
            word += f" [{unit.word(symbol=True)}]"
        return word


def _is_one(amount: Amount) -> bool:
    """Return True if the unit after the amount is singular."""
    return abs(amount.value) == 1 or amount.fraction
