"""What books lose is counted by name, in characters without whitespace, and adds up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from conftest import Build, Run, read_manifest, read_rows

from bertdata.records import FileRange
from bertdata.sources.books import Book, Reading, read_books
from bertdata.sources.books.clean import clean_parts
from bertdata.sources.books.gutenberg import Parts, strip_licence

PROSE = "\n".join(
    ["The ferry left the harbour at six, and nobody on the quay had seen the", "miller come aboard with his two dogs and a lamp."]
)
INDEX = "\n\n".join(f"Ferry{number}, {number}" for number in range(100, 112))
PARTS = {
    "licence": "Title: Tea\n\n*** START OF THIS PROJECT GUTENBERG EBOOK TEA ***",
    "credits": "Produced by A. Reader and the Online Team",
    "contents": "CONTENTS\n\nCHAPTER I. The Ferry   3\n\nCHAPTER II. The Miller   9",
    "headings": "CHAPTER I. The Ferry",
    "": "\n\n".join(PROSE.replace("six", f"{number}") for number in range(11, 71)),
    "pictures": "[Illustration: The quay]",
    "tables and lists": "\n".join(["  tea        thee", "  cake       koek"] * 3),
    "ornaments": "* * *",
    "footnotes": "[Footnote 1: It was a long way.]",
    "verse": "    The ferry sang,\n    The clock struck three,\n    And no one came",
    "more": PROSE,
    "index": f"INDEX\n\n\n{INDEX}",
    "about the author": "ABOUT THE AUTHOR\n\nHe was born on the quay and lived there.",
}


def size(text: str) -> int:
    return len("".join(text.split()))


def wanted() -> dict[str, int]:
    return {name: size(text) for name, text in PARTS.items() if name not in ("", "more")}


def write(folder: Path, marked: str = "") -> Path:
    path = folder / "tea.txt"
    path.write_text("\n\n\n\n\n".join(PARTS.values()).replace("two dogs", f"{marked}two dogs{marked}", 1) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(("verse", "footnotes"), [("auto", "drop"), ("keep", "drop"), ("auto", "keep")])
def test_each_part_of_a_book_is_counted_under_its_name(verse: str, footnotes: str, tmp_path: Path) -> None:
    path, counts = write(tmp_path, "_"), Counter[str]()
    part = FileRange(path.name, str(path), 0, path.stat().st_size)
    (found,) = read_books([part], reading=Reading(verse, "", footnotes, counts), max_bytes=1 << 20)
    assert isinstance(found, Book)
    gone = wanted() | {"marks": 2}
    gone = {
        name: n for name, n in gone.items() if (name, verse) != ("verse", "keep") and (name, footnotes) != ("footnotes", "keep")
    }
    assert counts.pop("characters") == size(path.read_text("utf-8"))
    assert counts.pop("kept") == size("".join(found.paragraphs))
    assert +counts == Counter(gone)


SECTIONS = {  # an opening whose end is missing, by rule
    "footnotes": "FOOTNOTES:\n\n[1] It was a long way.",
    "transcribers' notes": "TRANSCRIBER'S NOTES:\n\nThe spelling is kept.",
    "about the author": "ABOUT THE AUTHOR\n\nHe lived on the quay.",
    "pictures": "[Illustration: The quay",
    "advertisements": "THE END\n\nThe publisher sells books at a price of $5.",
}


@pytest.mark.parametrize("rule", SECTIONS)
def test_no_rule_drops_a_chapter(rule: str) -> None:
    """The text after a section is kept and counted if nothing marks the section's end."""
    days = [PROSE.replace("six", f"{number}") for number in range(300)]
    opening, closing = days[:250], ["]"] if rule == "pictures" else []
    text = "\n\n".join([*opening, SECTIONS[rule], *days[250:261], *closing, *(days[261:] if not closing else ())])
    counts, put_back = Counter[str](), Counter[str]()
    kept = clean_parts(Parts([], text.split("\n")), Reading(counts=counts, put_back=put_back), size(text))
    assert {paragraph for paragraph in kept if "ferry left" in paragraph} >= {
        " ".join(day.split()) for day in (days if not closing else days[:261])
    }
    assert put_back[rule] >= 10 * size(days[20])
    assert counts.pop("characters") == counts.pop("kept") + counts.total()


def test_couplets_before_the_first_heading_are_no_title_page() -> None:
    couplets = "\n\n".join(["The ferry left the quay and sang,\nand nobody had come aboard,"] * 200)
    lines = f"A FERRY SONG\n\nby A. Reader\n\n{couplets}\n\n\n\nCHAPTER I\n\n{PROSE}".split("\n")
    kept = clean_parts(Parts(["Title: Tea"], lines), Reading(verse="keep"), 10_000)
    assert sum("had come aboard" in paragraph for paragraph in kept) == 200


def test_a_short_section_without_an_end_is_dropped() -> None:
    days = [PROSE.replace("six", f"{number}") for number in range(300)]
    put_back = Counter[str]()
    text = "\n\n".join([*days, SECTIONS["transcribers' notes"], *days[:4]])
    assert len(clean_parts(Parts([], text.split("\n")), Reading(put_back=put_back), size(text))) == 300
    assert not put_back


def test_an_end_of_the_license_in_the_middle_of_a_book_is_not_its_end() -> None:
    lines = ["Tea."] * 10 + ["End of Project Gutenberg's Tea, Part One"] + ["Tea."] * 1001
    assert strip_licence(lines).body == lines


def test_text_that_is_put_back_is_in_the_manifest(build: Build, tmp_path: Path) -> None:
    days = [PROSE.replace("six", f"{number}") for number in range(60)]
    (tmp_path / "tea.txt").write_text("\n\n".join([*days, SECTIONS["footnotes"], *days]), "utf-8")
    corpus = build("build-corpus", tmp_path / "c", "--books", tmp_path / "tea.txt")
    account = read_manifest(corpus)["sources"]["books"]["apparatus"]
    assert account["put_back"] == {"footnotes": sum(map(size, days))}
    assert account["characters"] == account["kept"] + sum(account["dropped"].values())


def test_a_corpus_tells_what_its_books_lost(build: Build, run: Run, tmp_path: Path) -> None:
    write(tmp_path)
    corpus = build("build-corpus", tmp_path / "c", "--books", tmp_path / "tea.txt")
    told = read_manifest(corpus)["sources"]["books"]["apparatus"]
    kept = sum(size(sentence) for row in read_rows(corpus) for sentence in row["sentences"])
    assert told == {"characters": kept + sum(wanted().values()), "kept": kept, "dropped": wanted()}
    assert f"index {wanted()['index']}" in run("inspect", corpus).stdout
    assert f"index {wanted()['index']}" in (corpus / "README.md").read_text("utf-8")
