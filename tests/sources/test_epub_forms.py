"""EPUB as many producers write it: marks of notes, notes, and initials, and what only looks like them."""

from __future__ import annotations

import io
import re

import pytest
from made import epub, package, page

from bertdata.sources.books.epub import read_epub
from bertdata.sources.books.xhtml import Page, parse

BEFORE = "A stone bridge was built in 1742, and a museum of glass was opened there in 1988."
AFTER = "Most people of the town work in the glass factory."
WHOLE = f"{BEFORE} {AFTER}"


def paragraphs(*bodies: str, css: str = "") -> list[str]:
    pages: dict[str, str | bytes] = {f"{n}.xhtml": page(body) for n, body in enumerate(bodies)}
    items = '<item id="css" href="style.css" media-type="text/css"/>'
    data = epub(pages, opf=package(pages, items=items if css else ""), more={"OEBPS/style.css": css} if css else None)
    return [line for passage in read_epub(io.BytesIO(data), 1 << 20).passages for line in passage.lines]


MARKS = {  # by producer
    "plain link": "<a id='r1' href='1.xhtml#n1'>1</a>",
    "brackets": "<a id='r1' href='1.xhtml#n1'>[1]</a>",
    "brackets outside": "[<a id='r1' href='1.xhtml#n1'>1</a>]",
    "round brackets": "<a id='r1' href='1.xhtml#n1'>(1)</a>",
    "sup in a": "<a id='r1' href='1.xhtml#n1'><sup>1</sup></a>",
    "a in sup": "<sup><a id='r1' href='1.xhtml#n1'>1</a></sup>",
    "brackets in sup": "<sup>[<a id='r1' href='1.xhtml#n1'>1</a>]</sup>",
    "anchor before": "<a id='r1'></a><a href='1.xhtml#n1'>1</a>",
    "span in sup": "<sup id='r1'><span class='x'><a href='1.xhtml#n1'>1</a></span></sup>",
    "space before": " <a id='r1' href='1.xhtml#n1'>1</a>",
    "star": "<a id='r1' href='1.xhtml#n1'>*</a>",
    "dagger": "<sup><a id='r1' href='1.xhtml#n1'>†</a></sup>",
    "letter": "<a id='r1' href='1.xhtml#n1'><sup>a</sup></a>",
    "two": "<sup><a id='r1' href='1.xhtml#n1'>1</a>, <a href='1.xhtml#n2'>2</a></sup>",
    "raised digit": "<sup>1</sup>",
    "raised star": "<sup>*</sup>",
    "raised brackets": "<sup>[12]</sup>",
    "Pandoc": "<a href='#fn1' class='footnote-ref' id='fnref1' epub:type='noteref'>1</a>",
    "Word": "<a href='#_ftn1' id='_ftnref1' title=''>[1]</a>",
    "Word, plain": " <a href='#_edn1' id='_ednref1'>1</a>",
    "ebookmaker": "<a id='FNanchor_1_1'></a><a href='#Footnote_1_1' class='fnanchor pginternal'>[1]</a>",
    "InDesign": "<span class='_idGenCharOverride-1'><a class='_idFootnoteLink _idGenColor' href='#footnote-000'>1</a></span>",
    "Calibre, docx": "<sup class='calibre5'><a href='#id_Footnote1' id='back_id_Footnote1' class='noteref calibre7'>1</a></sup>",
    "Calibre, CSS": "<a id='r1' href='1.xhtml#n1'><span class='calibre9'>1</span></a>",
    "CSS, no link": "<span class='calibre9'>1</span>",
    "Kindle": "<a id='filepos12' href='1.xhtml#filepos99'><sup>1</sup></a>",
    "Kindle, brackets": "<a id='filepos12' href='1.xhtml#filepos99'>[1]</a>",
    "Sigil": "<a class='sgc-fnref' href='../Text/notes.xhtml#n1' id='x1'>1</a>",
    "role": "<a role='doc-noteref' href='#n1'>1</a>",
    "class of a span": "<span class='footnote-reference'>1</span>",
    "font": "<font size='2'><sup><a href='#n1'>1</a></sup></font>",
    "raised by its style": "<span style='vertical-align: super; font-size: .7em'>1</span>",
    "superscript class": "<span class='superscript'>1</span>",
    "superscript digit": "<a href='1.xhtml#x'>¹</a>",
    "word": "<a href='1.xhtml#x'>[note 1]</a>",
    "full width": "<a href='1.xhtml#x'>［１］</a>",
    "star and number": "<sup><a href='1.xhtml#x'>*1</a></sup>",
    "icon": "<a href='1.xhtml#n1'><img src='note.png' alt='note'/></a>",
    "small": "<small><sup>1</sup></small>",
}


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
def test_the_mark_of_a_note_goes(mark: str) -> None:
    notes = "<h2>Notes</h2><p id='n1'><a href='0.xhtml#r1'>1</a>. See the papers of the miller, page 1.</p>"
    css = ".calibre9 { font-size: 70%; vertical-align: super }"
    assert paragraphs(f"<h2>I</h2><p>{BEFORE}{mark} {AFTER}</p>", notes, css=css) == [WHOLE]


def test_a_mark_inside_of_a_sentence_leaves_one_space() -> None:
    assert paragraphs("<p>The bridge<sup>1</sup>, which is old<a href='#n2'>[2]</a> and <b>long</b><sup>3</sup>.</p>") == [
        "The bridge, which is old and long."
    ]
    assert paragraphs("<p>It is old <sup>1</sup>. Very.<sup>2</sup>But “long.”<sup>3</sup></p>") == [
        "It is old. Very. But “long.”"
    ]


STAY = {  # links and raised text that are no marks
    "chapter": "See chapter <a href='1.xhtml#c3'>3</a> of it.",
    "chapter with id": "See chapter <a id='x' href='1.xhtml#c3'>12</a> of it.",
    "year": "It opened in <a href='1.xhtml#y1988'>1988</a> again.",
    "year in brackets": "The town (<a href='1.xhtml#y'>1988</a>) was small.",
    "abbreviated": "See p. <a href='#p12'>12</a> and fig.<a href='#f3'>3</a> of it.",
    "range": "From 1914–<a href='#y'>18</a> it was closed.",
    "exponent": "About 10<sup>6</sup> lamps.",
    "area": "It has 12 km<sup>2</sup> and 5 m<sup>3</sup> of it.",
    "formula": "So E = mc<sup>2</sup> and x<sup>2</sup> follow.",
    "ordinal": "The 4<sup>th</sup> and M<sup>me</sup> Lowe.",
    "word": "A <a href='#x'>word</a> and a name.",
    "roman": "See part <a href='#p2'>II</a> of it.",
    "file": "See <a href='http://a.example/'>1</a> there.",
}


@pytest.mark.parametrize("text", STAY.values(), ids=STAY)
def test_other_links_and_raised_text_stay(text: str) -> None:
    assert paragraphs(f"<p>{text}</p>") == [re.sub("<[^>]*>", "", text)]


NOTE = "See the papers of the miller of Tarn, page 1."
NOTES = {
    "page": f"<h2>Notes</h2><p id='n1'><a href='0.xhtml#r1'>1</a>. {NOTE}</p><p id='n2'><a href='0.xhtml#r2'>2</a>. {NOTE}</p>",
    "page without links": f"<h1>Endnotes</h1><p>1. {NOTE}</p><p>2. {NOTE}</p><p>And more of it.</p>",
    "of a chapter": f"<h2>Notes: Chapter One</h2><p>1. {NOTE}</p><p>2. {NOTE}</p>",
    "of chapters": f"<h2>Chapter 1 Notes</h2><p>1. {NOTE}</p><p>2. {NOTE}</p>",
    "German": f"<h1>Anmerkungen</h1><p>1 {NOTE}</p><p>2 {NOTE}</p>",
    "French": f"<p><b>Notes de bas de page</b></p><p>1. {NOTE}</p><p>2. {NOTE}</p>",
    "Spanish": f"<h3>Notas</h3><p>[1] {NOTE}</p><p>[2] {NOTE}</p>",
    "Russian": f"<h3>Примечания</h3><p>1 {NOTE}</p>",
    "no heading": f"<p id='n1'><a href='0.xhtml#r1'>[1]</a> {NOTE}</p>",
    "raised": f"<p><a href='0.xhtml#r1'><sup>1</sup></a> {NOTE}</p>",
    "Word": f"<div id='_ftn1'><p class='MsoFootnoteText'><a href='#_ftnref1'>[1]</a> {NOTE}</p></div>",
    "InDesign": f"<div class='_idFootnotes'><div class='_idFootnote' id='footnote-000'>"
    f"<p><a class='_idFootnoteAnchor'>1</a> {NOTE}</p><p>{NOTE}</p></div></div>",
    "ebookmaker": f"<div class='footnote'><p><a id='Footnote_1_1' href='#FNanchor_1_1'><span>[1]</span></a> {NOTE}</p></div>",
    "arrow": f"<p id='n1'>1. {NOTE} <a href='0.xhtml#r1'>↩</a></p>",
    "arrow before": f"<p><a href='0.xhtml#r1'>^</a> {NOTE}</p>",
    "aside": f"<aside epub:type='footnote'><p>{NOTE}</p></aside>",
    "Calibre": f"<dl class='notes'><dt id='n1'>[<a href='#r1'>↑1</a>]</dt><dd><p>{NOTE}</p></dd></dl>",
}


@pytest.mark.parametrize("notes", NOTES.values(), ids=NOTES)
def test_notes_go_on_a_page_of_their_own_and_below_a_chapter(notes: str) -> None:
    marked = f"<h2>I</h2><p>{BEFORE}<a id='r1' href='1.xhtml#n1'>1</a> {AFTER}</p>"
    assert paragraphs(marked, notes) == [WHOLE]
    assert paragraphs(marked.replace("1.xhtml", "") + notes.replace("0.xhtml", "") + f"<h2>II</h2><p>{AFTER}</p>") == [
        WHOLE,
        AFTER,
    ]


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
    assert any(BEFORE in line for line in paragraphs(text))


REST = "uillmere is a small market town."
INITIALS = {
    "picture": f"<p><img src='d.png' alt='Q'/>{REST}</p>",
    "picture with a description": f"<p><img src='d.png' alt='Decorated letter Q'/>{REST}</p>",
    "picture in a box": f"<div class='figleft'><img src='d.png' alt='Q'/></div><p>{REST}</p>",
    "picture in a figure": f"<figure><img src='d.png' alt='Q'/></figure><p>{REST}</p>",
    "span": f"<p><span class='dropcap'>Q</span>{REST}</p>",
    "span and space": f"<p><span class='drop'>Q</span>\n{REST}</p>",
    "span and blank": f"<p><span class='drop'>Q</span> {REST}</p>",
    "nested spans": f"<p><span class='dc'><span class='calibre3'>Q</span></span>\n {REST}</p>",
    "styled": f"<p><span style='float:left;font-size:3em'>Q</span>\n{REST}</p>",
    "CSS": f"<p><span class='calibre9'>Q</span>\n{REST}</p>",
    "a box of its own": f"<div class='dropcap'>Q</div><p>{REST}</p>",
    "a paragraph of its own": f"<p class='cap'>Q</p>\n<p>{REST}</p>",
    "bold": f"<p><b>Q</b>{REST}</p>",
    "small capitals": "<p><span class='lettrine'>Q</span> <span class='sc'>UILLMERE</span> is a small market town.</p>",
    "hidden copy before": f"<p><i class='sr-only'>Quillmere</i><i aria-hidden='true'><b>Q</b>uillmere</i>{REST[8:]}</p>",
    "hidden copy after": f"<p><i aria-hidden='true'><b>Q</b>uillmere</i><i class='visually-hidden'>Quillmere</i>{REST[8:]}</p>",
    "picture and copy": f"<p><img alt='Q'/><span class='screen-reader-text'>Q</span>{REST}</p>",
    "picture and whole word": f"<div><img alt='Q'/></div><p>Q{REST}</p>",
    "letter and whole word": f"<p><span class='dropcap' aria-hidden='true'>Q</span>Q{REST}</p>",
    "picture described behind": f"<p><img src='d.png' alt='Q (decorated initial)'/>{REST}</p>",
    "picture in lower case": f"<p><img src='d.png' alt='q'/>{REST}</p>",
    "hidden by style": f"<p><i style='display:none'>Quillmere</i><b class='cap'>Q</b>{REST}</p>",
    "hidden letter": f"<p><img src='d.png' alt=''/><span class='hidden'>Q</span>{REST}</p>",
    "label of a letter": f"<p><span aria-label='Q'>Q</span>{REST}</p>",
    "label of a word": f"<p><span aria-label='Quillmere'><i>Q</i><i aria-hidden='true'>uillmere</i></span>{REST[8:]}</p>",
    "label": f"<p><span class='dropcap' aria-label='Q'><img src='q.png' alt=''/></span>{REST}</p>",
}


@pytest.mark.parametrize("body", INITIALS.values(), ids=INITIALS)
def test_an_initial_joins_its_word_once(body: str) -> None:
    css = ".calibre9 { float: left; font-size: 3em }"
    assert paragraphs(f"<h2>I</h2>{body}<p>{AFTER}</p>", css=css) in (
        [f"Q{REST}", AFTER],
        ["QUILLMERE is a small market town.", AFTER],
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p><span class='drop'>A</span> mill stands here. The mill is old.</p>", "A mill stands here. The mill is old."),
        ("<p><span class='drop'>I</span> went to the mill, and she went too.</p>", "I went to the mill, and she went too."),
        ("<p><i>I</i> saw it.</p>", "I saw it."),
        ("<p><b>A</b> <b>B</b> and C.</p>", "A B and C."),
        ("<p>“<span class='drop'>W</span>e saw it.”</p>", "“We saw it.”"),
        ("<p><span class='drop'>“W</span>e saw it.”</p>", "“We saw it.”"),
        ("<p><span class='drop'>D</span>’Artagnan came.</p>", "D’Artagnan came."),
        ("<p><img alt='A'/></p><p>The mill is old.</p>", "The mill is old."),
        ("<p>The letter <img alt='A'/> is first.</p>", "The letter is first."),
        ("<p>See <b>A</b> there.</p>", "See A there."),
    ],
)
def test_a_word_of_one_letter_is_no_initial(body: str, text: str) -> None:
    assert paragraphs(body) == [text]


def test_dialogue_with_line_breaks_is_prose() -> None:
    spoken = "<p>「どこへ行くの」<br/>「町へ」<br/>「なぜ」<br/>と彼女は言った。</p>"
    assert [passage.verse for passage in Page(parse(page(spoken))).passages] == [False]
    assert [passage.verse for passage in Page(parse(page(f"<div class='poem'>{spoken}</div>"))).passages] == [True]


def test_a_book_with_many_tags_is_read_if_it_has_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertdata.sources.books.epub._FREE_TAGS", 100)
    words = "".join(f"<b>word{n}</b> " for n in range(300))
    assert len(paragraphs(f"<p>{words}</p>")) == 1
    with pytest.raises(Exception, match="tags with almost no text"):
        paragraphs("<p>" + "<b></b>" * 300 + "</p>")
