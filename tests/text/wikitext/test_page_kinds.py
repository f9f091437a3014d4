"""Redirects are told from articles, in every language."""

import pytest

from bertdata.text.wikitext import is_redirect

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
    "#पुर्ननिर्देशन [[A]]",  # a spelling that one wiki has
]


@pytest.mark.parametrize("text", REDIRECTS)
def test_redirects(text: str) -> None:
    assert is_redirect(text)


@pytest.mark.parametrize(
    "text", ["# REDIRECT is a word", "#REDIRECT", "a\n#REDIRECT [[A]]", "#one [[A]]", "", "#Cups [[A]]\n#Pots [[B]]"]
)
def test_not_redirects(text: str) -> None:
    assert not is_redirect(text)
