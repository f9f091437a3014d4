"""Arithmetic of ``{{#expr:}}``: MediaWiki's operators, precedence and number format, by precedence climbing.

>>> evaluate("(1 + 2) * 3 ^ 2 / 4"), evaluate("2/3 round 2"), evaluate("7 mod 4 > 2 and not 0")
('6.75', '0.67', '1')
"""

import math
import operator
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

_TOKEN = re.compile(r"\d+(?:\.\d*)?|\.\d+|[a-z]+|<=|>=|<>|!=|\S")
_MAX_LENGTH, _MAX_DEPTH = 10_000, 100  # characters; brackets and signs within each other
_NAMES = {"&lt;": "<", "&gt;": ">", "&minus;": "-", "−": "-", "&nbsp;": " ", "\u00a0": " "}
_CONSTANTS = {"pi": math.pi, "e": math.e}


def _round(value: float, digits: float) -> float:
    """Round half away from zero, as in 2.35 for ``2.345 round 2``."""
    places = max(-300, min(300, int(digits)))
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


# The precedence of each operator (higher binds tighter), and its function.
_BINARY: dict[str, tuple[int, Callable[[float, float], float]]] = {
    "e": (10, lambda left, right: left * 10.0**right),
    "^": (8, math.pow),
    "*": (7, operator.mul),
    "/": (7, operator.truediv),
    "div": (7, operator.truediv),
    "mod": (7, lambda left, right: math.fmod(int(left), int(right))),
    "fmod": (7, math.fmod),
    "+": (6, operator.add),
    "-": (6, operator.sub),
    "round": (5, _round),
    **dict.fromkeys(["<>", "!="], (4, operator.ne)),
    "=": (4, operator.eq),
    "<": (4, operator.lt),
    ">": (4, operator.gt),
    "<=": (4, operator.le),
    ">=": (4, operator.ge),
    "and": (3, lambda left, right: bool(left and right)),
    "or": (2, lambda left, right: bool(left or right)),
}
_UNARY: dict[str, tuple[int, Callable[[float], float]]] = {
    "-": (10, operator.neg),
    "+": (10, operator.pos),
    "not": (9, operator.not_),
    "abs": (9, abs),
    "ln": (9, math.log),
    **{name: (9, getattr(math, name)) for name in ("ceil", "floor", "trunc", "exp", "sqrt", "sin", "cos", "tan")},
}


def _value(tokens: list[str], rank: int, depth: int = 0) -> float:
    """Read a value and the operators after it that bind more tightly than ``rank``; ``tokens`` are in reverse order."""
    if depth > _MAX_DEPTH:
        raise ValueError
    token = tokens.pop()
    if token[0] in ".0123456789":
        value = float(token)
    elif token in _CONSTANTS:
        value = _CONSTANTS[token]
    elif token == "(":
        value = _value(tokens, 0, depth + 1)
        if tokens.pop() != ")":
            raise ValueError
    else:
        own, unary = _UNARY[token]
        value = float(unary(_value(tokens, own, depth + 1)))
    # In 1+2*3 the value after "+" is read with the rank of "+", so it takes "*3" with it. Equal ranks do not: (1-2)-3.
    while tokens and tokens[-1] in _BINARY and _BINARY[tokens[-1]][0] > rank:
        own, binary = _BINARY[tokens.pop()]
        value = float(binary(value, _value(tokens, own, depth + 1)))
    return value


def _write(value: float) -> str:
    """Write a number like PHP, with 14 digits: 0.3, 1.0E+25."""
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    mantissa, mark, exponent = f"{value:.14G}".partition("E")
    if not mark:
        return mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent):+d}"


def evaluate(expression: str) -> str | None:
    """Return the value of an expression, "" for an empty one, None for one without a value."""
    for name, char in _NAMES.items():
        expression = expression.replace(name, char)
    tokens = _TOKEN.findall(expression.lower())[::-1] if len(expression) <= _MAX_LENGTH else ["…"]
    try:
        value = _value(tokens, 0) if tokens else None
    except (ArithmeticError, ValueError, LookupError):
        return None
    if value is None:
        return ""
    return None if tokens or not math.isfinite(value) else _write(value)
