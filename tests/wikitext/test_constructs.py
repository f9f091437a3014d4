"""Each construct of wikitext, with the paragraphs that it must give."""

import pytest

from bertdata.wikitext import extract_paragraphs

# (what it is, wikitext, paragraphs)
ENGLISH = [
    # apostrophes, by MediaWiki's rules
    ("bold and italics", "'''Rome''' is ''old'' and '''''eternal'''''.", ["Rome is old and eternal."]),
    ("bold before a letter", "'''T'''s and l''''X'''' y", ["Ts and l'X' y"]),
    ("an apostrophe and italics", "l'''amour'' de l'eau", ["l'amour de l'eau"]),
    ("unclosed italics end with the line", "''one\ntwo''' three", ["one two three"]),
    ("six apostrophes", "''''''x''''''", ["'x'"]),
    ("quotes in a label are its own", "''[[A|''b'']]'' c", ["b c"]),
    # line breaks and white space
    ("a break is a space", "a<br>b<br/>c</br>d<BR clear=all />e", ["a b c d e"]),
    ("a single newline joins", "one\ntwo\n\nthree", ["one two", "three"]),
    ("spaces collapse", "a  b\t c&nbsp;d", ["a b c d"]),
    ("an indented line is preformatted", "text\n code\nmore", ["text", "more"]),
    # nowiki, pre, code
    ("nowiki", "a <nowiki>[[b]] ''c'' {{d}} <b></nowiki> e", ["a [[b]] ''c'' {{d}} <b> e"]),
    ("an entity in nowiki", "<nowiki>&lt;b&gt;</nowiki> c", ["<b> c"]),
    ("an empty nowiki", "a'<nowiki/>''b''", ["a'b"]),
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
    ("stray braces", "a }} b } c", ["a b } c"]),
    ("a number", "{{formatnum:1234567.8}} and {{formatnum:1,234|R}}", ["1,234,567.8 and 1,234"]),
    ("a switch of the page", "{{DEFAULTSORT:X}}a {{PAGENAME}}", ["a Title"]),
    # formulas
    ("braces in a formula", "a <math>\\frac{{b}}{c}{{</math> d {{e}} f", ["a d f"]),
    ("a formula alone on a line", "so\n<math>x</math>\nholds", ["so holds"]),
    (
        "chem, ce, hiero and score",
        "a <chem>H2O</chem><ce>x</ce><hiero>y</hiero><score>c d</score> b",
        ["a b"],
    ),
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
    ("stray brackets", "a ]] b ] c", ["a b ] c"]),
    ("a file in the text", "a [[File:b.jpg|20px]] c", ["a c"]),
    ("a file with links in its caption", "[[File:a.jpg|thumb|b [[c]] d [[e|f]]]]g", ["g"]),
    ("a file with a caption of two lines", "[[Image:a.jpg|thumb|200px|b\n\nc [[d]]]]\ne", ["e"]),
    ("an unclosed file", "[[File:a.jpg|thumb|b\nc", ["c"]),
    ("categories", "a\n[[Category:B|c]]\n[[Category:D]]\n", ["a"]),
    ("links to other languages", "a\n[[de:B]]\n[[zh-min-nan:C]]", ["a"]),
    ("a label in another language's link", "the [[fr:X|label]] here", ["the label here"]),
    (
        "external links",
        "see [https://x.org/a?b the ''site'']. [http://y.org] [//z.org w]",
        ["see the site. w"],
    ),
    ("an address without brackets", "at https://x.org now", ["at https://x.org now"]),
    ("brackets that are no link", "a [b] c[0] [d", ["a [b] c[0] [d"]),
    # HTML
    ("inline tags", 'a<sub>2</sub> <span style="x">b</span> <q>c</q> <abbr title=d>e</abbr>', ["a2 b c e"]),
    ("what is no tag is text", "#include <stdio.h> and a < b > c", []),
    ("a tag nobody knows", "x <stdio.h> and a < b > c", ["x <stdio.h> and a < b > c"]),
    ("section marks", "a <section begin=b />c<section end=b /> d", ["a c d"]),
    (
        "transclusion tags",
        "<onlyinclude>a</onlyinclude><noinclude> b</noinclude><includeonly> c</includeonly>",
        ["a b"],
    ),
    ("block tags end paragraphs", "a<div>b</div>c<center>d</center>", ["a", "b", "c", "d"]),
    ("a block quotation", "a:\n<blockquote>b\n c</blockquote>\nd", ["a:", "b c", "d"]),
    ("paragraph tags", "<p>a\n\nb</p>c", ["a b", "c"]),
    ("HTML lists and headings", "a<ul><li>b<ul><li>c</ul></ul>d<h2>e</h2>f", ["a", "d", "f"]),
    ("a box beside the text", '<div class="thumb"><div>a</div>\nb</div>c', ["c"]),
    ("a poem", "a\n<poem>\nb\n  c [[d]]\n</poem>\ne", ["a", "b c d", "e"]),
    (
        "a gallery and a timeline",
        "a\n<gallery>\nb.jpg|c\n</gallery>\n<timeline>\nd\n</timeline>\ne",
        ["a", "e"],
    ),
    # entities
    ("entities", "a&ndash;b &#8212; &#x2014; &lt;b&gt; &amp;nbsp; AT&T", ["a–b — — <b> &nbsp; AT&T"]),
    ("entities without a semicolon", "a&nbsp b &eacute", ["a b é"]),
    ("a number that is no character", "a &#99999999999; b", ["a &#99999999999; b"]),
    # tables
    ("a table", "a\n{| class=x\n|+ b\n! c\n|-\n| d || e\n|}\nf", ["a", "f"]),
    ("nested tables", "{|\n|\n{|\n| a\n|}\n| b\n|}\nc", ["c"]),
    ("a table in a list", "a\n:{|\n| b\n|}\nc", ["a", "c"]),
    ("HTML rows in a table", "{|\n<tr><td>a</td></tr>\n|}\nb", ["b"]),
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
    # redirects and empty pages
    ("a redirect", "#REDIRECT [[A]]", []),
    ("a redirect with a wide number sign", "＃転送 [[A]]", []),
    ("nothing", "", []),
]


@pytest.mark.parametrize(("wikitext", "expected"), [row[1:] for row in ENGLISH], ids=[row[0] for row in ENGLISH])
def test_english(wikitext: str, expected: list[str]) -> None:
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
    ("ltg", "[[Fails:a.jpg]]text\n[[Kategoreja:B]]", ["text"]),
]


@pytest.mark.parametrize(("language", "wikitext", "expected"), LOCALISED)
def test_localised(language: str, wikitext: str, expected: list[str]) -> None:
    assert extract_paragraphs(wikitext, language=language) == expected


def test_namespaces_of_the_dump_come_first() -> None:
    text = "[[Obraz:a.jpg|b]]c [[Blah:d]]"
    assert extract_paragraphs(text) == ["bc Blah:d"]
    assert extract_paragraphs(text, namespaces={"obraz": 6, "blah": 14}) == ["c"]


def test_definition_lists_can_be_kept() -> None:
    text = "a\n; term : meaning\n: reply\n:* item\n* item\nb"
    assert extract_paragraphs(text, definition_lists="keep") == ["a", "term: meaning", "reply", "b"]


def test_unknown_option_says_what_to_write() -> None:
    with pytest.raises(ValueError, match='must be "drop" or "keep"'):
        extract_paragraphs("a", definition_lists="yes")
