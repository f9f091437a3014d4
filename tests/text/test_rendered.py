"""Rendered pages: the paragraphs of MediaWiki's HTML, by the rule of wikitext."""

from __future__ import annotations

import html as escapes
import json
import lzma
from pathlib import Path

import pytest

from bertdata.text.rendered import read_rendered
from bertdata.text.wikitext import Extractor, extract_paragraphs

NBSP, THIN, ZERO = "\u00a0", "\u2009", "\u200b"


def extracted(html: str, **options: str) -> list[str]:
    found = read_rendered(html, Extractor(**options))  # type: ignore[arg-type]
    return found.paragraphs if found else []


def variant(**found: object) -> str:
    return f"<span typeof=\"mw:LanguageVariant\" data-mw-variant='{json.dumps(found)}'></span>"


def math(tex: str, inner: str = "") -> str:
    tree = f'<math alttext="{{\\displaystyle {tex}}}"><semantics><mrow>x</mrow><annotation>{tex}</annotation></semantics></math>'
    hidden = f'<span class="mwe-math-mathml-inline" style="display: none;">{tree}</span>'
    data = escapes.escape(json.dumps({"name": "math", "body": {"extsrc": tex}}))
    return f'<span typeof="mw:Extension/math" data-mw="{data}">{hidden}<img alt="{{\\displaystyle {tex}}}"/></span>'


WORDS = [{"l": "zh-hans", "t": "电脑"}, {"l": "zh-hant", "t": "電腦"}]
# name: (HTML, its paragraphs)
CASES: dict[str, tuple[str, list[str]]] = {
    "attributes with markup": (
        '<p>Tea<sup typeof=\'mw:Extension/ref\' data-mw=\'{"body":{"html":"&lt;p>note &lt;b>x"}}\'>[1]</sup> is hot.</p>',
        ["Tea is hot."],
    ),
    "lines of the source": ("<p>Tea\nis\n hot.</p>\n<p>So is coffee.</p>", ["Tea is hot.", "So is coffee."]),
    "references": (
        '<p>a<sup class="mw-ref" typeof="mw:Transclusion mw:Extension/ref">[1]</sup> b'
        '<sup typeof="mw:Extension/ref mw:Error"><a>[2]</a></sup>.</p>'
        '<div class="mw-references-wrap" typeof="mw:Extension/references"><ol><li>Note one.</li></ol></div>',
        ["a b."],
    ),
    "a template's nodes are prose": (
        '<p>x (<a about="#mwt1" typeof="mw:Transclusion" data-mw="{}">Spanish</a><span about="#mwt1">: </span>'
        '<span lang="es" about="#mwt1"><i>Argentina</i></span>) y</p>',
        ["x (Spanish: Argentina) y"],
    ),
    "empty templates": ('<p>a<span about="#mwt1" typeof="mw:Transclusion"></span> b</p>', ["a b"]),
    "variants": (
        f"<p>用{variant(twoway=WORDS)}。{variant(disabled={'t': '原文'})}</p>"
        + f"<p>{variant(add=True, twoway=WORDS)}"
        + variant(add=True, twoway=WORDS).replace("span", "meta")
        + "好</p>",
        ["用电脑。原文", "电脑好"],
    ),
    "a variant with a link": (
        "<p>看" + variant(disabled={"t": '<a rel="mw:WikiLink">书</a>'}).replace("<a", "&lt;a") + "。</p>",
        ["看书。"],
    ),
    "sections": (
        '<section data-mw-section-id="0"><p>a</p></section><section data-mw-section-id="-2"><div><p>d</p>'
        '<section data-mw-section-id="-1"><h2 id="E"><span typeof="mw:FallbackId"></span>E</h2><p>e</p></section></div>'
        "</section>",
        ["a", "d", "e"],
    ),
    "a heading in a wrapper": ('<div class="mw-heading mw-heading2"><h2>History</h2></div><p>It began.</p>', ["It began."]),
    "links": (
        '<p><a rel="mw:WikiLink" href="./Bar">bars</a> <a rel="mw:ExtLink" class="external autonumber" href="http://a.org"></a>'
        '<a rel="mw:ExtLink" href="http://b.org">http://b.org</a><link rel="mw:PageProp/Category" href="./C"/>.</p>',
        ["bars http://b.org."],
    ),
    "an address alone": ('<p><a rel="mw:ExtLink" href="http://b.org">http://b.org</a></p><p>a b</p>', ["a b"]),
    "line breaks": ('<p>a<br id="mwAw"/>b</p><p><br/></p><p>c</p>', ["a b", "c"]),
    "poem": (
        '<div class="poem" typeof="mw:Extension/poem"><p>One line<br/>\n<span typeof="mw:Entity">&nbsp;</span>two.</p></div>'
        "<p>c</p>",
        ["One line", "two.", "c"],
    ),
    "block quotation": ("<blockquote><p>First.</p>\n\n<p>Second.</p></blockquote>", ["First.", "Second."]),
    "entities": (
        f'<p>5<span typeof="mw:Entity">{NBSP}</span>km, 2<span typeof="mw:DisplaySpace">{NBSP}</span>%, 3{THIN}m, a{ZERO}b\u00adc'
        ' <span typeof="mw:Nowiki">[[x]]</span> &amp;lt; &lt;i></p>',
        ["5 km, 2 %, 3 m, abc [[x]] &lt; <i>"],
    ),
    "control characters": ("<p>Tea\x05 is&#4; hot\ufdd0.</p>", ["Tea is hot."]),
    "zero-width joiners are letters": ("<p>می\u200cخواهم क्\u200dष</p>", ["می\u200cخواهم क्\u200dष"]),
    "formula": (f"<p>So {math('x^2')} holds. It is hot.</p>", ["So x² holds. It is hot."]),
    "a formula that cannot be text": (
        "<p>It is hot. So " + math(r"\begin{cases}a & b\end{cases}") + " holds.</p>",
        ["It is hot."],
    ),
    "a displayed formula": (
        f"<p>The area is</p>\n<dl><dd>{math('A = a^2')}</dd></dl>\n<p>of a square.</p>"
        f"<p>The volume is</p>\n\n<dl><dd><dl><dd>{math('V = a^3')}.</dd></dl></dd></dl>\n<dl><dd>where {math('a')}</dd></dl>",
        ["The area is A = a² of a square.", "The volume is V = a³."],
    ),
    "hidden": (
        '<p>a<span class="x"><span style="display:none">b <span>c</span></span></span><!-- c --><span hidden="">d</span> e</p>'
        '<div style="color: red; display : none"><p>f</p></div>',
        ["a e"],
    ),
    "images": (
        '<figure typeof="mw:File/Thumb"><a><img/></a><figcaption><p>A cat.</p></figcaption></figure>'
        '<p>a <span typeof="mw:File"><a><img alt="no"/></a></span>b <span typeof="mw:Error mw:File/Thumb">'
        '<span class="mw-broken-media">File:x</span></span></p><ul class="gallery" typeof="mw:Extension/gallery"><li>x</li></ul>',
        ["a b"],
    ),
    "code": ('<div class="mw-highlight" typeof="mw:Extension/syntaxhighlight"><pre>x = 1</pre></div><pre>y</pre><p>a</p>', ["a"]),
    "ruby": ("<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>だ</p>", ["漢(kan)だ"]),
    "sup and sub": ("<p>10<sup>6</sup> H<sub>2</sub>O, 1<sup>st</sup></p>", ["10⁶ H₂O, 1st"]),
    "head and style": ("<head><title>T</title></head><p>a<style>.b{}</style> b</p><script>c</script>", ["a b"]),
    "prose outside p": ("<center>A word <b>here</b></center>and there", ["A word here", "and there"]),
    "p in a table, an item or a caption": ("<table><td><p>a</p></td></table><ul><li><p>b</p></li></ul><p>c</p>", ["c"]),
    "notices and navigation": (
        '<div role="note" class="hatnote">See X.</div><div class="navbox-styles">n</div><div role="navigation">m</div>'
        '<sup class="noprint Inline-Template">[<i>citation needed</i>]</sup><p>a<span class="mw-editsection">[edit]</span></p>'
        '<span id="coordinates">Coordinates: <span class="geo">5; 6</span></span><sup class="reference">: 5</sup>'
        '<table class="ambox"><td>Stub</td></table>',
        ["a"],
    ),
    "an error message of a parser function": ('<p>Es sind <strong class="error">Fehler</strong> 5.</p>', ["Es sind 5."]),
    "list introduction": ("<p>Tea is hot. There are three kinds:</p>\n<ul><li>a</li></ul>", ["Tea is hot."]),
    "title of a list": ("<p>Kinds of tea</p>\n<ul><li>a</li></ul><p>Tea.</p>", ["Tea."]),
    "a paragraph above a list": ("<p>Kinds of tea</p>\n\n<ul><li>a</li></ul>", ["Kinds of tea"]),
    "bold heading": ("<p><b>Rules</b></p><p><strong>More</strong></p><p><b>Tea</b> is hot.</p>", ["Tea is hot."]),
    "unclosed and crossed tags": ("<p><b>a <i>b</b> c</i><div>d<p>e", ["a b c", "d", "e"]),
    # What newer versions of Parsoid write (HTML 2.8).
    "media of newer versions": (
        '<figure class="mw-default-size" typeof="mw:File/Frame"><a class="mw-file-description"><img class="mw-file-element"/></a>'
        '<figcaption>A cat.</figcaption></figure><p>a <span typeof="mw:File/Frameless"><span><video class="mw-file-element">'
        'no</video></span></span>b <span typeof="mw:Extension/phonos"><a>x</a></span><span typeof="mw:Error mw:File">'
        '<a><span class="mw-file-element mw-broken-media">File:x</span></a></span></p>',
        ["a b"],
    ),
    "marks of references in spans": (
        '<p>Tea.<sup about="#mwt1" class="mw-ref reference" rel="dc:references" typeof="mw:Extension/ref">'
        '<a style="counter-reset: mw-Ref 1;"><span class="mw-reflink-text"><span class="cite-bracket">[</span>1'
        '<span class="cite-bracket">]</span></span></a></sup> Cup.</p><section data-mw-section-id="2"><div class="mw-heading'
        ' mw-heading2"><h2 id="N">Notes</h2></div><div about="#mwt3" typeof="mw:Transclusion" class="reflist"><div about="#mwt4"'
        ' typeof="mw:Extension/references" class="mw-references-wrap"><ol><li>Note.</li></ol></div></div></section>',
        ["Tea. Cup."],
    ),
    "styles of templates": (
        '<p><style typeof="mw:Extension/templatestyles mw:Transclusion" about="#mwt1">.a{}</style><span about="#mwt1">A</span>'
        '<link rel="mw-deduplicated-inline-style" typeof="mw:Extension/templatestyles" about="#mwt2"/>, b</p>',
        ["A, b"],
    ),
    "a notice and its style": (
        '<style typeof="mw:Extension/templatestyles mw:Transclusion" about="#mwt1">.a{}</style>'
        '<div role="note" about="#mwt1">See X.</div><p about="#mwt2" typeof="mw:Transclusion">a</p><p about="#mwt2">b</p>',
        ["a", "b"],
    ),
    "properties of the page": (
        '<p>a<meta property="mw:PageProp/toc"/> b<link rel="mw:PageProp/Category"/><link rel="mw:PageProp/Language"/>.</p>'
        '<div id="toc" role="navigation"><h2>Contents</h2>x</div>'
        '<meta typeof="mw:Extension/indicator mw:Transclusion" about="#mwt1"/><meta typeof="mw:Placeholder"/><p>c</p>',
        ["a b.", "c"],
    ),
    "discussion tools": (
        '<h2><span data-mw-comment-start="" id="h-A"></span>A</h2><p>a<span class="ext-discussiontools-init-replylink-buttons">'
        "[<a>Reply</a>]</span></p>",
        ["a"],
    ),
    "variants of one wiki": (
        f"<p>a{variant(filter={'l': ['zh-hans'], 't': '乙'})}{variant(name={'t': 'zh'})}</p>",
        ["a乙"],
    ),
    "redirect": ('<link rel="mw:PageProp/redirect" href="./B"/><p>Redirect to B</p>', []),
    "no page": ("", []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_page(name: str) -> None:
    html, paragraphs = CASES[name]
    assert extracted(f"<html><body>{html}</body></html>", language="zh" if "variant" in name else "en") == paragraphs


def test_variants_by_the_option() -> None:
    assert extracted(f"<p>用{variant(twoway=WORDS)}</p>", language="zh", variant="zh-tw") == ["用電腦"]


def test_options_are_those_of_wikitext() -> None:
    page = f"<p>Kinds: {math('x_c')}</p><ul><li>a</li></ul>"
    assert extracted(page, math="tex", list_introductions="keep") == ["Kinds: x_c"]
    assert extracted(page, math="drop", list_introductions="keep") == ["Kinds:"]
    with pytest.raises(ValueError, match="math"):
        extracted(page, math="all")


def test_a_page_of_our_own_has_the_same_paragraphs_in_both_forms() -> None:
    """Our page about a lake, as its wiki stores it and as Parsoid renders it."""
    directory = Path(__file__).parent / "rendered"
    wikitext, html = ((directory / f"harrow_loch.{form}").read_text(encoding="utf-8") for form in ("wikitext", "html"))
    expected = extract_paragraphs(wikitext, language="en")
    assert len(expected) >= 6 and extracted(html, language="en") == expected


def test_deep_and_long_pages_end() -> None:
    assert extracted("<div>" * 1500 + "<p>Tea is hot.") == ["Tea is hot."]
    with pytest.raises(ValueError, match="nested more than 2,048 levels deep"):
        extracted("<div>" * 100_000 + "<p>Tea is hot.")
    assert len(extracted("<p>Tea is hot.</p>" * 20_000)) == 20_000


@pytest.mark.slow
def test_pages_rendered_by_mediawiki(shared: Path) -> None:
    """Words are those of the truth; so are paragraphs where templates were real (see PARSOID.md about the others)."""
    equal = same = total = 0
    with lzma.open(shared / "extraction" / "dev_html.jsonl.xz", "rt", encoding="utf-8") as file:
        for page in map(json.loads, file):
            if page["templates"] != "real":
                continue
            found = extracted(page["html"], language=page["language"], math="drop", list_introductions="keep")
            expected = [" ".join(paragraph.split()) for paragraph in page["paragraphs"]]
            same += len({*found} & {*expected})
            total += len({*expected})
            equal += 1
    assert equal == 42 and same >= 0.97 * total
