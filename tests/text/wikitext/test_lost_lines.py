"""No line of a page is lost because of what stands at its beginning, and no markup stays, with templates and without."""

import itertools
import re

import pytest
from footing import extract_paragraphs

from bertdata.text.wikitext import Templates, load_templates

TABLE = load_templates("en")
# Each shows "Word", wherever on a line it stands.
FORMS = [
    *("[[X|Word]]", "[[X| Word]]", "[[X|Word ]]", "[[X|\nWord]]", "[[X|*Word]]", "[[X|:Word]]", "[[X|#Word]]", "[[X|;Word]]"),
    *("[[X|=Word=]]", "[[X|----Word]]", "[[X|!Word]]", "[[X| ''Word'']]", "[[X|''Word]]''", "[[:Category:X| Word]]", "[[X|Word"),
    *("[[:fr:X| Word]]", "[[fr:X| Word]]", "[[:File:X| Word]]", "[[X| [[:fr:Y]] Word]]", "[[X|Word [[Y]]]]", "[[ Word ]]"),
    *("[http://x.y Word]", "[http://x.y  Word]", "[http://x.y''Word'']", "[//x'''Word''']", "[mailto:a@b Word]", "[//x\tWord]"),
    *("''Word''", "'''Word'''", "'''''Word'''''", "'''Word''", "''Word", "''''Word''''"),
    *('<span style="a\nb">Word</span>', "<span\nclass=a>Word</span>", '<div style="a\nb">Word</div>', "<div\n>Word</div>"),
    *("<p\nclass=a>Word</p>", "<b\n\nc>Word</b>", "<br\n/>Word", "<hr\n/>Word", "<blockquote\nclass=a>Word</blockquote>"),
    *("</div>Word",),
    *("<center\n>Word</center\n>", "<poem\nclass=a>Word</poem>", '<ref\nname="a\nb"/> Word', "<math>a</math> Word"),
    *("<font\na=b>Word",),
    *("{{Word", "{{ Word", "{{a|Word", "{{a| Word", "{{a|*Word", "{{{Word", "}}Word", "}} Word", "}}*Word", "{{{{ Word"),
    *("}}{{unknown}}Word",),
    *("<nowiki> Word</nowiki>", "<nowiki/> Word", "<!-- a -->Word", "<noinclude>Word</noinclude>", "__NOTOC__Word"),
    *("<section a/>Word",),
    *("----Word", "---- Word", "-----[[X| Word]]", "----''Word''", "----<b>Word</b>", "---- *Word", "---- <div>Word</div>"),
    *("-Word",),
    *("&nbsp;Word", "&#x0000020;Word", "&#x0000057;ord", "&#0000087;ord", "\tWord", "\u3000Word", "\x01Word", "W\x7for\x9dd"),
    *("[[File:a.jpg|thumb|b]]Word", "[[Category:A]]Word", "{{unknown}}Word", "{{unknown|\n*a}}Word", "=Word"),
]
# Each shows "Word" where templates are on.
CALLS = [
    *("{{nowrap|Word}}", "{{nowrap| Word}}", "{{nowrap|\nWord}}", "{{nowrap|1= Word}}", "{{nowrap|*Word}}", "{{nowrap|Word"),
    *("{{nowrap| [[X| Word]]}}", "{{lang|la| Word}}", "{{#if:a| Word}}", "{{#ifeq:a|a|\nWord}}", "{{unknown}} Word"),
    *("{{nowrap|:Word}}",),
    *("[[File:a.jpg|thumb|b]] Word", "{{nowrap| {{nowrap| Word}}}}"),
]
CASES = [*itertools.product(FORMS, [None, TABLE]), *itertools.product(CALLS, [TABLE])]
MARKUP = re.compile(r"[\[\]{}<>\x00-\x1f\x7f-\x9f]|''|__|class|style|\s{2}")


def test_words_stay_and_markup_goes() -> None:
    for form, templates in CASES:
        for before, after in itertools.product(
            ["", "Before. ", "Before.\n", "Before.\n\n"], [" Here.", " [[Y| here]].", "\nHere."]
        ):
            shown = " ".join(extract_paragraphs(f"{before}{form}{after}\n\nNext.", language="en", templates=templates))
            words = [before.strip(), "Word", "Next.", *([] if form == "[[X|Word" else ["ere."])]
            assert all(word in shown for word in words), (before, after, shown)
            assert not MARKUP.search(shown), shown


@pytest.mark.parametrize("templates", [None, TABLE])
def test_a_second_pipe_is_a_part_of_the_label(templates: Templates | None) -> None:
    assert extract_paragraphs("[[X||y]] z\n\n[[X| |y]] z", templates=templates) == ["|y z", "|y z"]


@pytest.mark.parametrize(
    "link",
    [
        *("Archivu:A.jpg", "Ficheru:A.jpg", "Plaetje:A.jpg", "Aafbeilding:A.jpg", "Fiùra:A.jpg", "किपा:A.jpg", "پرونده:A.jpg"),
        *("Categuria:A", "Categurìa:A", "पुचः:A", "رج:A", "Kategorie:A", "Immaggine:A.jpg", "Plaetje:A.jpg|thumb|A [[b]]"),
    ],
)
def test_names_of_small_wikis(link: str) -> None:
    assert extract_paragraphs(f"Text. [[{link}]]") == ["Text."]
