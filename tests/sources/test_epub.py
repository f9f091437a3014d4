"""EPUB: reading order, what of a page is prose, what is skipped, copy protection, bombs, broken markup in linear time."""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import CONTAINER, SENTENCES, XHTML, books_of, epub, package, page, plain_epub

from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources.books.epub import Unreadable, read_epub
from bertdata.sources.books.marks import Tag
from bertdata.sources.books.xhtml import Page, parse

MOST = 1 << 20
ONE, TWO, THREE = SENTENCES


def lines(data: bytes, most: int = MOST) -> list[str]:
    return [line for passage in read_epub(io.BytesIO(data), most).passages for line in passage.lines]


def reason(data: bytes, most: int = MOST) -> str:
    with pytest.raises(Unreadable) as caught:
        read_epub(io.BytesIO(data), most)
    return caught.value.reason


def prose(body: str) -> list[str]:
    return [line for passage in Page(parse(page(body))).passages for line in passage.lines]


def read(tmp_path: Path, data: bytes, name: str = "shelf/kettle.epub", most: int = MOST) -> Prose | Drop | Reject:
    path = tmp_path / "file.epub"
    path.write_bytes(data)
    (found,) = books_of([FileRange(name, str(path), 0, len(data))], max_bytes=most)
    return found


def test_a_book_has_its_packages_title_and_language(tmp_path: Path) -> None:
    found = read(tmp_path, plain_epub(ONE, TWO))
    licence = "as each book states"
    assert found == Prose("books:shelf/kettle.epub", "books", "en", "The Kettle", "", [ONE, TWO], licence=licence)
    bare = epub({"a.xhtml": page(f"<p>{ONE}</p>")}, opf=package(["a.xhtml"], title="", language=""))
    titled = Prose("books:shelf/kettle.epub", "books", "", "kettle", "", [ONE], licence=licence)
    assert read(tmp_path, bare) == titled


def test_pages_come_in_the_order_of_the_spine_each_once() -> None:
    pages = {f"{n}.xhtml": page(f"<p>{text}</p>") for n, text in enumerate(SENTENCES)}
    opf = package(pages).replace('<itemref idref="p0"/><itemref idref="p1"/>', '<itemref idref="p1"/><itemref idref="p0"/>')
    assert lines(epub(pages, opf=opf.replace("</spine>", '<itemref idref="p1"/><itemref idref="none"/></spine>'))) == [
        TWO,
        ONE,
        THREE,
    ]


def test_what_is_no_page_of_the_book_is_skipped() -> None:
    toc = "".join(f'<p><a href="{n}.xhtml">Chapter {n}</a></p>' for n in range(9))
    pages: dict[str, str | bytes] = {
        "cover.xhtml": page(f"<p>Cover. {ONE}</p>", body_type="cover"),
        "title.xhtml": page(f"<section epub:type='titlepage'><p>Title. {ONE}</p></section>"),
        "rights.xhtml": page(f"<p>Copyright 2020 A. Nobody. All rights reserved.</p><p>{ONE}</p>"),
        "contents.xhtml": page(toc),
        "old.html": page(f"<p>Named by the guide. {ONE}</p>"),
        "one.xhtml": page(f"<p>{TWO}</p>"),
        "notes.xhtml": page(f"<p>{THREE}</p>", body_type="endnotes"),
    }
    items = f'<item id="nav" href="nav.xhtml" media-type="{XHTML}" properties="nav"/>'
    items += '<item id="x" href="a.css" media-type="text/css"/>'
    items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    spine = '<itemref idref="nav"/><itemref idref="ncx"/><itemref idref="x"/>'
    guide = '<guide><reference type="toc" href="text/old.html#top"/><reference type="text" href="text/one.xhtml"/></guide>'
    assert lines(epub(pages, opf=package(pages, items=items, spine=spine, guide=guide))) == [TWO]
    hidden = package(["one.xhtml", "two.xhtml"]).replace('<itemref idref="p1"/>', '<itemref idref="p1" linear="no"/>')
    assert lines(epub({"one.xhtml": page(f"<p>{ONE}</p>"), "two.xhtml": page(f"<p>{TWO}</p>")}, opf=hidden)) == [ONE]


def test_a_story_on_the_page_of_its_copyright_notice_is_kept(tmp_path: Path) -> None:
    notice = "<p>Copyright 2010 A. Reader. All rights reserved.</p><p>ISBN 1-234</p>"
    story = [f"{ONE} {TWO} {number} of {THREE}" for number in range(20)]
    found = read(tmp_path, epub({"one.xhtml": page(notice + "".join(f"<p>{text}</p>" for text in story))}))
    assert isinstance(found, Prose) and found.paragraphs == story


def test_a_page_that_holds_contents_and_chapters_keeps_the_chapters() -> None:
    body = f'<section epub:type="toc"><p>One. Two.</p></section><section epub:type="chapter"><p>{ONE}</p></section>'
    assert prose(body) == [ONE]


def test_what_is_no_prose_goes() -> None:
    body = (
        f"<h1>One</h1><p class='chapter-title'>The kettle</p><p>{ONE}<a epub:type='noteref' href='#n'>1</a></p><table><tr><td>tea"
        f"<p>cake</p></td></tr></table><ul><li>one</li></ul><figure><img src='a.png' alt='a > b'/><figcaption>Fig.</figcaption>"
        f"</figure><p>{TWO}<span class='pagenum'>[17]</span></p><p>* * *</p><aside epub:type='footnote'><p>A note.</p></aside>"
        f"<blockquote><p>{THREE}</p></blockquote><script>if (a < b) x = '<p>no</p>';</script><svg><text>S</text></svg>"
    )
    assert prose(body) == SENTENCES


def test_words_stay_apart_and_together_as_a_reader_sees_them() -> None:
    assert prose("<p>tea<br/>cake <i>and</i>\n  but&shy;ter &amp; caf&eacute; 1 &lt; 2 < 3</p>") == [
        "tea cake and butter & café 1 < 2 < 3"
    ]
    assert prose("<div>tea<p>cake</p>bread</div><p>one<p>two") == ["tea", "cake", "bread", "one", "two"]
    assert prose("<p>first<br/><br/>second</p>") == ["first", "second"]
    assert prose("<p>红楼\n梦<ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby></p>") == ["红楼梦漢字"]
    assert prose("<p>a<![CDATA[ <b> & ]]>c<!-- <p>no</p> -- > no -->d</p>") == ["a <b> & cd"]


def test_verse_goes_unless_the_book_is_verse(tmp_path: Path) -> None:
    stanza = "<div class='poem'><p>The kettle sang,<br/>the clock struck three,</p><p>and no one came.</p></div>"
    both = epub({"a.xhtml": page(f"<p>{ONE}</p>{stanza}<p>{TWO}</p>")})
    assert isinstance(found := read(tmp_path, both), Prose) and found.paragraphs == [ONE, TWO]
    verse = ["The kettle sang,", "the clock struck three,", "and no one came."]
    assert isinstance(found := read(tmp_path, epub({"a.xhtml": page(stanza)})), Prose) and found.paragraphs == verse
    short = "<p>I went<br/>to sea<br/>in spring</p><pre>and came\nback</pre>"
    assert [passage.verse for passage in Page(parse(page(short))).passages] == [True, True]


@pytest.mark.parametrize(
    "body",
    [
        f"<p>{ONE}<p>{TWO}",
        f"<div><p>{ONE}</div><p>{TWO}</p></span></section>",
        f"<p>{ONE}</p><table><tr><p>{TWO}</p>",
        f"<ul><p>{ONE}</p><div class='footnote'><p>{TWO}</p>",
        f'<p class=x id="y>{ONE}</p><p>{TWO}</p>',
        f"<p>{ONE}</p><!-- <p>{TWO}</p>",
        f"<p>{ONE}</p><style><p>{TWO}</p>",
        f"<p>{ONE}</p><![CDATA[ <p>{TWO}</p>",
        f"<P STYLE='a:b'>{ONE}</P><o:p></o:p><p>{TWO}</p><",
    ],
)
def test_broken_markup_loses_no_prose(body: str) -> None:
    assert " ".join(prose(body)).split() == f"{ONE} {TWO}".split()


@pytest.mark.parametrize("name", ["contents", "figure", "title"])
def test_a_chapter_in_an_element_with_an_ambiguous_class_is_kept(name: str) -> None:
    chapter = [
        f"{number} o'clock: the ferry left the harbour, and nobody had seen the miller come aboard." for number in range(16)
    ]
    body = "".join(f"<p>{paragraph}</p>" for paragraph in chapter)
    markup = page(f"<div class='{name}'><h2>I</h2>{body}<div class='pagenum'>7</div></div><p>{ONE}</p>")
    assert [passage.lines[0] for passage in Page(parse(markup)).passages] == [*chapter, ONE]
    assert prose(f"<div class='{name}'>{body[:400]}</div><p>{ONE}</p>") == [ONE]
    assert prose(f"<div class='footnotes'>{body}</div><p>{ONE}</p>") == [ONE]


def test_entities_of_a_file_are_not_expanded() -> None:
    bomb = "<!DOCTYPE html [ <!ENTITY a 'tea tea'> " + "".join(f"<!ENTITY b{n} '{'&a;' * 9}'>" for n in range(9)) + " ]>"
    text = page(f"<p>{ONE} &b8; &#xD800;</p>").replace("<!DOCTYPE html>", bomb)
    assert [passage.lines for passage in Page(parse(text)).passages] == [[f"{ONE} &b8; \ufffd"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1251", "gb18030", "shift_jis"])
def test_a_page_is_read_in_the_encoding_it_names(encoding: str) -> None:
    text = {"windows-1251": "Чайник запел.", "gb18030": "水开了。", "shift_jis": "お茶を飲む。"}.get(encoding, "Le thé est prêt.")
    markup = page(f"<p>{text}</p>").replace('encoding="utf-8"', f'encoding="{encoding}"')
    assert lines(epub({"a.xhtml": markup.encode(encoding)})) == [text]


def test_a_wrong_or_odd_encoding_is_not_believed() -> None:
    for named in ("shift_jis", "zlib", "unicode_escape", "no-such"):
        assert lines(epub({"a.xhtml": page("<p>Le thé est prêt. \\u0041</p>").replace("utf-8", named)}))[0].endswith("\\u0041")


def test_copy_protection_is_told_and_hidden_fonts_do_no_harm() -> None:
    pages: dict[str, str | bytes] = {"a.xhtml": page(f"<p>{ONE}</p>")}

    def hiding(name: str) -> bytes:
        return epub(pages, more={"META-INF/encryption.xml": f"<x><enc:CipherReference URI='{name}'/></x>"})

    assert reason(hiding("OEBPS/text/a.xhtml")) == "encrypted"
    assert lines(hiding("OEBPS/fonts/a.otf")) == [ONE]
    data = bytearray(plain_epub(ONE))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        at = archive.getinfo("OEBPS/text/one.xhtml").header_offset
    data[at + 6] |= 1
    data[data.rindex(b"OEBPS/text/one.xhtml") - 38] |= 1  # the flags in the list of members
    assert reason(bytes(data)) == "encrypted"


def test_bombs_are_bounded() -> None:
    big = epub({"a.xhtml": b"<p>" + b"tea " * (4 << 20)})
    assert len(big) < 1 << 17
    assert reason(big) == "too-large"
    many = {f"{n}.xhtml": page("<p>" + "tea " * 50_000 + "</p>") for n in range(10)}
    assert reason(epub(many)) == "too-large"
    assert len(lines(epub(many), 3 << 20)) == 10


@pytest.mark.parametrize("cut", [0, 10, 100, 400, -60, -22, -1])
def test_a_cut_file_is_damaged(cut: int) -> None:
    assert reason(plain_epub()[:cut]) == "damaged"


def test_a_wrong_byte_is_told_by_its_checksum() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OEBPS/content.opf", package(["a.xhtml"]))
        archive.writestr("OEBPS/text/a.xhtml", page(f"<p>{ONE}</p>"))
    data = buffer.getvalue()
    assert lines(data) == [ONE]
    assert reason(data.replace(b"kettle began", b"kettle bega\xee")) == "damaged"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\5\6" + b"\0" * 18,
        b"no zip at all",
        epub({}, opf="<package/>"),
        epub({"a.xhtml": page("")}, opf=package(["b.xhtml"])),
        epub({"a.xhtml": page("")}, opf=package(["../../../../etc/passwd"])),
        epub({"a.xhtml": b"\0\1\2\3" * 99}),
        epub({"a.xhtml": page("")}).replace(b"META-INF/container.xml", b"META-INF/containing.xm"),
    ],
)
def test_what_is_no_book_is_damaged(data: bytes) -> None:
    assert reason(data) == "damaged"


def test_names_with_escapes_are_found() -> None:
    opf = package(["a%20b.xhtml", "caf%C3%A9.xhtml", "100%.xhtml"])
    pages = {
        name: page(f"<p>{text}</p>") for name, text in zip(("a b.xhtml", "café.xhtml", "100%.xhtml"), SENTENCES, strict=True)
    }
    assert lines(epub(dict(pages), opf=opf)) == SENTENCES


def test_a_book_without_prose_is_empty(tmp_path: Path) -> None:
    found = read(tmp_path, epub({"a.xhtml": page("<h1>Tea</h1><p>***</p>")}))
    assert found == Drop("no prose", "books:shelf/kettle.epub")


# --- markup ---


def test_tags_and_attributes() -> None:
    assert parse("<?xml a?><opf:Item href='a>b' id=x /><br></P>tea<!DOCTYPE x>cake<!-- <b> -->") == [
        Tag("item", {"href": "a>b", "id": "x"}), Tag("item", None), Tag("br", {}), Tag("p", None), "tea", "cake",
    ]  # fmt: skip
    assert parse("<a b='1' B=2 epub:c=\"&lt;\" d>") == [Tag("a", {"b": "1", "c": "<", "d": ""})]


@pytest.mark.parametrize(
    "broken", ["<a", "<!--", "<![CDATA[", "<![x", "<!x", "<a b='", "<a b=\"x'", "</x", "<?x", "&#", "<script>", '<p x="y>', "<b>"]
)
def test_broken_markup_takes_linear_time(broken: str) -> None:
    times = []
    for count in (2_000, 8_000):
        begun = time.process_time()
        for end in ("", ">", "-->"):
            Page(parse(broken * count + end))
        times.append(time.process_time() - begun)
    assert times[1] < 12 * times[0] + 0.5


def test_a_page_of_links_is_told_from_prose_with_links() -> None:
    pages: dict[str, str | bytes] = {"a.xhtml": page("".join(f"<p><a href='#{n}'>Chapter {n}</a> {n}</p>" for n in range(5)))}
    assert lines(epub(pages)) == []
    assert prose(f"<p>{ONE} <a href='a'>b</a> <a href='a'>b</a> <a href='a'>b</a></p>") == [f"{ONE} b b b"]


@given(st.text(st.sampled_from("<>/!?-[]\"'&;=ab pCDATA\n"), max_size=80))
def test_any_markup_is_read(text: str) -> None:
    assert all(line for passage in Page(parse(text)).passages for line in passage.lines)


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
