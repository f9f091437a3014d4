"""Books: licenses of Project Gutenberg and its sisters, the apparatus of printed books, verse, and lines (see books.toml)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.config import read_toml
from bertdata.errors import UsageError
from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources.books import Reading, clean, read_book, read_books
from bertdata.sources.tables import Columns

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
FORMS = read_toml(Path(__file__).with_name("books.toml"))
FIRST = "The kettle began to sing a little after four, as it had done on every\nafternoon since the house was built."
SECOND = '"Is there any bread?" asked the boy, who had come in by the garden door\nwith mud on both his boots.'
THIRD = "No one answered him. The clock in the hall struck the quarter, and a\ncoal fell in the grate."
BODY = f"{FIRST}\n\n{SECOND}\n\n{THIRD}"
ONE, TWO, THREE = (text.replace("\n", " ") for text in (FIRST, SECOND, THIRD))
CHAPTER = f"{BODY}\n\n" * 9
VERSE = "    The kettle sang,\n    The clock struck three,\n    And no one came\n    To sit with me."
STANZA = " ".join(VERSE.split())
START, END = "*** START OF THIS PROJECT GUTENBERG EBOOK X ***", "*** END OF THIS PROJECT GUTENBERG EBOOK X ***"
HEADER = f"Title: The Kettle\n       A Story\n\nLanguage: French\n\n{START}\n\n\n\n\n"


def book(text: str) -> str:
    return f"{HEADER}{text}\n\n\n\n\n{END}\n\nUpdated editions.\n"


def one(tmp_path: Path, data: bytes) -> Prose | Drop | Reject:
    (tmp_path / "file").write_bytes(data)
    part = FileRange("shelf/kettle.txt", str(tmp_path / "file"), 0, len(data))
    (found,) = read_books(part, Columns(), Reading(), 1 << 20)
    return found


def test_a_book_has_the_title_and_language_of_its_header(tmp_path: Path) -> None:
    found = one(tmp_path, book(f"CHAPTER I\n\n\n{BODY}").replace("\n", "\r\n").encode("utf-8-sig"))
    licence = "as each book states"
    titled = Prose("books:shelf/kettle", "books", "fr", "The Kettle A Story", "", [ONE, TWO, THREE], licence=licence)
    assert found == titled
    assert one(tmp_path, BODY.encode()) == titled._replace(language="", title="kettle")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n\r\n\t", "empty"),
        (book("CHAPTER I").encode(), "no prose"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "undecodable"),
        (b"caf\x81 au lait, sans plus de mots", "undecodable"),
        (b"a word " * 200_000, "too-large"),
        (b"word\n" * 30_000, "too-large"),
    ],
)
def test_what_is_no_book_is_a_drop_or_a_reject(tmp_path: Path, data: bytes, reason: str) -> None:
    found = one(tmp_path, data)
    assert isinstance(found, Drop if reason in ("empty", "no prose") else Reject)
    assert (found.id, found.reason) == ("books:shelf/kettle", reason)


def test_a_file_that_is_no_book_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\1\2\3\4" * 99)
    with pytest.raises(UsageError, match=r"a\.txt is undecodable"):
        read_book(tmp_path / "a.txt")


@pytest.mark.parametrize("header", FORMS["headers"])
def test_headers_and_footers_go(header: str) -> None:
    licence = "End of The Project Gutenberg Etext of The Weir\n\n" + "This license of Project Gutenberg has more words. " * 60
    for footer in (*FORMS["footers"], licence):
        assert clean(f"{header}\n\n\nCHAPTER I\n\n\n{BODY}\n\n\n{footer}\n") == [ONE, TWO, THREE], footer


@pytest.mark.parametrize("notice", FORMS["notices"])
def test_a_notice_in_the_middle_does_not_end_a_book(notice: str) -> None:
    for end in ("", END, "End of Project Gutenberg's The Kettle, Volume II"):
        assert clean(f"{START}\n\n\n{CHAPTER}\n\n\n{notice}\n\n\n{CHAPTER}\n\n\n{end}\n") == [ONE, TWO, THREE] * 18


@pytest.mark.parametrize("note", FORMS["transcribers"])
def test_notes_of_transcribers_go(note: str) -> None:
    assert clean(f"{note}\n\n\n\n\n{BODY}\n") == [ONE, TWO, THREE]
    assert clean(f"{START}\n\n\n{BODY}\n\n\n\n\n{note}\n\n\n{END}") == [ONE, TWO, THREE]


@pytest.mark.parametrize("note", ["Dieses E-Book wurde von einem Freund der Mühle getippt.", "This ebook was made by a friend."])
def test_a_note_without_a_heading_ends_at_its_paragraph(note: str) -> None:
    assert clean(f"{note}\n\n{BODY}\n") == [ONE, TWO, THREE]
    assert clean(f"The Kettle\n\n{note}\n\n{BODY}\n")[-3:] == [ONE, TWO, THREE]
    assert clean(f"Transcriber's Note\n\n{note}\n\n{BODY}\n") == [ONE, TWO, THREE]


def test_sections_without_an_end_do_not_lose_the_book() -> None:
    for opening in ("TRANSCRIBER'S NOTES:", "[Illustration: never closed", "[Footnote 1: it never", "FOOTNOTES:", "CONTENTS"):
        for footnotes in ("keep", "drop"):
            kept = clean(f"{FIRST}\n\n{opening}\n\n{CHAPTER}", footnotes=footnotes)
            assert kept[0] == ONE and kept[-24:] == [ONE, TWO, THREE] * 8, opening


@pytest.mark.parametrize("contents", FORMS["contents"])
def test_contents_and_indexes_go(contents: str) -> None:
    kitchen, garden = f"CHAPTER I.\n\nThe Kitchen\n\n\n{BODY}", f"CHAPTER II.\n\nThe Garden\n\n\n{BODY}"
    assert clean(book(f"{contents}\n\n\n\n\n{kitchen}\n\n\n\n\n{garden}")) == [ONE, TWO, THREE] * 2
    assert clean(book(f"{kitchen}\n\n\n\n{contents}")) == [ONE, TWO, THREE]


@pytest.mark.parametrize("heading", [*FORMS["headings"].split("\n")[:-1], "LETTER XII.\n\nMISS LOWE, TO MISS HOWE"])
def test_headings_go(heading: str) -> None:
    assert clean(book(f"CHAPTER 0\n\n\n{FIRST}\n\n\n\n\n{heading}\n\n\n{SECOND}\n\n{THIRD}")) == [ONE, TWO, THREE]


@pytest.mark.parametrize("line", FORMS["not_headings"])
def test_what_only_looks_like_a_heading_stays(line: str) -> None:
    assert clean(f"{FIRST}\n\n{line}\n\n{SECOND}\n") == [ONE, line, TWO]


@pytest.mark.parametrize("first", ["He is out.", "天黑了。", "ANNA. What a fine evening!", "“I go.”", "Who calls"])
def test_a_short_first_paragraph_is_no_heading(first: str) -> None:
    assert clean(book(f"CHAPTER I\n\n“Stay.”\n\n{first}\n\n{FIRST}"))[-2:] == [first, ONE]


GONE = [
    "[Illustration: The kettle,\nwith its lid]",
    "[Illustration: A MAP\n\n_From a drawing_]",
    "       *       *       *",
    "- 12 -",
    "[Page 15]",
    "+------+-------+\n| Tea  |  2 d. |\n| Cake |  3 d. |\n+------+-------+",
    "  tea        thee\n  bread      brood\n  kettle     ketel",
    "1. Tea\n2. Bread\n3. A kettle",
    VERSE,
]


@pytest.mark.parametrize("gone", GONE)
def test_pictures_page_numbers_tables_lists_and_quoted_verse_go(gone: str) -> None:
    numbered = THIRD.replace("struck", "str{15}uck [Pg 12]")
    assert clean(f"{FIRST}\n\n{gone}\n\n{SECOND}\n\n{numbered}") == [ONE, TWO, THREE]


@pytest.mark.parametrize(("note", "mark"), FORMS["footnotes"])
def test_footnotes_are_kept_without_their_marks_or_dropped(note: str, mark: str) -> None:
    text = BODY.replace("house", f"house{mark}", 1)
    said = "This was said of another miller by those who lived at the quay."
    chapter = f"{text}\n\n{note.replace('SAID', said)}\n\n\n\nCHAPTER II\n\n\n{CHAPTER}"
    assert clean(chapter, footnotes="drop") == [ONE, TWO, THREE] * 10
    kept = clean(chapter)
    assert kept[:3] == [ONE, TWO, THREE] and kept[-27:] == [ONE, TWO, THREE] * 9
    assert {part.replace(said, "").replace("[He was not.]", "").strip() for part in kept[3:-27]} == {""}


def test_brackets_and_words_of_markers_that_are_only_text_stay() -> None:
    text = "He said [1] was the first, and [he paused] then went. It is [sic] so.\n\n[He leaves the lamp, and she looks away.]"
    assert clean(text) == text.split("\n\n")
    said = "She had read the end of Project Gutenberg's list, and the start of another."
    assert clean(book(f"{FIRST}\n\n{said}\n\n{SECOND}")) == [ONE, said, TWO]


def test_verse_in_prose_is_kept_or_dropped() -> None:
    text = book(f"CHAPTER I\n\n\n{FIRST}\n\n{VERSE}\n\n              --_Old Song._\n\n{SECOND}\n\n{THIRD}")
    assert clean(text) == clean(text, "drop") == [ONE, TWO, THREE]
    assert clean(text, "keep") == [ONE, STANZA, "--Old Song.", TWO, THREE]


def test_a_poem_of_its_own_is_kept_unless_all_verse_goes() -> None:
    text = book(f"CHAPTER I\n\n\n{BODY}\n\n\n\n\nTHE SONG OF THE KETTLE\n\n\n{VERSE}\n\n{VERSE}\n\n\n\n\nCHAPTER II\n\n\n{BODY}")
    assert clean(text) == clean(text, "keep") == [ONE, TWO, THREE, STANZA, STANZA, ONE, TWO, THREE]
    assert clean(text, "drop") == [ONE, TWO, THREE] * 2


def test_a_play_keeps_the_names_above_its_speeches() -> None:
    speech = "  I have no bread to give thee, child,\n  The cat has had it all."
    play = "\n\n\n".join(f"_{name}_\n\n{speech}" for name in ("Witch", "King", "Witch", "King"))
    text = book(f"ACT I.\n\nSCENE I. _A kitchen._\n\n\n{play}")
    spoken = [line.strip() for line in speech.split("\n")]
    assert clean(text) == ["Witch", *spoken, "King", *spoken] * 2
    assert clean(text, "drop") == []
    assert "Witch" not in clean(text.replace("ACT I.", "").replace("SCENE I. _A kitchen._", "")), "no play, no speakers"


@pytest.mark.parametrize("quoted", FORMS["set_in"])
def test_prose_that_is_set_in_stays(quoted: str) -> None:
    assert clean(f"{FIRST}\n\n{quoted}\n\n{SECOND}\n") == [ONE, " ".join(quoted.split()), TWO]


@pytest.mark.parametrize(("lines", "joined"), FORMS["lines"])
def test_lines_are_joined_and_marks_go(lines: str, joined: str) -> None:
    assert clean(f"{FIRST}\n\nHe said {lines}.\n") == [ONE, f"He said {joined}."]


def test_a_letter_keeps_its_place_and_signature() -> None:
    letter = "  Nowhere, May, 1865.\n\n    DEAR ANNA,--We leave at noon, and hope to be with you before the\n    kettle boils."
    closed = f"{letter}\n\n{' ' * 35}Your friend,\n{' ' * 44}J. LOWE."
    text = "DEAR ANNA,--We leave at noon, and hope to be with you before the kettle boils."
    read = clean(book(f"CHAPTER I\n\n\n{FIRST}\n\n{closed}\n\n{SECOND}"))
    assert read == [ONE, "Nowhere, May, 1865.", text, "Your friend, J. LOWE.", TWO]


def test_dashes_have_spaces_in_languages_that_write_them_so() -> None:
    text = book(f"CHAPTER I\n\n\n{FIRST}\n\nEr ging--endlich--fort.\n")
    assert clean(text)[-1] == "Er ging--endlich--fort."
    assert clean(text.replace("French", "German"))[-1] == "Er ging -- endlich -- fort."


def test_paragraphs_that_no_blank_line_parts() -> None:
    indented = "".join(f"   The kettle sang {n} times,\nand then it stopped.\n" for n in range(30))
    assert clean(indented)[1] == "The kettle sang 1 times, and then it stopped."
    long = "\n".join(f"{'The kettle sang and sang. ' * 6}{n}." for n in range(3))
    assert len(clean(f"{long}\n\n“Is there tea?”\n“No,” she said.\n")) == 5, "short lines of such a book are paragraphs too"


LINES = ["", " ", "tea", "  cake,", "well-", "[Illustration]", "CHAPTER I", "* * *", "1. a   b", "[1] c", "[1]"]


@given(st.lists(st.sampled_from(LINES)))
def test_cleaning_keeps_the_order_and_invents_no_word(lines: list[str]) -> None:
    for footnotes in ("keep", "drop"):
        given_words = iter(re.findall(r"\w", "".join(lines)))
        assert all(letter in given_words for letter in re.findall(r"\w", "".join(clean("\n".join(lines), footnotes=footnotes))))


@pytest.mark.nightly
def test_the_scorer_agrees() -> None:
    """The truth has all footnotes, with their marks. `read_book` keeps them, without marks."""
    scorer = SHARED / "tools" / "score_books.py"
    if not scorer.exists():
        pytest.skip("../shared with its ten books is not here")
    command = [sys.executable, str(scorer), "bertdata:read_book"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT)})
    last = done.stdout.splitlines()[-1].split()
    score = dict(zip(last[1::2], map(float, last[2::2]), strict=True))
    assert score["wordF1"] >= 0.9955 and score["R"] >= 0.994 and score["paraF1"] >= 0.91
