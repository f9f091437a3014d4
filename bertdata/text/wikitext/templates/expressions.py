"""Arithmetic of ``{{#expr:}}``: MediaWiki's operators, precedence and number format.

>>> evaluate("(1 + 2) * 3 ^ 2 / 4"), evaluate("2/3 round 2"), evaluate("7 mod 4 > 2 and not 0")
('6.75', '0.67', '1')
"""

import math
import operator
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

__all__ = ["ExpressionError", "evaluate"]

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?|\.\d+)|([a-z]+)|(<=|>=|<>|!=|[-+*/^()=<>]))", re.IGNORECASE)
_MAX_LENGTH = 10_000
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


def _modulo(left: Number, right: Number) -> Number:
    return int(math.fmod(int(left), int(right)))


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
    "mod": (7, _modulo),
    "fmod": (7, math.fmod),
    "+": (6, operator.add),
    "-": (6, operator.sub),
    "round": (5, _round),
    "=": (4, operator.eq),
    "<": (4, operator.lt),
    ">": (4, operator.gt),
    "<=": (4, operator.le),
    ">=": (4, operator.ge),
    "<>": (4, operator.ne),
    "!=": (4, operator.ne),
    "and": (3, lambda left, right: bool(left) and bool(right)),
    "or": (2, lambda left, right: bool(left) or bool(right)),
}
_UNARY: dict[str, tuple[int, Callable[[Number], Number]]] = {
    "-": (10, operator.neg),
    "+": (10, operator.pos),
    "not": (9, operator.not_),
    "abs": (9, abs),
    "ceil": (9, math.ceil),
    "floor": (9, math.floor),
    "trunc": (9, math.trunc),
    "exp": (9, math.exp),
    "ln": (9, math.log),
    "sqrt": (9, math.sqrt),
    "sin": (9, math.sin),
    "cos": (9, math.cos),
    "tan": (9, math.tan),
    "asin": (9, math.asin),
    "acos": (9, math.acos),
    "atan": (9, math.atan),
}


class _Evaluation:
    """Two stacks: values, and operators that need their right operand."""

    def __init__(self) -> None:
        self.values: list[Number] = []
        self.waiting: list[tuple[str, bool]] = []  # the operator, and whether it is unary

    def apply(self) -> None:
        """Apply the last operator."""
        name, unary = self.waiting.pop()
        value: Number
        if unary:
            value = _UNARY[name][1](self.values.pop())
        else:
            right = self.values.pop()
            value = _BINARY[name][1](self.values.pop(), right)
        value = int(value) if isinstance(value, bool) else value
        self.values.append(float(value) if isinstance(value, int) and abs(value) >= _MAX_INTEGER else value)

    def settle(self, rank: int) -> None:
        """Apply the operators that bind at least as tightly as ``rank``."""
        # Operators wait on a stack until a weaker one follows. In 1+2*3+4 the second plus finds "*" and "+" waiting: both bind
        # at least as tightly, so 2*3 and then 1+6 are computed before it waits in turn.
        while self.waiting and self.waiting[-1][0] != "(":
            name, unary = self.waiting[-1]
            if (_UNARY if unary else _BINARY)[name][0] < rank:
                break
            self.apply()

    def operand(self, number: str, word: str) -> bool:
        """Process a token where a value is expected; return True if it was one."""
        if number or word in _CONSTANTS:
            self.values.append(_CONSTANTS[word] if word else float(number) if "." in number else int(number))
        elif word in _UNARY or word == "(":
            self.waiting.append((word, True))
        else:
            raise ExpressionError(f"{word!r} where a value is expected")
        return bool(number) or word in _CONSTANTS

    def operation(self, number: str, word: str) -> bool:
        """Process a token after a value; return True if the last token is still a value."""
        if word == ")":
            self.settle(0)
            if not self.waiting:
                raise ExpressionError("a bracket that was not opened")
            self.waiting.pop()
            return True
        if word not in _BINARY:
            raise ExpressionError(f"{number or word!r} where an operator is expected")
        self.settle(_BINARY[word][0])
        self.waiting.append((word, False))
        return False


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
    run, position, after_value = _Evaluation(), 0, False
    try:
        # Tokens alternate between the places for a value and for an operator. This decides what a minus is: at the place of a
        # value it is a sign, after a value a subtraction.
        while position < len(text):
            token = _TOKEN.match(text, position)
            if token is None or len(text) > _MAX_LENGTH:
                raise ExpressionError("no number and no operator")
            number, word = token[1] or "", (token[2] or token[3] or "").lower()
            after_value = (run.operation if after_value else run.operand)(number, word)
            position = token.end()
        run.settle(0)
        (value,) = run.values
        if run.waiting or not math.isfinite(value):
            raise ExpressionError("an open bracket or no finite value")
    except (ArithmeticError, IndexError, ValueError) as error:
        raise ExpressionError(f"no value: {expression.strip()[:80]}") from error
    return _write(value)
