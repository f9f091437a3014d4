"""Other text: plain files, lines, Markdown and JSON lines; what is read, dropped and rejected, and that ranges change nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import texts_of

from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources.lines import drop_controls, fold_case, join_lines, paragraphs, split_lines
from bertdata.sources.lists import drop_lists, drop_markdown
from bertdata.sources.tables import Columns
from bertdata.sources.text import Reading, split

Found = Prose | Drop | Reject


def read(path: Path, data: bytes, name: str, **options: Any) -> list[Found]:
    path.write_bytes(data)
    return texts_of([FileRange(name, str(path), 0, len(data))], **{"max_bytes": 1000, **options})


def brief(found: list[Found]) -> list[object]:
    """The paragraphs of documents, and the reasons of drops and rejects."""
    return [item.paragraphs if isinstance(item, Prose) else item.reason for item in found]


# --- paragraphs ---


def test_blank_lines_part_paragraphs() -> None:
    assert paragraphs("One line\r\n and another.\r\n \t\r\nNext.\x0c\x0cLast") == ["One line and another.", "Next.", "Last"]
    assert join_lines(["他们", "来了 tea", "。"]) == "他们来了 tea 。"
    assert paragraphs("\n \n") == []
    assert fold_case("CHAPİTRE") == "chapitre"


@pytest.mark.parametrize("stop", ["", ".", ",", "?"])
def test_a_line_of_a_transcript_is_a_paragraph(stop: str) -> None:
    lines = [f"the miller came down to the weir number {n}{stop}" for n in range(20)]
    assert (paragraphs("\n".join(lines)) == lines) == (stop in ("", ","))
    assert len(paragraphs("\n".join(lines).capitalize())) == (20 if stop in ("", ",") else 1)
    assert paragraphs("\n".join(["The miller came down to the weir", "and looked at it"])) == [
        "The miller came down to the weir and looked at it"
    ]


@given(st.text(st.sampled_from("ab 茶\n\r\t\x0c\u3000\u2028")))
def test_paragraphs_lose_nothing_but_white_space(text: str) -> None:
    found = paragraphs(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(found) and not any("\n" in paragraph for paragraph in found)


def test_control_characters_and_noncharacters_go() -> None:
    text = "".join(map(chr, [*range(0x20), 0x7F, *range(0x80, 0xA0), 0xFFFE, 0xFFFF, 0xFEFF, 0xFDD0]))
    assert drop_controls(f"T{text}n").split() == ["T", "n"]
    assert drop_controls(kept := "👩\u200d🚒 می\u200cخواهم \u200fשלום\u200e café") == kept


# --- plain files ---


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("Tea is\nhot.\n\nIt is green.\n".encode("utf-16"), [["Tea is hot.", "It is green."]]),
        (b"", ["empty"]),
        (b"\n \n", ["empty"]),
        (b"Tea\0 is a word that has a stray character in it.", [["Tea\0 is a word that has a stray character in it."]]),
        (b"\0\1\2\3\4" * 9, ["undecodable"]),
        (b"caf\x81 au lait", ["undecodable"]),
        (b"tea " * 300, ["too-large"]),
    ],
)
def test_a_plain_file_is_a_document_a_drop_or_a_reject(tmp_path: Path, data: bytes, found: list[object]) -> None:
    assert brief(records := read(tmp_path / "a.txt", data, "notes/a.txt")) == found
    assert isinstance(records[0], Drop) == (found == ["empty"])
    assert getattr(records[0], "title", "a") == "a"


LINES = [
    ("blank-lines", 9, b"\xef\xbb\xbfOne.\nTwo.\n\n \nThree.\r\n\r\n", [["One.", "Two."], ["Three."]]),
    ("blank-lines", 9, b"A" * 80 + b"\nB\n\nC\n", ["too-large", ["B"], ["C"]]),
    ("blank-lines", 9, b"A\n" * 40 + b"\nC\n", ["too-large", ["C"]]),
    ("lines", 2, b"One.\n\nTwo.\nThree.\n", [["One.", "Two."], ["Three."]]),
    ("lines", 9, b"= = = Tea = = =\nOne.\nTwo.\n = = = Cake = = = \nThree.\n", [["One.", "Two."], ["Three."]]),
    ("lines", 9, b"%s\n%s\nC\n" % (b"A" * 40, b"B" * 40), [["A" * 40], ["B" * 40, "C"]]),
    ("lines", 9, b"A\n" + b"B" * 80 + b"\nC\n", [["A"], "too-large", ["C"]]),
    ("lines", 9, b"= = = Tea = = =\n", ["empty"]),
    ("lines", 9, b"\0\1\2\3\4\5\6\n", ["undecodable"]),
]


@pytest.mark.parametrize(("documents", "lines", "data", "found"), LINES)
def test_documents_of_lines(tmp_path: Path, documents: str, lines: int, data: bytes, found: list[object]) -> None:
    records = read(tmp_path / "a.txt", data, "a.txt", documents=documents, lines=lines, max_bytes=60)
    assert brief(records) == found
    if b"Cake" in data:
        assert [record.title for record in records if isinstance(record, Prose)] == ["Tea", "Cake"]


@given(st.lists(st.sampled_from(["", " ", "tea", "= = = T = = =", "a longer line", "x" * 70]), max_size=40), st.integers(1, 90))
def test_ranges_change_nothing(tmp_path_factory: pytest.TempPathFactory, lines: list[str], target: int) -> None:
    path = tmp_path_factory.mktemp("ranges") / "a.txt"
    path.write_bytes("\n".join(lines).encode())
    size = path.stat().st_size
    reading = Reading(documents="blank-lines", max_bytes=60)
    ranges = split(str(path), size, target, reading)
    assert [start for start, _ in ranges[1:]] == [end for _, end in ranges[:-1]] and (not ranges or ranges[-1][1] == size)
    whole = texts_of([FileRange("a.txt", str(path), 0, size)], 60, documents="blank-lines") if size else []
    assert texts_of([FileRange("a.txt", str(path), *each) for each in ranges], 60, documents="blank-lines") == whole


# --- lists and Markdown ---

PROSE = "The miller kept a list of the things that he needed for the winter, and he read it aloud every evening. " * 3


def shown(items: list[str]) -> str:
    return f"{PROSE}\n\n" + "\n".join(items) + f"\n\n{PROSE}"


LISTS = [
    ["* a lamp", "* two dogs", "* a boat"],
    ["- a lamp", "- two dogs", "- a boat", "- a bridge"],
    ["- a lamp", "", "- two dogs", "", "- a boat"],
    ["• A lamp.", "• Two dogs.", "• A boat."],
    ["1. Light the lamp.", "2. Call the dogs.", "3. Row the boat."],
    ["a) a lamp", "b) two dogs", "c) a boat"],
    ["  + a lamp", "  + two dogs", "  + a boat"],
    ["(1) Light the lamp,", "    and wait.", "(2) Call the dogs.", "(3) Row the boat."],
    ["・ランプ", "・犬", "・船"],
]
TABLES = [
    ["| Lamp | 3 |", "|------|---|", "| Dog | 2 |"],
    ["Lamp | 3", "-----|---", "Dog | 2"],
    ["| a | b |", "| c | d |"],
]
NOT_LISTS = [
    ["- Hola, dijo el molinero.", "- ¿Qué quieres?", "- Nada, dijo Juan."],
    ["– Bonjour", "– Bonsoir", "– Au revoir", "– Adieu"],
    ["— Здравствуй", "— Привет", "— Пока"],
    ["- Yes!", "- No?", "- Maybe…"],
    ["- a lamp", "- two dogs"],
    ["1986. It was a cold year.", "1987. It was not.", "1990. It was again."],
    ["1. " + "The first chapter of the law says that nobody may cross the bridge. " * 3] * 3,
    ["A | B", "she said"],
    ["I. The lamp", "IV. The dogs", "V. The boat"],
]


@pytest.mark.parametrize("items", [*LISTS, *TABLES])
def test_lists_and_tables_of_a_plain_text_are_dropped_and_counted(items: list[str]) -> None:
    text, counts = drop_lists(shown(items), dropped := Counter()), dropped
    assert paragraphs(text) == paragraphs(f"{PROSE}\n\n{PROSE}")
    assert counts == {"lists" if items in LISTS else "tables": len([item for item in items if item])}


@pytest.mark.parametrize("items", NOT_LISTS)
def test_dialogue_verse_and_numbered_text_are_no_lists(items: list[str]) -> None:
    assert drop_lists(shown(items), dropped := Counter()) == shown(items) and not dropped


def test_a_text_of_items_is_kept() -> None:
    spoken = "\n".join(f"- line {n} of what they said" for n in range(20))
    assert drop_lists(spoken, Counter()) == spoken


MARKDOWN = [
    ("# Tea\n\nHot.", ["Hot."]),
    ("Tea\n===\n\nHot.\n\nCake\n---\nCold.", ["Hot.", "Cold."]),
    ("Hot\ntea.\n\n* one\n* two\n  more of two\n\n  and still\n\nCold.", ["Hot tea.", "Cold."]),
    ("1. one\n2. two\n\nCold.", ["Cold."]),
    ("Hot.\n\n```python\nx = 1\n\n# no\n```\n\nCold.", ["Hot.", "Cold."]),
    ("Hot.\n\n~~~\ncode\n~~~\nCold.", ["Hot.", "Cold."]),
    ("Hot.\n\n```\nnever closed\n\nCold.", ["Hot.", "never closed", "Cold."]),
    ("````md\n```python\nx\n```\n````\n\nHot.\n\n```sh\nls\n```\n\nCold.", ["Hot.", "Cold."]),
    ("~~~~\n~~~\ncode\n~~~~\nHot.\n\n~~~\nx\n~~~\nCold.", ["Hot.", "Cold."]),
    ("```Hot``` tea.\n\nWarm.\n\n```\nx\n```\nCold.", ["Hot tea.", "Warm.", "Cold."]),
    ("Hot `<!--` tea.\n\nWarm.\n\nCold `-->` tea.", ["Hot <!-- tea.", "Warm.", "Cold --> tea."]),
    ("---\n\nHot.\n\n---\n\nCold.", ["Hot.", "Cold."]),
    ("Hot.\n\n    x = 1\n    y = 2\n\nCold.", ["Hot.", "Cold."]),
    ("| a | b |\n|---|---|\n| c | d |\n\nCold.", ["Cold."]),
    ("---\ntitle: Tea\n---\n\nHot.", ["Hot."]),
    ("A [kettle](https://a.example/b_(c) \"t\") and ![pot](p.png) <https://a.example>.", ["A kettle and  ."]),
    ("A [kettle][1] sings[^2].\n\n[1]: https://a.example\n[^2]: A note.", ["A kettle sings."]),
    ("A **bold _and_ soft** `code`, ~~no~~ 2 * 3 * 4, snake_case and \\*stars\\*.",
     ["A bold and soft code, no 2 * 3 * 4, snake_case and *stars*."]),
    ("> Said\n> he.\n\nHot<br/> <b>tea</b>.<!-- hidden\n\nmore -->", ["Said he.", "Hot tea."]),
    ("Hot.\n\n***\n\nCold.", ["Hot.", "Cold."]),
    ("> Said he.\n>\n> - a lamp\n> - a dog\n\nCold.", ["Said he.", "Cold."]),
    ("A [[Tea]], [[Tea|the pot]].\n\n<table><tr><td>4</td></tr></table>\n\n<table", ["A Tea, the pot.", "<table"]),
    ("[![badge](b.svg)](https://a.example)\n\nHot.", ["Hot."]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), MARKDOWN)
def test_markdown_is_read_as_text(tmp_path: Path, text: str, found: list[str]) -> None:
    assert paragraphs(drop_markdown(text, Counter())) == found
    assert brief(read(tmp_path / "a", text.encode(), "README.md")) == [found]


@given(st.text(st.sampled_from("#`~|-*+_=<>![]()^:>\\ \n1.ab"), max_size=120))
def test_any_markdown_is_read(text: str) -> None:
    drop_markdown(text, Counter())
    drop_lists(text, Counter())


# --- JSON lines ---


def rows(*values: object) -> bytes:
    lines = [value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode() for value in values]
    return b"".join(line + b"\n" for line in lines)


def test_rows_become_documents_with_the_chosen_columns(tmp_path: Path) -> None:
    columns = Columns("body", "name", "key")
    data = rows({"body": "Tea.\n\nHot.", "name": "T", "key": "k/1", "language": "en", "url": "http://u:p@h/", "x": 1})
    (found,) = read(tmp_path / "a.jsonl", data, "a.jsonl", columns=columns)
    licence = "as its owner states"
    assert found == Prose("text:a.jsonl:k/1", "text", "en", "T", "http://***@h/", ["Tea.", "Hot."], licence=licence)


def test_ranges_of_rows_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(rows(*({"text": f"Tea {n}."} for n in range(400))))
    ranges = split_lines(str(path), path.stat().st_size, 700)
    parts = [FileRange("a.jsonl", str(path), *each) for each in ranges]
    assert len(parts) > 5 and texts_of(parts) == texts_of([FileRange("a.jsonl", str(path), 0, path.stat().st_size)])
    truncated = texts_of([FileRange("a.jsonl", str(path), 0, path.stat().st_size + 9)])[-1]
    assert isinstance(truncated, Reject) and truncated.reason == "truncated"
