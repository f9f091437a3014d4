"""The forms that books of thirty years and many languages take: what stands around the text goes, the text stays."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from conftest import Build, read_rows

from bertdata.config import CorpusConfig
from bertdata.errors import UsageError
from bertdata.sources.books import clean

FIRST = "The kettle began to sing a little after four, as it had done on every\nafternoon since the house was built."
SECOND = '"Is there any bread?" asked the boy, who had come in by the garden door\nwith mud on both his boots.'
THIRD = "No one answered him. The clock in the passage struck the half hour, and\nthe cat went out."
ONE, TWO, THREE = (text.replace("\n", " ") for text in (FIRST, SECOND, THIRD))
BODY = f"{FIRST}\n\n{SECOND}\n\n{THIRD}"
VERSE = "    The kettle sang,\n    The clock struck three,\n    And no one came\n    To sit with me."
STANZA = " ".join(VERSE.split())


def book(text: str) -> str:
    start = "*** START OF THIS PROJECT GUTENBERG EBOOK THE KETTLE ***"
    return f"Title: The Kettle\n\n{start}\n\n\n\n\n{text}\n\n\n\n\nEnd of Project Gutenberg's The Kettle, by Nobody\n"


CONTENTS = {
    "pages": """
        CONTENTS

          CHAPTER                       PAGE

             I. THE KITCHEN                1

            II. THE GARDEN, AND WHAT WAS
                  IN IT                   14""",
    "lines": """
        CONTENTS

        CHAPTER I. The Kitchen
        CHAPTER II. The Garden""",
    "modern": """
        Contents

         CHAPTER I.
         CHAPTER II.""",
    "summaries": """
        CONTENTS


        CHAPTER I

        The kitchen--The kettle and its lid--How the boy came in--A talk
        about bread--Night

        CHAPTER II

        The garden--A feather--The boots--Rain""",
    "pictures": """
        LIST OF ILLUSTRATIONS

        The clock                       _Frontispiece_

        "Is there any bread?"                       12""",
    "dots": """
        Inhalt.

          I. Die Küche ........ 1
          II. Der Garten ...... 9""",
}


@pytest.mark.parametrize("contents", CONTENTS.values(), ids=CONTENTS)
def test_contents_go(contents: str) -> None:
    kitchen = f"CHAPTER I.\n\nThe Kitchen\n\n\n{FIRST}\n\n{SECOND}"
    garden = f"CHAPTER II.\n\nThe Garden\n\n\n{THIRD}"
    assert clean(book(f"{dedent(contents)}\n\n\n\n\n{kitchen}\n\n\n\n\n{garden}")) == [ONE, TWO, THREE]


def test_headings_of_many_languages_go() -> None:
    for heading in [
        "CHAPTER THE FIRST.",
        "Chapter 1. The Kitchen",
        "CHAPTER XXVIII.--OF KETTLES",
        "I.--THE KITCHEN",
        "§ 1",
        "_Chapter One_",
        "=CHAPTER I=",
        "PART ONE: THE KITCHEN",
        "STAVE ONE",
        "CHAP. IV.",
        "C H A P T E R   I",
        "LETTER XII.\n\nMISS LOWE, TO MISS HOWE",
        "CHAPITRE XIV\n\nOù l'on voit une bouilloire.",
        "Livre deuxième",
        "1. Kapitel",
        "Zweiter Teil.",
        "EERSTE HOOFDSTUK.",
        "HOOFDSTUK I.\n\nDe keuken.",
        "CAPITOLO I.\n\nLa cucina.",
        "CAPÍTULO PRIMERO",
        "Parte prima",
        "Första kapitlet",
        "Ensimmäinen luku",
        "Глава первая",
        "L'ENVOI",
        "(_To be continued._)",
        "[Music]",
        "[Illustration: A MAP\n\n_From a drawing_]",
    ]:
        assert clean(book(f"CHAPTER 0\n\n\n{FIRST}\n\n\n\n\n{heading}\n\n\n{SECOND}\n\n{THIRD}")) == [ONE, TWO, THREE]


@pytest.mark.parametrize("first", ["He is out.", "I had gone.", "天黑了。", "ANNA. What a fine evening!"])
def test_a_short_first_paragraph_is_no_heading(first: str) -> None:
    assert clean(book(f"CHAPTER I\n\n{first}\n\n{FIRST}")) == [first, ONE]


def test_old_headers_and_credits_go() -> None:
    small = "*END THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*"
    etext = "This etext was prepared by A. Reader.\n\nCopyright, 1901, by\nTHE NOWHERE COMPANY\n\nPublished September, 1901"
    head = f"The Project Gutenberg Etext of The Kettle\n\n{small}\n\n\n\n{etext}\n\n\n\n\nTHE KETTLE\n\n\n\n"
    assert clean(f"{head}{BODY}\n\n\nEnd of the Project Gutenberg Etext") == [ONE, TWO, THREE]


def test_page_numbers_go_with_the_space_before_them() -> None:
    numbered = BODY.replace("every", "every [Pg 12]").replace("garden", "gar[Pg 14]den").replace("struck", "struck {15}")
    assert clean(book(f"CHAPTER I\n\n{numbered}\n\n{{13}}\n\n[Page 15]")) == [ONE, TWO, THREE]


def test_boxes_go() -> None:
    table = "+------+-------+\n| Tea  |  2 d. |\n| Cake |  3 d. |\n+------+-------+"
    rule, empty = "+---------------------+", "|                     |"
    note = f"{rule}\n| Transcriber's Note: |\n{empty}\n| Spelling is kept.   |\n{rule}"
    assert clean(book(f"{note}\n\n\n\n\nCHAPTER I\n\n{FIRST}\n\n{table}\n\n{SECOND}\n\n{THIRD}")) == [ONE, TWO, THREE]


def test_a_letter_keeps_its_place_and_signature() -> None:
    letter = "  Nowhere, May, 1865.\n\n    DEAR ANNA,--We leave at noon, and hope to be with you before the\n    kettle boils."
    closed = f"{letter}\n\n{' ' * 35}Your friend,\n{' ' * 44}J. LOWE."
    told = "DEAR ANNA,--We leave at noon, and hope to be with you before the kettle boils."
    assert clean(book(f"CHAPTER I\n\n\n{FIRST}\n\n{closed}\n\n{SECOND}")) == [
        ONE, "Nowhere, May, 1865.", told, "Your friend, J. LOWE.", TWO,
    ]  # fmt: skip


# --- verse and drama ---


def test_verse_in_prose_is_kept_or_dropped() -> None:
    text = book(f"CHAPTER I\n\n\n{FIRST}\n\n{VERSE}\n\n              --_Old Song._\n\n{SECOND}\n\n{THIRD}")
    assert clean(text) == clean(text, "auto") == clean(text, "drop") == [ONE, TWO, THREE]
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


# --- lines and marks ---


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        ("the Anglo-\nSaxon kettle", "the Anglo-Saxon kettle"),
        ("Madame de Sainte-\nBeuve", "Madame de Sainte-Beuve"),
        ("from 1845-\n1901", "from 1845-1901"),
        ("to-\nday, and tomorrow", "to-day, and tomorrow"),
        ("a tea-\npot; the teapot", "a teapot; the teapot"),
        ("a tea-\npot; the tea-pot and a teapot", "a tea-pot; the tea-pot and a teapot"),
        ("y a-t-\nelle", "y a-t-elle"),
        ("Haus-\ntür und Haustür", "Haustür und Haustür"),
        ("Feld-\nund Wiesenblumen", "Feld- und Wiesenblumen"),
        ("two-\nand threefold", "two- and threefold"),
    ],
)
def test_hyphens_at_line_ends(lines: str, joined: str) -> None:
    assert clean(f"{FIRST}\n\nHe said {lines}.\n") == [ONE, f"He said {joined}."]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("a _very_ old =kettle=", "a very old kettle"),
        ("a _very\nold_ +kettle+", "a very old kettle"),
        ("~sperrt~ and #fat#", "sperrt and fat"),
        ("Mr. ____ of ____, and x_1 = y = 2", "Mr. ____ of ____, and x_1 = y = 2"),
        ("1 + 2 + 3", "1 + 2 + 3"),
    ],
)
def test_marks_of_italics_and_bold_go(marked: str, plain: str) -> None:
    assert clean(f"{FIRST}\n\nHe wrote {marked}.\n") == [ONE, f"He wrote {plain}."]


def test_the_options_reach_the_books(build: Build, tmp_path: Path) -> None:
    text = book(f"CHAPTER I\n\n\n{FIRST}\n\n{VERSE}\n\n{SECOND}\n\n{THIRD}\n\nΤο παλιό σπίτι στεκόταν εκεί.")
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "kettle.txt").write_bytes(text.encode("iso8859-7"))
    for verse, stanzas in (("auto", 0), ("keep", 1), ("drop", 0)):
        options = ("--books", tmp_path / "books", "--verse", verse, "--encoding", "iso8859-7")
        (row,) = read_rows(build("build-corpus", tmp_path / verse, *options))
        assert len(row["paragraph_starts"]) == 4 + stanzas
        assert row["sentences"][-1] == "Το παλιό σπίτι στεκόταν εκεί."
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "kettle.txt").write_text(f"{FIRST}\n\n[Footnote 1: It was iron.]\n\n{SECOND}\n")
    for footnotes, more in (("keep", 1), ("drop", 0)):
        options = ("--books", tmp_path / "notes", "--footnotes", footnotes)
        (row,) = read_rows(build("build-corpus", tmp_path / f"notes-{footnotes}", *options))
        assert len(row["paragraph_starts"]) == 2 + more
    with pytest.raises(UsageError, match="`encoding` klingon: no such encoding"):
        CorpusConfig(encoding="klingon")
    with pytest.raises(UsageError, match="`verse` some: use one of auto, keep, drop"):
        CorpusConfig(verse="some")
