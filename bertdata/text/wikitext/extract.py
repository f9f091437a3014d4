"""Extract the paragraphs of running prose from the wikitext of one page.

>>> extract_paragraphs("'''Rome'''<ref>x</ref> is a [[city]].\\n\\n== See also ==\\n* [[Italy]]")
['Rome is a city.']
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..sentences import split_sentences
from .extensions import resolve_extensions
from .formulas import CHOICES, Formulas, figures_of_tags
from .inline import finish
from .links import resolve_links
from .marks import HOLE, clean_input, unshield
from .pages import drop_switches, is_redirect
from .paragraphs import Paragraph, paragraphs
from .quotes import ENDED
from .tables import drop_tables
from .templates.expand import PageContext, expand_templates
from .templates.table import Templates, load_templates
from .variants import resolve_variants

_CHOICES = (("list_introductions", ("drop", "keep")), ("math", CHOICES))
_BUILT_IN = "built-in"
_WORD = re.compile(r"\w")
_ADDRESSES = re.compile(r"(?:https?://\S*(?:\s+|\Z))+")  # a paragraph of nothing else
# A colon at the end of a paragraph, in any script, with the dash of Indian languages. Bengali and Hindi also use the visarga.
_COLON = re.compile(r"[:：﹕︓፦፥᠄ঃः][\s\-–—]*\Z")
_ARMENIAN_COLON = re.compile(r"՝\s*\Z")  # in Armenian, ":" ends a sentence
_DASHES = (" –", " —")  # Russian and Ukrainian definitions: "Поет —", then a list of meanings
_MAX_TITLE = 60  # characters
_MARKS = re.compile(r"[\x00-\x08\x0b-\x1f]")


class Extraction(NamedTuple):
    """The result of an `Extractor`.

    Attributes:
        paragraphs: The paragraphs of running prose, in order, one line each.
        dropped_templates: Counts, by name (as in ``load_templates``; parser functions end with a colon), the calls that produced
            no words because they are unknown, could not be resolved, or exceeded the page's limit. It does not count footnote
            marks, templates that are empty in the table, calls in comments, references and similar tags, and calls within a
            dropped or empty call.
        dropped_lines: Counts the introductions of lists and the bold headings that ``list_introductions="drop"`` drops.
        formulas: The number of formulas by outcome: ("found", "formula") is the sum of those "written", "dropped", and "left_out"
            with tables, lists and other places without prose. ("sentences", "formula") counts the dropped sentences.
    """

    paragraphs: list[str]
    dropped_templates: Counter[str]
    dropped_lines: Counter[str]
    formulas: Counter[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """Extracts the prose of pages of one wiki. Call it with the wikitext and the title of each page.

    The defaults are those of ``build-corpus``.

    Args:
        language: The wiki's code ("en", "zh"). It determines how numbers are written and whether ``-{…}-`` is markup.
        namespaces: Maps lowercase names in the dump's <siteinfo> to numbers.
        templates: The table of templates with words, from ``load_templates``. By default, it is the built-in one of the language.
            With None, all templates are dropped, and only the parser functions for numbers and the page's name are resolved.
        list_introductions: "drop" or "keep", for a sentence that ends in a colon or dash before a dropped list, table or heading
            or at the end of the page, and for a bold line that is a heading.
        variant: Selects the words of ``-{…}-``, such as "zh-tw"; empty uses the wiki's order.
        math: How to handle formulas in tags and templates: "text" (plain text, or drop the sentence if the formula is not
            simple), "tex" or "drop". With "text", numbers in ``<sup>`` and ``<sub>`` are also raised and lowered: 10⁶, H₂O;
            otherwise 106, H2O.
        split: A function of a paragraph and a language that splits sentences.

    Examples:
        >>> found = Extractor(language="en")("{{no such box}}A cube has the volume <math>a^3</math>.")
        >>> found.paragraphs, found.dropped_templates
        (['A cube has the volume a³.'], Counter({'no such box': 1}))
    """

    language: str = ""
    namespaces: Mapping[str, int] | None = None
    templates: Templates | str | None = _BUILT_IN
    list_introductions: str = "drop"
    variant: str = ""
    math: str = "text"
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
        page = self._page(title)
        lines: Counter[str] = Counter()
        found: list[Paragraph] = []
        if not is_redirect(wikitext):
            for _, step in _STEPS:
                wikitext = step(wikitext, page, self.namespaces)
            found = paragraphs(wikitext, lines if self.list_introductions == "drop" else None, page.templates is not None)
        texts = self.finish(found, page.formulas, lines, page.templates is not None)
        return Extraction(texts, page.dropped, lines, page.formulas.counts)

    def _page(self, title: str) -> PageContext:
        table = load_templates(self.language) if isinstance(self.templates, str) else self.templates
        return PageContext(title, self.language, self.variant, table, formulas=Formulas(self.math))

    def finish(
        self, found: Sequence[Paragraph], formulas: Formulas, lines: Counter[str], templates_on: bool = False
    ) -> list[str]:
        """Return the text of paragraphs with inline markup, without list introductions and the sentences of dropped formulas."""
        drops = self.list_introductions == "drop"
        texts: list[str] = []
        for paragraph in found:
            text = finish(figures_of_tags(paragraph.text) if self.math == "text" else paragraph.text, templates_on)
            if formulas.found or HOLE in text:
                text = formulas.finish(paragraph.text, text, lambda whole: self.split(whole, self.language))
            if drops and paragraph.before_block and self._introduces(paragraph, text):
                lines["list introduction"] += 1
                last = self.split(text, self.language)[-1:]
                text = text[: text.rfind(last[0])].rstrip() if last else ""
            if _WORD.search(text) and not (text[:4] == "http" and _ADDRESSES.fullmatch(text)):
                texts.append(text)
        return texts

    def _introduces(self, paragraph: Paragraph, text: str) -> bool:
        """Return True if a paragraph before a dropped list introduces it: "It needs:", or a short line, the list's title."""
        if paragraph.may_be_title and len(text) <= _MAX_TITLE and not ENDED.search(text) and text[-1:] != ":":
            return True
        colon = _ARMENIAN_COLON if self.language in ("hy", "hyw") else _COLON
        return colon.search(text) is not None or text.endswith(_DASHES)

    def steps(self, wikitext: str, title: str = "") -> Iterator[tuple[str, str]]:
        """Yield the name and the output of each step before lines become paragraphs, without marks of removed text."""
        page = replace(self, math="text")._page(title)
        for name, step in _STEPS:
            wikitext = step(wikitext, page, self.namespaces)
            yield name, _MARKS.sub("", unshield(wikitext))


def extract_paragraphs(
    wikitext: str,
    *,
    title: str = "",
    language: str = "",
    templates: Templates | str | None = _BUILT_IN,
    math: str = "text",
    list_introductions: str = "drop",
) -> list[str]:
    """Return the paragraphs of running prose of a page, in order, one line each.

    `Extractor` has more options, and counts the text that it drops.

    Args:
        wikitext: The source of the page.
        title: The name of the page, for templates and parser functions that show it.
        language: The wiki's code ("en", "zh").
        templates: The table of templates with words, from ``load_templates``; by default the built-in one of the language. With
            None, all templates are dropped.
        math: "text", "tex" or "drop", as for `Extractor`.
        list_introductions: "drop" or "keep", as for `Extractor`.
    """
    extractor = Extractor(language=language, templates=templates, math=math, list_introductions=list_introductions)
    return extractor(wikitext, title).paragraphs


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
    ("links", lambda text, _, namespaces: resolve_links(text, namespaces)),
)
