"""Survey the templates of dumps: the share of calls in running prose that the tables do not cover, by language."""

from __future__ import annotations

from itertools import islice

from ..config import CorpusConfig
from ..records import FileRange, Page
from ..sources import SUFFIXES, dumps, inputs
from ..storage import files
from ..text.wikitext import is_redirect
from ..text.wikitext.templates.survey import Survey, load_templates, survey

__all__ = ["survey_dumps"]


def survey_dumps(patterns: list[str], tables: tuple[tuple[str, str], ...] = (), pages: int = 0) -> dict[str, Survey]:
    """Survey the articles of dumps, by language code.

    `tables` has the format of `CorpusConfig.templates`. The first `pages` articles of each dump are read, or all for 0.
    """
    surveys: dict[str, Survey] = {}
    for name, path in inputs.find(patterns, SUFFIXES["wikipedia"], "DUMP"):
        site = dumps.read_site(path)
        table = load_templates(site.language, dict(tables))
        of_language = surveys.setdefault(site.language, Survey())
        whole = FileRange(name, path, 0, files.size(path))
        records = dumps.read_pages(whole, site, CorpusConfig().max_page_bytes)
        articles = (each for each in records if isinstance(each, Page) and _is_article(each, site.language))
        for page in islice(articles, pages or None):
            survey(page.text, table, of_language)
    return surveys


def _is_article(page: Page, language: str) -> bool:
    return page.namespace == 0 and page.model == "wikitext" and not (page.redirect or is_redirect(page.text, language))
