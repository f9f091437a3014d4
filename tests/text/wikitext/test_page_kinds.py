"""Redirects and disambiguation pages are told from articles, in every language."""

import pytest

from bertdata.text.wikitext import is_disambiguation, is_redirect

REDIRECTS = [
    "#REDIRECT [[A]]",
    "#redirect:[[A]]",
    "\n #Redirect [[A#b]] {{R from c}}",
    "#WEITERLEITUNG [[A]]",
    "#REDIRECTION [[A]]",
    "#REDIRECCIÓN [[A]]",
    "#転送 [[A]]",
    "#リダイレクト[[A]]",
    "#重定向 [[A]]",
    "#перенаправление [[A]]",
    "#ПЕРЕНАПРАВЛЕННЯ [[A]]",
    "#넘겨주기 [[A]]",
    "#تحويل [[A]]",
    "#تغییر مسیر [[A]]",
    "#הפניה [[A]]",
    "#PATRZ [[A]]",
    "#DOORVERWIJZING [[A]]",
]


@pytest.mark.parametrize("text", REDIRECTS)
def test_redirects(text: str) -> None:
    assert is_redirect(text)


@pytest.mark.parametrize("text", ["# REDIRECT is a word", "#REDIRECT", "a\n#REDIRECT [[A]]", "#one [[A]]", ""])
def test_not_redirects(text: str) -> None:
    assert not is_redirect(text)


DISAMBIGUATIONS = [
    ("en", "A\n{{Disambiguation|geo}}"),
    ("en", "A {{hndis|B}}"),
    ("de", "{{Begriffsklärung}}"),
    ("fr", "{{Homonymie}}"),
    ("it", "{{Disambigua}}"),
    ("es", "{{desambiguación}}"),
    ("ja", "{{Aimai}}"),
    ("zh", "{{消歧义}}"),
    ("ru", "{{неоднозначность}}"),
    ("", "{{Begriffsklärung}}"),
    ("xx", "{{disambig}}"),
    ("en", "a __DISAMBIG__"),
]


@pytest.mark.parametrize(("language", "text"), DISAMBIGUATIONS)
def test_disambiguations(language: str, text: str) -> None:
    assert is_disambiguation(text, language)


@pytest.mark.parametrize("text", ["{{Disambiguation needed}}", "{{About|x}} a", "<!-- {{disambig}} --> a", ""])
def test_not_disambiguations(text: str) -> None:
    assert not is_disambiguation(text, "en")
