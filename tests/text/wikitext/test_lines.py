"""Lines that a reader does not see as prose: hidden text, remains of templates, extension tags, introductions and headings."""

import pytest

from bertdata.text.wikitext import extract_paragraphs, load_templates

TABLE = load_templates("en")


def extract(wikitext: str, language: str = "en", **options: str) -> list[str]:
    return extract_paragraphs(wikitext, language=language, templates=TABLE, **options)


@pytest.mark.parametrize("language, stop", [("de", ". "), ("de", ", "), ("ja", "。"), ("zh", "，"), ("ar", "، "), ("hi", "। ")])
def test_stop_of_a_vanished_template_goes_at_the_start_of_a_paragraph(language: str, stop: str) -> None:
    assert extract(f"{{{{no such template}}}}{stop}Die Hütte steht.", language) == ["Die Hütte steht."]
    assert extract(f"<div>{{{{no such template}}}}{stop}Die Hütte steht.</div>", language) == ["Die Hütte steht."]


@pytest.mark.parametrize("text", [".NET is old.", "... and then it ended.", ". . . and then it ended.", ".5 is a half."])
def test_dots_that_belong_to_the_text_stay(text: str) -> None:
    assert extract(text) == [text]


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display:none">hidden</div>',
        "<div style='color:red; DISPLAY : none;'>hidden <div>more</div></div>",
        '<p style="display:none">hidden</p>',
        '<div style="display:none">\nhidden\n\nhidden\n</div>',
    ],
)
def test_hidden_boxes_are_dropped(hidden: str) -> None:
    assert extract(f"One.\n\n{hidden}\n\nTwo.") == ["One.", "Two."]


def test_hidden_spans_are_dropped() -> None:
    assert extract('One <span style="display:none">hid <span>den</span></span>two <span>three</span>.') == ["One two three."]
    assert extract('One <span style="display:none">two.') == ["One two."]
    assert extract('One <span style="display:none"/>two.') == ["One two."]


def test_an_unclosed_hidden_box_ends_at_a_blank_line() -> None:
    assert extract('<div style="display:none">hidden\n\nTwo.') == ["Two."]


TAGS = ["pages", "pagelist", "pagequality", "quiz", "talkpage", "thread", "languages", "youtube", "verbatim"]


@pytest.mark.parametrize("tag", TAGS)
def test_extension_tags_do_not_leak(tag: str) -> None:
    for form in (f"<{tag} />", f'<{tag} index="x" from=1 />', f"<{tag}>inner</{tag}>", f"<{tag}>\ninner\n\nmore\n</{tag}>"):
        assert extract(f"One.\n\n{form}\n\nTwo.") == ["One.", "Two."]


def test_spoilers_and_tabs_are_text() -> None:
    assert extract("<spoiler>The butler did it.</spoiler>") == ["The butler did it."]
    assert extract("<tabber>\nA=One <ref>x</ref>two.\n|-|\nB=\nThree = 3.\n</tabber>") == ["One two.", "Three = 3."]


@pytest.mark.parametrize("quote", ["A<br/>B", "A<br />\nB", "\nA\n<br/>\nB\n", "A<br/>\n B", "''A<br/>B''", "A<br clear=all>B"])
def test_a_line_break_in_a_quotation_cuts_no_paragraph(quote: str) -> None:
    assert extract(f"<blockquote>{quote}</blockquote>") == ["A B"]


def test_ido_writes_numbers_like_esperanto() -> None:
    assert extract("Ol havas {{formatnum:3440000.5}} homi.", "io") == ["Ol havas 3 440 000,5 homi."]
