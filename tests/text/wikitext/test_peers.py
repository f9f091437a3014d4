"""Wikitext put together by a grammar, whose text is known by construction; a full parser must read it as we do."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from footing import extract_paragraphs
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.text.wikitext import load_templates


class Marked(NamedTuple):
    """Wikitext, and what it shows."""

    source: str
    shown: str


WORD = st.sampled_from(
    ["harbour", "lamp", "1907", "ferry's", "Ödön", "(old)", "tide,", "x=y", "b's", "half–light", "灯台", "it: is", "*star", "a/b"]
).map(lambda word: Marked(word, word))
PHRASE = st.lists(WORD, min_size=1, max_size=3).map(lambda words: join(words, " "))
NOTHING = st.sampled_from(["<!-- [[x]] {{ '' -->", "{{box|a=[[b]]|{{c}}}}", "{{x\n| y = z\n}}", "[[Category:Lamps|sort]]"])
NOTE = st.sampled_from(["<ref>a ''note'' {{cite|t=u}}</ref>", '<ref name="n" />', "<ref name=n/>", "<ref group=g>[[x]]</ref>"])


def join(parts: list[Marked], between: str) -> Marked:
    """Put parts together."""
    return Marked(between.join(part.source for part in parts), between.join(part.shown for part in parts))


def around(before: str, after: str) -> st.SearchStrategy[Marked]:
    """Put markup that shows nothing around a phrase."""
    return PHRASE.map(lambda phrase: Marked(before + phrase.source + after, phrase.shown))


# What mwparserfromhell reads as MediaWiki does.
SIMPLE = st.one_of(
    PHRASE,
    around("''", "''"),
    around("'''", "'''"),
    around("[[Old lamp#top|", "]]"),
    around("[[:File:Lamp.jpg|", "]]"),
    around("[https://x.org/a?b=c ", "]"),
    around("[[fr:Phare|", "]]"),
    around("<small>", "</small>"),
    around('<span class="a">', "</span>"),
    WORD.map(lambda word: Marked(f"{word.source}<!-- no ]] -->", word.shown)),
    st.just(Marked("[[Tide table]]", "Tide table")),
    st.just(Marked("5&ndash;6&nbsp;&#8364;", "5–6 €")),
)
INLINE = st.one_of(
    SIMPLE,
    around("'''''", "'''''"),
    around("[[a|''", "'']]"),
    around("''[[a|", "]]''"),
    around("<noinclude>", "</noinclude>"),
    around('<section begin="a" />', '<section end="a" />'),
    st.tuples(WORD, NOTE).map(lambda pair: Marked(pair[0].source + pair[1], pair[0].shown)),
    st.just(Marked("<nowiki>[[a]] ''b'' {{c}}</nowiki>", "[[a]] ''b'' {{c}}")),
    st.just(Marked("one<br />two", "one two")),
    st.just(Marked("[[Boston (band)|]]", "Boston")),
)
BETWEEN = st.sampled_from(
    [
        "",
        "== A heading ==",
        "* an item\n** another [[a|b]]\n# a third",
        "; a term : its meaning\n: more",
        "{| class=wikitable\n|+ caption\n! head !! head\n|-\n| cell || cell\n|\n{|\n| nested\n|}\n|}",
        "<table><tr><td>cell</td></tr></table>",
        "{{Infobox\n| name = x\n| image = [[File:y.jpg]]\n}}",
        "[[File:a.jpg|thumb|200px|a caption with [[links|a link]] and ''more'']]",
        "<gallery>\nFile:a.jpg|caption\n</gallery>",
        "<pre>\ncode [[a]]\n</pre>",
        "__NOTOC__",
        "----",
        "[[Category:Lamps]]\n[[de:Leuchtturm]]",
        "<references />",
        "<!-- nothing\n\nhere -->",
    ]
)


def paragraph(inline: st.SearchStrategy[Marked]) -> st.SearchStrategy[Marked]:
    """Make a paragraph that begins with a word, so that its first character is no markup of a list."""
    begin = st.sampled_from(["The", "Een", "灯"]).map(lambda word: Marked(word, word))
    return st.tuples(begin, st.lists(inline, min_size=1, max_size=6)).map(lambda parts: join([parts[0], *parts[1]], " "))


PAGES = st.lists(st.tuples(paragraph(INLINE), BETWEEN), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(PAGES)
@pytest.mark.long
def test_text_is_what_the_page_was_made_of(parts: list[tuple[Marked, str]]) -> None:
    page = "\n\n".join(f"{marked.source}\n\n{between}" for marked, between in parts)
    expected = [marked.shown for marked, _ in parts]
    assert extract_paragraphs(page, language="en") == expected
    assert extract_paragraphs(page, language="en", templates=load_templates("en")) == expected


@settings(max_examples=100, deadline=None)
@given(st.tuples(paragraph(INLINE), paragraph(INLINE)), NOTHING)
@pytest.mark.slow
def test_what_shows_nothing_changes_nothing(pair: tuple[Marked, Marked], nothing: str) -> None:
    first, second = pair
    page = f"{nothing}\n{first.source} {nothing}\n\n{second.source}{nothing}"
    assert extract_paragraphs(page, language="en") == [first.shown, second.shown]


@settings(max_examples=150, deadline=None)
@given(st.lists(paragraph(SIMPLE), min_size=1, max_size=4))
@pytest.mark.long
def test_a_full_parser_reads_the_same(parts: list[Marked]) -> None:
    mwparserfromhell = pytest.importorskip(
        "mwparserfromhell", reason="mwparserfromhell is not installed: it is in the extra `peers`"
    )
    page = "\n\n".join(part.source for part in parts)
    theirs = mwparserfromhell.parse(page).strip_code()
    assert [" ".join(line.split()) for line in theirs.split("\n\n")] == extract_paragraphs(page, language="en")
