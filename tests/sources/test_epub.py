"""EPUB: reading order, what of a page is prose, forms of notes and initials (see epub_forms.toml), copy protection, bombs."""

from __future__ import annotations

import io
import re
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import SENTENCES, XHTML, books_of, epub, package, page, plain_epub

from bertdata import read_book
from bertdata.config import read_toml
from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources.books.epub import Unreadable, read_epub

MOST = 1 << 20
ONE, TWO, THREE = SENTENCES
Pages = dict[str, str | bytes]
FORMS = read_toml(Path(__file__).with_name("epub_forms.toml"))
BEFORE = "A stone bridge was built in 1742, and a museum of glass was opened there in 1988."
AFTER = "Most people of the town work in the glass factory."
REST = "uillmere is a small market town."
NOTE = "See the papers of the miller of Tarn, page 1."


def lines(data: bytes, most: int = MOST) -> list[str]:
    return [line for passage in read_epub(io.BytesIO(data), most).passages for line in passage.lines]


def prose(*bodies: str, css: str = "") -> list[str]:
    """The paragraphs of a book with these pages: 0.xhtml, 1.xhtml …"""
    pages: Pages = {f"{n}.xhtml": page(body) for n, body in enumerate(bodies)}
    items = '<item id="css" href="style.css" media-type="text/css"/>'
    return lines(epub(pages, opf=package(pages, items=items), more={"OEBPS/style.css": css}))


def verses(body: str) -> list[bool]:
    return [passage.verse for passage in read_epub(io.BytesIO(epub({"a.xhtml": page(body)})), MOST).passages]


def reason(data: bytes, most: int = MOST) -> str:
    with pytest.raises(Unreadable) as caught:
        read_epub(io.BytesIO(data), most)
    return caught.value.reason


def read(tmp_path: Path, data: bytes) -> Prose | Drop | Reject:
    path = tmp_path / "file.epub"
    path.write_bytes(data)
    (found,) = books_of([FileRange("shelf/kettle.epub", str(path), 0, len(data))], max_bytes=MOST)
    return found


def test_a_book_has_its_packages_title_and_language(tmp_path: Path) -> None:
    licence = "as each book states"
    titled = Prose("books:shelf/kettle.epub", "books", "en", "The Kettle", "", [ONE, TWO], licence=licence)
    assert read(tmp_path, plain_epub(ONE, TWO)) == titled
    bare = epub({"a.xhtml": page(f"<p>{ONE}</p>")}, opf=package(["a.xhtml"], title="", language=""))
    assert read(tmp_path, bare) == titled._replace(title="kettle", language="", paragraphs=[ONE])
    assert read(tmp_path, epub({"a.xhtml": page("<h1>Tea</h1><p>***</p>")})) == Drop("no prose", "books:shelf/kettle.epub")


def test_pages_come_in_the_order_of_the_spine_each_once() -> None:
    pages: Pages = {f"{n}.xhtml": page(f"<p>{text}</p>") for n, text in enumerate(SENTENCES)}
    opf = package(pages).replace('<itemref idref="p0"/><itemref idref="p1"/>', '<itemref idref="p1"/><itemref idref="p0"/>')
    opf = opf.replace("</spine>", '<itemref idref="p1"/><itemref idref="none"/></spine>')
    assert lines(epub(pages, opf=opf)) == [TWO, ONE, THREE]


def test_what_is_no_page_of_the_book_is_skipped() -> None:
    pages: Pages = {
        "cover.xhtml": page(f"<p>Cover. {ONE}</p>", body_type="cover"),
        "title.xhtml": page(f"<section epub:type='titlepage'><p>Title. {ONE}</p></section>"),
        "rights.xhtml": page(f"<p>Copyright 2020 A. Nobody. All rights reserved.</p><p>{ONE}</p>"),
        "contents.xhtml": page("".join(f'<p><a href="{n}.xhtml">Chapter {n}</a> {n}</p>' for n in range(9))),
        "old.html": page(f"<p>Named by the guide. {ONE}</p>"),
        "one.xhtml": page(f"<p>{TWO} <a href='a'>b</a> <a href='a'>b</a> <a href='a'>b</a></p>"),
        "hidden.xhtml": page(f"<p>{ONE}</p>"),
        "notes.xhtml": page(f"<p>{THREE}</p>", body_type="endnotes"),
    }
    items = f'<item id="nav" href="nav.xhtml" media-type="{XHTML}" properties="nav"/>'
    items += '<item id="x" href="a.css" media-type="text/css"/>'
    items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    spine = '<itemref idref="nav"/><itemref idref="ncx"/><itemref idref="x"/>'
    guide = '<guide><reference type="toc" href="text/old.html#top"/><reference type="text" href="text/one.xhtml"/></guide>'
    opf = package(pages, items=items, spine=spine, guide=guide).replace(
        '<itemref idref="p6"/>', '<itemref idref="p6" linear="no"/>'
    )
    assert lines(epub(pages, opf=opf)) == [f"{TWO} b b b"]


def test_a_story_on_the_page_of_its_copyright_notice_is_kept(tmp_path: Path) -> None:
    notice = "<p>Copyright 2010 A. Reader. All rights reserved.</p><p>ISBN 1-234</p>"
    story = [f"{ONE} {TWO} {number} of {THREE}" for number in range(20)]
    found = read(tmp_path, epub({"one.xhtml": page(notice + "".join(f"<p>{text}</p>" for text in story))}))
    assert isinstance(found, Prose) and found.paragraphs == story


def test_what_is_no_prose_goes() -> None:
    body = (
        f"<h1>One</h1><p class='chapter-title'>The kettle</p><p>{ONE}<a epub:type='noteref' href='#n'>1</a></p><table><tr><td>tea"
        f"<p>cake</p></td></tr></table><ul><li>one<ol><li>two</li></ol></li></ul><figure><img src='a.png' alt='a > b'/>"
        f"<figcaption>Fig.</figcaption></figure><p>{TWO}<span class='pagenum'>[17]</span></p><p>* * *</p>"
        f"<aside epub:type='footnote'><p>A note.</p></aside><blockquote><p>{THREE}</p></blockquote>"
        f"<script>if (a < b) x = '<p>no</p>';</script><svg><text>S</text></svg>"
        f"<section epub:type='toc'><p>One.</p></section><section epub:type='chapter'><p>{ONE}</p></section>"
    )
    assert prose(body) == [*SENTENCES, ONE]


def test_words_stay_apart_and_together_as_a_reader_sees_them() -> None:
    assert prose("<p>tea<br/>cake <i>and</i>\n  but&shy;ter &amp; caf&eacute; 1 &lt; 2 < 3</p>") == [
        "tea cake and butter & café 1 < 2 < 3"
    ]
    assert prose("<div>tea<p>cake</p>bread</div><p>one<p>two") == ["tea", "cake", "bread", "one", "two"]
    assert prose("<p>tea<o:p></o:p> and <span>cake<o:p>&nbsp;</o:p></span></p>") == ["tea and cake"]
    assert prose("<p>first<br/><br/>second</p>") == ["first", "second"]
    assert prose("<p>红楼\n梦<ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby></p>") == ["红楼梦漢字"]
    assert prose("<p>a<![CDATA[ & ]]>c<!-- <p>no</p> -- > no -->d</p></body></html><p>one</p>") == ["a & cd", "one"]


def test_verse_goes_unless_the_book_is_verse(tmp_path: Path) -> None:
    stanza = "<div class='poem'><p>The kettle sang,<br/>the clock struck three,</p><p>and no one came.</p></div>"
    both = epub({"a.xhtml": page(f"<p>{ONE}</p>{stanza}<p>{TWO}</p>")})
    assert isinstance(found := read(tmp_path, both), Prose) and found.paragraphs == [ONE, TWO]
    verse = ["The kettle sang,", "the clock struck three,", "and no one came."]
    assert isinstance(found := read(tmp_path, epub({"a.xhtml": page(stanza)})), Prose) and found.paragraphs == verse
    assert verses("<p>I went<br/>to sea<br/>in spring</p><pre>and came\nback</pre>") == [True, True]
    spoken = "<p>「どこへ行くの」<br/>「町へ」<br/>「なぜ」<br/>と彼女は言った。</p>"
    assert verses(spoken + f"<div class='poem'>{spoken}</div>") == [False, True]


@pytest.mark.parametrize(
    "body",
    [
        f"<p>{ONE}<p>{TWO}",
        f"<div><p>{ONE}</div><p>{TWO}</p></span></section>",
        f"<p>{ONE}</p><table><tr><p>{TWO}</p>",
        f"<ul><p>{ONE}</p><div class='footnote'><p>{TWO}</p>",
        f"<div><p>{ONE}</p><div class='footnotes'><p>{TWO}</p></div>",
        f'<p class=x id="y>{ONE}</p><p>{TWO}</p>',
        f"<p>{ONE}</p><!-- <p>{TWO}</p>",
        f"<p>{ONE}</p><style><p>{TWO}</p>",
        f"<p>{ONE}</p><script>var a = 1;\n<p>{TWO}</p>",
        f"<p>{ONE}</p><![CDATA[ <p>{TWO}</p>",
        f"<P STYLE='a:b'>{ONE}</P><o:p></o:p><p>{TWO}</p><",
    ],
)
def test_broken_markup_loses_no_prose(body: str) -> None:
    assert " ".join(prose(body)).split() == f"{ONE} {TWO}".split()


@pytest.mark.parametrize("name", ["contents", "figure", "title"])
def test_a_chapter_in_an_element_with_an_ambiguous_class_is_kept(name: str) -> None:
    chapter = [f"{hour} o'clock: the ferry left the harbour, and nobody had seen the miller come aboard." for hour in range(16)]
    body = "".join(f"<p>{paragraph}</p>" for paragraph in chapter)
    assert prose(f"<div class='{name}'><h2>I</h2>{body}<div class='pagenum'>7</div></div><p>{ONE}</p>") == [*chapter, ONE]
    assert prose(f"<div class='{name}'>{body[:400]}</div><p>{ONE}</p>") == [ONE]
    assert prose(f"<div class='footnotes'>{body}</div><p>{ONE}</p>") == [ONE]


@pytest.mark.parametrize("mark", FORMS["marks"].values(), ids=FORMS["marks"])
def test_the_mark_of_a_note_goes(mark: str) -> None:
    notes = f"<h2>Notes</h2><p id='n1'><a href='0.xhtml#r1'>1</a>. {NOTE}</p>"
    css = ".calibre9 { font-size: 70%; vertical-align: super }"
    assert prose(f"<h2>I</h2><p>{BEFORE}{mark} {AFTER}</p>", notes, css=css) == [f"{BEFORE} {AFTER}"]


def test_a_mark_inside_of_a_sentence_leaves_one_space() -> None:
    body = "<p>The bridge<sup>1</sup>, which is old<a href='#n2'>[2]</a> and <b>long</b><sup>3</sup>.</p>"
    assert prose(body) == ["The bridge, which is old and long."]
    body = "<p>It is old <sup>1</sup>. Very.<sup>2</sup>But “long.”<sup>3</sup></p>"
    assert prose(body) == ["It is old. Very. But “long.”"]


@pytest.mark.parametrize("text", FORMS["stay"].values(), ids=FORMS["stay"])
def test_other_links_and_raised_text_stay(text: str) -> None:
    assert prose(f"<p>{text}</p>") == [re.sub("<[^>]*>", "", text)]


@pytest.mark.parametrize("notes", FORMS["notes"].values(), ids=FORMS["notes"])
def test_notes_go_on_a_page_of_their_own_and_below_a_chapter(notes: str) -> None:
    notes, whole = notes.replace("NOTE", NOTE), f"{BEFORE} {AFTER}"
    marked = f"<h2>I</h2><p>{BEFORE}<a id='r1' href='1.xhtml#n1'>1</a> {AFTER}</p>"
    assert prose(marked, notes) == [whole]
    below = marked.replace("1.xhtml", "") + notes.replace("0.xhtml", "")
    assert prose(f"{below}<h2>II</h2><p>{AFTER}</p>") == [whole, AFTER]


@pytest.mark.parametrize(
    "text",
    [
        f"<h2>Notes</h2><p>{BEFORE}</p><p>{AFTER}</p>",
        f"<h2>A Note on Bridges</h2><p>1. {BEFORE}</p>",
        f"<p><a href='toc.xhtml#c1'>1</a> {BEFORE}</p>",
        f"<p id='v1'><sup>1</sup> {BEFORE}</p>",
    ],
)
def test_a_chapter_that_looks_like_notes_stays(text: str) -> None:
    assert any(BEFORE in line for line in prose(text))


@pytest.mark.parametrize("body", FORMS["initials"].values(), ids=FORMS["initials"])
def test_an_initial_joins_its_word_once(body: str) -> None:
    read = prose(f"<h2>I</h2>{body.replace('REST', REST)}<p>{AFTER}</p>", css=".calibre9 { float: left; font-size: 3em }")
    assert read in ([f"Q{REST}", AFTER], ["QUILLMERE is a small market town.", AFTER])


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p><span class='drop'>A</span> mill stands here. The mill is old.</p>", "A mill stands here. The mill is old."),
        ("<p><span class='drop'>I</span> went to the mill, and she went too.</p>", "I went to the mill, and she went too."),
        ("<p><b>A</b> <b>B</b> and C.</p>", "A B and C."),
        ("<p>“<span class='drop'>W</span>e saw it.”</p>", "“We saw it.”"),
        ("<p><span class='drop'>“W</span>e saw it.”</p>", "“We saw it.”"),
        ("<p><span class='drop'>D</span>’Artagnan came.</p>", "D’Artagnan came."),
        ("<p><img alt='A'/></p><p>The mill is old.</p>", "The mill is old."),
        ("<p>The letter <img alt='A'/> is <b>A</b>.</p>", "The letter is A."),
        ("<p>It was<span class='sr-only'>Page 12</span> old.</p>", "It was old."),
        ("<p>V</p><p>The mill is old.</p>", "The mill is old."),
        ("<p><i>X</i> marks the mill.</p>", "X marks the mill."),
    ],
)
def test_a_letter_that_is_no_initial(body: str, text: str) -> None:
    assert prose(body) == [text]


def test_entities_of_a_file_are_not_expanded() -> None:
    bomb = "<!DOCTYPE html [ <!ENTITY a 'tea tea'> " + "".join(f"<!ENTITY b{n} '{'&a;' * 9}'>" for n in range(9)) + " ]>"
    text = page(f"<p>{ONE} &b8; &#xD800;</p>").replace("<!DOCTYPE html>", bomb)
    assert lines(epub({"a.xhtml": text})) == [f"{ONE} &b8; \ufffd"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1251", "gb18030", "shift_jis"])
def test_a_page_is_read_in_the_encoding_it_names(encoding: str) -> None:
    text = {"windows-1251": "Чайник запел.", "gb18030": "水开了。", "shift_jis": "お茶を飲む。"}.get(encoding, "Le thé est prêt.")
    markup = page(f"<p>{text}</p>").replace('encoding="utf-8"', f'encoding="{encoding}"')
    assert lines(epub({"a.xhtml": markup.encode(encoding)})) == [text]


def test_a_wrong_or_odd_encoding_is_not_believed() -> None:
    for named in ("shift_jis", "zlib", "unicode_escape", "no-such"):
        assert lines(epub({"a.xhtml": page("<p>Le thé est prêt. \\u0041</p>").replace("utf-8", named)}))[0].endswith("\\u0041")


def test_a_missing_page_is_a_reject_and_the_rest_of_the_book_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file.epub"
    path.write_bytes(data := epub({"a.xhtml": page(f"<p>{ONE}</p>")}, opf=package(["a.xhtml", "b.xhtml"])))
    missing, book = books_of([FileRange("kettle.epub", str(path), 0, len(data))], max_bytes=MOST)
    assert isinstance(missing, Reject) and missing.reason == "damaged" and "b.xhtml" in missing.where
    assert isinstance(book, Prose) and book.paragraphs == [ONE]
    with pytest.warns(match="b.xhtml"):
        assert read_book(path) == [ONE]


def test_names_with_escapes_are_found() -> None:
    pages: Pages = {n: page(f"<p>{t}</p>") for n, t in zip(("a b.xhtml", "café.xhtml", "100%.xhtml"), SENTENCES, strict=True)}
    assert lines(epub(pages, opf=package(["a%20b.xhtml", "caf%C3%A9.xhtml", "100%.xhtml"]))) == SENTENCES


def test_copy_protection_is_told_and_hidden_fonts_do_no_harm() -> None:
    def hiding(name: str) -> bytes:
        encryption = f"<x><enc:CipherReference URI='{name}'/></x>"
        return epub({"a.xhtml": page(f"<p>{ONE}</p>")}, more={"META-INF/encryption.xml": encryption})

    assert reason(hiding("OEBPS/text/a.xhtml")) == "encrypted"
    assert lines(hiding("OEBPS/fonts/a.otf")) == [ONE]
    data = bytearray(plain_epub(ONE))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        at = archive.getinfo("OEBPS/text/one.xhtml").header_offset
    data[at + 6] |= 1
    data[data.rindex(b"OEBPS/text/one.xhtml") - 38] |= 1  # the flags in the list of members
    assert reason(bytes(data)) == "encrypted"


def test_bombs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    big = epub({"a.xhtml": b"<p>" + b"tea " * (4 << 20)})
    assert len(big) < 1 << 17
    assert reason(big) == "too-large"
    many: Pages = {f"{n}.xhtml": page("<p>" + "tea " * 50_000 + "</p>") for n in range(10)}
    assert reason(epub(many)) == "too-large"
    assert len(lines(epub(many), 3 << 20)) == 10
    monkeypatch.setattr("bertdata.sources.books.epub._MAX_BARE_TAGS", 100)
    assert len(prose("<p>" + "".join(f"<b>word{n}</b> " for n in range(300)))) == 1, "many tags need much text"
    assert reason(epub({"a.xhtml": "<p>" + "<b></b>" * 300})) == "too-large"


BROKEN = [
    "<a",
    "<!--",
    "<![CDATA[",
    "<![x",
    "<!x",
    "<a b='",
    "<a b=\"x'",
    "</x",
    "<?x",
    "&#",
    "<script>",
    '<p x="y>',
    "<b>",
    "<i>a</i>",
]


@pytest.mark.parametrize("broken", [*BROKEN, "<div class='title'>", "<div class='title'><p>It is a long sentence.</p>"])
def test_broken_markup_takes_linear_time(broken: str) -> None:
    times = []
    for count in (1_000, 4_000):
        begun = time.process_time()
        for end in ("", ">", "-->", "</div>" * count):
            with suppress(Unreadable):  # more than 2,048 levels deep
                lines(epub({"a.xhtml": f"<body>{broken * count}{end}"}), 1 << 24)
        times.append(time.process_time() - begun)
    assert times[1] < 12 * times[0] + 0.5


SMALL_LARGE = 4_000, 16_000


@pytest.mark.parametrize(
    ("start", "piece", "end"),
    [
        ("<p>Tea.</p><", "a", "/>"),
        ("<p>Tea", "<sup>1</sup>", ".</p>"),
        ("<p>", '<a id="{n}"></a>', "tea</p>"),
        ("<p>", '<a id="{n}"></a>(', "tea</p>"),
        ('<a href="#a"><div>' * 500, "t<br/>", ""),
    ],
    ids=["a long name", "many marks", "many places", "places before brackets", "links in links"],
)
def test_many_of_a_kind_take_linear_time(start: str, piece: str, end: str) -> None:
    times = []
    for count in SMALL_LARGE:
        text = start + "".join(piece.replace("{n}", str(n)) for n in range(count)) + end
        begun = time.process_time()
        lines(epub({"a.xhtml": page(text)}), 1 << 24)
        times.append(time.process_time() - begun)
    assert times[1] < 8 * times[0] + 0.5


def test_boxes_in_boxes_are_not_each_measured() -> None:
    times = []
    for name in ("box", "toc"):
        begun = time.process_time()
        lines(epub({"a.xhtml": page((f'<div class="{name}">tea ' * 1000 + "</div>" * 1000) * 5)}), 1 << 24)
        times.append(time.process_time() - begun)
    assert times[1] < 8 * times[0] + 0.5


@given(st.text(st.sampled_from("<>/!?-[]\"'&;=ab pCDATA\n"), max_size=80))
def test_any_markup_is_read(text: str) -> None:
    assert all(lines(epub({"a.xhtml": text})))


@given(st.data())
def test_any_damage_is_a_book_or_unreadable(data: st.DataObject) -> None:
    whole = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_epub(io.BytesIO(bytes(whole)), MOST)
    except Unreadable as error:
        assert error.reason in ("damaged", "encrypted", "too-large")


WHOLE = plain_epub()
