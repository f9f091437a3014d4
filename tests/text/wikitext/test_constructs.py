"""Each construct of wikitext, with the paragraphs that it must give."""

import pytest
from footing import Extractor, extract_paragraphs

from bertdata.text.wikitext import load_templates

# (what it is, wikitext, paragraphs)
ENGLISH = [
    # apostrophes, by MediaWiki's rules
    ("bold and italics", "'''Rome''' is ''old'' and '''''eternal'''''.", ["Rome is old and eternal."]),
    ("bold before a letter", "'''T'''s and l''''X'''' y", ["Ts and l'X' y"]),
    ("an apostrophe and italics", "l'''amour'' de l'eau", ["l'amour de l'eau"]),
    ("unclosed italics end with the line", "''one\ntwo''' three", ["one two three"]),
    ("six apostrophes", "''''''x''''''", ["'x'"]),
    ("quotes in a label are its own", "''[[A|''b'']]'' c", ["b c"]),
    ("five apostrophes, closed apart", "'''''a''' b'' c, '''''d'' e''' f", ["a b c, d e f"]),
    ("seven apostrophes", "'''''''a'''''''", ["''a''"]),
    ("odd counts: after a word of one letter", "''a'' ''b l'''c", ["a b l'c"]),
    ("odd counts: after a longer word", "''a del'''b", ["a del'b"]),
    ("odd counts: after a space", "'' a '''b'' ''c", ["a 'b c"]),
    ("an apostrophe after bold", "'''Rome''''s walls", ["Rome's walls"]),
    ("unclosed bold does not reach the next line", "'''one two\nl'eau ''x''", ["one two l'eau x"]),
    ("italics that end within a label", "''a [[b|c'' d]] e", ["a c d e"]),
    # line breaks and whitespace
    ("a break is a space", "a<br>b<br/>c</br>d<BR clear=all />e", ["a b c d e"]),
    ("a single newline joins", "one\ntwo\n\nthree", ["one two", "three"]),
    ("spaces collapse", "a  b\t c&nbsp;d", ["a b c d"]),
    ("an indented line is preformatted", "text\n code\nmore", ["text", "more"]),
    ("an indented line in a block quotation is not", "<blockquote>\n a b\n</blockquote>", ["a b"]),
    ("a tab or a wide space indents nothing", "\ta\n\n\u3000b", ["a", "b"]),
    # nowiki, pre, code
    ("nowiki", "a <nowiki>[[b]] ''c'' {{d}} <b></nowiki> e", ["a [[b]] ''c'' {{d}} <b> e"]),
    ("an entity in nowiki", "<nowiki>&lt;b&gt;</nowiki> c", ["<b> c"]),
    ("an empty nowiki", "a'<nowiki/>''b''", ["a'b"]),
    ("an empty nowiki keeps brackets and markers apart", "[<nowiki/>[a]]\n\n<nowiki/>* b\n\n<nowiki/> c", ["[[a]]", "* b", "c"]),
    ("nowiki at the edges", "<nowiki> </nowiki>a <nowiki/> b<nowiki>\n</nowiki>", ["a b"]),
    ("an unclosed nowiki", "a <nowiki>[[b]]\n\nc", ["a b", "c"]),
    (
        "pre and source",
        "a\n<pre>x [[y]]</pre>\nb\n<syntaxhighlight lang=c>\nint x;\n</syntaxhighlight>\nc",
        ["a", "b", "c"],
    ),
    ("inline source", "call <syntaxhighlight lang=c inline>f(x)</syntaxhighlight> now", ["call f(x) now"]),
    ("code", "the <code>x [[y]]</code> is", ["the x y is"]),
    # comments
    ("a comment", "a<!-- {{ [[ -->b", ["ab"]),
    ("a comment on its own line", "one\n<!-- x -->\ntwo", ["one two"]),
    ("a comment in a link and a table", "[[A|b<!-- ]] -->c]]\n{|\n<!-- |} -->\n| d\n|}", ["bc"]),
    ("an unclosed comment", "a\n\nb <!-- c\n\nd", ["a", "b"]),
    (
        "a comment in a heading, a template, a tag and a list",
        "== a <!-- b --> ==\n{{c|<!-- }} -->d}}<span <!-- e --> class=f>g</span>\n* h\n<!-- i -->\n* j",
        ["g"],
    ),
    ("a comment between words, over lines", "a<!--\n\nb\n-->c", ["ac"]),
    ("a comment before a marker", "<!-- a -->* b\n<!-- c -->== d ==\ne", ["e"]),
    # references
    ("references", 'a<ref>b {{c|d}} [[e]]</ref>. f<ref name=x/> g<ref name="y" />', ["a. f g"]),
    (
        "a reference with a template that has one",
        "a<ref>{{cite|b={{c}}}}</ref>{{efn|d<ref>e</ref>}} f",
        ["a f"],
    ),
    ("an unclosed reference", "a<ref>b c\n\nd", ["ab c", "d"]),
    ("a reference alone on a line", "a\n<ref>x</ref>\nb", ["a b"]),
    ("a references list", "a\n<references>\n<ref name=b>c</ref>\n</references>\nd", ["a", "d"]),
    (
        "references in groups",
        'a<ref group="n" name=b>c</ref><ref group=n name="b" />\n<references responsive group=n />\nd',
        ["a", "d"],
    ),
    ("a self-closing reference with a slash in its name", 'a<ref name="b/c"/> d<ref name=e/f>g</ref> h', ["a d h"]),
    ("a reference in capitals, over lines", "a<REF>\nb\n\nc\n</REF> d", ["a d"]),
    ("a reference with a table or nowiki", "a<ref>\n{|\n| b\n|}</ref><ref><nowiki>[[</nowiki></ref> c", ["a c"]),
    ("an unclosed reference before another", "a<ref>b <ref name=c>d</ref> e", ["a e"]),
    # templates
    ("nested templates", "a {{b|{{c|d={{e}}}}|[[f]]}} g", ["a g"]),
    ("a template on its own line", "a\n{{Infobox\n| b = c\n}}\nd", ["a", "d"]),
    ("parameters show their default", "a {{{1|b}}} {{{c}}}d", ["a b d"]),
    (
        "footnote templates take the space before",
        "a {{citation needed|date=x}}, b {{sfn|c|1999}}.",
        ["a, b."],
    ),
    (
        "no empty brackets",
        "Rome ({{lang|la|Roma}}; {{IPA|x}}) is ({{x}}; old) a city {{y}}, well.",
        ["Rome is (old) a city, well."],
    ),
    ("brackets of the author stay", "f ( ; ) g", ["f ( ; ) g"]),
    ("an unclosed template", "a {{b|c d\n\ne", ["a c d", "e"]),
    ("an unclosed template in a closed one", "a {{b|{{c|d}} e\n\nf", ["a e", "f"]),
    ("stray braces", "a }} b } c", ["a b } c"]),
    ("a number", "{{formatnum:1234567.8}} and {{formatnum:1,234|R}}", ["1,234,567.8 and 1234"]),
    ("a switch of the page", "{{DEFAULTSORT:X}}a {{PAGENAME}}", ["a Title"]),
    # formulas
    ("braces in a formula", "a <math>\\frac{{b}}{c}{{</math> d {{e}} f", ["a d f"]),
    ("a formula alone on a line", "so\n<math>x</math>\nholds", ["so holds"]),
    (
        "chem, ce, hiero and score",
        "a <chem>H2O</chem><ce>x</ce><hiero>y</hiero><score>c d</score> b",
        ["a b"],
    ),
    ("braces and brackets in a formula", "a <math>\\sqrt[[n}}{|x<y</math> b\n\n<math>{{</math>c", ["a b", "c"]),
    ("an unclosed formula", "a <math>b\n\nc", ["a b", "c"]),
    ("a map", "a\n<mapframe width=1>{}</mapframe>\nb <maplink>x</maplink> c", ["a", "b c"]),
    # links
    ("links", "[[a]] [[b|c]]d [[e#f|g]] [[:Category:h]] [[h_i]]", ["a cd g Category:h h_i"]),
    ("the pipe trick", "[[Boston (band)|]] [[Help:Links|]] [[Boston, Texas|]]", ["Boston Links Boston"]),
    (
        "a title with a colon",
        "[[Time: a play]] and [[2001: A Space Odyssey|2001]]",
        ["Time: a play and 2001"],
    ),
    ("a label in brackets", "[[a|[b]]] c", ["[b] c"]),
    ("a label over two lines", "[[a|b\nc]] d", ["b c d"]),
    ("an unclosed link", "a [[b|c d\n\ne", ["a c d", "e"]),
    ("stray brackets", "a ]] b ] c", ["a ]] b ] c"]),
    ("a file in the text", "a [[File:b.jpg|20px]] c", ["a c"]),
    ("a file with links in its caption", "[[File:a.jpg|thumb|b [[c]] d [[e|f]]]]g", ["g"]),
    ("a file with a caption of two lines", "[[Image:a.jpg|thumb|200px|b\n\nc [[d]]]]\ne", ["e"]),
    ("an unclosed file", "[[File:a.jpg|thumb|b\nc", ["c"]),
    (
        "a file with options, a template, a note and a link in a link",
        "[[File:a.jpg|thumb|upright=1.2|alt=b [[c]]|link=d|e {{f|[[g]]}}<ref>h [[i]]</ref> [[j|k [[l]]]].]]m",
        ["m"],
    ),
    ("a file with an external link", "[[Image:a.jpg|left|b [http://c.d e] f]]g", ["g"]),
    ("categories", "a\n[[Category:B|c]]\n[[Category:D]]\n", ["a"]),
    ("links to other languages", "a\n[[de:B]]\n[[zh-min-nan:C]]", ["a"]),
    ("links to languages whose Wikipedias are closed", "a\n[[mh:B]]\n[[kj:C]][[cho:D]]", ["a"]),
    ("a label in another language's link", "the [[fr:X|label]] here", ["the label here"]),
    ("links to other projects", "[[wikt:lamp|lamp]]s and [[s:Ode|the ode]] of [[:de:Turm|Turm]]", ["lamps and the ode of Turm"]),
    ("a link to a section or a subpage", "[[#Top|top]], [[#Top]] and [[/Draft|draft]]", ["top, #Top and draft"]),
    ("a link to a category or file", "[[:Category:Lamps|lamps]], [[:File:a.jpg|a]] and [[Media:b.ogg|b]]", ["lamps, a and b"]),
    ("a category in a sentence", "a [[Category:B]] c\n[[Category:D]]\ne", ["a c e"]),
    ("a link in bold with a bold label", "'''[[a]]''' [[b|'''c''']]'s", ["a c's"]),
    ("a link in a link", "a [[b|c [[d]] e]] f", ["a c d e f"]),
    ("brackets in brackets", "a [b [c]] d[e[1]]", ["a [b [c]] d[e[1]]"]),
    (
        "external links",
        "see [https://x.org/a?b the ''site'']. [http://y.org] [//z.org w]",
        ["see the site. w"],
    ),
    ("an external link in the brackets of others", "a [[https://x.org b c]] d [[//x]] [[http://y.org]]e", ["a b c d //x e"]),
    ("an address without brackets", "at https://x.org now", ["at https://x.org now"]),
    ("a label with brackets or a link", "[http://a.b c [d]] e [http://f.g [[h]] i]", ["c [d] e h i"]),
    ("an address that nothing closes", "[http://a.b c\nd", ["[http://a.b c d"]),
    ("mail and other schemes", "[mailto:a@b.c write] or [ftp://d.e fetch]", ["write or fetch"]),
    ("numbers that MediaWiki links", "See ISBN 978-0-00-000000-2 and RFC 2822.", ["See ISBN 978-0-00-000000-2 and RFC 2822."]),
    ("brackets that are no link", "a [b] c[0] [d", ["a [b] c[0] [d"]),
    # HTML
    ("inline tags", 'a<sub>2</sub> <span style="x">b</span> <q>c</q> <abbr title=d>e</abbr>', ["a2 b c e"]),
    ("what is no tag is text", "#include <stdio.h> and a < b > c", []),
    ("a tag nobody knows", "x <stdio.h> and a < b > c", ["x <stdio.h> and a < b > c"]),
    ("section marks", "a <section begin=b />c<section end=b /> d", ["a c d"]),
    ("a style sheet and a badge", '<templatestyles src="a/b.css" /><indicator name="c">[[File:d.png]]</indicator>e', ["e"]),
    ("ruby", "<ruby>灯<rp>(</rp><rt>ひ</rt><rp>)</rp></ruby>台", ["灯(ひ)台"]),
    ("a tag over two lines", "<span\nclass=a>b</span> c", ["b c"]),
    ("a quotation", "she said <q>no</q> and <q cite=x>[[a|yes]]</q>", ["she said no and yes"]),
    (
        "transclusion tags",
        "<onlyinclude>a</onlyinclude><noinclude> b</noinclude><includeonly> c</includeonly>",
        ["a b"],
    ),
    ("block tags end paragraphs", "a<div>b</div>c<center>d</center>", ["a", "b", "c", "d"]),
    ("a block quotation", "a:\n<blockquote>b\n c</blockquote>\nd", ["a:", "b c", "d"]),
    ("paragraph tags", "<p>a\n\nb</p>c", ["a b", "c"]),
    ("HTML lists and headings", "a<ul><li>b<ul><li>c</ul></ul>d<h2>e</h2>f", ["a", "d", "f"]),
    ("columns", '<div style="column-count:2">\n* a\n* b\n</div>\nc', ["c"]),
    ("a hatnote and a box for readers only", '<div class="hatnote">a</div><div class="noprint">b</div>c', ["c"]),
    ("a box beside the text", '<div class="thumb"><div>a</div>\nb</div>c', ["c"]),
    ("a poem in a quotation", "<blockquote><poem>\n:a\nb\n</poem></blockquote>\nc", ["a", "b", "c"]),
    ("an unclosed poem", "a <poem>b\n\nc", ["a b", "c"]),
    ("a graph and an image map", "a\n<graph>{}</graph>\n<imagemap>\nFile:b.jpg\nrect 0 0 1 1 [[c]]\n</imagemap>\nd", ["a", "d"]),
    ("a gallery with templates", "a\n<gallery mode=packed>\nb.jpg|{{c|d}} [[e]]\n</gallery>\nf", ["a", "f"]),
    ("a poem", "a\n<poem>\nb\n  c [[d]]\n</poem>\ne", ["a", "b", "c d", "e"]),
    (
        "a gallery and a timeline",
        "a\n<gallery>\nb.jpg|c\n</gallery>\n<timeline>\nd\n</timeline>\ne",
        ["a", "e"],
    ),
    # entities
    ("entities", "a&ndash;b &#8212; &#x2014; &lt;b&gt; &amp;nbsp; AT&T", ["a–b — — <b> &nbsp; AT&T"]),
    ("entities without a semicolon", "a&nbsp b &eacute", ["a b é"]),
    ("an entity that is a line break", "a&#10;b&#xD;c", ["a b c"]),
    ("spaces of all kinds", "10&nbsp;km&thinsp;a&ensp;b&#8239;c", ["10 km a b c"]),
    (
        "an entity's name in a word or an address",
        "AT&T &unknown; http://a.b/?c=1&copy=2",
        ["AT&T &unknown; http://a.b/?c=1&copy=2"],
    ),
    ("a number that is no character", "a &#99999999999; b", ["a &#99999999999; b"]),
    # tables
    ("a table", "a\n{| class=x\n|+ b\n! c\n|-\n| d || e\n|}\nf", ["a", "f"]),
    ("nested tables", "{|\n|\n{|\n| a\n|}\n| b\n|}\nc", ["c"]),
    ("a table in a list", "a\n:{|\n| b\n|}\nc", ["a", "c"]),
    ("HTML rows in a table", "{|\n<tr><td>a</td></tr>\n|}\nb", ["b"]),
    ("text behind a table", "{|\n| a\n|} b\n\n<table><tr><td>c</table> d", ["b", "d"]),
    ("an unclosed table", "a\n{| class=b\n| c\n\nd\n== E ==\nf", ["a", "d", "f"]),
    ("an unclosed table at the end", "a\n{|\n| b\n\nc", ["a", "c"]),
    ("a table that is closed twice", "{|\n| a\n|}\n|}\nb", ["b"]),
    ("a table of templates", "{{{!}} class=a\n{{!}} b\n{{!}}-\n{{!}} c\n{{!}}}\nd", ["d"]),
    ("lists, files and definitions in a table", "{|\n|\n* a\n; b\n: c\n| [[File:d.jpg|alt=e|f [[g]]]]\n|}\nh", ["h"]),
    ("a table in a block", "<div>\n{|\n| a\n|}\n</div>\n::{|\n| b\n|}\nc", ["c"]),
    ("an HTML table", "a<table><tr><td>b</td></tr></table>c", ["a", "c"]),
    ("a table that a template opens", "{{start}}\n|-\n| a || b\n! c\n|}\nd", ["d"]),
    ("a table that a template closes", "{|\n| a\n{{end}}\n== B ==\nc", ["c"]),
    ("a table in a template", "{{a|\n{|\n| b\n|}\n}}c", ["c"]),
    # what is not prose
    ("headings", "= a =\nb\n== c ==\nd\n=== e ===<!-- x -->\nf", ["b", "d", "f"]),
    ("lists", "a\n* b\n# c\n** d\ne", ["a", "e"]),
    ("definition lists", "a\n; b : c\n: d\ne", ["a", "e"]),
    ("a rule", "a\n----\nb\n-----c", ["a", "b", "c"]),
    ("behaviour switches", "__NOTOC__a __TOC__ b __init__", ["a b __init__"]),
    ("nothing but punctuation", "{{x}}:\n\n...\n\na", ["a"]),
    ("a quotation in a list", "# a<blockquote>b</blockquote>\nc", ["c"]),
    ("conversion marks of other wikis", "a -{b}- c", ["a -{b}- c"]),
    ("nothing but addresses", "a\n\nhttp://x.y/z\nhttps://x.y\n\nhttps://x.y is b", ["a", "https://x.y is b"]),
    ("noncharacters", "a\ufdd0b\uffff c", ["ab c"]),
    # redirects and empty pages
    ("a redirect", "#REDIRECT [[A]]", []),
    ("a redirect with a wide number sign", "＃転送 [[A]]", []),
    ("a redirect in small letters with more", "#redirect:[[A#b]]\n\n[[Category:C]]", []),
    ("nothing", "", []),
]


def test_english() -> None:
    for wikitext, expected in [row[1:] for row in ENGLISH]:
        assert extract_paragraphs(wikitext, title="Title", language="en") == expected


LOCALISED = [
    ("de", "a [[Datei:b.jpg|mini|c]] d [[Bild:e.png]]\n[[Kategorie:F]]", ["a d"]),
    ("fr", "[[Fichier:a.jpg|vignette|b]]c __AUCUNSOMMAIRE__\n[[Catégorie:D]]", ["c"]),
    ("es", "[[Archivo:a.jpg|thumb|b]]c {{formatnum:1234567}}\n[[Categoría:D]]", ["c 1 234 567"]),
    ("de", "{{formatnum:1234567.5}} Menschen", ["1.234.567,5 Menschen"]),
    ("it", "[[Immagine:a.jpg]]b\n[[Categoria:C]]", ["b"]),
    ("ja", "[[ファイル:a.jpg|サムネイル|b]][[画像:c.png]]文__目次非表示__\n[[カテゴリ:D]]", ["文"]),
    ("zh", "[[文件:a.jpg|缩略图|b]][[圖像:c.png]]文\n[[分类:D]]", ["文"]),
    ("ru", "[[Файл:a.jpg|мини|б]]текст\n[[Категория:Г]]", ["текст"]),
    ("ar", "[[ملف:a.jpg|تصغير|b]]نص\n[[تصنيف:ت]]", ["نص"]),
    ("ko", "[[파일:a.jpg]]글\n[[분류:나]]", ["글"]),
    ("hi", "पहला <ref>a</ref>। दूसरा <ref>b</ref> ।", ["पहला। दूसरा ।"]),
    ("ar", "نص ({{a}}، {{b}})، ثم {{c}}؟ هل {{d}} ؟", ["نص، ثم؟ هل ؟"]),
    ("hy", "Մեկ <ref>a</ref>։ Երկու {{b}}։", ["Մեկ։ Երկու։"]),
    ("ltg", "[[Fails:a.jpg]]text\n[[Kategoreja:B]]", ["text"]),
]


@pytest.mark.parametrize(("language", "wikitext", "expected"), LOCALISED)
def test_localised(language: str, wikitext: str, expected: list[str]) -> None:
    assert extract_paragraphs(wikitext, language=language) == expected


def test_namespaces_of_the_dump_come_first() -> None:
    text = "[[Obraz:a.jpg|b]]c [[Blah:d]]"
    assert extract_paragraphs(text) == ["bc Blah:d"]
    assert Extractor(namespaces={"obraz": 6, "blah": 14})(text).paragraphs == ["c"]


def test_a_space_after_a_template_or_file() -> None:
    """Shown with nothing in its place, it leaves a preformatted line; on the real page something stands before the space."""
    text = "{{box of some kind}} one two\n\n[[File:a.jpg|thumb|b]] three\n\n<!-- c --> four\n\n five"
    assert extract_paragraphs(text) == []
    assert extract_paragraphs(text, templates=load_templates("en")) == ["one two", "three"]


def test_unknown_option_says_what_to_write() -> None:
    with pytest.raises(ValueError, match="must be one of text, tex, drop"):
        Extractor(math="yes")
