"""Numbers in ``{{convert}}``: reading them, their precision, and how results are rounded and written.

>>> read_amount("1,234.5"), read_amount("1+1/2").shown, read_amount("many")
(Amount(value=1234.5, digits=1, shown='1,234.5', fraction=False), '1 1⁄2', None)
"""

import math
import re
from dataclasses import dataclass

_DECIMAL = re.compile(r"([-−+]?)(?=\.?[0-9])([0-9][0-9,]*)?(?:\.([0-9]*))?(?:[eE]([-+−]?[0-9]{1,2}))?")
_FRACTION = re.compile(r"([-−]?)(?:([0-9][0-9,]{0,11})[-+ ])?([0-9]{1,9})(//?|⁄)([0-9]{1,9})")
_MAX_CHARACTERS = 40  # characters; no measurement has more
_MIN_LARGE, _MAX_SMALL = 1e9, 1e-4  # from these values on, use powers of ten
_LOG_ERROR = 1e-14  # error bound of a logarithm
_ROUNDING_OFFSET = 2e-14  # added by the template before it rounds; of values below one, this share
_MAX_DIGITS = 60
_SMALL_NAMES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
"""
_SMALL = _SMALL_NAMES.split()
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_GROUPS = [(10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")]


@dataclass(frozen=True)
class Amount:
    """A number: its value, its precision as a decimal place (-2: hundreds), and how it is written."""

    value: float
    digits: float
    shown: str
    fraction: bool = False  # a fraction below one: its unit is singular


def read_amount(text: str) -> Amount | None:
    """Read a number; one of four digits or more is written in groups of three."""
    text = text.strip().replace("&minus;", "-")
    if len(text) > _MAX_CHARACTERS:
        return None
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return _read_fraction(text)
    sign, whole, part, exponent = match.groups()
    whole = (whole or "0").replace(",", "")
    power = int(exponent.replace("−", "-")) if exponent else 0
    value = float(f"{whole}.{part or '0'}e{power}")
    # The precision of the result follows from how the number is written: 12,300 is exact to hundreds (-2), 5.20 to
    # hundredths (2), and an exponent shifts the place.
    zeros = 0 if part or not value else len(whole) - len(whole.rstrip("0"))
    shown = _group(str(int(whole))) + (f".{part}" if part else "")
    if exponent:
        shown += power_of_ten(power)
    sign = sign.replace("-", "−")
    return Amount(-value if sign == "−" else value, len(part or "") - zeros - power, sign + shown)


def power_of_ten(power: int) -> str:
    """Return the factor of a number in scientific notation, as wikitext.

    >>> power_of_ten(-7)
    '×10<sup>−7</sup>'
    """
    return f"×10<sup>{power}</sup>".replace("-", "−")


def _read_fraction(text: str) -> Amount | None:
    """Read ``1/2``, ``1+1/2`` or, with a level bar, ``1+2//3``; its precision is at least tenths."""
    match = _FRACTION.fullmatch(text)
    if match is None or not int(match[5]):
        return None
    sign, whole, over, bar, under = match.groups()
    count = int(whole.replace(",", "")) if whole else 0
    value = count + int(over) / int(under)
    shown = (_group(str(count)) + " " if whole else "") + over + ("/" if bar == "//" else "⁄") + under
    digits = max(1.0, math.log10(int(under)))
    return Amount(-value if sign else value, digits, ("−" if sign else "") + shown, not whole and value <= 1)


def _group(digits: str) -> str:
    return f"{int(digits):,}" if len(digits) > 3 else digits


def digits_for(value: float, figures: int) -> int:
    """Return the decimal place that leaves ``value`` with ``figures`` significant figures.

    >>> digits_for(184.3, 2), digits_for(0.4536, 2), digits_for(99.97, 3)
    (-1, 2, 1)
    """
    return figures - 1 - (math.floor(math.log10(abs(value)) + _LOG_ERROR) if value else 0)


def round_number(value: float, digits: int) -> float:
    """Round half away from zero, like the template: 2e-14 corrects small binary values, but not those from 256 on.

    >>> round_number(-2.05, 1), round_number(288.45, 1), round_number(1435.0, -2)
    (-2.1, 288.4, 1400.0)
    """
    digits = max(-_MAX_DIGITS, min(_MAX_DIGITS, digits))
    if digits >= 0:
        return math.copysign(float(f"{abs(value) + min(1.0, abs(value)) * _ROUNDING_OFFSET:.{digits}f}"), value)
    scaled = abs(value) * 10.0**digits
    return math.copysign(float(math.floor(scaled + 0.5) * 10**-digits), value) if scaled < 1e15 else value


def round_to_multiple(value: float, step: float) -> float:
    """Round to the nearest multiple of ``step``.

    >>> round_to_multiple(698.8, 5)
    700.0
    """
    return math.copysign(math.floor(abs(value) / step + 0.5) * step, value)


def write_number(value: float, digits: int, powers: bool = False) -> str:
    """Write a number to a decimal place, with powers of ten if it is very large or small.

    With ``powers``, use them from a thousand on, for input written with powers of ten.

    >>> write_number(28748.4, -1), write_number(-3.05, 1), write_number(4.53e12, -11), write_number(2e-7, 8)
    ('28,750', '−3.1', '4.5×10<sup>12</sup>', '2.0×10<sup>−7</sup>')
    """
    rounded = round_number(value, digits)
    size = abs(rounded)
    sign = "−" if rounded < 0 else ""
    # Scientific notation keeps the decimal place: digits counts from the point of the whole number, so the power is added.
    if size and not _MAX_SMALL <= size < (1000 if powers else _MIN_LARGE):
        power = math.floor(math.log10(size) + _LOG_ERROR)
        places = max(0, min(_MAX_DIGITS, power + digits))
        return f"{sign}{size / 10.0**power:.{places}f}{power_of_ten(power)}"
    whole, point, part = f"{size:.{max(0, min(_MAX_DIGITS, digits))}f}".partition(".")
    return sign + _group(whole) + point + part


def spell_number(shown: str) -> str:
    """Return a number in words; return anything that is not an integer or a decimal unchanged.

    >>> spell_number("1,232"), spell_number("21.5"), spell_number("1⁄2")
    ('one thousand two hundred and thirty-two', 'twenty-one point five', '1⁄2')
    """
    whole, point, part = shown.replace(",", "").removeprefix("−").partition(".")
    if not (whole.isdecimal() and len(whole) <= 12 and (part.isdecimal() or not point)):
        return shown
    words = ["minus"] if shown.startswith("−") else []
    words += [_spell_whole(int(whole)), *(["point"] if point else []), *(_SMALL[int(digit)] for digit in part)]
    return " ".join(words)


def _spell_whole(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    if number < 100:
        return _TENS[number // 10] + (f"-{_SMALL[number % 10]}" if number % 10 else "")
    size, name = next(group for group in _GROUPS if number >= group[0])
    count, rest = divmod(number, size)
    joint = "" if not rest else " and " if rest < 100 else " "
    return f"{_spell_whole(count)} {name}{joint}{_spell_whole(rest) if rest else ''}"
