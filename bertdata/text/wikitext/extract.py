"""Extract the paragraphs of running prose from the wikitext of one page.

>>> extract_paragraphs("'''Rome'''<ref>x</ref> is a [[city]].\\n\\n== See also ==\\n* [[Italy]]")
['Rome is a city.']
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..sentences import split_sentences
from .extensions import resolve_extensions
from .formulas import CHOICES, Formulas, drop_sentences, figures_of_tags
from .inline import finish
from .links import resolve_links
from .marks import HOLE, INTRODUCES, clean_input, readable, unshield
from .namespaces import Namespaces
from .paragraphs import paragraphs
from .quotes import ENDED
from .redirects import is_redirect
from .switches import drop_switches
from .tables import drop_tables
from .templates import PageContext, Templates, expand_templates
from .variants import resolve_variants

__all__ = ["Extraction", "Extractor", "extract_paragraphs"]

_DROP_OR_KEEP = ("drop", "keep")
_CHOICES = (("definition_lists", _DROP_OR_KEEP), ("list_introductions", _DROP_OR_KEEP), ("math", CHOICES))
_WORD = re.compile(r"\w")
_ADDRESSES = ("http://", "https://")
# A colon at the end of a paragraph, in any script, with the dash of Indian languages. Bengali and Hindi also use the visarga.
_COLON = re.compile(r"[:：﹕︓፦፥᠄ঃः][\s\-–—]*\Z")
_DASHES = (" –", " —")  # Russian and Ukrainian definitions: "Поет —", then a list of meanings
_MAX_TITLE = 60  # characters
_LINE_CHARS = 200  # of an example of a dropped template
_ARMENIAN_COLON = re.compile(r"՝\s*\Z")  # in Armenian, ":" ends a sentence
_MARKS = re.compile(r"[\x00-\x08\x0b-\x1f]")


class Extraction(NamedTuple):
    """The result of an `Extractor`.

    Attributes:
        paragraphs: The paragraphs of running prose, in order, one line each.
        dropped_templates: Counts, by name (as in ``load_templates``; parser functions end with a colon), the calls that produced
            no words because they are unknown, could not be resolved, or exceeded the page's limit. It does not count footnote
            marks, templates that are empty in the table, calls in comments, references and similar tags, and calls within a
            dropped or empty call.
        dropped_lines: Counts the lines that ``list_introductions="drop"`` drops.
        formulas: Counts formulas by tag or template. ("found", "math") is the sum of ("written", "math"), ("dropped", "math")
            and ("left_out", "math"). The last counts formulas in tables, lists and other places without text. ("sentences", "")
            counts the sentences dropped because of a formula.
        calls: For `example`, the wikitext around the first call of each name in ``dropped_templates``.
    """

    paragraphs: list[str]
    dropped_templates: Counter[str]
    dropped_lines: Counter[str]
    formulas: Counter[tuple[str, str]]
    calls: dict[str, str]

    def example(self, name: str) -> str:
        """Return the first line with a dropped template."""
        line = readable(self.calls[name])
        return line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 1]}…"


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """Extracts the prose of pages of one wiki. Call it with the wikitext and the title of each page.

    The defaults differ from those of ``build-corpus``, which uses ``math="text"``, ``list_introductions="drop"`` and the
    built-in templates.

    Args:
        language: The wiki's code ("en", "zh"). It determines how numbers are written and whether ``-{…}-`` is markup.
        namespaces: Maps lowercase names in the dump's <siteinfo> to numbers.
        templates: The table of templates with words, from ``load_templates``. Without a table, all templates are dropped, and
            only the parser functions for numbers and the page's name are resolved.
        definition_lists: "drop" or "keep", for ``:`` and ``;`` lines.
        list_introductions: "keep" or "drop", for a sentence that ends in a colon or dash before a dropped list, table or heading
            or at the end of the page, and for a bold line that is a heading.
        variant: Selects the words of ``-{…}-``, such as "zh-tw"; empty uses the wiki's order.
        math: How to handle formulas in tags and templates: "text" (plain text, or drop the sentence if that fails), "tex",
            "drop-sentence" or "drop". With "text", numbers in ``<sup>`` and ``<sub>`` are also raised and lowered: 10⁶, H₂O;
            otherwise 106, H2O.
        split: A function of a paragraph and a language that splits sentences.

    Examples:
        >>> found = Extractor(language="en", math="text")("{{Infobox}}A cube has the volume <math>a^3</math>.")
        >>> found.paragraphs, found.dropped_templates
        (['A cube has the volume a³.'], Counter({'infobox': 1}))
    """

    language: str = ""
    namespaces: Mapping[str, int] | None = None
    templates: Templates | None = None
    definition_lists: str = "drop"
    list_introductions: str = "keep"
    variant: str = ""
    math: str = "drop"
    split: Callable[[str, str], list[str]] = split_sentences

    def __post_init__(self) -> None:
        for name, choices in _CHOICES:
            if (value := getattr(self, name)) not in choices:
                raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(choices)}")

    def __call__(self, wikitext: str, title: str = "") -> Extraction:
        """Return the paragraphs of a page, and counts of the text that they lack.

        Args:
            wikitext: The source of the page.
            title: The name of the page, for templates and parser functions that show it.
        """
        page = self._page(title, self.math)
        lines: Counter[str] = Counter()
        paragraphs = [] if is_redirect(wikitext, self.language) else self._paragraphs(wikitext, page, lines)
        return Extraction(paragraphs, page.dropped, lines, page.formulas.counts, page.examples)

    def _page(self, title: str, math: str) -> PageContext:
        return PageContext(title, self.language, self.variant, self.templates, formulas=Formulas(math))

    def _paragraphs(self, wikitext: str, page: PageContext, lines: Counter[str]) -> list[str]:
        """Return the paragraphs of a page that is not a redirect, and count dropped lines."""
        for _, step in _STEPS:
            wikitext = step(wikitext, page, self.namespaces)
        dropped = lines if self.list_introductions == "drop" else None
        parts = paragraphs(wikitext, self.definition_lists == "keep", self.templates is not None, dropped)
        shown = _all_finished(parts, page, self.split, dropped)
        return [text for text in shown if _WORD.search(text) and not (text[:4] == "http" and _only_addresses(text))]

    def steps(self, wikitext: str, title: str = "") -> Iterator[tuple[str, str]]:
        """Yield the name and the output of each step before lines become paragraphs.

        Marks of removed text are blank in the output. Formulas are text.
        """
        page = self._page(title, "text")
        for name, step in _STEPS:
            wikitext = step(wikitext, page, self.namespaces)
            yield name, _MARKS.sub("", unshield(wikitext))


def extract_paragraphs(wikitext: str, *, title: str = "", language: str = "", templates: Templates | None = None) -> list[str]:
    """Return the paragraphs of running prose of a page, in order, one line each.

    `Extractor` has more options, and counts the text that it drops.

    Args:
        wikitext: The source of the page.
        title: The name of the page, for templates and parser functions that show it.
        language: The wiki's code ("en", "zh").
        templates: The table of templates with words, from ``load_templates``. Without a table, all templates are dropped.
    """
    return Extractor(language=language, templates=templates)(wikitext, title).paragraphs


def _without_introduction(
    paragraph: str, language: str, split: Callable[[str, str], list[str]], dropped: Counter[str], may_be_title: bool = False
) -> str:
    """Return a paragraph before a dropped list without its last sentence if that introduces the list; count the sentence.

    It ends in a colon or dash, or is a short line without an end mark: the list's title.

    >>> _without_introduction("Tea is hot. It needs:", "en", split_sentences, Counter())
    'Tea is hot.'
    """
    colon = _ARMENIAN_COLON if language in ("hy", "hyw") else _COLON
    title = may_be_title and len(paragraph) <= _MAX_TITLE and not ENDED.search(paragraph) and paragraph[-1:] != ":"
    if not title and not colon.search(paragraph) and not paragraph.endswith(_DASHES):
        return paragraph
    dropped["list introduction"] += 1
    last = split(paragraph, language)[-1:]
    return paragraph[: paragraph.rfind(last[0])].rstrip() if last else ""


def _only_addresses(paragraph: str) -> bool:
    """Return True if a paragraph contains only addresses.

    >>> _only_addresses("https://x.org/a  https://x.org/b"), _only_addresses("https://x.org shows it")
    (True, False)
    """
    return paragraph.startswith(_ADDRESSES) and all(word.startswith(_ADDRESSES) for word in paragraph.split())


# Each step works on the output of the previous one, in MediaWiki's order. Braces and brackets in a comment or in <nowiki> are
# text, so tags come first; templates can produce tables and links; tables are removed with their links.  Example with
# templates enabled; \x02 and \x1d are OBJECT and AWAY of marks.py:
#
#   the page               ''Rome''<ref>x</ref> is {{nowrap|a [[city|town]]}}. __NOTOC__ [[Category:A]]
#   comments and tags      ''Rome''\x02 is {{nowrap|a [[city|town]]}}. __NOTOC__ [[Category:A]]
#   templates              ''Rome''\x02 is a [[city|town]]. __NOTOC__ [[Category:A]]
#   tables and switches    ''Rome''\x02 is a [[city|town]].  [[Category:A]]
#   links                  ''Rome''\x02 is a town.\x1d
#
# Then `paragraphs` removes the apostrophes line by line, because bold ends with its line, and `finish` the marks: Rome is a town.
_STEPS: tuple[tuple[str, Callable[[str, PageContext, Mapping[str, int] | None], str]], ...] = (
    ("comments, references and tags", lambda text, page, _: resolve_extensions(clean_input(text), page.formulas)),
    ("templates", lambda text, page, _: expand_templates(text, page)),
    ("language variants", lambda text, page, _: resolve_variants(text, page.language, page.variant)),
    ("tables and switches", lambda text, _, __: drop_switches(drop_tables(text))),
    ("links", lambda text, _, namespaces: resolve_links(text, Namespaces.build(namespaces))),
)


def _all_finished(
    parts: list[str], page: PageContext, split: Callable[[str, str], list[str]], dropped: Counter[str] | None
) -> list[str]:
    """Return paragraphs as plain text, and count their formulas; take a fast path for pages without formulas.

    With ``dropped``, remove the introductions of dropped lists.
    """
    if page.formulas.choice != "text" and not page.formulas.seen:
        finished = [finish(part, page.templates is not None) for part in parts]
    else:
        finished = [_finished(part, page, split) for part in parts]
        page.formulas.finish()
    for index, part in enumerate(parts if dropped is not None else ()):
        if dropped is not None and part[-1:] == INTRODUCES:
            may_be_title = part[-2:] == 2 * INTRODUCES
            finished[index] = _without_introduction(finished[index], page.language, split, dropped, may_be_title)
    return finished


def _finished(paragraph: str, page: PageContext, split: Callable[[str, str], list[str]]) -> str:
    """Return a paragraph as plain text, without sentences that lack a formula, which are counted."""
    paragraph = page.formulas.count(paragraph)
    if page.formulas.choice == "text":
        paragraph = figures_of_tags(paragraph)
    paragraph = finish(paragraph, page.templates is not None)
    if HOLE in paragraph:
        paragraph, dropped = drop_sentences(paragraph, lambda whole: split(whole, page.language))
        page.formulas.counts["sentences", ""] += dropped
    return paragraph
