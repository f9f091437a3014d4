"""Text of one's own: plain files, JSON lines in ranges, lines of any length in bounded memory, rejects for what is broken."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.records import FileRange, Reject
from bertdata.sources.line_ranges import read_lines, split_lines
from bertdata.sources.lines import fold_case, join_lines, paragraphs
from bertdata.sources.tables import Columns
from bertdata.sources.text import Text, read_text, split


def read(path: Path, name: str, start: int = 0, end: int | None = None, **options: object) -> list[Text | Reject]:
    part = FileRange(name, str(path), start, path.stat().st_size if end is None else end)
    return list(read_text([part], **{"max_bytes": 1000, **options}))  # type: ignore[arg-type]


def write(path: Path, *rows: object) -> Path:
    lines = [row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode() for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


# --- paragraphs ---


def test_paragraphs_stand_between_blank_lines() -> None:
    assert paragraphs("One line\r\n and another.\r\n \t\r\nNext.\x0c\x0cLast") == ["One line and another.", "Next.", "Last"]
    assert join_lines(["他们", "来了 tea", "。"]) == "他们来了 tea 。"
    assert paragraphs("\n \n") == []


@given(st.text(st.sampled_from("ab 茶\n\r\t\x0c\u3000\u2028")))
def test_paragraphs_lose_nothing_but_white_space(text: str) -> None:
    found = paragraphs(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(found) and not any("\n" in paragraph for paragraph in found)


# --- plain files ---


def test_a_plain_file_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "tea.txt"
    path.write_bytes("Tea is\nhot.\n\nIt is green.\n".encode("utf-16"))
    assert read(path, "notes/tea.txt") == [Text("text:notes/tea.txt", "tea", "", "", ["Tea is hot.", "It is green."])]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"a\0b", "binary"),
        (b"x" * 1001, "too-large"),
        ("Το παλιό σπίτι.".encode("iso8859-7"), "undecodable"),
    ],
)
def test_a_plain_file_that_is_no_document_is_one_reject(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    (found,) = read(path, "a.txt")
    assert isinstance(found, Reject)
    assert (found.id, found.reason) == ("text:a.txt", reason)


# --- JSON lines ---


def test_rows_become_documents_with_the_columns_asked_for(tmp_path: Path) -> None:
    row = {"body": "Tea.\n\nCake.", "key": 7, "name": "On tea", "url": "http://a/7", "language": "en"}
    path = write(tmp_path / "a.jsonl", row, b"", {**row, "key": "x", "name": None, "url": 3})
    found = read(path, "d/a.jsonl", columns=Columns("body", "name", "key"))
    assert found == [
        Text("text:d/a.jsonl:7", "On tea", "en", "http://a/7", ["Tea.", "Cake."]),
        Text("text:d/a.jsonl:x", "", "en", "", ["Tea.", "Cake."]),
    ]


def test_without_an_id_the_byte_offset_names_a_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"text": "é"}, {"text": "b"})
    assert [item.id for item in read(path, "a.jsonl")] == ["text:a.jsonl:0", "text:a.jsonl:15"]
    assert [item.id for item in read(path, "a.jsonl", 15)] == ["text:a.jsonl:15"]
    with gzip.open(tmp_path / "a.jsonl.gz", "wb") as file:
        file.write(path.read_bytes())
    assert [item.id for item in read(tmp_path / "a.jsonl.gz", "a.jsonl.gz")] == ["text:a.jsonl.gz:0", "text:a.jsonl.gz:15"]


BROKEN = [
    (b'{"text": "a"', "malformed-json"),
    (b"[1, 2]", "malformed-json"),
    (b"null", "malformed-json"),
    (b"tea", "malformed-json"),
    (b"[" * 990, "malformed-json"),
    (b'{"id": ' + b"9" * 900 + b', "text": 1e999}', "no-text"),
    (b'{"title": "a"}', "no-text"),
    (b'{"text": null}', "no-text"),
    (b'{"text": 5}', "no-text"),
    (b'{"text": ["a", 1]}', "no-text"),
    (b'{"text": []}', "empty"),
    (b'{"text": ""}', "empty"),
    (b'{"text": " \\n "}', "empty"),
    (b'{"text": "\xff"}', "bad-utf-8"),
    (b'{"text": "\\ud800"}', "bad-utf-8"),
    (b'{"text": "a", "title": "\\udfff"}', "bad-utf-8"),
    (b'{"text": "' + b"a" * 1000 + b'"}', "too-large"),
    (b"\0\0\0", "malformed-json"),
]


@pytest.mark.parametrize(("line", "reason"), BROKEN)
def test_a_broken_row_is_one_reject_and_its_neighbours_are_read(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write(tmp_path / "a.jsonl", {"text": "Tea."}, line, {"text": "Cake."})
    first, broken, last = read(path, "a.jsonl")
    assert isinstance(broken, Reject)
    assert (broken.id, broken.reason) == ("text:a.jsonl:17", reason)
    assert "byte 17" in broken.where
    assert [item.paragraphs for item in (first, last) if isinstance(item, Text)] == [["Tea."], ["Cake."]]


def test_the_last_row_needs_no_newline_and_the_first_may_have_a_mark(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "Tea."}\r\n{"text": "Cake."}')
    assert [item.paragraphs for item in read(tmp_path / "a.jsonl", "a.jsonl") if isinstance(item, Text)] == [["Tea."], ["Cake."]]


def test_a_file_that_ends_too_early_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"text": "Tea."})
    found = read(path, "a.jsonl", end=100)
    assert [item.reason if isinstance(item, Reject) else item.id for item in found] == ["text:a.jsonl:0", "truncated"]
    data = gzip.compress(b"\n".join(json.dumps({"text": f"Tea {n * n}."}).encode() for n in range(200)))
    (tmp_path / "a.jsonl.gz").write_bytes(data[: len(data) // 2])
    found = read(tmp_path / "a.jsonl.gz", "a.jsonl.gz")
    assert isinstance(found[-1], Reject) and found[-1].reason == "truncated"
    assert sum(isinstance(item, Reject) for item in found) == 1
    (tmp_path / "a.jsonl.gz").write_bytes(b"no gzip")
    assert [item.reason for item in read(tmp_path / "a.jsonl.gz", "a.jsonl.gz") if isinstance(item, Reject)] == ["damaged"]


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_every_packing_gives_the_same_rows(tmp_path: Path, suffix: str) -> None:
    data = b'{"text": "Tea."}\n{"text": ["Cake.", "Bread."]}\n\n' + b"x" * 2000 + b'\n{"text": "Last."}'
    (tmp_path / "a.jsonl").write_bytes(data)
    path = tmp_path / f"a.jsonl.{suffix}"
    path.write_bytes(packed(data, suffix))
    plain = [item._replace(id=item.id.replace("a.jsonl", path.name)) for item in read(tmp_path / "a.jsonl", "a.jsonl")]
    found = read(path, path.name)
    assert [item.id for item in found] == [item.id for item in plain]
    assert [item.paragraphs for item in found if isinstance(item, Text)] == [["Tea."], ["Cake.", "Bread."], ["Last."]]
    assert split(str(path), len(data), 10, Columns()) == [(0, len(data))]


def packed(data: bytes, suffix: str) -> bytes:
    if suffix == "zst":
        return bytes(pytest.importorskip("zstandard").ZstdCompressor().compress(data))
    return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[suffix](data)  # type: ignore[operator, no-any-return]


def test_what_follows_a_packed_file_does_not_cost_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "Tea."}\n{"text": "Cake."}\n') + b"garbage")
    first, last, damage = read(path, path.name)
    assert isinstance(first, Text) and isinstance(last, Text) and isinstance(damage, Reject)
    assert (last.paragraphs, damage.reason) == (["Cake."], "damaged")
    path.write_bytes(gzip.compress(b'{"text": "Tea."}\n') + gzip.compress(b'{"text": "Cake."}') + bytes(512))
    assert [item.paragraphs for item in read(path, path.name) if isinstance(item, Text)] == [["Tea."], ["Cake."]]
    path.write_bytes(gzip.compress(b'{"text": "Tea."}\n{"text": "Ca') + b"garbage")
    assert [isinstance(item, Reject) for item in read(path, path.name)] == [False, True]


# --- documents between blank lines ---


def test_blank_lines_part_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf\n \nOne.\r\nTwo. Three.\r\n\r\n\t\n\nCaf\xc3\xa9.\n\nLast.")
    assert read(path, "d/a.txt", documents="blank-lines") == [
        Text("text:d/a.txt:6", "", "", "", ["One.", "Two. Three."]),
        Text("text:d/a.txt:30", "", "", "", ["Café."]),
        Text("text:d/a.txt:38", "", "", "", ["Last."]),
    ]


def test_a_broken_document_is_one_reject_and_its_neighbours_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    long, lines, bad = b"x" * 5000, b"tea tea\n" * 300, "Το παλιό σπίτι.".encode("iso8859-7")
    path.write_bytes(b"\n\n".join([b"One.", long, b"Two.", lines, b"a\0b", b"Three.", bad, b"Four.\nFive."]))
    found = read(path, "a.txt", documents="blank-lines")
    assert [item.reason if isinstance(item, Reject) else item.paragraphs for item in found] == [
        ["One."],
        "too-large",
        ["Two."],
        "too-large",
        "binary",
        ["Three."],
        "undecodable",
        ["Four.", "Five."],
    ]
    short = read(path, "a.txt", 0, path.stat().st_size + 5, documents="blank-lines")
    assert short[:-1] == found and isinstance(short[-1], Reject) and short[-1].reason == "truncated"


@given(st.lists(st.sampled_from(["Tea.", "Cake and tea.", "", " ", "\t", "x" * 30, "y" * 90]), max_size=40), st.integers(1, 80))
def test_documents_are_the_same_however_a_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], target: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "blank.txt"
    path.write_text("\n".join(lines))
    size = path.stat().st_size
    ranges = split(str(path), size, target, Columns(), "blank-lines")
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])][: len(ranges)]
    assert (ranges[-1][1] if ranges else 0) == size
    parts = [FileRange("a.txt", str(path), *each) for each in ranges]
    found = list(read_text(parts, documents="blank-lines", max_bytes=60))
    assert found == (read(path, "a.txt", documents="blank-lines", max_bytes=60) if size else [])
    texts = [item for item in found if isinstance(item, Text)]
    kept = [paragraph for text in texts for paragraph in text.paragraphs]
    assert kept == [line for line in lines if line.strip()] or len(texts) < len(found)


# --- lines and ranges ---


@given(st.binary(max_size=60).map(lambda data: data.replace(b"b", b"\n")), st.integers(1, 20))
def test_the_bounded_reader_equals_a_naive_one(data: bytes, most: int) -> None:
    naive, at = [], 0
    for line in io.BytesIO(data):
        naive.append((at, line.removesuffix(b"\n") if len(line.removesuffix(b"\n")) <= most else None))
        at += len(line)
    assert list(read_lines(io.BytesIO(data), None, most)) == naive
    assert list(read_lines(io.BytesIO(data + b"more"), len(data), most))[: len(naive) - 1] == naive[:-1]


@given(st.lists(st.integers(0, 40), max_size=20), st.booleans(), st.integers(1, 60))
def test_ranges_cover_the_file_and_start_where_lines_do(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], cut: bool, target: int
) -> None:
    data = b"".join(b"x" * size + b"\n" for size in sizes)
    data = data[:-1] if cut else data
    path = tmp_path_factory.mktemp("ranges") / "a.jsonl"
    path.write_bytes(data)
    ranges = split_lines(str(path), len(data), target)
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])][: len(ranges)]
    assert (ranges[-1][1] if ranges else 0) == len(data)
    assert all(start == 0 or data[start - 1 : start] == b"\n" for start, _ in ranges)
    assert all(end - start <= target + 41 for start, end in ranges)


def test_a_range_needs_a_size() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split_lines("none", 0, 0)


def test_parts_give_what_the_whole_file_gives(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *({"text": f"Tea {n}." * n} for n in range(50)), b"x" * 5000, {"text": "Last."})
    parts = [FileRange("a.jsonl", str(path), *cut) for cut in split_lines(str(path), path.stat().st_size, 700)]
    assert len(parts) > 5
    assert list(read_text(parts, max_bytes=1000)) == read(path, "a.jsonl")


@pytest.mark.slow
def test_a_long_line_is_skipped_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
        file.write(b'\n{"text": "Tea."}\n')
    tracemalloc.start()
    assert split_lines(str(path), path.stat().st_size, 1 << 20)[0][1] == (64 << 20) + 1
    found = read(path, "a.jsonl")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [item.reason if isinstance(item, Reject) else item.paragraphs for item in found] == ["too-large", ["Tea."]]
    assert peak < 8 << 20


# --- so many lines, and titles ---

TITLED = (
    b"an end of something .\n= = = Tea = = =\nIt is hot.\n\n  = = = = Kinds = = = =\nGreen.\n= = = Cake = = = \nIt is sweet.\n"
)


def test_a_title_begins_a_document(tmp_path: Path) -> None:
    path = tmp_path / "simple_wiki.train"
    path.write_bytes(TITLED)
    found = read(path, "s.train", documents="lines")
    assert found == [
        Text("text:s.train:0", "", "", "", ["an end of something ."]),
        Text("text:s.train:22", "Tea", "", "", ["It is hot.", "= = = = Kinds = = = =", "Green."]),
        Text("text:s.train:81", "Cake", "", "", ["It is sweet."]),
    ]


def test_a_title_without_text_is_an_empty_document(tmp_path: Path) -> None:
    path = tmp_path / "a.train"
    path.write_bytes(b"= = = A = = =\n= = = B = = =\nTea.\n")
    empty, tea = read(path, "a.train", documents="lines")
    assert isinstance(empty, Reject) and empty.reason == "empty" and isinstance(tea, Text) and tea.title == "B"


def test_documents_have_so_many_lines_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "open_subtitles.train"
    path.write_bytes(b"".join(b"Line %d .\n" % n for n in range(10)) + b"x" * 1001 + b"\nLast .\n")
    everything = read(path, "a", documents="lines", lines=4)
    assert [item.reason for item in everything if isinstance(item, Reject)] == ["too-large"]
    assert [len(item.paragraphs) for item in everything if isinstance(item, Text)] == [4, 4, 3]
    small = read(path, "a", documents="lines", lines=100, max_bytes=30)
    assert [len(item.paragraphs) for item in small if isinstance(item, Text)] == [3, 3, 3, 2]


@pytest.mark.parametrize("target", [1, 7, 50, 200, 10_000])
def test_ranges_of_lines_lose_nothing_and_end_before_titles(tmp_path: Path, target: int) -> None:
    path = tmp_path / "a.train"
    path.write_bytes(TITLED * 20)
    cuts = split(str(path), path.stat().st_size, target, Columns(), "lines", 5)
    assert (
        cuts[0][0] == 0 and cuts[-1][1] == path.stat().st_size and all(a[1] == b[0] for a, b in zip(cuts, cuts[1:], strict=False))
    )
    found = [text for cut in cuts for text in read(path, "a", *cut, documents="lines", lines=5)]
    assert found == read(path, "a", documents="lines", lines=5)


@pytest.mark.slow
def test_a_large_file_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "open_subtitles.txt"
    path.write_bytes(b"- What do you mean ?\n" * 1_000_000)
    tracemalloc.start()
    cuts = split(str(path), path.stat().st_size, 2 << 20, Columns(), "lines")
    count = sum(len(item.paragraphs) for item in _texts(path, cuts[:1]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(cuts) == 10 and count == cuts[0][1] // 21 and peak < 4 << 20


def _texts(path: Path, cuts: list[tuple[int, int]]) -> Iterator[Text]:
    parts = [FileRange("a", str(path), *cut) for cut in cuts]
    for item in read_text(parts, documents="lines", max_bytes=16 << 20):
        assert isinstance(item, Text)
        yield item


# --- marks of transcripts and subtitles ---


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("*MOT:\tyou want more ?", "you want more ?"),
        ("*CHI: no .", "no ."),
        ("A:\tI see .", "I see ."),
        ("A: a list", "A: a list"),  # prose may begin so
        ("- What is it ?", "What is it ?"),
        ("-No .", "No ."),
        ("-5 degrees", "-5 degrees"),
        ("<i>- Come here .</i>", "Come here ."),
        ("\u266a La la \u266a", "La la"),
        ("a well-known * mark", "a well-known * mark"),
        ("\u266a\u266a", ""),
        ("*XXX:", ""),
    ],
)
def test_marks_are_kept_or_dropped(tmp_path: Path, line: str, left: str) -> None:
    path = tmp_path / "childes.train"
    path.write_text(f"Tea .\n{line}\nCake .\n", "utf-8")
    for documents, between in (("lines", "\n"), ("blank-lines", "\n"), ("file", " ")):
        (whole,) = read(path, "a", documents=documents)
        marks: Counter[str] = Counter()
        (found,) = read(path, "a", documents=documents, marks=marks)
        assert isinstance(whole, Text) and isinstance(found, Text)
        assert between.join(whole.paragraphs) == between.join(["Tea .", line, "Cake ."])
        assert between.join(found.paragraphs) == between.join(filter(None, ["Tea .", left, "Cake ."]))
        assert bool(marks) == (left != line) and marks["lines"] == (not left)


@pytest.mark.slow
def test_folded_text_matches_as_without_case() -> None:
    """Each character that a Latin letter of a pattern matches with IGNORECASE is folded to it, and to one character."""
    letters = "abcdefghijklmnopqrstuvwxyzàäáãâçéèêëíìîïñóòôöúùûüœß"
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    folded = fold_case(every)
    assert len(folded) == len(every)
    for letter in letters:
        assert [match.start() for match in re.finditer(letter, every, re.IGNORECASE)] == [
            match.start() for match in re.finditer(letter, folded)
        ]
