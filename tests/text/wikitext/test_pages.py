"""Wikitext shows the paragraphs of a table: a construct, a page of a wiki or a parser function for each row."""

from pathlib import Path

import pytest
from footing import Extractor, extract_paragraphs

from bertdata.config import read_toml
from bertdata.text.wikitext import load_templates

PAGES = read_toml(Path(__file__).with_name("pages.toml"))["page"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["name"])
def test_paragraphs(page: dict[str, str]) -> None:
    language = page.get("language", "en")
    for key, templates in (("shown", load_templates(language)), ("plain", None)):
        if expected := page.get(key):
            wiki = Extractor(language=language, templates=templates, math=page.get("math", "drop"))
            assert wiki(page["text"], "Title").paragraphs == (page["shown"] if expected == "shown" else expected)


def test_namespaces_of_the_dump_come_first() -> None:
    text = "[[Obraz:a.jpg|b]]c [[Blah:d]]"
    assert extract_paragraphs(text) == ["bc Blah:d"]
    assert Extractor(namespaces={"obraz": 6, "blah": 14})(text).paragraphs == ["c"]


def test_a_space_after_a_template_or_file() -> None:
    """Shown with nothing in its place, it leaves a preformatted line; on the real page something stands before the space."""
    text = "{{box of some kind}} one two\n\n[[File:a.jpg|thumb|b]] three\n\n<!-- c --> four\n\n five"
    assert extract_paragraphs(text) == []
    assert extract_paragraphs(text, templates=load_templates("en")) == ["one two", "three"]


def test_unknown_option_says_what_to_write() -> None:
    with pytest.raises(ValueError, match="must be one of text, tex, drop"):
        Extractor(math="yes")
