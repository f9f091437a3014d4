"""Extract the paragraphs of running prose from a page that MediaWiki's Parsoid has rendered: HTML of the "Enterprise" dumps.

The rule is that of wikitext: running paragraphs stay; lists, tables, headings, figures, boxes, notices, references and hidden
text go. Elements are recognized by their meaning (`typeof`, `rel`), which all versions of Parsoid write, and boxes of templates
by the classes that wikis give them. The lines then pass through the last steps of wikitext, which drop list introductions and
the sentences of formulas.

    >>> html = '<p><b>Rome</b><sup typeof="mw:Extension/ref">[1]</sup> is a city.</p><ul><li>Italy</li></ul>'
    >>> read_rendered(html, Extractor(language="en")).paragraphs
    ['Rome is a city.']
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from lxml import etree

from .wikitext.extract import Extraction, Extractor
from .wikitext.formulas import Formulas
from .wikitext.marks import FORMULA, HOLE, OBJECT, SHIELD, shield
from .wikitext.paragraphs import Page, Paragraph
from .wikitext.variants import choose_word

_LISTS = frozenset(("ul", "ol", "dl"))
_DROPPED_BLOCKS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "table", "figcaption", "nav", "pre", "form", "menu", "map"))
_DROPPED = _LISTS | _DROPPED_BLOCKS | frozenset((
    "figure", "style", "script", "title", "noscript", "template", "head", "button", "select", "textarea", "audio", "video",
    "object", "iframe", "svg", "canvas", "img",
))  # fmt: skip
_BLOCKS = frozenset((
    "p", "div", "blockquote", "center", "section", "article", "aside", "main", "header", "footer", "details", "summary", "hr",
    "address",
))  # fmt: skip
_MARKED = {"b": "b", "strong": "b", "sup": "sup", "sub": "sub"}  # kept as tags until the last step
# Tokens of `typeof`. The output of a tag extension is not prose, except for these.
_PROSE = frozenset(
    f"mw:Extension/{name}" for name in ("poem", "section", "onlyinclude", "span", "nowiki", "langconvert", "tabber")
)
_IMAGE = re.compile(r"mw:(?:File|Image|Video|Audio)\b")
_FORMULA_TYPES = {f"mw:Extension/{name}": name for name in ("math", "chem", "ce")}
# Classes of boxes and marks that the templates of wikis make, as a whole word or with a suffix such as navbox-inner.
_BOX = re.compile(
    r"(?:^|\s)(?:thumb|navbox|infobox|hatnote|dablink|noprint|gallery|reflist|references|mw-references-wrap|mw-cite-backlink"
    r"|mw-editsection|mw-headline-anchor|metadata|sidebar|[acfot]?mbox|sistersitebox|side-box|inline-template|toc|catlinks"
    r"|shortdescription|coordinates|geo|mw-kartographer\w*"
    r"|printfooter|error|navigation-not-searchable|plainlinks-metadata|portal-?bar|portalbox|succession-box|stub|asbox|ext-discussiontools)(?=$|[\s_-])",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"\b(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_DISPLAYSTYLE = re.compile(r"\s*\{\\(?:display|text)style\s(.*)\}\s*", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\f\v\u2000-\u200a\u202f\u205f]+")
_ZERO_WIDTH = re.compile("[\u00ad\u200b\u2060\ufeff]")  # not the joiners of Persian and Indian scripts
_MARKUP = str.maketrans({char: shield(char)[1:] for char in "<>['*#:;=|{"})
_SPECIAL = re.compile(r"[&<>[\'*#:;=|{]")
_ONLY_FORMULAS = re.compile(rf"(?:{FORMULA}[^{FORMULA}]*{FORMULA}|[{HOLE}{OBJECT}\s,;.，。、])+\Z")


class _Reader:
    """Turn the nodes of a page into lines, and lines into paragraphs."""

    def __init__(self, extractor: Extractor, lines: Counter[str] | None) -> None:
        self.formulas = Formulas(extractor.math)
        self.language, self.variant = extractor.language, extractor.variant
        self.page = Page(False, lines)
        self.line: list[str] = []  # text since the last block or line break
        self.in_poem = False

    def read(self, root: Any) -> list[Paragraph]:
        """Return the paragraphs below an element."""
        self._walk(root, self._enter, self._leave, self._text)
        self._end_line()
        self.page.skip()
        return self.page.done

    @staticmethod
    def _walk(root: Any, enter: Callable[[Any], bool], leave: Callable[[Any], None], text: Callable[[str], None]) -> None:
        """Visit elements and text in order. `enter` returns True for an element whose content is to be visited, too."""
        walker, skipped = etree.iterwalk(root, events=("start", "end", "comment", "pi")), False
        for event, node in walker:
            if event == "start":
                if skipped := not enter(node):
                    walker.skip_subtree()
                elif node.text:
                    text(node.text)
                continue
            if event == "end" and not skipped:
                leave(node)
            skipped = False
            if node.tail and node is not root:
                text(node.tail)

    def _enter(self, node: Any) -> bool:
        """Process the start of an element; return True if its content may be prose."""
        tag, types = node.tag, node.get("typeof", "").split()
        if "mw:LanguageVariant" in types:
            self._text(_plain(self._variant(node.get("data-mw-variant", ""))))
        elif tag == "math" or not _FORMULA_TYPES.keys().isdisjoint(types):
            self.line.append(self._formula(node))
        elif tag == "br":
            self._end_line()
            if self.in_poem:
                self.page.end()
        elif _is_dropped(node, types):
            self._drop(node, types)
        else:
            if tag in _BLOCKS:
                self._end_line()
                if not self.page.displayed:  # the text after a displayed formula may go on with its sentence
                    self.page.end()
                self.in_poem |= _is_poem(node)
                if tag == "hr":
                    self.page.mark()
            elif tag in _MARKED:
                self.line.append(f"<{_MARKED[tag]}>")
            return True
        return False

    def _leave(self, node: Any) -> None:
        """Process the end of a node whose children were read."""
        tag = node.tag
        if tag in _BLOCKS:
            self._end_line()
            if tag not in ("p", "section"):  # after a paragraph, the number of line breaks decides: see `_text`
                self.page.end()
            if self.in_poem and _is_poem(node):
                self.in_poem = False
        elif tag in _MARKED:
            self.line.append(f"</{_MARKED[tag]}>")

    def _drop(self, node: Any, types: list[str]) -> None:
        """Process an element that is dropped with its content."""
        tag = node.tag
        is_extension = any(name.startswith("mw:Extension/") for name in types)
        if tag in _LISTS and not is_extension:
            self._end_line()
            if tag == "dl" and (formulas := self._displayed(node)):
                self.page.display(formulas)
            else:
                self.page.skip(is_item=True)
        elif tag == "figure":  # Parsoid puts it between paragraphs; in wikitext it is a line without text
            self._end_line()
            self.page.end()
        elif tag in _DROPPED_BLOCKS or tag in _BLOCKS or tag in _LISTS:
            self._end_line()
            self.page.skip()
        elif is_extension and "mw:Extension/ref" not in types:
            self.line.append(OBJECT)

    def _text(self, text: str) -> None:
        """Add text. Between blocks, two line breaks are an empty line of wikitext; one is not."""
        if not self.line and text.isspace():
            if text.count("\n") > 1:
                self.page.end()
            return
        self.line.append(_escaped(text.replace("\n", " ")))

    def _end_line(self) -> None:
        line = _SPACE.sub(" ", "".join(self.line)).strip()
        self.line = []
        if _is_displayed(line):
            self.page.display(line)
        elif line.startswith("•") and self.page.dropped is not None:
            self.page.skip(is_item=True)
        elif line:
            self.page.add(line)

    def _variant(self, attribute: str) -> str:
        """Return the words of ``-{…}-``, which Parsoid leaves in an attribute."""
        try:
            found = json.loads(attribute)
        except ValueError:
            return ""
        return choose_word(found, self.language, self.variant) if isinstance(found, dict) else ""

    def _formula(self, node: Any) -> str:
        """Return a formula as text. Its TeX is in an attribute of its hidden MathML or its picture, and in `data-mw`."""
        name = next((_FORMULA_TYPES[kind] for kind in node.get("typeof", "").split() if kind in _FORMULA_TYPES), "math")
        math = node if node.tag == "math" else next(node.iter("math"), node)
        shown = math.get("alttext") or next((image.get("alt") for image in node.iter("img") if image.get("alt")), "")
        if name != "math" or not shown:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                shown = str(json.loads(node.get("data-mw", ""))["body"]["extsrc"])
        if match := _DISPLAYSTYLE.fullmatch(shown):
            shown = match[1]
        return self.formulas.tag(name, shown)

    def _displayed(self, items: Any) -> str:
        """Return the formulas of a definition list without other text, which is ``:<math>`` in wikitext, or an empty string."""
        found: list[str] = []

        def enter(node: Any) -> bool:
            if node.tag != "math" and _FORMULA_TYPES.keys().isdisjoint(node.get("typeof", "").split()):
                return True
            found.append(self._formula(node))
            return False

        if next(items.iter("math"), None) is None:
            return ""
        self._walk(items, enter, lambda node: None, lambda text: found.append(_escaped(text)))
        line = " ".join("".join(found).split())
        return line if _is_displayed(line) else ""


def _is_displayed(line: str) -> bool:
    return (FORMULA in line or HOLE in line) and _ONLY_FORMULAS.match(line) is not None


def _is_poem(node: Any) -> bool:
    return "mw:Extension/poem" in node.get("typeof", "").split() or "poem" in node.get("class", "").split()


def _is_dropped(node: Any, types: list[str]) -> bool:
    """Return True if an element is not prose, with all that it contains."""
    if node.tag in _DROPPED or node.get("hidden") is not None or node.get("role") in ("note", "navigation"):
        return True
    if any((name.startswith("mw:Extension/") and name not in _PROSE) or _IMAGE.match(name) for name in types):
        return True
    classes, style = node.get("class"), node.get("style")
    return bool((classes and _BOX.search(classes)) or (style and _HIDDEN.search(style)))


def _escaped(text: str) -> str:
    """Return text in which the last step finds no markup."""
    if max(text, default="") >= "\u00ad":
        text = _ZERO_WIDTH.sub("", text)
    escaped = text.replace("&", "&amp;").translate(_MARKUP)
    return escaped if escaped == text else SHIELD + escaped


def _parsed(html: str) -> Any:
    """Return the root element of a page, or None for a page without any. Raise ValueError if it is nested too deeply."""
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_pis=True)
    try:
        root = etree.fromstring(html.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # only white space or comments
        root = None
    if any("depth" in entry.message for entry in parser.error_log.filter_from_level(etree.ErrorLevels.FATAL)):
        raise ValueError("elements are nested more than 2,048 levels deep")
    return root


def _plain(html: str) -> str:
    """Return the text of a piece of HTML."""
    root = _parsed(html) if "<" in html or "&" in html else None
    return html if root is None else "".join(root.itertext())


def read_rendered(html: str, extractor: Extractor) -> Extraction | None:
    """Return the paragraphs of a rendered page and counts of the text that they lack, like `Extractor`. None: a redirect."""
    lines: Counter[str] = Counter()
    reader = _Reader(extractor, lines if extractor.list_introductions == "drop" else None)
    root = _parsed(html)
    if root is not None and any("mw:PageProp/redirect" in link.get("rel", "").split() for link in root.iter("link")):
        return None
    found = [] if root is None else reader.read(root)
    texts = extractor.finish(found, reader.formulas, lines)
    return Extraction(texts, Counter(), lines, reader.formulas.counts)
