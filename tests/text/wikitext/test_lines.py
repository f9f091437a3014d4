"""Lines that a reader does not see as prose: hidden text, remains of templates, extension tags, introductions and headings."""

import pytest
from footing import Extractor

from bertdata.text.wikitext import load_templates

TABLE = load_templates("en")


def extract(wikitext: str, language: str = "en", **options: str) -> list[str]:
    return Extractor(language=language, templates=TABLE, **options)(wikitext).paragraphs


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


LIST = "* one\n* two"


def dropped_of(wikitext: str, language: str = "en") -> tuple[list[str], dict[str, int]]:
    found = Extractor(language=language, templates=TABLE, list_introductions="drop")(wikitext)
    return found.paragraphs, dict(found.dropped_lines)


@pytest.mark.parametrize(
    "block",
    [
        *(
            LIST,
            "# one",
            "\n\n\n* one",
            ": one",
            "; one",
            "{|\n| cell\n|}",
            "<ul><li>one</li></ul>",
            "<gallery>\na.jpg\n</gallery>",
        ),
        *("== Heading ==", "<pre>code</pre>", " code", "", "{{div col}}\n* one", "\n'''Heading'''", '<div class="thumb">x</div>'),
    ],
)
def test_an_introduction_goes_with_its_list(block: str) -> None:
    page = f"Tea is hot.\n\nThe kinds are:<ref>x</ref>\n{block}\n\nAfter."
    shown, counts = dropped_of(page if block else "Tea is hot.\n\nThe kinds are:")
    assert shown == (["Tea is hot.", "After."] if block else ["Tea is hot."])
    assert counts["list introduction"] == 1
    assert "The kinds are:" in extract(page)  # with list introductions kept


@pytest.mark.parametrize(
    "block", ["After.", "\nAfter.", "<blockquote>After.</blockquote>", "<poem>\nAfter.\n</poem>", "<div>After.</div>"]
)
def test_a_colon_before_text_stays(block: str) -> None:
    assert dropped_of(f"He said:\n{block}") == (["He said: After."] if block == "After." else ["He said:", "After."], {})


def test_only_the_last_sentence_introduces_the_list() -> None:
    assert dropped_of(f"Tea is hot. It comes in kinds:\n{LIST}") == (["Tea is hot."], {"list introduction": 1})
    assert dropped_of(f"Tea: a drink.\n{LIST}") == (["Tea: a drink."], {})


@pytest.mark.parametrize(
    "language, text",
    [
        *(
            ("zh", "茶有下列几种："),
            ("ja", "種類は次のとおり:"),
            ("hi", "प्रकार इस तरह हैं :-"),
            ("bn", "প্রকারগুলি হলোঃ"),
            ("am", "ዓይነቶቹ፦"),
        ),
        *(("hy", "Տեսակներն են՝"), ("ar", "الأنواع هي:"), ("mn", "ᠲᠥᠷᠥᠯ᠄"), ("fr", "Les sortes sont\u00a0:"), ("uk", "Поет —")),
    ],
)
def test_colons_of_all_scripts_introduce(language: str, text: str) -> None:
    assert dropped_of(f"{text}\n{LIST}", language) == ([], {"list introduction": 1})


@pytest.mark.parametrize("title", ["中国音乐分类", "中国音乐分类<ref>x</ref>", "Kinds of tea"])
def test_a_title_right_above_a_list_goes_with_it(title: str) -> None:
    assert dropped_of(f"Tea is hot.\n\n{title}\n{LIST}") == (["Tea is hot."], {"list introduction": 1})
    assert dropped_of(f"{title}\n\n{LIST}") == ([title.partition("<")[0]], {})  # not right above it


@pytest.mark.parametrize("text", ["Tea is hot.", "喝茶。<ref>x</ref>", "Tea " * 20])
def test_a_sentence_right_above_a_list_stays(text: str) -> None:
    assert dropped_of(f"{text}\n{LIST}") == ([text.partition("<")[0].strip()], {})


def test_typed_bullets_are_list_items() -> None:
    assert dropped_of("Tea is hot.\n\n• one\n• two\n\nMilk • tea.") == (["Tea is hot.", "Milk • tea."], {})


@pytest.mark.parametrize(
    "wikitext, shown",
    [
        ("不平等问题。<ref>x</ref>.\n\n喝茶", "不平等问题。"),
        ("相區別。<ref>x</ref><ref>y</ref>。喝茶。", "相區別。喝茶。"),
        ("基本單位.<ref>x</ref>。喝茶。", "基本單位。喝茶。"),
        ("Tea is hot.<ref>x</ref>. Milk", "Tea is hot. Milk"),
        ("Tea<ref>x</ref>. Milk .<ref>x</ref>5 and so on.<ref>x</ref>..", "Tea. Milk .5 and so on..."),
    ],
)
def test_a_second_full_stop_after_a_reference_goes(wikitext: str, shown: str) -> None:
    assert dropped_of(wikitext)[0][0] == shown


def test_an_armenian_full_stop_is_no_colon() -> None:
    assert dropped_of(f"Թեյը տաք է:\n{LIST}", "hy") == (["Թեյը տաք է:"], {})


@pytest.mark.parametrize(
    "line",
    ["'''Calcio a 5'''", "'''''Calcio a 5'''''", "'''Calcio a 5:'''", "<b>Calcio a 5</b>", "<big>'''Calcio a 5'''</big><br />"],
)
def test_bold_headings_are_dropped(line: str) -> None:
    assert dropped_of(f"One.\n\n{line}\n\nTwo.\n\n{line}\n* item\n\nThree.") == (["One.", "Two.", "Three."], {"bold heading": 2})


@pytest.mark.parametrize("line", ["'''It ends here.'''", "'''Tea''' is '''hot'''", "'''Tea'''\nis hot", f"'''{'Tea ' * 30}'''"])
def test_bold_text_is_no_heading(line: str) -> None:
    assert dropped_of(line) == (extract(line), {})


def test_a_bold_heading_before_a_category_is_not_joined_to_another_paragraph() -> None:
    assert dropped_of("'''Tea'''\n\n[[Category:Tea]]\nTwo.") == (["Two."], {"bold heading": 1})


def test_unknown_list_introductions_are_refused() -> None:
    with pytest.raises(ValueError, match="list_introductions"):
        extract("a", list_introductions="maybe")


def test_verses_stay_apart() -> None:
    assert extract("He wrote:\n<poem>\nRoses ''are\nred''\n:Violets [[a|blue]]\n\nSugar\n</poem>\nEnd.") == [
        *("He wrote:", "Roses are", "red", "Violets blue", "Sugar", "End."),
    ]
