"""Books: licence, headings and apparatus, unwrapping, rejects; and the scorer where its data is at hand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.records import FileRange, Reject
from bertdata.sources.books import Book, clean, read_book, read_books
from bertdata.sources.books.blocks import Block, is_list, is_table, is_verse, split_blocks, split_unparted
from bertdata.sources.books.gutenberg import header_field, is_credit, language_code, strip_licence
from bertdata.sources.books.headings import is_heading
from bertdata.sources.books.unwrap import hyphenated, join_signatures, unwrap

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"

FIRST = "The kettle began to sing a little after four, as it had done on every\nafternoon since the house was built."
SECOND = '"Is there any bread?" asked the boy, who had come in by the garden door\nwith mud on both his boots.'
ONE = FIRST.replace("\n", " ")
TWO = SECOND.replace("\n", " ")


def book(body: str, title: str = "The Kettle", language: str = "English") -> str:
    """Write a file as Project Gutenberg does around 2005."""
    return (
        f"The Project Gutenberg EBook of {title}, by Nobody\n\nThis eBook is for the use of anyone anywhere.\n\n"
        f"Title: {title}\n       A Story\n\nLanguage: {language}\n\n"
        f"*** START OF THIS PROJECT GUTENBERG EBOOK {title.upper()} ***\n\n\n\n"
        f"Produced by A. Reader and the Online Team\n\n\n\n{body}\n\n\n"
        f"End of Project Gutenberg's {title}, by Nobody\n\n"
        f"*** END OF THIS PROJECT GUTENBERG EBOOK {title.upper()} ***\n\nUpdated editions will replace the old.\n"
    )


def one(tmp_path: Path, data: bytes, name: str = "shelf/kettle.txt", max_bytes: int = 1 << 20) -> Book | Reject:
    path = tmp_path / "file"
    path.write_bytes(data)
    found = list(read_books([FileRange(name, str(path), 0, len(data))], max_bytes=max_bytes))
    assert len(found) == 1
    return found[0]


def test_a_book_is_read_with_its_title_and_language(tmp_path: Path) -> None:
    text = book(f"CHAPTER I\n\n\n{FIRST}\n\n{SECOND}", language="French")
    found = one(tmp_path, text.replace("\n", "\r\n").encode("utf-8-sig"))
    assert found == Book("books:shelf/kettle", "The Kettle A Story", "fr", [ONE, TWO])


def test_a_text_without_licence_passes_whole(tmp_path: Path) -> None:
    found = one(tmp_path, f"{FIRST}\n\n{SECOND}\n".encode())
    assert found == Book("books:shelf/kettle", "kettle", "", [ONE, TWO])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n\r\n\t", "empty"),
        (book("CHAPTER I").encode(), "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
        (b"\x01\x02\x03\x04\x05" * 100, "binary"),
        (b"\xff\xfeT\x00\x00\x00", "binary"),
        ("Το παλιό σπίτι στεκόταν εκεί.".encode("iso8859-7"), "undecodable"),
        (b"caf\x81 au lait, sans plus de mots", "undecodable"),
        (b"\xff\xfeT\x00\x00\xd8", "undecodable"),
        (b"a word " * 200_000, "too-large"),
    ],
)
def test_what_is_no_book_is_one_reject(tmp_path: Path, data: bytes, reason: str) -> None:
    found = one(tmp_path, data)
    assert isinstance(found, Reject)
    assert (found.id, found.reason) == ("books:shelf/kettle", reason)
    assert "shelf/kettle.txt" in found.where, "the same on every machine"


# --- licence ---


def test_header_and_footer_of_thirty_years() -> None:
    for start in [
        "*** START OF THIS PROJECT GUTENBERG EBOOK THE KETTLE ***",
        "***START OF THE PROJECT GUTENBERG EBOOK THE KETTLE***",
        "*** START OF THE PROJECT GUTENBERG EBOOK THE KETTLE, OR, A LONG AFTERNOON\nIN THE KITCHEN ***",
        "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
        "*END THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
        "***END OF THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS***",
    ]:
        for end in [
            "*** END OF THIS PROJECT GUTENBERG EBOOK THE KETTLE ***",
            "***END OF THE PROJECT GUTENBERG EBOOK THE KETTLE***",
            "End of Project Gutenberg's The Kettle, by Nobody",
            "End of the Project Gutenberg EBook of The Kettle",
            "End of this Project Gutenberg Etext of The Kettle",
            "Ende dieses Projekt Gutenberg Etextes",
        ]:
            text = f"**Welcome To The World of Free Plain Texts**\n\n{start}\n\n{FIRST}\n\n{end}\n\nMore of the licence.\n"
            assert clean(text) == [ONE]


def test_the_words_of_the_markers_inside_a_book_do_no_harm() -> None:
    said = "She had read the end of Project Gutenberg's list, and the start of another."
    assert clean(book(f"{FIRST}\n\n{said}\n\n{SECOND}")) == [ONE, said, TWO]
    assert strip_licence(["a"]) == ([], ["a"])


def test_header_fields() -> None:
    header = ["Title: The Kettle", "  ", "Author: Nobody", "Language: Dutch"]
    assert [header_field(header, name) for name in ("Title", "language", "Editor")] == ["The Kettle", "Dutch", ""]
    assert [language_code(name) for name in ("Chinese", "german", "Dutch", "")] == ["zh", "de", "nl", ""]


def test_credits() -> None:
    for line in (
        "Produced by A. Reader",
        "This eBook was produced by A",
        "Transcribed from the 1901 edition by B",
        "E-text prepared by C",
    ):
        assert is_credit(line)
    assert not is_credit("He produced a kettle.")


# --- headings and apparatus ---


def test_headings_go() -> None:
    for heading in [
        "CHAPTER IV",
        "Chapter 4",
        "CHAPTER THE FIRST",
        "BOOK II.",
        "ACT III",
        "SCENE II. A kitchen.",
        "Letter 3",
        "XIV.",
        "12",
        "[7]",
        "CHAPITRE PREMIER",
        "Première partie",
        "Erstes Kapitel",
        "Dritter Aufzug",
        "Hoofdstuk 3",
        "EERSTE BEDRIJF",
        "Capítulo II",
        "第一回 小屋",
        "第十二章",
        "卷上",
        "PREFACE",
        "Inhalt",
        "Avant-propos",
        "THE END",
        "FINIS",
        "IN THE KITCHEN",
    ]:
        assert clean(f"{FIRST}\n\n\n\n{heading}\n\n\n{SECOND}\n") == [ONE, TWO]


@pytest.mark.parametrize(
    "line",
    [
        "Book I sent you has come back.",
        "Part one of the plan had failed.",
        "I went.",
        '"HELP!"',
        "MY DEAR SIR,--",
        "No one came.",
    ],
)
def test_what_only_looks_like_a_heading_stays(line: str) -> None:
    assert clean(f"{FIRST}\n\n{line}\n\n{SECOND}\n") == [ONE, line, TWO]


def test_a_subtitle_goes_with_its_chapter_and_a_title_by_its_place() -> None:
    assert clean(f"{FIRST}\n\n\n\nCHAPTER II.\n\nThe Open Door\n\n{SECOND}\n\n\n\nWhat the boy saw\n\n\n{FIRST}\n") == [
        ONE,
        TWO,
        ONE,
    ]
    assert not is_heading(Block(["Your friend"], 1, 1), "We leave at noon.")


def test_the_contents_go_up_to_where_their_first_entry_comes_again() -> None:
    contents = "CONTENTS\n\n\nI. The Kettle . . . . 1\n\nII. In which the boy comes in, asks for bread, and\n    leaves   7\n\n"
    assert clean(f"{contents}\n\nI. The Kettle\n\n\n{FIRST}\n\n\n\nII. In which\n\n\n{SECOND}\n") == [ONE, TWO]
    assert clean(f"TABLE DES MATIÈRES\n\nPréface   3\n\nLe pain   9\n\n\n\n{FIRST}\n\n{SECOND}\n") == [ONE, TWO]


def test_pictures_page_numbers_and_breaks_go() -> None:
    body = f"{FIRST}\n\n[Illustration: The kettle,\nwith its lid]\n\n       *       *       *\n\n- 12 -\n\n{SECOND}"
    assert clean(body.replace("every", "every[Pg 11]")) == [ONE, TWO]
    assert clean(f"{FIRST}\n\n[Illustration: A map\n\n  (by a friend)]\n\n{SECOND}") == [ONE, TWO]
    assert clean(f"[Illustration: never closed\n\n{FIRST}\n\n{SECOND}") == [ONE, TWO]


def test_notes_of_the_typists_go_up_to_a_wide_gap() -> None:
    notes = "Transcriber's Note:\n\nItalics are marked by underscores, as in other books of this kind.\n\nSpelling is kept."
    assert clean(f"{notes}\n\n\n\n\n{FIRST}\n\n{SECOND}\n") == [ONE, TWO]
    assert clean(f"[Transcriber's note: spelling is kept.]\n\n{FIRST}\n") == [ONE]


def test_tables_lists_and_verse_go() -> None:
    table = "  tea        thee\n  bread      brood\n  kettle     ketel"
    items = "1. Tea\n2. Bread\n3. A kettle"
    verse = "  The kettle sang,\n  The clock struck three,\n  And no one came\n  To sit with me."
    assert clean(f"{FIRST}\n\n{table}\n\n{items}\n\n{verse}\n\n{SECOND}\n") == [ONE, TWO]
    assert is_table(Block(table.split("\n"), 1, 1))
    assert is_list(Block(items.split("\n"), 1, 1))
    assert is_verse(Block(verse.split("\n"), 1, 1), 0)


def test_an_ellipsis_is_no_table() -> None:
    assert clean(f"{FIRST}\n\nShe waited.... He did not come. . . . .\n\nRomeo................ Mr. Nobody.\n\n{SECOND}\n") == [
        ONE,
        "She waited.... He did not come. . . . .",
        TWO,
    ]


def test_a_quotation_set_in_is_prose_and_stays() -> None:
    letter = "    Come at once, and bring the kettle with you if it\n    can be found; the boy is not to be told of it."
    assert clean(f"{FIRST}\n\n{letter}\n\n{SECOND}\n") == [ONE, " ".join(letter.split()), TWO]


def test_a_book_of_verse_keeps_it_stanza_by_stanza() -> None:
    verse = "  The kettle sang,\n  The clock struck three,\n  And no one came\n  To sit with me."
    assert clean(f"{verse}\n\n{verse}\n") == [" ".join(verse.split())] * 2


# --- unwrapping ---


def test_lines_are_joined_and_hyphens_mended_only_where_the_word_is_known() -> None:
    lines = ["The tea-", "pot and the well-", "known cup--", "both two-", "and threefold."]
    words = hyphenated([lines, ["teapot"]])
    assert unwrap(lines, words) == "The teapot and the well-known cup--both two- and threefold."
    assert unwrap(["红楼", "梦"], set()) == "红楼梦"


def test_one_space_stands_between_words() -> None:
    text = "The tea was  hot and\nsweet.  It was   good.\n\nThe kettle,     too, was\u00a0 hot.\n"
    assert clean(text) == ["The tea was hot and sweet. It was good.", "The kettle, too, was hot."]


def test_a_signature_joins_its_close() -> None:
    assert join_signatures(["Come soon.", "Your friend,", "ANNA."]) == ["Come soon.", "Your friend, ANNA."]
    assert join_signatures(["Anna Lowe", "TEA, n."]) == ["Anna Lowe", "TEA, n."]
    assert join_signatures(["My dear Anna,", "Come at once."]) == ["My dear Anna,", "Come at once."]


def test_paragraphs_that_no_blank_line_parts() -> None:
    indented = "".join(f"   The kettle sang {n} times,\nand then it stopped.\n" for n in range(30))
    assert clean(indented)[:2] == [
        "The kettle sang 0 times, and then it stopped.",
        "The kettle sang 1 times, and then it stopped.",
    ]
    long = "\n".join(f"{'The kettle sang and sang. ' * 6}{n}." for n in range(3))
    assert len(clean(long)) == 3
    assert len(clean(f"{long}\n\n“Is there tea?”\n“No,” she said.\n")) == 5, "short lines of such a book are paragraphs too"
    assert len(list(split_unparted([Block(["a", "b"], 0, 0)]))) == 1


@given(
    st.lists(
        st.sampled_from(["", " ", "tea", "  cake,", "well-", "[Illustration]", "CHAPTER I", "* * *", "1. a   b", "\u3000茶"])
    )
)
def test_cleaning_keeps_the_order_and_invents_no_word(lines: list[str]) -> None:
    given_words = iter(re.findall(r"\w", "".join(lines)))
    assert all(letter in given_words for letter in re.findall(r"\w", "".join(clean("\n".join(lines)))))


@given(st.lists(st.sampled_from(["", "a", "  b"])))
def test_blocks_hold_every_line_once(lines: list[str]) -> None:
    found = list(split_blocks(lines))
    assert [line for block in found for line in block.lines] == [line for line in lines if line]


# --- hostile input ---


@pytest.mark.long
def test_the_scorer_agrees() -> None:
    """The truth has all footnotes, with their marks. By default `read_book` keeps long ones, without marks."""
    scorer = SHARED / "tools" / "score_books.py"
    if not scorer.exists():
        pytest.skip("../shared with its ten books is not here")
    command = [sys.executable, str(scorer), "bertdata:read_book"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT)})
    last = done.stdout.splitlines()[-1].split()
    score = dict(zip(last[1::2], map(float, last[2::2]), strict=True))
    assert score["P"] >= 0.997
    assert score["R"] >= 0.985
    assert score["paraF1"] >= 0.92
    assert len(read_book(str(SHARED / "data" / "books" / "84-0.txt"))) > 700
