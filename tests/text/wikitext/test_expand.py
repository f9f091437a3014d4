"""What vanished leaves no trace in the text; a call that stands on a page twice shows and counts the same twice."""

from collections import Counter

import pytest
from footing import Extractor, extract_paragraphs
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.text.wikitext import load_templates

ENGLISH = load_templates("en", {"test.toml": '[templates]\n"test box" = ""\n"test quote" = "{{{1|}}}{{{2000|}}}{{{2001|}}}"'})


def extract(wikitext: str) -> tuple[list[str], Counter[str]]:
    """Return the paragraphs, and the calls that gave no words."""
    found = Extractor(language="en", templates=ENGLISH)(wikitext, "Tea")
    return found.paragraphs, found.dropped_templates


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("Tea (x; {{no such}})", "Tea (x)"),
        ("Tea (a, [{{no such}}], im B)", "Tea (a, im B)"),
        ("Tea, {{no such}}, milk", "Tea, milk"),
        ("Tea, {{no such}}, {{no such}}, milk", "Tea, milk"),
        ("Tea ({{no such}}, x)", "Tea (x)"),
        ("Tea ({{no such}}; {{no such}}).", "Tea."),
        ("Tea for: {{no such}}.", "Tea for:."),
        ("Tea; {{no such}} and milk", "Tea; and milk"),
        ("Tea, <math>x</math>, and milk", "Tea, and milk"),
        ("Tea, milk", "Tea, milk"),
    ],
)
def test_marks_around_what_vanished(wikitext: str, expected: str) -> None:
    assert extract(wikitext)[0] == [expected]


def test_without_a_table_marks_stay_as_mediawiki_shows_them() -> None:
    assert extract_paragraphs("Tea, {{no such}}, milk (x; {{no such}})") == ["Tea,, milk (x;)"]


CALLS = [
    *("{{nowrap|a}}", "{{nowrap|a {{no such}} b}}", "{{no such|a}}", "{{sfn|a}}", "{{convert|5|mi|km}}", "{{convert|many|mi}}"),
    *("{{PAGENAME}}", "{{lc:A}}", "{{#if:|a|b{{no such}}}}", "{{lang|la|''a''}}", "{{{1|a}}}", "{{test box|{{no such}}}}"),
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(CALLS), min_size=1, max_size=8))
def test_a_call_does_not_depend_on_those_before_it(calls: list[str]) -> None:
    alone = [extract(f"x {call} y") for call in calls]
    paragraphs, dropped = extract("\n\n".join(f"x {call} y" for call in calls))
    assert paragraphs == [paragraph for found, _ in alone for paragraph in found]
    assert dropped == sum((count for _, count in alone), Counter[str]())


@pytest.mark.slow
def test_the_limit_on_a_page_holds_for_repeated_calls() -> None:
    call = "{{nowrap|" + "{{lc:A}}" * 100 + "}} "
    paragraphs, dropped = extract(call * 1000)
    words = paragraphs[0].split()
    assert 100 < words.count("a" * 100) < 1000 and dropped["nowrap"] > 0


def test_arguments_behind_the_limit_are_not_seen() -> None:
    many = ["first", *["x"] * 1998, "last", "beyond"]
    assert extract("{{test quote|" + "|".join(many) + "}}")[0] == ["firstlast"]
    nested = ["first", *["{{no such}}"] * 1998, "last", "beyond"]
    assert extract("{{test quote|" + "|".join(nested) + "}}")[0] == ["firstlast"]


def test_nothing_within_an_empty_template_is_looked_at() -> None:
    assert extract("Tea {{test box|{{no such}}|{{convert|many|mi}}}} is hot.") == (["Tea is hot."], Counter())
