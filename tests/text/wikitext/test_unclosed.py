"""Pages of an adversary: what nothing closes takes no line with it, and no line is lost because of the markup before it."""

import itertools

import pytest
from footing import extract_paragraphs

from bertdata.text.wikitext import Templates, load_templates

TABLE = load_templates("en")
BOTH = pytest.mark.parametrize("templates", [None, TABLE], ids=["off", "on"])
# What is opened, or is half of something; the paragraphs around it must stay.
BROKEN = [
    *("{|", "{| class=a", "{| class=a\n|-\n| b || c", "{|\n! a\n|-\n| b\nc", "{|\n| a\n\n| b", "{|\n{|\n| a\n|}", ":{|\n| a"),
    *("{|\n|}\n|}",),
    *("<table>", "<table><tr><td>a", "<table>\n<tr>\n<td>a</td>\n\n<td>b</td>", "<TABLE border=1>\n{|\n| a\n|}"),
    *("<ul>", "<ul><li>a", "<ol>\n<li>a\n<li>b", "<dl><dt>a<dd>b", "<h2>a", "<nav>", "<figure>a", "<UL><li>a</UL><ul>"),
    *('<div class="thumb">', '<div class="navbox"><div>a</div>', "<div class=infobox>a\n<div>", "<div class=hatnote/>"),
    *("<div>", "<div\nid=a>"),
    *("[[", "[[a|", "[[a|b", "[[a|b]", "[[File:a.jpg|thumb", "[[File:a.jpg|thumb|b c", "[[File:a.jpg|thumb|[[b]]"),
    *("[[Category:A", "]]"),
    *("{{", "{{a", "{{a|b", "{{a|\n| b = c", "{{{", "{{{a|", "}}", "{{a|{{b}}", "{{#if:", "{{a|[[b}}", "-{", "-{a", "}-"),
    *("<ref>", "<ref name=a>", "</ref>", "<nowiki>", "<math>", "<gallery>", "<poem>", "<pre>", "<noinclude>", "<includeonly>"),
    *('<ref name="a', '<ref name="a b" group=c', "<ref", "</ref", "<nowiki", "<gallery mode=a", "<math", "</noinclude"),
    *("<b>", "<span style=", '<span style="a', "<", "<div class='a'", "</div>", "</table>", "<blockquote>", "<center>", "<br"),
    *("''", "'''", "'''''", "==", "== a", "__NOTOC", "[http://a.b", "[http://a.b c", "[//", "&#", "&#x", "&amp", "----", "~~~~"),
]


@BOTH
def test_paragraphs_around_what_is_broken_stay(templates: Templates | None) -> None:
    for broken, gap in itertools.product(BROKEN, ("\n\n", "\n\n\n", "\n\n== Heading ==\n")):
        page = f"First words [[here]].\n\n{broken}{gap}Second ''words'' here.\n\nThird <b>words</b> here."
        shown = extract_paragraphs(page, language="en", templates=templates)
        assert shown[0] == "First words here.", (broken, shown)
        assert shown[-2:] == ["Second words here.", "Third words here."], (broken, shown)


SHOWN_ELSEWHERE = ("<", "{|", "[[file", "[[cat")  # blocks, and what takes the text behind it


@BOTH
def test_text_after_what_is_broken_stays(templates: Templates | None) -> None:
    for broken in BROKEN:
        if "\n" in broken or "class" in broken or broken.lower().startswith(SHOWN_ELSEWHERE):
            continue
        shown = " ".join(extract_paragraphs(f"Before it {broken} after it.\n\nNext.", language="en", templates=templates))
        assert "Before it" in shown and "after it." in shown and "Next." in shown, (broken, shown)


@BOTH
@pytest.mark.parametrize(
    "link", ["[[Category:A]]", "[[Category:A|b]]", "[[fr:A]]", "[[Category:A]] [[Category:B]]", " [[Category:A]]", "__NOTOC__"]
)
def test_text_after_what_shows_nothing(link: str, templates: Templates | None) -> None:
    for before, after in itertools.product(
        ["", "One.\n", "One.\n\n", "== H ==\n", "* item\n", "{|\n| a\n|}\n"], ["Word.", " Word.", "  Word."]
    ):
        shown = extract_paragraphs(f"{before}{link}{after}\n\nEnd.", language="en", templates=templates)
        assert " ".join(shown).removeprefix("One. ") == "Word. End.", (before, after, shown)


@BOTH
def test_a_link_to_a_category_ends_no_paragraph(templates: Templates | None) -> None:
    """MediaWiki takes the whitespace before such a link away, with blank lines."""
    page = "One\n[[Category:A]]\ntwo\n\n[[Category:B]]\nthree.\n[[Category:C]]\n* item\n\nFour."
    assert extract_paragraphs(page, templates=templates) == ["One two three.", "Four."]


@BOTH
def test_the_caption_of_a_file_that_nothing_closes_stays(templates: Templates | None) -> None:
    shown = extract_paragraphs("Text. [[File:a.jpg|thumb|200px|A house. It fell.\n\nNext.", templates=templates)
    assert shown == ["Text. A house. It fell.", "Next."]
    assert extract_paragraphs("[[File:a.jpg|thumb|left\n\nNext.", templates=templates) == ["Next."]


@BOTH
def test_cells_of_a_table_that_nothing_closes_go(templates: Templates | None) -> None:
    page = "One.\n{| class=a\n|+ b\n! c\n|-\n| d\ne\n\n| f\n\nTwo.\n\n| g\nThree.\n== H ==\nFour."
    assert extract_paragraphs(page, templates=templates) == ["One.", "Two.", "Three.", "Four."]


@pytest.mark.parametrize(
    ("entity", "shown"),
    [
        ("&#x0000063;", "c"),
        ("&#0000099;", "c"),
        ("&notit;", "&notit;"),
        ("&semi;", ";"),
        ("&AMP;", "&"),
        ("&#1;", ""),
        ("&#x9F;", "Ÿ"),
    ],
)
def test_entities(entity: str, shown: str) -> None:
    assert extract_paragraphs(f"a{entity}b") == [f"a{shown}b"]
