"""No input makes the scanner slow or makes it raise."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.text.wikitext import Templates, extract_paragraphs, is_disambiguation, is_redirect, load_templates

WORDS = """
    {{ }} {{{ }}} [[ ]] [ ] {| |} |- | ! -{ }- '' ''' <ref> </ref> <ref/> <ref <!-- --> <math>
    </math> <nowiki> </nowiki> <poem> </poem> <div> </div> <p> </p> <ul> </ul> <table> </table> <br>
    <blockquote> == : ; * # ---- __TOC__ &nbsp; &#1; & < > = a b1 zh-cn: zh-tw: ; => {{cn}} [[File:
    [[a|b]] [http://x formatnum: A| H| {{!}} {{=}} {{nowrap| {{convert|5|mi|km}} {{lang|la| {{#if: {{#ifeq: {{#switch:
    {{#expr: {{lc: {{formatnum: | 1 + ( ) {{quote|text=
"""
PIECES = WORDS.split()
HOSTILE = [
    *("{{", "[[", "''", "<ref>", "{|\n", "-{", "<!--", "<math>", "[http://x ", "<ul><li>", "<ref ", "{{{1|"),
    *("[[File:a|", "({{a}}; ", "-{H|zh-cn:a;zh-tw:b}-a", "{{a|[[b|''c<ref>{|\n-{", "<div class=", "[[a|"),
    *("\n{|\n|", "= ", "&#1", "]]x[", "<nowiki/>", "{{nowrap|", "{{#if:a|", "{{#switch:a|", "{{#expr:(", "{{lang|la|"),
]
CLOSED = [
    ("{{", "}}"),
    ("{{{{{", "}}}"),
    ("[[a|", "]]"),
    ("-{", "}-"),
    ("{|\n", "\n|}\n"),
    ("<div>", "</div>"),
    ("<nowiki a\n", "\n\n>"),
    ("{{nowrap|", "}}"),
    ("{{#if:a|", "}}"),
    ("{{#expr:(", ")}}"),
    ("{{nowrap|[[a|''", "]]}}"),
]
LONG = [
    "{{!}}",
    "{{a}}",
    "{{convert|5|mi|km}}",
    "{{",
    "[[",
    "''",
    "<ref>",
    "{|\n",
    "{{[[",
    "[[{{''<ref>",
    "{{a|[[b|''c<ref>{|\n",
    "<ref>{{[[File:a|",
    "{|\n|{{[[",
]
TABLES = [None, load_templates("zh")]
STEPS = 1_000_000  # of a loop that tells how fast the processor is now
IDLE = 0.04  # seconds for it on an idle core of 2020


def seconds(text: str, templates: Templates | None) -> float:
    """Return the processor time of a run."""
    start = time.process_time()
    extract_paragraphs(text, language="zh", variant="zh-tw", definition_lists="keep", templates=templates)
    return time.process_time() - start


def is_quick(text: str, templates: Templates | None, limit: float) -> bool:
    """Tell whether a text takes less than so many seconds of an idle core.

    Beside other work a core does less in a second of processor time: for a text that takes longer a loop that takes ``IDLE``
    there is timed before and after, and the limit grows as that does.  Other work may spoil a measurement: one of six must be
    good.
    """
    if seconds(text, templates) < limit:
        return True
    for _ in range(6):
        before = loop()
        needed = seconds(text, templates)
        if needed < limit * max(1, (before + loop()) / 2 / IDLE):
            return True
    return False


def loop() -> float:
    """Return the processor time of a loop that is always the same."""
    start, total = time.process_time(), 0
    for step in range(STEPS):
        total += step
    return time.process_time() - start


def check_growth(small: str, large: str) -> None:
    """Eight times the text may take forty times as long; quadratic time would take sixty-four times.

    Other work on the machine may spoil a measurement: one of three must be good.
    """
    for templates in TABLES:
        assert any(seconds(large, templates) < 40 * max(seconds(small, templates), 0.002) for _ in range(6))


@pytest.mark.parametrize("templates", TABLES, ids=["off", "on"])
@pytest.mark.parametrize("piece", LONG)
@pytest.mark.slow
def test_long_pages_take_less_than_a_second_per_megabyte(piece: str, templates: Templates | None) -> None:
    text = piece * (250_000 // len(piece))
    assert is_quick(text, templates, 0.25)


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.slow
def test_repeated_pieces_take_linear_time(piece: str) -> None:
    count = 20_000 // len(piece)
    check_growth(piece * count, piece * count * 8)


@pytest.mark.parametrize(("opening", "closing"), CLOSED)
def test_nested_pieces_take_linear_time(opening: str, closing: str) -> None:
    count = 20_000 // len(opening + closing)
    check_growth(opening * count + closing * count, opening * count * 8 + closing * count * 8)


@pytest.mark.parametrize("opening", ["{{nowrap|[[a", "{{nowrap|-{", "{{#if:a|[[", "{{lang|la|[[a|", "{{{1|[["])
def test_brackets_without_a_partner_in_nested_templates(opening: str) -> None:
    check_growth(opening * 9 + "}}" * 9, opening * 18 + "}}" * 18)


CALLS = ["{{{{nowrap{}}}}}", "{{{{#switch:z{}}}}}", "{{{{convert|5|mi{}}}}}", "{{{{no such{}}}}}"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("argument", ["|", "|a", "|a=b", "|{{!}}", "|{{a|b}}", "|[[a]]"])
def test_arguments_without_number_take_less_than_a_second_per_megabyte(call: str, argument: str) -> None:
    text = call.format(argument * (400_000 // len(argument)))
    assert is_quick(text, TABLES[1], 0.4)


RUNS = ["[[{}|]]", "<div class={}>x", "<poem>a{}x</poem>", "-{{{}}}-", "({}b {{{{x}}}}", "={}x"]


@pytest.mark.parametrize("run", RUNS)
def test_long_runs_of_spaces_take_linear_time(run: str) -> None:
    check_growth(run.format(" " * 20_000), run.format(" " * 160_000))


PAGES = st.lists(st.one_of(st.sampled_from([*PIECES, " ", "\n"]), st.text(max_size=3)), max_size=60).map("".join)


@settings(max_examples=200, deadline=None)
@given(PAGES)
@pytest.mark.slow
def test_nothing_raises(text: str) -> None:
    for options in (
        {"language": "en"},
        {"language": "en", "templates": load_templates("en")},
        {"language": "zh", "variant": "zh-tw", "definition_lists": "keep", "templates": TABLES[1]},
    ):
        for paragraph in extract_paragraphs(text, title="T", **options):
            assert paragraph == paragraph.strip() and "\n" not in paragraph
    is_redirect(text)
    is_disambiguation(text, "en")


@pytest.mark.parametrize("function", ["#ifeq:{}x|1|a|b", "#switch:{}x|1=a|b", "plural:{}x|a|b", "#iferror:{}|x"])
@pytest.mark.parametrize("piece", ["9", '<span class="a ', "<div "])
def test_arguments_of_functions_take_linear_time(function: str, piece: str) -> None:
    text = "{{" + function.format(piece * (200_000 // len(piece))) + "}}"
    assert is_quick(text, TABLES[1], 0.4)
