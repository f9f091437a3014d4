"""Books: what Project Gutenberg and its sisters put around them, the apparatus of printed books, verse, and lines."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.errors import UsageError
from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources.books import Reading, clean, read_book, read_books
from bertdata.sources.tables import Columns

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
FIRST = "The kettle began to sing a little after four, as it had done on every\nafternoon since the house was built."
SECOND = '"Is there any bread?" asked the boy, who had come in by the garden door\nwith mud on both his boots.'
THIRD = "No one answered him. The clock in the hall struck the quarter, and a\ncoal fell in the grate."
BODY = f"{FIRST}\n\n{SECOND}\n\n{THIRD}"
ONE, TWO, THREE = (text.replace("\n", " ") for text in (FIRST, SECOND, THIRD))
CHAPTER = f"{BODY}\n\n" * 9
VERSE = "    The kettle sang,\n    The clock struck three,\n    And no one came\n    To sit with me."
STANZA = " ".join(VERSE.split())
START, END = "*** START OF THIS PROJECT GUTENBERG EBOOK X ***", "*** END OF THIS PROJECT GUTENBERG EBOOK X ***"


def book(text: str) -> str:
    return (
        f"Title: The Kettle\n       A Story\n\nLanguage: French\n\n{START}\n\n\n\n\n{text}\n\n\n\n\n{END}\n\nUpdated editions.\n"
    )


def one(tmp_path: Path, data: bytes, name: str = "shelf/kettle.txt", max_bytes: int = 1 << 20) -> Prose | Drop | Reject:
    (tmp_path / "file").write_bytes(data)
    part = FileRange(name, str(tmp_path / "file"), 0, len(data))
    (found,) = read_books(part, Columns(), Reading(), max_bytes)
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
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
        (b"\x01\x02\x03\x04\x05" * 100, "binary"),
        (b"caf\x81 au lait, sans plus de mots", "undecodable"),
        (b"\xff\xfeT\x00\x00\xd8", "undecodable"),
        (b"a word " * 200_000, "too-large"),
        (b"word\n" * 30_000, "too-large"),
    ],
)
def test_what_is_no_book_is_a_drop_or_a_reject(tmp_path: Path, data: bytes, reason: str) -> None:
    found = one(tmp_path, data)
    assert isinstance(found, Drop if reason in ("empty", "no prose") else Reject)
    assert (found.id, found.reason) == ("books:shelf/kettle", reason)


# --- licenses ---

AUSTRALIA = """
Project Gutenberg Australia

Title: The Weir
Author: A. Miller
* A Project Gutenberg of Australia eBook *
eBook No.: 0100021.txt
Language:  English

Project Gutenberg of Australia eBooks are created from printed editions which
are in the public domain in Australia.

To contact Project Gutenberg of Australia go to http://gutenberg.net.au

-----------------------------------------------------------
"""
CANADA = """
* A Project Gutenberg Canada Ebook *

This ebook is made available at no cost and with very few restrictions.

Title: The Weir
Author: A. Miller
Date of first publication: 1926
Place and date of edition used as base for this ebook:
   Nowhere: The Press, 1926
Date first posted: 3 March 2014
Project Gutenberg Canada ebook #1165

This ebook was produced by: A. Reader
"""
FADED_PAGE = """
* A Distributed Proofreaders Canada eBook *

This eBook is made available at no cost and with very few restrictions.

This work is in the Canadian public domain, but may be under copyright in some
countries.

Title: The Weir

Date of first publication: 1926

Author: A. Miller

Faded Page eBook #20140312

This eBook was produced by: A. Reader & the online Distributed Proofreaders
Canada team at https://www.pgdpcanada.net
"""
HEADERS = [
    START,
    "***START OF THE PROJECT GUTENBERG EBOOK THE KETTLE***",
    "*** START OF THE PROJECT GUTENBERG EBOOK THE KETTLE, OR, A LONG AFTERNOON\nIN THE KITCHEN ***",
    "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n\n\nThis etext was prepared by A. Reader.",
    "***END OF THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS***",
    *(AUSTRALIA, CANADA, FADED_PAGE),
]
FOOTERS = [
    END,
    f"End of Project Gutenberg's The Kettle, by Nobody\n\n{END}\n\nUpdated editions will replace this one.",
    "End of the Project Gutenberg EBook of The Kettle",
    "This is the end of the Project Gutenberg Etext of The Kettle",
    "Ende dieses Projekt Gutenberg Etextes",
    "End of this Etext of The Weir by A. Miller\n\n*** END: FULL LICENSE ***\n\nOlder copies are renamed.",
    "End of The Project Gutenberg Etext of The Weir\n\n" + "This license of Project Gutenberg has more words. " * 60,
    "[End of _The Weir_ by A. Miller]",
    "[The end of _The Weir_, by\nA. Miller]",
    "\n\nThis site is full of FREE ebooks - Project Gutenberg Australia",
]


@pytest.mark.parametrize("header", HEADERS)
def test_headers_and_footers_go(header: str) -> None:
    for footer in FOOTERS:
        assert clean(f"{header}\n\n\nCHAPTER I\n\n\n{BODY}\n\n\n{footer}\n") == [ONE, TWO, THREE], footer


INNER = [
    "End of Project Gutenberg's The Kettle, Volume I",
    f"{END}\n\nThis license of Project Gutenberg has more words.\n\n{START}",
    "<<THIS ELECTRONIC VERSION OF THE KETTLE IS COPYRIGHT 1990 AND PROVIDED BY PROJECT GUTENBERG\nETEXT WITH PERMISSION.>>",
    "The Project Gutenberg Etext of The Kettle, Volume II",
    "This etext was first published by Project Gutenberg in 1994.",
]


@pytest.mark.parametrize("notice", INNER)
def test_a_notice_in_the_middle_does_not_end_a_book(notice: str) -> None:
    for end in ("", END, "End of Project Gutenberg's The Kettle, Volume II"):
        assert clean(f"{START}\n\n\n{CHAPTER}\n\n\n{notice}\n\n\n{CHAPTER}\n\n\n{end}\n") == [ONE, TWO, THREE] * 18


def test_words_of_the_markers_inside_a_book_do_no_harm() -> None:
    said = "She had read the end of Project Gutenberg's list, and the start of another."
    assert clean(book(f"{FIRST}\n\n{said}\n\n{SECOND}")) == [ONE, said, TWO]


# --- notes of transcribers ---

NOTES = [
    "[Transcriber's Note: Spelling is kept.]",
    "[Nota del Transcriptor: Las irregularidades en acentuación y ortografía\nencontradas en este libro se han conservado.]",
    "[Note du transcripteur: L'orthographe a été conservée.]",
    "[Note sur la transcription: les erreurs ont été corrigées.\n\nEt les autres aussi.]",
    "[Anmerkungen zur Transkription: Die Schreibweise wurde beibehalten.]",
    "[Hinweise zur Transkription:\n\nKursiv ist _so_ gesetzt.]",
    "[Nota del trascrittore: L'ortografia originale è stata mantenuta.]",
    "[Note del Trascrittore\n\nSono stati corretti gli errori.]",
    "[Opmerkingen van de bewerker: De spelling is behouden.]",
    "[Noot van de transcribent: De spelling is behouden.]",
    "[Nota do transcritor: A ortografia foi mantida.]",
    "[Notas de transcrição: A ortografia foi mantida.]",
    "Transcriber's Note:\n\nItalics are marked by underscores.\n\nSpelling is kept.",
    "Anmerkungen zur Transkription:\n\nDie Schreibweise wurde beibehalten.",
    "Nota del transcriptor\n\nSe ha conservado la ortografía.",
    "Transcriber's Note: Spelling is kept.",
    "[Transcription note: Spelling is kept.]",
    "[Transkriptionshinweise: Die Schreibweise wurde beibehalten.]",
    "Dieses E-Book folgt der Ausgabe von 1869.",
]


@pytest.mark.parametrize("note", NOTES)
def test_notes_of_transcribers_go(note: str) -> None:
    assert clean(f"{note}\n\n\n\n\n{BODY}\n") == [ONE, TWO, THREE]
    assert clean(f"{START}\n\n\n{BODY}\n\n\n\n\n{note}\n\n\n{END}") == [ONE, TWO, THREE]


@pytest.mark.parametrize(
    "note",
    [
        "Dieses E-Book wurde von einem Freund der Mühle getippt.",
        "This ebook was made by a friend.",
        "This e-text was made from a copy.",
    ],
)
def test_a_note_without_a_heading_ends_at_its_paragraph(note: str) -> None:
    assert clean(f"{note}\n\n{BODY}\n") == [ONE, TWO, THREE]
    assert clean(f"The Kettle\n\n{note}\n\n{BODY}\n")[-3:] == [ONE, TWO, THREE]
    assert clean(f"Transcriber's Note\n\n{note}\n\n{BODY}\n") == [ONE, TWO, THREE]


def test_sections_without_an_end_do_not_lose_the_book() -> None:
    for opening in ("TRANSCRIBER'S NOTES:", "[Illustration: never closed", "[Footnote 1: it never", "FOOTNOTES:", "CONTENTS"):
        for footnotes in ("keep", "drop"):
            kept = clean(f"{FIRST}\n\n{opening}\n\n{CHAPTER}", footnotes=footnotes)
            assert kept[0] == ONE and kept[-24:] == [ONE, TWO, THREE] * 8, opening


# --- apparatus ---

CONTENTS = [
    "CONTENTS\n\n  CHAPTER                       PAGE\n\n     I. THE KITCHEN                1\n\n    II. THE GARDEN      14",
    "CONTENTS\n\nCHAPTER I. The Kitchen\nCHAPTER II. The Garden",
    "Contents\n\n CHAPTER I.\n CHAPTER II.",
    "CONTENTS\n\n\nCHAPTER I\n\nThe kitchen--The kettle and its lid--How the boy came in--A talk\nabout bread--Night",
    "LIST OF ILLUSTRATIONS\n\nThe clock                _Frontispiece_\n\nThe bread               12",
    "Inhalt.\n\n  I. Die Küche ........ 1\n  II. Der Garten ...... 9",
    "TABLE DES MATIÈRES\n\nPréface   3\n\nLe pain   9",
]
INDEXES = [
    "INDEX\n\n\nBanjo, 12\n\nBarge, 52\n\nBoat, 92",
    "INDEX\n\nA\n\nBanjo, 12\nBarge, 52\n\nB\n\nBuoy, 90\nCanal, 92",
    "INDEX OF NAMES\n\nAdams Chapel, [270]\n\nAllen, John, [33], [35]",
    "Sachregister.\n\nBoot 12, 14.\n\nFähre 22 f.\n\nKahn s. Boot",
    "TABLE ALPHABÉTIQUE\n\nBateau, 12, 14.\n\nCanal, 22.\n\nPont, voir Canal.",
    "INDEX\n\n" + "\n\n".join(f"Entry {number} of tea, {number}, {number + 7}" for number in range(1, 400)),
]


@pytest.mark.parametrize("contents", [*CONTENTS, *INDEXES])
def test_contents_and_indexes_go(contents: str) -> None:
    kitchen, garden = f"CHAPTER I.\n\nThe Kitchen\n\n\n{BODY}", f"CHAPTER II.\n\nThe Garden\n\n\n{BODY}"
    assert clean(book(f"{contents}\n\n\n\n\n{kitchen}\n\n\n\n\n{garden}")) == [ONE, TWO, THREE] * 2
    assert clean(book(f"{kitchen}\n\n\n\n{contents}")) == [ONE, TWO, THREE]


HEADINGS = (
    """
CHAPTER IV;Chapter 4;CHAPTER THE FIRST.;Chapter 1. The Kitchen;CHAPTER XXVIII.--OF KETTLES;I.--THE KITCHEN;§ 1;_Chapter One_
=CHAPTER I=;PART ONE: THE KITCHEN;STAVE ONE;CHAP. IV.;BOOK II.;ACT III;SCENE II. A kitchen.;Letter 3;XIV.;12;[7];CHAPITRE PREMIER
Première partie
Livre deuxième;1. Kapitel;Zweiter Teil.;Erstes Kapitel;Dritter Aufzug;EERSTE HOOFDSTUK.;CAPÍTULO PRIMERO;Capítulo II;Parte prima
Första kapitlet;Ensimmäinen luku;第一回 小屋;第十二章;卷上;PREFACE;Avant-propos;THE END;FINIS;IN THE KITCHEN
(_To be continued._)
[Music]
""".replace("\n", ";")
    .strip(";")
    .split(";")
)


@pytest.mark.parametrize(
    "heading", [*HEADINGS, "LETTER XII.\n\nMISS LOWE, TO MISS HOWE", "[Illustration: A MAP\n\n_From a drawing_]"]
)
def test_headings_go(heading: str) -> None:
    assert clean(book(f"CHAPTER 0\n\n\n{FIRST}\n\n\n\n\n{heading}\n\n\n{SECOND}\n\n{THIRD}")) == [ONE, TWO, THREE]


STAY = [
    "Book I sent you has come back.",
    "Part one of the plan had failed.",
    "I went.",
    '"HELP!"',
    "MY DEAR SIR,--",
    "No one came.",
]


@pytest.mark.parametrize("line", STAY)
def test_what_only_looks_like_a_heading_stays(line: str) -> None:
    assert clean(f"{FIRST}\n\n{line}\n\n{SECOND}\n") == [ONE, line, TWO]


@pytest.mark.parametrize("first", ["He is out.", "天黑了。", "ANNA. What a fine evening!", "“I go.”", "Who calls"])
def test_a_short_first_paragraph_is_no_heading(first: str) -> None:
    assert clean(book(f"CHAPTER I\n\n“Stay.”\n\n{first}\n\n{FIRST}"))[-2:] == [first, ONE]


@pytest.mark.parametrize(
    "gone",
    [
        "[Illustration: The kettle,\nwith its lid]",
        "       *       *       *",
        "- 12 -",
        "{13}",
        "[Page 15]",
        "+------+-------+\n| Tea  |  2 d. |\n| Cake |  3 d. |\n+------+-------+",
        "  tea        thee\n  bread      brood\n  kettle     ketel",
        "1. Tea\n2. Bread\n3. A kettle",
        VERSE,
    ],
)
def test_pictures_page_numbers_tables_lists_and_quoted_verse_go(gone: str) -> None:
    assert clean(f"{FIRST}\n\n{gone}\n\n{SECOND}\n\n{THIRD}") == [ONE, TWO, THREE]


def test_page_numbers_go_with_the_space_before_them() -> None:
    numbered = BODY.replace("every", "every [Pg 12]").replace("garden", "gar[Pg 14]den").replace("struck", "struck {15}")
    assert clean(numbered) == [ONE, TWO, THREE]


@pytest.mark.parametrize(
    "page",
    ["THE LAMP\n\n(A Tale of the Harbour)\n\nBy A. Miller\n\nComplete", 'THE LAMP,\n\nBY\n\nA. MILLER,\n\n"Two Dogs," etc.'],
)
def test_a_title_page_goes(page: str) -> None:
    for following in ("CHAPTER I\n\n\n", ""):
        assert clean(book(f"{page}\n\n\n\n\n{following}{BODY}\n")) == [ONE, TWO, THREE]


# --- footnotes ---

NOTE = "This was said of another miller by those who lived at the quay."
FOOTNOTES = [  # a note, and the mark in the text that leads to it
    (f"[Footnote 1: {NOTE}]", "[1]"),
    (f"[Footnote A: {NOTE}\n\n{NOTE}]", "[A]"),
    (f"[Footnote 1: {NOTE} [He was not.] {NOTE}]", "[1]"),
    (f"    [1] {NOTE}\n\n    {NOTE}", "[1]"),
    (f"[1] {NOTE}", "[1]"),
    (f"[*] {NOTE}", "[*]"),
    (f"[Voetnoot 1: {NOTE}]", "[1]"),
    (f"[Fußnote 1: {NOTE}]", "[1]"),
    (f"[Note de bas de page 1: {NOTE}]", "[1]"),
    (f"FOOTNOTES:\n\n[1] {NOTE}\n\n{NOTE}", "[1]"),
]


@pytest.mark.parametrize(("note", "mark"), FOOTNOTES)
def test_footnotes_are_kept_without_their_marks_or_dropped(note: str, mark: str) -> None:
    text = BODY.replace("house", f"house{mark}", 1)
    chapter = f"{text}\n\n{note}\n\n\n\nCHAPTER II\n\n\n{CHAPTER}"
    assert clean(chapter, footnotes="drop") == [ONE, TWO, THREE] * 10
    kept = clean(chapter)
    assert kept[:3] == [ONE, TWO, THREE] and kept[-27:] == [ONE, TWO, THREE] * 9
    notes = kept[3:-27]
    assert [part.replace(NOTE, "").replace("[He was not.]", "").strip() for part in notes] == [""] * len(notes) and notes


def test_brackets_that_are_no_notes_stay() -> None:
    text = "He said [1] was the first, and [he paused] then went. It is [sic] so.\n\n[He leaves the lamp, and she looks away.]"
    assert clean(text) == text.split("\n\n")


# --- verse and drama ---


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
    spoken = ["I have no bread to give thee, child,", "The cat has had it all."]
    text = book(f"ACT I.\n\nSCENE I. _A kitchen._\n\n\n{play}")
    assert clean(text) == ["Witch", *spoken, "King", *spoken] * 2
    assert clean(text, "drop") == []
    assert "Witch" not in clean(text.replace("ACT I.", "").replace("SCENE I. _A kitchen._", "")), "no play, no speakers"


SET_IN = [
    "    Come at once, and bring the kettle with you if it\n    can be found; the boy is not to be told of it.",
    "    The Judge will speak and the earth shall tremble\n    with awe. The stars shall be destroyed and the glory\n"
    "    of the moon shall die, the mountains shall be crushed\n    and the world with all in it shall utterly perish.",
    "    we had been at anchor off the point since noon, and\n    the wind was\n    from the north with a swell; the mate\n"
    "    said it would\n"
    "    turn before the morning, and it did.",
]


@pytest.mark.parametrize("quoted", SET_IN)
def test_prose_that_is_set_in_stays(quoted: str) -> None:
    assert clean(f"{FIRST}\n\n{quoted}\n\n{SECOND}\n") == [ONE, " ".join(quoted.split()), TWO]


# --- lines ---

LINES = [  # of a paragraph "He said ….", and its text
    ("the Anglo-\nSaxon kettle", "the Anglo-Saxon kettle"),
    ("from 1845-\n1901", "from 1845-1901"),
    ("to-\nday, and tomorrow", "to-day, and tomorrow"),
    ("a tea-\npot; the teapot", "a tea-pot; the teapot"),
    ("Feld-\nund Wiesenblumen", "Feld- und Wiesenblumen"),
    ("a well-known cup--\nand both two-\nand threefold", "a well-known cup--and both two- and threefold"),
    ("红楼\n梦", "红楼梦"),
    ("a _very_ old =kettle=", "a very old kettle"),
    ("a _very\nold_ +kettle+", "a very old kettle"),
    ("Mr. ____ of ____, and x_1 = y = 2", "Mr. ____ of ____, and x_1 = y = 2"),
    ("Lamp &amp; Sons; AT&T; &c. &unknown;", "Lamp & Sons; AT&T; &c. &unknown;"),
    ("  two   spaces\u00a0 here", "two spaces here"),
]


@pytest.mark.parametrize(("lines", "joined"), LINES)
def test_lines_are_joined_and_marks_go(lines: str, joined: str) -> None:
    assert clean(f"{FIRST}\n\nHe said {lines}.\n") == [ONE, f"He said {joined}."]


def test_a_letter_keeps_its_place_and_signature() -> None:
    letter = "  Nowhere, May, 1865.\n\n    DEAR ANNA,--We leave at noon, and hope to be with you before the\n    kettle boils."
    closed = f"{letter}\n\n{' ' * 35}Your friend,\n{' ' * 44}J. LOWE."
    text = "DEAR ANNA,--We leave at noon, and hope to be with you before the kettle boils."
    read = clean(book(f"CHAPTER I\n\n\n{FIRST}\n\n{closed}\n\n{SECOND}"))
    assert read == [ONE, "Nowhere, May, 1865.", text, "Your friend, J. LOWE.", TWO]


def test_paragraphs_that_no_blank_line_parts() -> None:
    indented = "".join(f"   The kettle sang {n} times,\nand then it stopped.\n" for n in range(30))
    assert clean(indented)[1] == "The kettle sang 1 times, and then it stopped."
    long = "\n".join(f"{'The kettle sang and sang. ' * 6}{n}." for n in range(3))
    assert len(clean(f"{long}\n\n“Is there tea?”\n“No,” she said.\n")) == 5, "short lines of such a book are paragraphs too"


@given(
    st.lists(
        st.sampled_from(["", " ", "tea", "  cake,", "well-", "[Illustration]", "CHAPTER I", "* * *", "1. a   b", "[1] c", "[1]"])
    )
)
def test_cleaning_keeps_the_order_and_invents_no_word(lines: list[str]) -> None:
    given_words = iter(re.findall(r"\w", "".join(lines)))
    for footnotes in ("keep", "drop"):
        given_words = iter(re.findall(r"\w", "".join(lines)))
        assert all(letter in given_words for letter in re.findall(r"\w", "".join(clean("\n".join(lines), footnotes=footnotes))))


def test_a_file_that_is_no_book_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\1\2\3\4" * 99)
    with pytest.raises(UsageError, match=r"a\.txt is binary"):
        read_book(tmp_path / "a.txt")


@pytest.mark.slow
def test_the_scorer_agrees() -> None:
    """The truth has all footnotes, with their marks. `read_book` keeps them, without marks."""
    scorer = SHARED / "tools" / "score_books.py"
    if not scorer.exists():
        pytest.skip("../shared with its ten books is not here")
    command = [sys.executable, str(scorer), "bertdata:read_book"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT)})
    last = done.stdout.splitlines()[-1].split()
    score = dict(zip(last[1::2], map(float, last[2::2]), strict=True))
    assert score["wordF1"] >= 0.9955
    assert score["R"] >= 0.994
    assert score["paraF1"] >= 0.91
