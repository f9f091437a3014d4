"""Small books with every structure that is no prose: indexes, catalogues, footnotes, contents, and stanzas."""

from __future__ import annotations

import pytest

from bertdata.sources.books import clean

PROSE = [
    "The ferry left the harbour at six, and nobody on the quay had seen the miller come aboard with his two dogs and a lamp.",
    "In May, 1850 the bridge was closed. He had counted the boats that went below it for eleven years, and there were 4021.",
    'She asked him what he had seen. "Nothing but water," he said, and he closed the door of the lamp room behind him.',
]


def wrapped(text: str, indent: str = "", width: int = 70) -> str:
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) + 1 > width:
            lines.append(indent + line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, indent + line])


def book(*parts: str) -> str:
    """A book of two chapters, and what stands before (None: the chapters) and behind them."""
    chapters = [f"CHAPTER {number}\n\n\n" + "\n\n".join(map(wrapped, PROSE * 6)) for number in ("I", "II")]
    return "\n\n\n\n".join(["\n\n\n\n".join(chapters) if part == CHAPTERS else part for part in parts]) + "\n"


CHAPTERS = "chapters"
ENTRIES = [
    f"{name}, {page}"
    for name, page in zip(
        ["Banjo", "Barge", "Boat", "Buoy", "Canal", "Dock", "Eel", "Ferry", "Gull"], range(12, 390, 40), strict=False
    )
]
INDEXES = {
    "plain, an entry a block": "INDEX\n\n\n" + "\n\n".join(ENTRIES),
    "plain, an entry a line": "INDEX\n\nA\n\n" + "\n".join(ENTRIES[:5]) + "\n\nB\n\n" + "\n".join(ENTRIES[5:]),
    "in brackets": "INDEX.\n\n" + "\n\n".join(entry.replace(", ", ", [") + "]" for entry in ENTRIES),
    "ranges and see": "INDEX\n\nBoats, 12-14, 20, 33 n.;\n  wooden, 17;\n  of iron, _see_ Ships.\n\n"
    "Ferries, 22, 34, and 45.\n\nShips, vol. ii. 34.",
    "without a heading": "\n\n".join(ENTRIES),
    "of names": "INDEX OF NAMES\n\nAdams Chapel, 270\n\nAllen, John, 33, 35\n\nAmes, Miss, 12, 270\n\nAsh Creek, 41",
    "German": "Sachregister.\n\nBoot 12, 14.\n\nFähre 22 f.\n\nKahn s. Boot\n\nSchiff 33, 35 ff.",
    "French": "TABLE ALPHABÉTIQUE\n\nBateau, 12, 14.\n\nCanal, 22.\n\nPont, voir Canal.\n\nQuai, 33-35.",
    "hundreds": "INDEX\n\n" + "\n\n".join(f"Entry {number} of tea, {number}, {number + 7}" for number in range(1, 400)),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_an_index_goes_and_the_prose_stays(index: str) -> None:
    assert clean(book(CHAPTERS, index)) == PROSE * 12
    after = wrapped(
        "The appendix tells of the lamps of the harbour, of which there were two before the storm and five in later years."
    )
    found = clean(book(CHAPTERS, index, f"APPENDIX\n\n\n{after}"))
    assert found == [*PROSE * 12, " ".join(after.split())]


def test_prose_that_ends_with_numbers_is_no_index() -> None:
    diary = [
        f"On the {day}th we lay at anchor off the point, and the depth of the water at the bow was {day * 3}"
        for day in range(4, 20)
    ]
    assert clean("\n\n".join(map(wrapped, diary))) == diary
    letters = [f"HARBOUR, May {day}, 1850.\n\n{wrapped(PROSE[0])}" for day in range(2, 20)]
    assert clean("\n\n".join(letters)).count(PROSE[0]) == 18


CONTENTS = {
    "pages": "CONTENTS\n\nI. The Ferry  1\n\nII. The Bridge  55",
    "after a comma": "CONTENTS.\n\n\nThe Ferry, 1\n\nThe Bridge, 55\n\nThe Lamp, 70",
    "leaders": "CONTENTS\n\nThe Ferry . . . . . . . . . . 1\nThe Bridge . . . . . . . . . . 55",
    "words only": "CONTENTS\n\n  CHAPTER I\n  The Ferry\n\n  CHAPTER II\n  The Bridge",
    "with arguments": "CONTENTS\n\nCHAPTER I. The Ferry.--Miss Ames.--The Miller Waits.\n\n"
    "CHAPTER II. The Bridge.--Two Dogs.--A Lamp.",
    "without a heading": "\n".join(f"{number}. The Ferry of the {number}th Year, {number * 10}" for number in range(1, 12)),
    "of pictures": "LIST OF ILLUSTRATIONS\n\nThe ferry leaves the harbour, 12\n\nThe miller and his dogs, 35",
}


@pytest.mark.parametrize("contents", CONTENTS.values(), ids=CONTENTS)
def test_contents_go(contents: str) -> None:
    assert clean(book(contents, CHAPTERS)) == PROSE * 12


CATALOGUES = {
    "prices": "THE END\n\n\n\nBOOKS FOR BOYS\n\n"
    + wrapped("The Lamp on the Quay. By A. Miller. A tale of the sea. Cloth, 12mo, $1.25, postpaid."),
    "author of": "THE END.\n\n\nNEW NOVELS\n\n"
    + wrapped("By the author of The Lamp. The best book of the year, and one that no reader will put down."),
    "German": "Ende.\n\n\n"
    + wrapped("Von demselben Verfasser erschien bei uns: Die Lampe am Hafen. Roman. Preis geb. 3 Mark, in allen Buchhandlungen."),
    "about": "ABOUT THE AUTHOR\n\n\n"
    + wrapped("A. Miller was born in a mill and lives by the harbour with two dogs, and writes at night."),
    "also by": "Also by A. Miller\n\nThe Lamp on the Quay\n\nThe Bridge That Was Closed\n\nTwo Dogs and a Boat",
}


@pytest.mark.parametrize("catalogue", CATALOGUES.values(), ids=CATALOGUES)
def test_catalogues_and_the_author_go(catalogue: str) -> None:
    assert clean(book(CHAPTERS, catalogue)) == PROSE * 12


def test_what_follows_an_end_and_is_no_catalogue_stays() -> None:
    tale = wrapped(PROSE[0])
    assert clean(book(CHAPTERS, f"THE END\n\n\n\n{tale}")) == [*PROSE * 12, PROSE[0]]
    sold = wrapped(
        "The publisher asked a price of two crowns for the lamp, and the miller sold it to him at once, without a word."
    )
    assert clean(book(CHAPTERS, f"THE END\n\n\n\nAPPENDIX\n\n{sold}")) == [*PROSE * 12, " ".join(sold.split())]
    assert len(clean(book(f"THE END OF IT ALL\n\n{sold}", CHAPTERS))) == 37


NOTE = "This is told of another miller by those who lived at the quay."
NOTES = {  # a note, and the mark in the text that leads to it
    "in brackets": (f"[Footnote 1: {NOTE}]", "[1]"),
    "in brackets, wrapped": (wrapped(f"[Footnote 12: {NOTE} {NOTE}]"), "[12]"),
    "two blocks": (f"[Footnote A: {NOTE}\n\n{NOTE}]", "[A]"),
    "brackets within": (f"[Footnote 1: {NOTE} [He was not.] {NOTE}]", "[1]"),
    "inset": (f"    [1] {NOTE}\n\n    {NOTE}", "[1]"),
    "plain": (f"[1] {NOTE}", "[1]"),
    "star": (f"[*] {NOTE}", "[*]"),
    "Dutch": (f"[Voetnoot 1: {NOTE}]", "[1]"),
    "German": (f"[Fußnote 1: {NOTE}]", "[1]"),
    "French": (f"[Note de bas de page 1: {NOTE}]", "[1]"),
    "under a heading": (f"FOOTNOTES:\n\n[1] {NOTE}\n\n{NOTE}", "[1]"),
}


@pytest.mark.parametrize(("note", "mark"), NOTES.values(), ids=NOTES)
def test_footnotes_go_and_stay(note: str, mark: str) -> None:
    marked = PROSE[0].replace("harbour", f"harbour{mark}", 1)
    text = (
        "\n\n".join([*map(wrapped, (marked, *PROSE[1:])), note]) + "\n\n\n\nCHAPTER II\n\n\n" + "\n\n".join(map(wrapped, PROSE))
    )
    assert clean(text) == PROSE * 2
    kept = clean(text, footnotes="keep")
    assert marked in kept and any(NOTE in paragraph for paragraph in kept)


LONG_NOTE = "The miller had been aboard since Tuesday, although he told the crew that he came at night. " * 3


@pytest.mark.parametrize(
    "note",
    [f"[Footnote 1: {LONG_NOTE[:-1]}]", f"    [1] {LONG_NOTE}", f"FOOTNOTES:\n\n1. {LONG_NOTE}"],
    ids=["brackets", "mark", "under a heading"],
)
def test_a_long_footnote_is_a_paragraph_without_its_mark(note: str) -> None:
    marked = PROSE[0].replace("harbour", "harbour[1]", 1)
    text = (
        "\n\n".join([*map(wrapped, (marked, *PROSE[1:], *note.split("\n\n")))]) + "\n\n\n\nCHAPTER II\n\n\n" + wrapped(PROSE[0])
    )
    first = PROSE[0] if "[" in note else marked  # no note with the mark [1]: it may be part of the text
    assert clean(text) == [first, *PROSE[1:], LONG_NOTE.strip(), PROSE[0]]
    assert LONG_NOTE.strip() not in clean(text, footnotes="drop")


@pytest.mark.parametrize("gap", ["\n\n\n\n", "\n\n\n\nCHAPTER II\n\n\n"], ids=["wide gap", "chapter"])
@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_text_after_a_footnotes_heading_is_kept(note: tuple[str, str], gap: str) -> None:
    text, mark = note
    marked = PROSE[0].replace("harbour", f"harbour{mark}", 1)
    heading = "" if text.startswith("FOOTNOTES") else "FOOTNOTES:\n\n"
    chapter = "\n\n".join(map(wrapped, PROSE * 20))
    assert clean(f"{wrapped(marked)}\n\n{heading}{text}{gap}{chapter}") == [PROSE[0], *PROSE * 20]


def test_text_after_a_removed_transcribers_note_is_kept() -> None:
    note = "TRANSCRIBER'S NOTES:\n\n[Transcriber's Note: The lamp was moved.]"
    chapter = "\n\n".join(map(wrapped, PROSE))
    assert clean(f"{chapter}\n\n{note}\n\n\n\n{chapter}\n\n\n\nCHAPTER II\n\n\n{chapter}") == PROSE * 3


def test_brackets_that_are_no_notes_stay() -> None:
    text = "He said [1] was the first, and [he paused] then went. It is [sic] so, says a [Music Director].\n\n"
    text += "[He leaves the lamp, and she looks away.]"
    assert clean(text) == [part.replace("\n", " ") for part in text.split("\n\n")]


def test_an_unclosed_note_loses_itself_alone() -> None:
    text = "\n\n".join([wrapped(PROSE[0]), "[Footnote 1: it never", *map(wrapped, PROSE * 20)])
    assert clean(text) == [PROSE[0], *PROSE * 20]


def test_a_ballad_is_its_stanzas() -> None:
    stanza = [
        "The kettle sang, the clock struck three,",
        "And no one came to sit with me;",
        "The tide went out, the lamp was low,",
        "And I had nowhere else to go.",
    ]
    ballad = "\n\n".join("\n".join(f"  {line}" for line in stanza) for _ in range(18))
    assert clean(f"CHAPTER I\n\n\n{ballad}\n") == [" ".join(stanza)] * 18


def test_a_verse_of_a_play_is_a_line_a_paragraph() -> None:
    lines = ["  The kettle sang, the clock struck three,", "  And no one came to sit with me;"]
    speeches = "\n\n\n".join(f"_{name}_\n\n" + "\n".join(lines) for name in ("Witch", "King", "Witch", "King"))
    found = clean(f"SCENE I\n\n\n{speeches}\n")
    assert [line for line in found if "kettle" in line] == [lines[0].strip()] * 4
