"""Extract the paragraphs of running prose from a page that MediaWiki's Parsoid has rendered: HTML of the "Enterprise" dumps.

The rule is that of wikitext. Elements are recognized by their meaning (`typeof`), which all versions of Parsoid write, and boxes
of templates by the classes that wikis use. The page becomes text with a mark wherever a line ends. Its lines pass through
the last steps of wikitext, which drop list introductions and the sentences of formulas.

    >>> html = '<p><b>Rome</b><sup typeof="mw:Extension/ref">[1]</sup> is a city.</p><ul><li>Italy</li></ul>'
    >>> read_rendered(html, Extractor(language="en")).paragraphs
    ['Rome is a city.']
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from lxml import etree

from .wikitext.extract import Extraction, Extractor
from .wikitext.formulas import Formulas
from .wikitext.marks import FORMULA, HOLE, OBJECT, shield
from .wikitext.paragraphs import Page
from .wikitext.variants import choose_word

# Marks in the text of a page, each the end of a line: of a paragraph, before a dropped block, or before a dropped list.
_BREAK, _END, _SKIP, _ITEM = "\x10\x11\x12\x13"
_MARK = re.compile("([\x10-\x13])")
_BLOCK_NAMES = "address article aside blockquote body center details div footer header main p section summary"
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_WORDLESS_NAMES = "audio button canvas head iframe img noscript object script select style svg template textarea title video"
_OTHER_NAMES = "figcaption form h1 h2 h3 h4 h5 h6 map menu nav pre table"
_DROPPED = {  # elements that are never prose, with the marks that replace them
    **dict.fromkeys(_WORDLESS_NAMES.split(), ""),
    **dict.fromkeys(_OTHER_NAMES.split(), _SKIP),
    "figure": _END,  # Parsoid puts it between paragraphs; in wikitext it is a line without text
    **dict.fromkeys(("ol", "ul"), _ITEM),
}
_INLINE = {"b": "b", "strong": "b", "sup": "sup", "sub": "sub"}  # kept as tags until the last step
_STARTS = {**dict.fromkeys(_BLOCKS, _END), **{tag: f"<{kept}>" for tag, kept in _INLINE.items()}, "br": _BREAK, "hr": _SKIP}
# After a paragraph or a section, the number of line breaks decides whether the next line is another paragraph.
_ENDS = {**dict.fromkeys(_BLOCKS, _END), **{tag: f"</{kept}>" for tag, kept in _INLINE.items()}, "p": _BREAK, "section": _BREAK}

# Attributes of elements that are not prose, with all that they contain. Of tag extensions, only these write prose.
_NO_PROSE = {
    "typeof": re.compile(
        r"mw:Extension/(?!(?:poem|section|onlyinclude|span|nowiki|langconvert|tabber)(?!\S))|mw:(?:File|Image|Video|Audio)\b"
    ),
    # Classes of boxes and marks that the templates of wikis make, as a whole word or with a suffix such as navbox-inner.
    "class": re.compile(
        r"(?:^|\s)(?:thumb|navbox|infobox|hatnote|dablink|noprint|gallery|reflist|references?|mw-references-wrap|mw-cite-backlink"
        r"|mw-editsection|mw-headline-anchor|metadata|sidebar|[acfot]?mbox|sistersitebox|side-box|inline-template|toc|catlinks"
        r"|shortdescription|coordinates|geo|mw-kartographer\w*|printfooter|error|navigation-not-searchable|plainlinks-metadata"
        r"|portal-?bar|portalbox|succession-box|stub|asbox|ext-discussiontools)(?=$|[\s_-])",
        re.IGNORECASE,
    ),
    "style": re.compile(r"\b(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE),
    "id": re.compile(r"\Acoordinates\Z"),  # of the page, which a template shows above its title
    "role": re.compile(r"\b(?:note|navigation)\b"),
}
_POEM = re.compile(r"(?:^|\s)(?:mw:Extension/)?poem(?!\S)")
_FORMULA = re.compile(r"mw:Extension/(math|chem|ce)(?!\S)")
_TEX = etree.XPath("string((descendant-or-self::math/@alttext | descendant::img/@alt)[1])")
_DISPLAYSTYLE = re.compile(r"\A\s*\{\\(?:display|text)style\s(.*)\}\s*\Z", re.DOTALL)
_DISPLAYED = re.compile(  # a line of formulas
    rf"(?=[^{FORMULA}{HOLE}]*[{FORMULA}{HOLE}])(?:{FORMULA}[^{FORMULA}]*{FORMULA}|[{HOLE}{OBJECT}\s,;.，。、])+\Z"
)
# Characters that the last step would take for markup or marks, and zero-width ones, but not the joiners of Persian and Hindi.
_ESCAPES: dict[int, str | None] = {
    **dict.fromkeys((*range(9), *range(11, 32), 0xAD, 0x200B, 0x2060, 0xFEFF, *range(0xFDD0, 0xFDF0))),
    **{ord(character): shield(character) for character in "<>['"},
    ord("&"): "&amp;",
}


def read_rendered(html: str, extractor: Extractor) -> Extraction | None:
    """Return the paragraphs of a rendered page and counts of the text that they lack, like `Extractor`. None: a redirect."""
    root, formulas, lines = _parsed(html), Formulas(extractor.math), Counter[str]()
    if any("mw:PageProp/redirect" in link.get("rel", "").split() for link in root.iter("link")):
        return None
    page = Page(False, lines if extractor.list_introductions == "drop" else None)
    parts = _MARK.split(_flattened(root, extractor, formulas) + _SKIP)
    for text, mark in zip(parts[::2], parts[1::2], strict=False):
        line = " ".join(text.split())
        if not line:
            if text.count("\n") > 1:  # between blocks, an empty line of wikitext
                page.blank()
        elif _DISPLAYED.match(line):
            page.display(line)
        elif line[0] == "•" and page.dropped is not None:
            page.skip(is_item=True)
        else:
            page.add(line)
        if mark in (_SKIP, _ITEM):
            page.skip(is_item=mark == _ITEM)
        elif mark == _END and not page.displayed:  # the text after a displayed formula may go on with its sentence
            page.end()
    return Extraction(extractor.finish(page.done, formulas, lines), Counter(), lines, formulas.counts)


def _parsed(html: str) -> Any:
    """Return the root element of a page. Raise ValueError if it is nested too deeply."""
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_pis=True, remove_comments=True)
    root = etree.fromstring(html.encode("utf-8", "replace") + b"<p>", parser)  # never empty, which is an error
    if any("depth" in entry.message for entry in parser.error_log.filter_from_level(etree.ErrorLevels.FATAL)):
        raise ValueError("elements are nested more than 2,048 levels deep")
    return root


def _flattened(root: Any, extractor: Extractor, formulas: Formulas) -> str:
    """Return the text of a page with marks."""
    parts: list[str] = []
    poem: Any = None  # the open poem, whose line breaks end paragraphs
    items: Any = None  # the open definition list: ``:<math>`` of wikitext is one
    begin = 0  # of its text in `parts`
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, node in walker:
        tag = node.tag
        if event == "end":
            if node is items:
                text, items = "".join(parts[begin:]), None
                parts[begin:] = (_BREAK, text, _BREAK) if _DISPLAYED.match(text) else (_ITEM,)
            elif node is poem:
                poem = None
            parts += _ENDS.get(tag, ""), (node.tail or "").translate(_ESCAPES)
        elif (found := _replacement(node, extractor, formulas)) is not None:
            parts.append(found)
            walker.skip_subtree()
            node.tag = "dropped"  # so that its end has no mark
        else:
            if tag == "dl" and items is None:
                items, begin = node, len(parts)
            elif poem is None and tag in _BLOCKS and _POEM.search(f"{node.get('typeof')} {node.get('class')}"):
                poem = node
            parts += _END if tag == "br" and poem is not None else _STARTS.get(tag, ""), (node.text or "").translate(_ESCAPES)
    return "".join(parts)


def _replacement(node: Any, extractor: Extractor, formulas: Formulas) -> str | None:
    """Return the text or mark that replaces an element, or None for one whose content may be prose."""
    tag, types = node.tag, node.get("typeof", "")
    if "mw:LanguageVariant" in types:  # the words are in an attribute, as HTML
        word = choose_word(json.loads(node.get("data-mw-variant", "{}")), extractor.language, extractor.variant)
        return "" if tag == "meta" else "".join(_parsed(f"<p>{word}").itertext()).translate(_ESCAPES)
    if (formula := _FORMULA.search(types)) or tag == "math":  # its TeX is in its hidden MathML, its picture, and `data-mw`
        name, shown = formula[1] if formula else "math", _TEX(node)
        if name != "math" or not shown:
            shown = json.loads(node.get("data-mw") or "{}").get("body", {}).get("extsrc", shown)
        return formulas.tag(name, _DISPLAYSTYLE.sub(r"\1", shown))
    is_shown = tag not in _DROPPED and node.get("hidden") is None
    if is_shown and not any(pattern.search(node.get(name, "")) for name, pattern in _NO_PROSE.items()):
        return None
    mark = _DROPPED.get(tag, _SKIP if tag in _BLOCKS or tag == "dl" else "")
    if "mw:Extension/" not in types:
        return mark
    return _SKIP if mark else "" if "mw:Extension/ref" in types else OBJECT  # a gallery is not a list
