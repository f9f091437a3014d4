"""Survey the templates of Wikipedia dumps."""

from __future__ import annotations

from typing import NamedTuple

from ..config.input_kinds import Paths, paths_of
from ..stages.learning import Learned
from ..stages.templates import Survey, learn_dumps, survey_dumps
from ..storage.storage import storage_errors
from .build_corpus import tables

__all__ = ["TemplateReport", "templates"]


class TemplateReport(NamedTuple):
    """The templates in the articles of one language, and those that the template pages of its dump define.

    survey: numbers of calls in prose, and the unknown templates with an example line each. learned: templates that
    `build_corpus` learns from the dump, and why it does not learn the others, or None without template pages.
    """

    survey: Survey
    learned: Learned | None


@storage_errors()
def templates(dumps: Paths, *, templates: Paths = (), pages: int = 10_000) -> dict[str, TemplateReport]:
    """Find templates in the running text of dumps that have no entry in the template tables, so their words are lost.

    Args:
        dumps: One or more dumps, as in `build_corpus`.
        templates: TOML files with your own templates.
        pages: Number of articles to read per dump; 0 means all.

    Returns:
        The reports by language code, in order of code.

    Raises:
        NoInputError: No dump was found.
        UsageError: A table of templates is invalid.

    Examples:
        >>> from bertdata.sample import sample
        >>> sorted(templates(sample()))
        ['en', 'zh']
    """
    patterns, own = list(paths_of(dumps)), tables(templates)
    learned = learn_dumps(patterns, own)
    surveys = survey_dumps(patterns, own, pages)
    return {language: TemplateReport(found, learned.get(language)) for language, found in sorted(surveys.items())}
