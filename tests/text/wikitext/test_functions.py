"""Parser functions: conditions, arithmetic, letter case and numbers, as MediaWiki resolves them."""

import math

import pytest
from footing import extract_paragraphs
from hypothesis import given
from hypothesis import strategies as st

from bertdata.text.wikitext import load_templates
from bertdata.text.wikitext.templates.expressions import ExpressionError, evaluate
from bertdata.text.wikitext.templates.numbers import format_number, parse_number

ROWS = [
    ("{{#if: x | yes | no }}", "yes"),
    ("{{#if: | yes | no}}{{#if:|a}}", "no"),
    ("{{#if: {{nosuch}} | yes | no}}", "no"),
    ("{{#ifeq: 1 | 01.0 | same | other}}", "same"),
    ("{{#ifeq: a | A | same | other}}", "other"),
    ("{{#ifeq: 1e3 | 1000 | same | other}}", "same"),
    ("{{#iferror: {{#expr: 1 + }} | bad | good}}", "bad"),
    ("{{#iferror: {{#expr: 1 + 1}} | bad }}", "2"),
    ("{{#ifexpr: 2 > 1 | yes | no}}", "yes"),
    ("{{#ifexpr: 0 | yes | no}}", "no"),
    ("{{#switch: b | a = 1 | b = 2 | 3}}", "2"),
    ("{{#switch: b | a | b | c = 1 | #default = 2}}", "1"),
    ("{{#switch: z | a = 1 | #default = 2 | b = 3}}", "2"),
    ("{{#switch: z | a = 1 | last}}", "last"),
    ("{{#switch: 1 | 1.0 = one | 2 = two}}", "one"),
    ("{{#switch: | = empty | x}}", "empty"),
    ("x{{#switch: z | a = 1}}y", "xy"),
    ("{{#expr: 1 / 0}}x", "x"),
    ("{{lc:ÀB}} {{uc:àb}} {{lcfirst:ABC}} {{ucfirst:abc}}", "àb ÀB aBC Abc"),
    ("{{padleft:7|3}} {{padleft:7|3|ab}} {{padright:7|3|x}} {{padleft:abcd|3}}", "007 ab7 7xx abcd"),
    ("{{padright:|1|hello}}", "h"),
    ("{{plural:1|page|pages}} {{plural:2|page|pages}} {{plural:5|page}}", "page pages page"),
    ("{{PAGENAME}} {{pagename}} {{FULLPAGENAME}}", "Title Title Title"),
    ("{{formatnum: 1234567.5 }} {{formatnum:1,234.5|R}} {{formatnum:12345|NOSEP}}", "1,234,567.5 1234.5 12345"),
    ("{{#language:fr}} {{#language:xyz}}", "French xyz"),
    ("{{#replace:a-b-c|-|+}}", "a+b+c"),
    ("a {{CURRENTYEAR}} {{#time:Y}} {{#invoke:x|y}} b", "a b"),
    ("{{uc:{{lc:AB}}c}} {{#if:{{{1|}}}|a|b}}", "ABC b"),
    ("{{#if:x|[[a|b]]|c}}", "b"),
    ("{{#if:x|a=b}}", "a=b"),
    ("{{#time:j F Y|2012-03-05}} {{#time:l, H:i|May 1, 2020 7:05}} x{{#time:Y|now}}", "5 March 2012 Friday, 07:05 x"),
    ("x{{#time:Y-m-d|30 February 2012}}{{#time:e|2012-03-05}}", "x"),
    ("{{#titleparts:a/b/c/d|2}} {{#titleparts:a/b/c/d|1|2}} {{#titleparts:a/b/c/d||-1}} {{#titleparts:a/b|-1}}", "a/b b d a"),
    ("{{urlencode:a b&c}} {{urlencode:a b|PATH}} {{urlencode:a b:c|WIKI}}", "a+b%26c a%20b a_b:c"),
    (
        "{{NAMESPACE}}{{NAMESPACENUMBER}} {{ns:0}}{{ns:1}} {{ns:10}} {{ns:15}} {{PAGENAMEE}}",
        "0 Talk Template Category talk Title",
    ),
]


def test_functions() -> None:
    for wikitext, expected in ROWS:
        assert extract_paragraphs(wikitext, title="Title", language="en", templates=load_templates("en")) == [expected]


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
    "expression", ["1+", "1 2", "(1", "1)", "1/0", "1 mod 0", "x", "9^9^9^9", "sqrt -1", "()", "1 round 1 1", "* 2"]
)
def test_no_value(expression: str) -> None:
    with pytest.raises(ExpressionError, match="no value"):
        evaluate(expression)


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.sampled_from(["+", "-", "*"]))
def test_arithmetic_is_pythons(left: int, right: int, sign: str) -> None:
    expected = {"+": left + right, "-": left - right, "*": left * right}[sign]
    assert evaluate(f"({left}) {sign} ({right})") == str(expected)


@given(st.text("0123456789.+-*/^()e dimo<>=abnt", max_size=40))
def test_an_expression_has_a_value_or_an_error(expression: str) -> None:
    try:
        value = evaluate(expression)
    except ExpressionError:
        return
    assert value == "" or math.isfinite(float(value))


@given(st.integers(0, 10**12), st.sampled_from(["en", "de", "fr", "es", "ja"]))
def test_numbers_come_back(number: int, language: str) -> None:
    assert parse_number(format_number(str(number), language), language) == str(number)
