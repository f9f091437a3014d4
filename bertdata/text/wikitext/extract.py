"""From the wikitext of one page to its paragraphs of running prose.

>>> extract_paragraphs("'''Rome'''<ref>x</ref> is a [[city]].\\n\\n== See also ==\\n* [[Italy]]")
['Rome is a city.']
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ..sentences import split_sentences
from .blocks import paragraphs
from .extensions import resolve_extensions
from .formulas import Formulas, drop_sentences, figures_of_tags
from .inline import finish
from .links import resolve_links
from .marks import HOLE, clean_input, unshield
from .namespaces import Namespaces
from .redirects import is_redirect
from .switches import drop_switches
from .tables import drop_tables
from .templates import PageContext, Templates, expand_templates
from .variants import resolve_variants

__all__ = ["extract_paragraphs", "resolution_steps"]

_WORD = re.compile(r"\w")
_ADDRESSES = ("http://", "https://")
_MARKS = re.compile(r"[\x00-\x08\x0b-\x1f]")


def extract_paragraphs(
    wikitext: str,
    *,
    title: str = "",
    language: str = "",
    namespaces: Mapping[str, int] | None = None,
    definition_lists: str = "drop",
    variant: str = "",
    templates: Templates | None = None,
    dropped: Counter[str] | None = None,
    examples: dict[str, str] | None = None,
    math: str = "drop",
    formulas: Counter[str] | None = None,
    split: Callable[[str, str], list[str]] = split_sentences,
) -> list[str]:
    """Return the paragraphs of running prose on a page, in order, each in one line.

    ``language`` is the wiki's code ("en", "zh"): it decides how numbers are written and whether ``-{…}-`` is
    markup.  ``namespaces`` are the names of the dump's own <siteinfo>, lower case -> number.
    ``definition_lists`` is "drop" or "keep": what becomes of ``:`` and ``;`` lines.  ``variant`` ("zh-tw")
    picks among the words of ``-{…}-``; empty is the wiki's own order.

    ``templates`` is the table of templates that carry words, from ``load_templates``; without one, all of them
    vanish, and of the parser functions only numbers and the page's name are resolved.  ``dropped`` counts by
    name (as in ``load_templates``; parser functions end with a colon) each call that gave no words because
    neither table nor functions know it, or could not resolve it, or because the page's limit was reached.  Not
    counted are footnote marks, what the table says is empty, calls in comments, references and the like, and
    calls within one that was dropped or is empty.  ``examples`` gets the line in which each of the names stood first.

    ``math`` says what becomes of formulas, in tags and templates: "text", "tex", "drop-sentence" or "drop" (see ``formulas``).
    With "text" numbers in ``<sup>`` and ``<sub>`` are raised and lowered as well: 10⁶, H₂O; else 106, H2O.
    ``formulas`` counts them by tag or template ("found math"): "written math", "dropped math", and "left out math" of tables,
    lists and the like, where no text is kept, add up to it; under "sentences" it counts those
    that went because of one; ``split``, a function of a paragraph and a language, cuts them.
    """
    if definition_lists not in ("drop", "keep"):
        raise ValueError(f'definition_lists is {definition_lists!r}; it must be "drop" or "keep"')
    if is_redirect(wikitext, language):
        return []
    counts = Counter() if dropped is None else dropped, Formulas(math, Counter() if formulas is None else formulas)
    page = PageContext(title, language, variant, templates, *counts, examples)
    parts = paragraphs(_resolved(wikitext, page, namespaces), definition_lists == "keep", templates is not None)
    shown = _all_finished(parts, page, split)
    return [text for text in shown if _WORD.search(text) and not (text[:4] == "http" and _only_addresses(text))]


def _only_addresses(paragraph: str) -> bool:
    """Return True if a paragraph is a list of addresses.

    >>> _only_addresses("https://x.org/a  https://x.org/b"), _only_addresses("https://x.org shows it")
    (True, False)
    """
    return paragraph.startswith(_ADDRESSES) and all(word.startswith(_ADDRESSES) for word in paragraph.split())


# Each step works on the text that the one before it has left, in MediaWiki's order: braces and brackets in a comment or
# in <nowiki> are text, so tags come first; templates give tables and links; a table goes with the links in it.  An
# example, in which templates are on and \x02 and \x1d are OBJECT and AWAY of marks.py:
#
#   the page               ''Rome''<ref>x</ref> is {{nowrap|a [[city|town]]}}. __NOTOC__ [[Category:A]]
#   comments and tags      ''Rome''\x02 is {{nowrap|a [[city|town]]}}. __NOTOC__ [[Category:A]]
#   templates              ''Rome''\x02 is a [[city|town]]. __NOTOC__ [[Category:A]]
#   tables and switches    ''Rome''\x02 is a [[city|town]].  [[Category:A]]
#   links                  ''Rome''\x02 is a town.\x1d
#
# `paragraphs` then drops the apostrophes line by line, as bold ends with its line, and `finish` the marks: Rome is a town.
_STEPS: tuple[tuple[str, Callable[[str, PageContext, Mapping[str, int] | None], str]], ...] = (
    ("comments, references and tags", lambda text, page, _: resolve_extensions(clean_input(text), page.formulas)),
    ("templates", lambda text, page, _: expand_templates(text, page)),
    ("language variants", lambda text, page, _: resolve_variants(text, page.language, page.variant)),
    ("tables and switches", lambda text, _, __: drop_switches(drop_tables(text))),
    ("links", lambda text, _, namespaces: resolve_links(text, Namespaces.build(namespaces))),
)


def _resolved(text: str, page: PageContext, namespaces: Mapping[str, int] | None) -> str:
    """Return wikitext in which tags, templates, tables and links are what they show."""
    for _, step in _STEPS:
        text = step(text, page, namespaces)
    return text


def resolution_steps(
    wikitext: str, *, title: str, language: str, namespaces: Mapping[str, int] | None, variant: str, templates: Templates | None
) -> Iterator[tuple[str, str]]:
    """Yield the name of each step of `extract_paragraphs` before lines become paragraphs, and the text that it leaves.

    Marks of what has left the text are blank in it.
    """
    page = PageContext(title, language, variant, templates, Counter(), Formulas("text", Counter()))
    text = wikitext
    for name, step in _STEPS:
        text = step(text, page, namespaces)
        yield name, _MARKS.sub("", unshield(text))


def _all_finished(parts: list[str], page: PageContext, split: Callable[[str, str], list[str]]) -> list[str]:
    """Return paragraphs as plain text, and count their formulas; most pages have none, and take the short way."""
    if page.formulas.choice != "text" and not page.formulas.seen:
        return [finish(part, page.templates is not None) for part in parts]
    finished = [_finished(part, page, split) for part in parts]
    page.formulas.finish()
    return finished


def _finished(paragraph: str, page: PageContext, split: Callable[[str, str], list[str]]) -> str:
    """Return a paragraph as plain text, without the sentences that lack a formula, which are counted."""
    paragraph = page.formulas.count(paragraph)
    if page.formulas.choice == "text":
        paragraph = figures_of_tags(paragraph)
    paragraph = finish(paragraph, page.templates is not None)
    if HOLE in paragraph:
        paragraph, dropped = drop_sentences(paragraph, lambda whole: split(whole, page.language))
        page.formulas.counts["sentences"] += dropped
    return paragraph
