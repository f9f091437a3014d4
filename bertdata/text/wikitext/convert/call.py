"""Parse the arguments of ``{{convert}}``: values, units, target units, decimal place, and named options.

>>> call = read_call(["5", "to", "10", "km", "mi nmi", "1"])
>>> [amount.shown for amount in call.amounts], call.unit.code, call.outputs, call.digits
(['5', '10'], 'km', ['mi', 'nmi'], 1)
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .amounts import Amount, read_amount
from .units import Unit, find_unit, table

_MAX_ARGUMENTS = 40
_MAX_LIST_CHARACTERS = 200  # characters
_WHOLE = re.compile(r"[-−+]?[0-9]{1,3}")
_RANGE = re.compile(r"\s*(–|—|-|×|±|\+/-|(?<=\s)(?:to|and|or|by|x)(?=\s)|(?<=[0-9])[x*](?=[0-9]))\s*")


Range = tuple[str, str, bool]


@dataclass
class Call:
    """The parsed positional arguments."""

    amounts: list[Amount]
    unit: Unit
    between: list[Range] = field(default_factory=list)  # for each word in a range, from units.toml
    smaller: list[tuple[Amount, Unit]] = field(default_factory=list)  # the inches of 6 ft 2 in
    outputs: list[str] = field(default_factory=list)
    digits: int | None = None


class Style:
    """The named options; unknown ones are ignored, and so are links and sort keys."""

    def __init__(self, options: Mapping[str, str], abbreviate: bool) -> None:
        def option(name: str) -> str:
            return options.get(name, "").strip()

        self.disp = option("disp") or "b"
        self.adj = option("adj") or option("sing")
        self.adjective = self.adj in ("on", "mid")
        self.abbr = option("abbr") or ("on" if abbreviate else "")
        self.capital = option("spell")[:1].isupper()
        self.spelled = {"on": (True, True), "in": (True, False)}.get(option("spell").lower(), (False, False))
        self.american = option("sp").lower() == "us"
        self.order = "flip" if self.disp == "flip" else option("order")
        self.figures = _natural(option("sigfig"))
        step = read_amount("5" if self.disp == "5" else option("round"))
        self.step = max(step.value, 0.0) if step else 0.0
        # For the left and right side: use symbols, names, or (None) names except for units better known by symbol.
        names = None if self.disp == "or" or self.spelled[1] else True
        self.symbols: Sequence[bool | None] = table("abbr").get(self.abbr, (None, names))


def _natural(text: str) -> int:
    """Return an integer from 1 to 999, 0 for anything else."""
    return int(text) if _WHOLE.fullmatch(text) and text[0] not in "-−" else 0


def read_call(arguments: Sequence[str]) -> Call | None:
    """Parse the positional arguments; return None if a number or unit is missing or unknown."""
    words = list(filter(None, (argument.strip() for argument in arguments[:_MAX_ARGUMENTS])))
    amounts, between = _read_values(words)
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
        call.outputs = _read_outputs(words[0])
        if not call.outputs:
            return None
        del words[0]
    if words and _WHOLE.fullmatch(words[0]):
        call.digits = int(words.pop(0).replace("−", "-"))
    return call


def _read_values(words: list[str]) -> tuple[list[Amount], list[Range]]:
    """Take a value, or the values of a range and the words between them, from the start of ``words``."""
    amounts: list[Amount] = []
    between: list[Range] = []
    if words and read_amount(words[0]) is None:
        words[:1] = _RANGE.split(words[0][:_MAX_LIST_CHARACTERS])  # one argument can contain a range
    while words:
        amount = read_amount(words[0])
        if amount is None:
            break
        amounts.append(amount)
        del words[0]
        joint = table("ranges").get(words[0]) if len(words) > 1 and read_amount(words[1]) else None
        if joint is None:
            break
        between.append(joint)
        del words[0]
    return amounts, between


def _read_outputs(text: str) -> list[str]:
    """Return the unit codes in an argument: one code for split units, or several separated by spaces."""
    codes = [text] if text in table("composites") or find_unit(text) else text[:_MAX_LIST_CHARACTERS].replace("+", " ").split()
    return codes if all(code in table("composites") or find_unit(code) for code in codes) else []
