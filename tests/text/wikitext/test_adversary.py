"""Pages of an adversary: every construct where it does not belong, with templates and without.

Each page has the paragraphs that it must give, so that no line is lost and no markup stays that MediaWiki would not show as text.
"""

from footing import Extractor

from bertdata.text.wikitext import load_templates

# (what it is, language, wikitext, paragraphs, and those without a table of templates where they differ)
PAGES: list[tuple[str, str, str, list[str], list[str] | None]] = [
    (
        "newline in attributes",
        "en",
        'Start <span\nstyle=\'color:red\'\nid="x\n y">red</span> end.\n\n<div\nclass="thumb\ntright">caption</div>\n'
        "After <ref\nname=a\n>note</ref> this <br\n/> line.",
        ["Start red end.", "After this line."],
        None,
    ),
    (
        "doubled pipes",
        "en",
        "[[Town||shown]] and [[Town|a|b|c]] here. [[File:a.jpg||thumb||A caption]] Rest {{lang||la||vox}} done.",
        ["|shown and a|b|c here. Rest la done."],
        ["|shown and a|b|c here. Rest done."],
    ),
    (
        "nested links in captions",
        "en",
        "[[File:A.jpg|thumb|left|Text [[B|bee [http://x.org site]]] and [[File:C.png|20px]] then {{cite|x=[[D]]}} "
        "<ref>[[E]]</ref>|alt=[[F]]]]Prose stays.",
        ["Prose stays."],
        None,
    ),
    (
        "unclosed everything 1",
        "en",
        "One ''italic and '''bold.\n\nTwo [[link and more.\n\nThree {{tmpl and more.\n\nFour <ref>note and more.\n\nFive "
        "<div>and more.\n\nSix <!-- gone.",
        [
            "One italic and 'bold.",
            "Two link and more.",
            "Three tmpl and more.",
            "Four note and more.",
            "Five",
            "and more.",
            "Six",
        ],
        None,
    ),
    (
        "unclosed everything 2",
        "en",
        "One [http://x.org label and more.\n\nTwo <nowiki>text.\n\nThree <math>x.\n\nFour <gallery>\nFile:x.jpg|cap\n\n"
        "Five {|\n| cell\n\nSix -{zh:a.\n\nSeven <table><tr><td>x.\n\nEight.",
        [
            "One [http://x.org label and more.",
            "Two text.",
            "Three x.",
            "Four File:x.jpg|cap",
            "Five {|",
            "Six -{zh:a.",
            "Seven",
            "Eight.",
        ],
        None,
    ),
    (
        "namespaces",
        "de",
        "[[Datei:A.jpg|mini|Bildtext]][[bild:B.jpg]][[:Datei:C.jpg|Seite]] bleibt. [[Kategorie:X]] [[:Kategorie:Y|Kat]] "
        "auch. [[Hilfe:Z]] und [[Spezial:Foo|Bar]]. [[WP:AB]] [[user:Me|ich]]",
        ["Seite bleibt. Kat auch. Hilfe:Z und Bar. WP:AB ich"],
        None,
    ),
    (
        "refs slash",
        "en",
        'A<ref name="a/b" /> bc<ref name=foo/>d<ref name="q">t</ref > e<REF>u</REF> f<ref group="n"\nname="m" '
        "/>g<references /> h",
        ["A bcd e fg", "h"],
        None,
    ),
    (
        "ref in ref",
        "en",
        "A sentence<ref>outer {{efn|x<ref>inner</ref>}}</ref> goes on.{{sfn|a|p=1}} And on{{refn|group=n|text <ref>t</ref> b}}.",
        ["A sentence goes on. And on."],
        None,
    ),
    (
        "nowiki",
        "en",
        "Type <nowiki>[[link]] and {{t}} and '''b'''</nowiki> so. <nowiki/>* not list. '<nowiki/>'x'' <nowiki>\n* still\n\n"
        "inside</nowiki> end.",
        ["Type [[link]] and {{t}} and '''b''' so. * not list. ''x * still inside end."],
        None,
    ),
    (
        "comments across",
        "en",
        "Word <!-- a\n\nb --> goes.\n<!-- c -->\nNext<!-- {{ [[ --> line.\n\n<!-- d -->* item\n\nLast <!-- unclosed\n\nhidden",
        ["Word goes. Next line.", "Last"],
        None,
    ),
    (
        "templates in links",
        "en",
        "[[{{lc:FOO}}|the label]] and [[foo|{{nowrap|bar baz}}]] and {{lang|de|[[Haus|das Haus]]}} and "
        "[[x|{{unknowntpl|q}}]] end. {{unknown|[[a|b]]}}{{!}}",
        ["the label and bar baz and das Haus and x end. |"],
        ["the label and foo and and x end. |"],
    ),
    (
        "converter zh",
        "zh",
        "他用-{zh-hans:软件;zh-hant:軟體}-写作。-{zh-cn:计算机; "
        "zh-tw:電腦;}-很快。-{H|zh-cn:甲;zh-tw:乙}-标题-{A|zh-hans:信息;zh-hant:資訊}-。-{R|原样}-和-{单}-。[[-{zh-hans:网;zh-hant:網}-|链接]]-{-{嵌}-套}-。未-{闭合",
        ["他用软件写作。计算机很快。标题信息。原样和单。链接嵌套。未-{闭合"],
        None,
    ),
    (
        "poem",
        "en",
        "He wrote:\n<poem>\nline one of verse\n  line two [[v|of]] verse\n:line three\n\nline four\n</poem>\nand more. "
        '<poem style="x">solo</poem>',
        ["He wrote:", "line one of verse", "line two of verse", "line three", "line four", "and more.", "solo"],
        None,
    ),
    (
        "syntaxhighlight",
        "en",
        'Code <syntaxhighlight lang="c" inline>int a[2];</syntaxhighlight> inline.\n<syntaxhighlight lang="py">\n'
        "print('[[x]]')\n</syntaxhighlight>\nThen <code>x = {{y}}</code> and <source lang=c>q</source> end. <tt>a</tt> "
        "<kbd>K</kbd>",
        ["Code int a[2]; inline.", "Then x = and", "end. a K"],
        None,
    ),
    (
        "ruby",
        "ja",
        "<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>は{{ruby|漢字|かんじ}}の都市。{{読み仮名|大阪|おおさか}}も。",
        ["東京(とうきょう)は漢字（かんじ）の都市。大阪（おおさか）も。"],
        ["東京(とうきょう)はの都市。も。"],
    ),
    (
        "section",
        "en",
        '<section begin="a" />Text of part.<section end="a" />\n'
        "<noinclude>shown</noinclude><includeonly>hidden</includeonly><onlyinclude>only</onlyinclude> __NOTOC__ "
        '__FORCETOC__\n\n<indicator name="x">i</indicator>Fine.',
        ["Text of part. shownonly", "Fine."],
        None,
    ),
    (
        "magic words",
        "en",
        "{{DEFAULTSORT:X}}{{DISPLAYTITLE:''Y''}}In {{CURRENTYEAR}} the {{PAGENAME}} of {{SITENAME}} had "
        "{{formatnum:12345}} in {{#if:a|yes|no}} and {{#ifeq:a|b|same|other}}{{#invoke:Foo|bar}} {{#tag:ref|note}} "
        "{{ucfirst:xyz}} {{padleft:7|3|0}} {{plural:2|one|many}}.",
        ["In the Page of had 12,345 in yes and other Xyz 007 many."],
        ["In the Page of had 12,345 in and."],
    ),
    (
        "headings",
        "en",
        "==Head==\ntext one\n=== ''Sub'' === \ntext two\n== Bad ==x\n= =\n==  {{t}} == <!-- c -->\ntext three\n======= "
        "Deep =======\ntext four\n==A==B==",
        ["text one", "text two == Bad ==x", "text three", "text four"],
        None,
    ),
    (
        "lists",
        "en",
        "Intro:\n* a\n*# b\n: c\n; d : e\n:{| \n| x\n|}\n:: f\n*\n#REDIRECT [[x]]\n\nOutro one.\n<ul><li>g</li></ul>Outro "
        "two.\n* <div>h\n</div> Outro three.\n* {{t|\nk\n}} m\nOutro four.",
        ["Intro:", "Outro one.", "Outro two.", "Outro three.", "Outro four."],
        None,
    ),
    (
        "tables",
        "en",
        'A.\n{| class="x"\n! h !! i\n|-\n| c || d\n{| \n| n\n|}\n|}\nB.\n {|\n| e\n |}\nC. {| not a table |} D.\n<table\n'
        "border=1><tr><td>q</td></tr></table>E.\n{{{!}}\n| r\n{{!}}}\nF.\n|}\nG.",
        ["A.", "B.", "C. {| not a table |} D.", "E.", "F.", "G."],
        None,
    ),
    (
        "entities",
        "en",
        "a&nbsp;b &lt;ref&gt; &amp;amp; &#8211; &#x2014; &#0000065; &eacute; &bogus; &#x1F; &zwnj;x "
        "&#91;&#91;Link&#93;&#93; &#123;&#123;t&#125;&#125; &#39;&#39;i&#39;&#39; &#32;z &#10;* q end",
        ["a b <ref> &amp; – — A é &bogus; \u200cx [[Link]] {{t}} ''i'' z * q end"],
        None,
    ),
    (
        "controls",
        "en",
        "Bell\x07 and\x1f unit\x02 sep\x0c form\u2028line\u200bzw\ufeffbom and \ufdd0x \x85nel end.",
        ["Bell and unit sep form line\u200bzw\ufeffbom and x nel end."],
        None,
    ),
    (
        "external",
        "en",
        "[http://a.org Label one], [//b.org ''two''], [https://c.org], [mailto:x@y.z mail], [http://d.org|three], [ "
        "http://e.org not], [http://f.org [[Four]]], [https://g.org five [six]], [irc://h i] end. [http://j.org\nk] "
        "http://l.org. [[http://m.org seven]]",
        ["Label one, two, mail, [ http://e.org not], Four, five [six], i end. k http://l.org. seven"],
        ["Label one, two,, mail,, [ http://e.org not], Four, five [six], i end. k http://l.org. seven"],
    ),
    (
        "html",
        "en",
        "<p>Para one.<p>Para two.</p><center>Mid</center><blockquote>Quote "
        "<cite>who</cite></blockquote><h2>Head</h2>Three<hr>Four<br>Five <b>b<i>i</b></i> <font color=red>r</font> "
        "<s>old</s> <del>del</del> <span\nclass='x'>y</span> <foo>bar</foo> <3 a<b c>d <!DOCTYPE> </ br> <small/>z",
        [
            "Para one.",
            "Para two.",
            "Mid",
            "Quote who",
            "Three",
            "Four Five bi r old del y <foo>bar</foo> <3 ad <!DOCTYPE> </ br> z",
        ],
        None,
    ),
    (
        "braces",
        "en",
        "A {x} b {{{param|default}}} c {{{nodef}}} d {{ }} e {{|}} f g {{a{{b}}c}} h }} i {{#if: |{{x}}|else {{y|z}}}} j "
        "{{{{{1}}}}} k { { l } } m }}} n {{\n}} o {{t|{{{1|}}}}} p",
        ["A {x} b default c d e f g h i else j k { { l } } m } n o p"],
        ["A {x} b default c d e f g h i j k { { l } } m } n o p"],
    ),
    (
        "inline files",
        "en",
        "The sign [[File:S.svg|20px]] is used. [[Image:T.png]]Text follows [[file:u.jpg|thumb|cap\nnewline\n\npara in "
        "caption]] here.\n\n[[Media:V.ogg|sound]] plays [[:Image:W.jpg]] too.",
        ["The sign is used. Text follows here.", "sound plays Image:W.jpg too."],
        None,
    ),
    (
        "tags in links",
        "en",
        '[[Foo|<span style="x">bar</span>]] [[Foo<!-- c -->|baz]] [[Foo|<nowiki>qux]]</nowiki>]] [[Foo<ref>n</ref>|quux]] '
        "[[a\nb|corge]] [[c|gra\nult]] [[d]]s [[e]]<nowiki/>f '''[[g]]'''h [[]] [[|i]] [[j|]] [[k#l|]] [[#m]] [[/n]] "
        "[[o{{p}}]] end.",
        ["bar baz qux]] quux corge gra ult ds ef gh i j k#l #m /n o end."],
        None,
    ),
    (
        "wide",
        "ja",
        "［［リンク］］と｛｛型｝｝。＊項目\n　字下げの段落。\n"
        "＿＿NOTOC＿＿本文。[[ファイル:A.jpg|thumb|説明]]続き。[[画像:B.png|サムネイル|説明二]]終わり。[[カテゴリ:C]]（{{lang-en|x}}、{{Lang|fr|y}}）。",
        ["［［リンク］］と｛｛型｝｝。＊項目 字下げの段落。 本文。続き。終わり。（英語: x、y）。"],
        ["［［リンク］］と｛｛型｝｝。＊項目 字下げの段落。 本文。続き。終わり。。"],
    ),
    (
        "arabic",
        "ar",
        "[[ملف:A.jpg|تصغير|تعليق]]النص الأول {{إنج|x}} هنا.\n\n[[تصنيف:ب]]\nالنص ؛ الثاني ، مع [[صفحة|رابط]] (بالإنجليزية: "
        "{{lang|en|Word}}) ؟ __لافهرس__",
        ["النص الأول (بالإنجليزية: x) هنا. النص ؛ الثاني ، مع رابط (بالإنجليزية: Word) ؟"],
        ["النص الأول هنا. النص ؛ الثاني ، مع رابط (بالإنجليزية:) ؟"],
    ),
    (
        "hindi",
        "hi",
        "[[चित्र:A.jpg|अंगूठाकार|कैप्शन]]पहला वाक्य।<ref>टिप्पणी</ref> [[श्रेणी:ख]]\n\n'''दूसरा''' [[पृष्ठ|वाक्य]] ({{lang-en|Word}})। {{cn}}",
        ["पहला वाक्य।", "दूसरा वाक्य (अंग्रेज़ी: Word)।"],
        ["पहला वाक्य।", "दूसरा वाक्य।"],
    ),
    (
        "korean",
        "ko",
        "[[파일:A.jpg|섬네일|설명]]첫째 문장은 [[서울]]에 있다.<ref>주석</ref>\n\n'''둘째'''({{llang|en|Second}})는 "
        "{{날짜|2020}} 이다. [[분류:나]] __목차숨김__",
        ["첫째 문장은 서울에 있다.", "둘째(영어: Second)는 2020년 이다."],
        ["첫째 문장은 서울에 있다.", "둘째는 이다."],
    ),
]


def test_page() -> None:
    for language, wikitext, expected, plain in [row[1:] for row in PAGES]:
        for table, shown in ((load_templates(language), expected), (None, expected if plain is None else plain)):
            wiki = Extractor(language=language, templates=table, math="text")
            assert wiki(wikitext, "Page").paragraphs == shown
