"""Survey the templates of dumps: the share of calls in running prose that the tables do not cover, by language."""

from __future__ import annotations

from itertools import islice

from ..config import CorpusConfig
from ..records import FileRange, Page
from ..sources import SUFFIXES, dumps, inputs
from ..storage import files
from ..text.wikitext.templates.survey import Survey, load_templates, survey
from .learning import Learned, is_article, learn

__all__ = ["Survey", "learn_dumps", "survey_dumps"]


def learn_dumps(patterns: list[str], tables: tuple[tuple[str, str], ...] = ()) -> dict[str, Learned]:
    """Learn the templates of dumps as `build-corpus` does, by language code."""
    config, found = CorpusConfig(templates=tables), inputs.find(patterns, SUFFIXES["wikipedia"], "DUMP")
    ranges = [FileRange(name, path, *part) for name, path in found for part in dumps.split(path, 2 << 20)]
    languages = {site.dbname: site.language for site in (dumps.read_site(path) for _, path in found)}
    return {languages[learned.wiki]: learned for learned in learn(ranges, config)}


def survey_dumps(patterns: list[str], tables: tuple[tuple[str, str], ...] = (), pages: int = 0) -> dict[str, Survey]:
    """Survey the articles of dumps, by language code.

    `tables` has the format of `CorpusConfig.templates`. The first `pages` articles of each dump are read, or all for 0.
    """
    surveys: dict[str, Survey] = {}
    for name, path in inputs.find(patterns, SUFFIXES["wikipedia"], "DUMP"):
        site = dumps.read_site(path)
        table = load_templates(site.language, dict(tables))
        of_language = surveys.setdefault(site.language, Survey())
        dump = FileRange(name, path, 0, files.size(path))
        records = dumps.read_pages(dump, site, CorpusConfig().max_page_bytes)
        articles = (each for each in records if isinstance(each, Page) and is_article(each, site.language))
        for page in islice(articles, pages or None):
            survey(page.text, table, of_language)
    return surveys
