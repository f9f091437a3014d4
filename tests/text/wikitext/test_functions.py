"""Parser functions: conditions, arithmetic, letter case and numbers, as MediaWiki resolves them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.text.wikitext.templates.expressions import evaluate
from bertdata.text.wikitext.templates.formats import format_number, parse_number

VALUES = [  # worked by MediaWiki's rules: the operators' ranks, all of them from left to right, and PHP's numbers
    ("1+2*3", "7"),
    ("(1+2)*3", "9"),
    ("7/2", "3.5"),
    ("6/2", "3"),
    ("7 div 2", "3.5"),
    ("-2^2", "4"),
    ("2^3^2", "64"),
    ("2^-1", "0.5"),
    ("1e3", "1000"),
    ("1.5e3 + 1", "1501"),
    ("2e-2", "0.02"),
    ("7 mod 3", "1"),
    ("-7 mod 3", "-1"),
    ("7.9 mod 3", "1"),
    ("5.5 fmod 2", "1.5"),
    ("2.5 round 0", "3"),
    ("-2.5 round 0", "-3"),
    ("1234 round -2", "1200"),
    ("1.005 * 100 round 1", "100.5"),
    ("1 < 2 and 2 >= 2", "1"),
    ("1 = 1.0", "1"),
    ("1 != 1 or 1 <> 2", "1"),
    ("not 0 + 1", "2"),
    ("abs -5", "5"),
    ("trunc 2.9 + floor -2.1 + ceil 2.1", "2"),
    ("pi round 4", "3.1416"),
    ("e round 4", "2.7183"),
    ("sqrt 16", "4"),
    ("ln e", "1"),
    ("0.1 + 0.2", "0.3"),
    ("1/3", "0.33333333333333"),
    ("10^15", "1000000000000000"),
    ("10.0^20", "1.0E+20"),
    ("1/100000", "1.0E-5"),
    ("5 − 3", "2"),
    ("1 &lt; 2", "1"),
    ("", ""),
]


def test_values() -> None:
    for expression, value in VALUES:
        assert evaluate(expression) == value


@pytest.mark.parametrize(
    "expression", ["1+", "1 2", "(1", "1)", "1/0", "1 mod 0", "x", "9^9^9^9", "sqrt -1", "()", "1 round 1 1", "* 2", "1" * 9**6]
)
def test_no_value(expression: str) -> None:
    assert evaluate(expression) is None


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.sampled_from(["+", "-", "*"]))
def test_arithmetic_is_pythons(left: int, right: int, sign: str) -> None:
    expected = {"+": left + right, "-": left - right, "*": left * right}[sign]
    assert evaluate(f"({left}) {sign} ({right})") == str(expected)


@given(st.text("0123456789.+-*/^()e dimo<>=abnt", max_size=40))
def test_an_expression_has_a_value_or_an_error(expression: str) -> None:
    value = evaluate(expression)
    assert not value or math.isfinite(float(value))


@given(st.integers(0, 10**12), st.sampled_from(["en", "de", "fr", "es", "ja"]))
def test_numbers_come_back(number: int, language: str) -> None:
    assert parse_number(format_number(str(number), language), language) == str(number)
