"""Small books of other kinds: letters, plays, songs, scores, title pages, marks of the typists, and what is left of each."""

from __future__ import annotations

from collections import Counter

import pytest

from bertdata.sources.books import Reading, clean
from bertdata.sources.books.clean import clean_parts
from bertdata.sources.books.gutenberg import strip_licence

PROSE = [
    "The ferry left the harbour at six, and nobody on the quay had\nseen the miller come aboard with his two dogs and a lamp.",
    "She asked him what he had seen. Nothing but water, he said, and\nhe closed the door of the lamp room behind him.",
    "The lamp was lit again in the autumn of that year, and the two\ndogs slept below it as they had done before the storm.",
]
TEXT = [" ".join(paragraph.split()) for paragraph in PROSE]
BODY = "\n\n".join(PROSE)
START = "*** START OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***"


def size(text: str) -> int:
    return len("".join(text.split()))


def counted(text: str) -> Counter[str]:
    """Clean a book and return what became of its characters, which must add up."""
    counts = Counter[str]()
    kept = clean_parts(strip_licence(text.split("\n")), Reading(counts=counts), size(text))
    gone = {name: n for name, n in counts.items() if name not in ("characters", "kept") and n}
    assert counts["kept"] == sum(map(size, kept))
    assert counts["characters"] == size(text) == counts["kept"] + sum(gone.values())
    return Counter(gone)


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("Shint[=o] and Sofist[=e]s", "Shintō and Sofistēs"),
        ("caf['e], man[oe]uvre, [OE]dipus", "café, manœuvre, Œdipus"),
        ("Dvo[vr]ák, na[:i]ve, M[)a]sl[.a]", "Dvořák, naïve, Măslȧ"),
        ("in B[flat], F[sharp] and B[natural]", "in B♭, F♯ and B♮"),
        ("gar[c,]on", "garçon"),
        ("it ['s] so, chapter [vi], [A], [12], [=oo], [v]", "it ['s] so, chapter [vi], [A], [12], [=oo], [v]"),
        ("Lamp &amp; Sons &mdash; Quay &#233;", "Lamp & Sons — Quay é"),
        ("AT&T; &c. &unknown; &;", "AT&T; &c. &unknown; &;"),
    ],
)
def test_marks_of_the_typists_become_the_letters_they_stand_for(marked: str, plain: str) -> None:
    assert clean(f"{BODY}\n\nHe wrote {marked} on the door.\n")[-1] == f"He wrote {plain} on the door."


@pytest.mark.parametrize(
    ("scored", "plain"),
    [
        ("The horn calls [G: c' d'' e''] at dawn.", "The horn calls at dawn."),
        ("A dactyl ([- ' ']), and an iamb [' -], are feet.", "A dactyl, and an iamb, are feet."),
        ("The drum beats [4 8 8 4 | 4 8 8 4] and [8 8 4].", "The drum beats and."),
        ("He [at once] left [A. B.] and [1, 2] came [3/4] of the way [x / y].",) * 2,
        ("It is [a + b] or [- c], by [P. S.] and [I - II].",) * 2,
    ],
)
def test_scores_and_metre_in_brackets_go(scored: str, plain: str) -> None:
    assert clean(f"{BODY}\n\n{scored}\n")[-1] == plain


LILYPOND = (
    "[Note: the song in LilyPond]\n\\layout {\n  \\context {\n    \\Score\n  }\n  indent = #0\n}\n\n"
    "{\n  \\clef treble\n  \\key g \\major\n\n"
    "  b'4. a'8 g'4 [a'8 (b'8)]\n  fis''4 d''8[(e''8)] a4\n}\n\n\\version \"2.7.39\" % necessary\n]"
)


def test_music_as_code_goes_and_is_counted() -> None:
    assert clean(f"{PROSE[0]}\n\n{LILYPOND}\n\n{PROSE[1]}\n") == TEXT[:2]
    assert counted(f"{PROSE[0]}\n\n{LILYPOND}\n\n{PROSE[1]}\n") == {"music": size(LILYPOND)}
    set_in = "{He leaves the lamp.}\n{She follows.}"
    assert clean(f"{BODY}\n\n{set_in}\n")[-1] == " ".join(set_in.split()), "braces alone are no code"


def test_notes_without_an_end_lose_their_first_block_alone() -> None:
    assert clean("This e-text was made from a copy.\n\n" + f"{BODY}\n\n" * 20) == TEXT * 20


def letters(name: str, close: str) -> str:
    """Three letters: two with a close, and one whose name stands alone between two texts."""
    signed = f"{BODY}\n\n{close}\n\n{name}\n\n\n"
    return f"{signed}{signed}{BODY}\n\n{name}\n\nP.S. The dogs are well, and so is the lamp.\n"


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("ANNA LOWE.", "Your friend,"),
        ("A. LOWE", "In haste, your ever-loving"),
        ("CARL.", "Votre ami et serviteur,"),
        ("DEIN VATER", "In Liebe, dein"),
    ],
)
def test_who_signs_letters_is_no_heading(name: str, close: str) -> None:
    found = clean(letters(name, close))
    assert found.count(f"{close} {name}") == 2
    assert found[-2:] == [name, "P.S. The dogs are well, and so is the lamp."]
    assert clean(f"{BODY}\n\n{name}\n\n{BODY}\n") == TEXT * 2, "a name below no letter is a heading"


STANZA = ["The wheel goes round and round,", "The tide is at the door;", "My love has gone to sea,", "And comes to me no more."]
NUMBERED = "\n".join(f"{'1. ' if n == 0 else '   '}{line}" for n, line in enumerate(STANZA))


def play(*more: str) -> str:
    speech = "\n\n\n".join(
        f"_{name}_\n\n  I have no lamp to give thee, child,\n  The cat has had it all."
        for name in ("Witch", "King", "Witch", "King")
    )
    return "\n\n\n".join(["ACT I.\n\nSCENE I. _A quay._", speech, *more]) + "\n"


def test_a_play_keeps_who_speaks_once_and_its_songs_line_by_line() -> None:
    found = clean(play(f"_Rose_\n\n{NUMBERED}"))
    assert found[-5:] == ["Rose", f"1. {STANZA[0]}", *STANZA[1:]]
    assert "Miller        A. Bank" not in found


def test_a_numbered_stanza_is_verse_and_a_numbered_paragraph_is_not() -> None:
    assert clean(f"{BODY}\n\n{NUMBERED}\n\n{BODY}\n") == TEXT * 2, "verse that is quoted in prose goes"
    item = "1. The lamp, which was made of iron, and which the\n   miller had bought from a man who sold lamps\n   every autumn."
    assert clean(f"{BODY}\n\n{item}\n")[-1] == " ".join(item.split())
    short = "1. The lamp of the\n   Harbour."
    assert clean(f"{BODY}\n\n{short}\n")[-1] == "1. The lamp of the Harbour."


@pytest.mark.parametrize(
    "page",
    [
        "THE LAMP\n\n(A Tale of the Harbour)\n\nBy A. Miller\n\nComplete",
        'THE LAMP,\n\nBY\n\nA. MILLER,\n\nAUTHOR OF\n\n"Two Dogs," "The Quay," etc.',
        "   The LAMP\n\n     of the\n\n   HARBOUR\n\nA. BANK,\n\n1869.",
    ],
)
@pytest.mark.parametrize("next_page", ["\n\n\n\n\nCHAPTER I\n\n\n", "\n\n\n\n\n"])
def test_a_title_page_goes(page: str, next_page: str) -> None:
    assert clean(f"{START}\n\n\n\n\n{page}{next_page}{BODY}\n") == TEXT
    gone = counted(f"{START}\n\n\n\n\n{page}{next_page}{BODY}\n")
    assert set(gone) <= {"licence", "title page", "headings"}


@pytest.mark.parametrize("first", ["“I go.”", "He left.", "“Is it you?” she said,", "Who calls"])
def test_a_short_first_line_is_no_title_page(first: str) -> None:
    assert clean(f"{START}\n\n\n\nCHAPTER I\n\n\n“Stay.”\n\n{first}\n\n{BODY}\n")[-4:] == [first, *TEXT]


def test_titles_in_quotation_marks_and_casts_in_braces_go() -> None:
    cast = "                        { Rose.\n                        { Pansy.\n  Messengers            { Daisy."
    assert clean(f'{BODY}\n\n\n\n"_THE LAMP ON THE QUAY_"\n\n\n{cast}\n\n{BODY}\n') == TEXT * 2
    for shout in ('"COME TO THE QUAY!"', '"HELP"', '"I SEE A LAMP, A LAMP"'):
        assert shout in clean(f"{BODY}\n\n\n\n{shout}\n\n{BODY}\n")


@pytest.mark.parametrize(
    "note",
    [
        "Ce livre électronique reproduit intégralement le texte original.\n\n  Page 11: «dan» remplacé par «dans».",
        "This e-text was made from a copy of the year 1869.\n\nSpelling is kept.",
        "Le texte en italiques dans l'original est indiqué ici comme _italiques_.",
        "Dieses E-Book folgt der Ausgabe von 1869.",
    ],
)
def test_notes_that_speak_of_the_file_go(note: str) -> None:
    assert clean(f"{note}\n\n\n\n\n{BODY}\n") == clean(f"{BODY}\n\n\n\n\n{note}\n") == TEXT
    assert counted(f"{BODY}\n\n\n\n\n{note}\n")["transcribers' notes"] > 0.8 * size(note)


@pytest.mark.slow
def test_of_ten_thousand_lines_of_an_index_none_stays() -> None:
    entries = [
        f"{word}{number}, {number % 600 + 1}, {number % 500 + 20}"
        for number in range(1000)
        for word in ("Lamp", "Quay", "Dog", "Mill")
    ]
    forms = [
        "\n".join(entries),
        "\n\n".join(entries),
        "\n".join(f"{e};\n    of iron, {n % 400 + 3}" for n, e in enumerate(entries[::2])),
    ]
    for index in forms:
        assert clean(f"{BODY}\n\n\n\nINDEX\n\n\n{index}\n") == TEXT
