"""Arithmetic of ``{{#expr:}}``: MediaWiki's operators, precedence and number format, by precedence climbing.

>>> evaluate("(1 + 2) * 3 ^ 2 / 4"), evaluate("2/3 round 2"), evaluate("7 mod 4 > 2 and not 0")
('6.75', '0.67', '1')
"""

import math
import operator
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?|\.\d+)|([a-z]+|<=|>=|<>|!=|[-+*/^()=<>]))", re.IGNORECASE)
_MAX_LENGTH, _MAX_DEPTH = 10_000, 100  # characters; brackets and signs within each other
_MAX_INTEGER = 2**63  # above, PHP switches to floating point
_NAMES = {"&lt;": "<", "&gt;": ">", "&minus;": "-", "−": "-", "&nbsp;": " ", "\u00a0": " "}
_CONSTANTS = {"pi": math.pi, "e": math.e}
Number = int | float


class ExpressionError(ValueError):
    """An expression without a value."""


def _divide(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def _power(left: Number, right: Number) -> Number:
    value = float(left) ** float(right)
    if isinstance(value, complex):
        raise ExpressionError("a root of a negative number")
    return int(value) if isinstance(left, int) and isinstance(right, int) and right >= 0 and abs(value) < 2**53 else value


def _round(value: Number, digits: Number) -> Number:
    """Round half away from zero.

    >>> _round(2.345, 2), _round(-1250, -2)
    (2.35, -1300)
    """
    places = max(-300, min(300, int(digits)))
    rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return int(rounded) if places <= 0 else float(rounded)


# The precedence of each operator (higher binds tighter), and its function.
_BINARY: dict[str, tuple[int, Callable[[Number, Number], Number]]] = {
    "e": (10, lambda left, right: left * 10.0**right),
    "^": (8, _power),
    "*": (7, operator.mul),
    "/": (7, _divide),
    "div": (7, _divide),
    "mod": (7, lambda left, right: int(math.fmod(int(left), int(right)))),
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
    "and": (3, lambda left, right: bool(left) and bool(right)),
    "or": (2, lambda left, right: bool(left) or bool(right)),
}
_UNARY: dict[str, tuple[int, Callable[[Number], Number]]] = {
    "-": (10, operator.neg),
    "+": (10, operator.pos),
    "not": (9, operator.not_),
    "abs": (9, abs),
    "ln": (9, math.log),
    **{name: (9, getattr(math, name)) for name in ("ceil", "floor", "trunc", "exp", "sqrt", "sin", "cos", "tan")},
    **{name: (9, getattr(math, name)) for name in ("asin", "acos", "atan")},
}


def _number(value: Number) -> Number:
    value = int(value) if isinstance(value, bool) else value
    return float(value) if isinstance(value, int) and abs(value) >= _MAX_INTEGER else value


class _Parser:
    """Read tokens from left to right; ``word`` is the next one, and ``number`` is set if it is a number."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.depth = text, 0, 0
        self.advance()

    def advance(self) -> None:
        """Read the next token, "" at the end."""
        self.number = self.word = ""
        if self.position < len(self.text):
            token = _TOKEN.match(self.text, self.position)
            if token is None:
                raise ExpressionError("no number and no operator")
            self.number, self.word = token[1] or "", (token[2] or "").lower()
            self.position = token.end()

    def operand(self) -> Number:
        """Read a number, a constant, a bracket, or a sign or function with its operand."""
        number, word = self.number, self.word
        self.advance()
        if number:
            return float(number) if "." in number else int(number)
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if word == "(":
            value = self.expression(0)
            if self.word != ")":
                raise ExpressionError("an open bracket")
            self.advance()
            return value
        if word not in _UNARY:
            raise ExpressionError(f"{word!r} where a value is expected")
        rank, function = _UNARY[word]
        return _number(function(self.expression(rank)))

    def expression(self, rank: int) -> Number:
        """Read a value and the operators after it that bind more tightly than ``rank``."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ExpressionError("too deep")
        value = self.operand()
        # In 1+2*3 the value after "+" is read with the rank of "+", so it takes "*3" with it. Equal ranks do not: (1-2)-3.
        while self.word in _BINARY and _BINARY[self.word][0] > rank:
            binary, function = _BINARY[self.word]
            self.advance()
            value = _number(function(value, self.expression(binary)))
        self.depth -= 1
        return value


def _write(value: Number) -> str:
    """Write a number like PHP, with 14 digits.

    >>> _write(0.1 + 0.2), _write(1e25), _write(1.5e-7), _write(3.0)
    ('0.3', '1.0E+25', '1.5E-7', '3')
    """
    if isinstance(value, int):
        return str(value)
    mantissa, mark, exponent = f"{value:.14G}".partition("E")
    if not mark:
        return mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent):+d}"


def evaluate(expression: str) -> str:
    """Return the value of an expression, "" for an empty one.

    >>> evaluate("1 / 0")
    Traceback (most recent call last):
    bertdata.text.wikitext.templates.expressions.ExpressionError: no value: 1 / 0
    """
    text = expression
    for name, char in _NAMES.items():
        text = text.replace(name, char)
    text = text.strip()
    if not text:
        return ""
    try:
        parser = _Parser(text if len(text) <= _MAX_LENGTH else "(")
        value = parser.expression(0)
        if parser.word or parser.number or not math.isfinite(value):
            raise ExpressionError("a bracket that was not opened, or no finite value")
    except (ArithmeticError, ValueError) as error:
        raise ExpressionError(f"no value: {expression.strip()[:80]}") from error
    return _write(value)
