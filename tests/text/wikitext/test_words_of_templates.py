"""Templates of many wikis show their words: a table that a speaker of a language can extend."""

from pathlib import Path

import pytest

from bertdata.config import read_toml
from bertdata.text.wikitext import Extractor, extract_paragraphs

TABLES = read_toml(Path(__file__).with_name("words_of_templates.toml"))
DROPPED, LINES = TABLES.pop("dropped"), TABLES.pop("lines")


@pytest.mark.parametrize("language", TABLES)
def test_templates_show_their_words(language: str) -> None:
    wiki = Extractor(language=language, math="drop")
    for call, words in TABLES[language].items():
        found = wiki(f"x {call} y")
        assert (call, found.paragraphs) == (call, [f"x {words} y" if words else "x y"])
        assert not found.dropped_templates


@pytest.mark.parametrize("language", DROPPED)
def test_a_sentence_without_its_number_is_dropped(language: str) -> None:
    for call in DROPPED[language]:
        assert Extractor(language=language)(f"Hier. Es hat {call} Einwohner. Dort.").paragraphs == ["Hier. Dort."]


@pytest.mark.parametrize("language", LINES)
def test_lines_with_templates(language: str) -> None:
    for text, expected in LINES[language].items():
        found = extract_paragraphs(text, title="T", language=language, math="drop", list_introductions="keep")
        assert (text, "\n".join(found)) == (text, expected)
