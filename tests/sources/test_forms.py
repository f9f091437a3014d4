"""Every form that books and text come in, through `build-corpus`: one directory of all, a dataset of `datasets`, BookCorpus."""

from __future__ import annotations

import doctest
import gzip
import json
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest
from conftest import Build, Run, digests, read_manifest, read_rows
from made import SENTENCES, book, epub, page, plain_epub, table, tar, write_arrow, write_parquet

from bertdata.records import FileRange, Reject
from bertdata.sources import line_ranges, tables
from bertdata.sources.books import Book, read_books, sentence_lines, split, xhtml, xml_tags
from bertdata.sources.tables import Columns
from bertdata.storage.files import size

ALL = ("--dedup", "none", "--max-repeated", 1)  # the sample's texts repeat themselves

# --- the first BookCorpus: lines that are sentences ---

LINES = [f"the kettle sang `` tea '' {n} times . and stopped ." for n in range(25)]


def lines_file(tmp_path: Path, text: bytes | None = None) -> Path:
    path = tmp_path / "books_large_p1.txt"
    path.write_bytes("\n".join(LINES).encode() if text is None else text)
    return path


def read(path: Path, ranges: list[tuple[int, int]], count: int, most: int = 1000) -> list[Book | Reject]:
    parts = [FileRange(path.name, str(path), *each) for each in ranges]
    return list(read_books(parts, sentences=count, max_bytes=most))  # type: ignore[arg-type]


def test_lines_become_documents_of_a_stated_size(tmp_path: Path) -> None:
    path = lines_file(tmp_path)
    found = read(path, [(0, path.stat().st_size)], 10)
    assert [(item.paragraphs, item.sentences) for item in found if isinstance(item, Book)] == [
        (LINES[:10], True),
        (LINES[10:20], True),
        (LINES[20:], True),
    ]
    starts = [0, *(len("\n".join(LINES[:n])) + 1 for n in (10, 20))]
    assert [item.id for item in found] == [f"books:books_large_p1.txt:{start}" for start in starts]


def test_ranges_of_lines_give_every_line_once(tmp_path: Path) -> None:
    path = lines_file(tmp_path)
    ranges = split(str(path), path.stat().st_size, 300, Columns())
    assert len(ranges) > 3
    found = read(path, ranges, 4)
    assert [line for item in found if isinstance(item, Book) for line in item.paragraphs] == LINES
    assert len({item.id for item in found}) == len(found)


def test_a_broken_line_costs_itself(tmp_path: Path) -> None:
    path = lines_file(tmp_path, b"\xef\xbb\xbfone .\r\n\n  two .\ncaf\xe9\nthree .\na\0b\n" + b"x" * 2000 + b"\nfour .")
    found = read(path, [(0, path.stat().st_size + 9)], 3)
    reasons = [item.reason for item in found if isinstance(item, Reject)]
    assert reasons == ["bad-utf-8", "binary", "too-large", "truncated"]
    assert [item.paragraphs for item in found if isinstance(item, Book)] == [["one .", "two .", "three ."], ["four ."]]


# --- texts that converters made of EPUBs: a line a paragraph ---

LONG = [f"{' '.join(SENTENCES)} It was the day {n}." for n in range(12)]
FRONT = ["THE KETTLE", "By A. Nobody", "Copyright 2012 A. Nobody", "Smashwords Edition", "Table of Contents", "Chapter One"]
FRONT += ["Chapter Two: The Lamps", "Epilogue"]


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_a_text_with_a_paragraph_a_line(tmp_path: Path, gap: str) -> None:
    spoken = ["“Is there any bread?” asked the boy, who had come in by the door.", "“No,” she said."]
    body = [*FRONT, "Chapter One", *LONG[:4], "* * *", *LONG[4:6], *spoken, "Chapter Two: The Lamps", *LONG[6:], "~~~~"]
    path = tmp_path / "kettle.epub.txt"
    path.write_text(gap.join(body))
    (found,) = read_books([FileRange(path.name, str(path), 0, path.stat().st_size)], max_bytes=1 << 20)
    assert found == Book("books:kettle.epub.txt", "kettle", "", [*LONG[:6], *spoken, *LONG[6:]])


# --- the whole way ---


@pytest.mark.parametrize("module", [line_ranges, sentence_lines, tables, xhtml, xml_tags])
def test_doctests(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of every form of book."""
    root = tmp_path_factory.mktemp("shelf")
    (root / "plain.txt").write_bytes(book(1))
    (root / "smashed.epub.txt").write_bytes(("\n".join(SENTENCES * 3) + "\n* * *\n" + "\n".join(SENTENCES)).encode())
    (root / "one.epub").write_bytes(plain_epub())
    (root / "books1.tar.gz").write_bytes(gzip.compress(tar([("books1/epubtxt/a.epub.txt", book(2)), ("b.epub", plain_epub())])))
    (root / "old.tar").write_bytes(tar([("c.txt", book(3)), ("cover.jpg", b"\xff\xd8")]))
    (root / "books_large_p1.txt").write_text("\n".join(LINES))
    stories = pa.table({"title": ["The Lamp"], "text": [book(4).decode()]})
    write_parquet(root / "stories.parquet", stories, 9)
    write_arrow(root / "stories.arrow", stories, 9)
    (root / "stories.jsonl.gz").write_bytes(gzip.compress(json.dumps({"title": "The Lamp", "text": book(5).decode()}).encode()))
    return root


def test_every_form_of_book_in_one_run(build: Build, shelf: Path, tmp_path: Path) -> None:
    corpus = build("build-corpus", tmp_path / "corpus", "--books", shelf, "--book-sentences", 10, *ALL)
    rows = {row["id"]: row for row in read_rows(corpus)}
    assert set(rows) == {
        "books:plain",
        "books:smashed.epub.txt",
        "books:one.epub",
        "books:books1.tar.gz/books1/epubtxt/a.epub.txt",
        "books:books1.tar.gz/b.epub",
        "books:old.tar/c",
        *(f"books:books_large_p1.txt:{len(chr(10).join(LINES[:n])) + (n > 0)}" for n in (0, 10, 20)),
        "books:stories.parquet:0:0",
        *(id for id in rows if id.startswith("books:stories.arrow:")),
        "books:stories.jsonl.gz:0",
    }
    assert rows["books:books_large_p1.txt:0"]["sentences"] == LINES[:10]
    assert rows["books:books_large_p1.txt:0"]["paragraph_starts"] == [0]
    assert rows["books:one.epub"]["sentences"] == SENTENCES
    assert rows["books:one.epub"]["language"] == "en"
    assert rows["books:stories.parquet:0:0"]["title"] == "The Lamp"
    manifest = read_manifest(corpus)
    assert manifest["counts"][0]["dropped"] == {"other file in an archive": 1}
    entries = {entry["name"]: entry for entry in manifest["inputs"]}
    assert entries["books_large_p1.txt"]["documents"].startswith("of 10 lines each")
    assert "documents" not in entries["plain.txt"]


@pytest.mark.slow
def test_every_form_gives_the_same_bytes_with_two_workers(build: Build, run: Run, shelf: Path, tmp_path: Path) -> None:
    one = build("build-corpus", tmp_path / "one", "--books", shelf, *ALL)
    run("build-corpus", "--books", shelf, *ALL, "--output", tmp_path / "two", "--workers", 2)
    assert digests(one) == digests(tmp_path / "two")


def test_every_form_is_read_from_a_store_as_from_a_disk(shelf: Path) -> None:
    pytest.importorskip("upath")
    store = pytest.importorskip("fsspec").filesystem("memory")
    for path in shelf.iterdir():
        store.pipe(f"/forms/{path.name}", path.read_bytes())
        found = []
        for name in (str(path), f"memory://forms/{path.name}"):
            ranges = split(name, size(name), 1000, Columns())
            found.append((ranges, list(read_books([FileRange(path.name, name, *each) for each in ranges], max_bytes=1 << 20))))
        assert found[0] == found[1] and found[0][1]
        assert not any(isinstance(item, Reject) for item in found[0][1])


def test_tables_are_cut_into_tasks_and_give_the_same_documents(build: Build, tmp_path: Path) -> None:
    data = table(1200)
    (tmp_path / "text").mkdir()
    write_parquet(tmp_path / "text" / "a.parquet", data, 100, compression="none", use_dictionary=False)
    write_arrow(tmp_path / "text" / "b.arrow", data, 100)
    small = build("build-corpus", tmp_path / "small", "--text", tmp_path / "text", "--task-bytes", 1 << 16)
    large = build("build-corpus", tmp_path / "large", "--text", tmp_path / "text")
    assert len(read_manifest(small)["shards"]) > 3 and len(read_manifest(large)["shards"]) == 1
    assert read_rows(small) == read_rows(large)
    again = build("build-corpus", tmp_path / "again", "--text", tmp_path / "text", "--task-bytes", 1 << 16)
    assert digests(small) == digests(again)


def test_documents_between_blank_lines(build: Build, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{SENTENCES[0]}\n{SENTENCES[1]}\n\n{SENTENCES[2]}\n")
    rows = read_rows(build("build-corpus", tmp_path / "c", "--text", tmp_path / "a.txt", "--text-documents", "blank-lines"))
    assert [(row["sentences"], row["paragraph_starts"]) for row in rows] == [(SENTENCES[:2], [0, 1]), (SENTENCES[2:], [0])]


# --- as `datasets` leaves them ---


@pytest.mark.parametrize("as_dict", [False, True])
def test_a_data_set_on_disk(build: Build, tmp_path: Path, as_dict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    rows = {"title": [f"Book {n}" for n in range(6)], "text": [book(n).decode() for n in range(6)]}
    made = datasets.Dataset.from_dict(rows)
    made = datasets.DatasetDict({"train": made, "test": made.select([0])}) if as_dict else made
    made.save_to_disk(tmp_path / "saved", num_shards={"train": 2, "test": 1} if as_dict else 2)
    read = datasets.load_from_disk(tmp_path / "saved")
    (read["train"] if as_dict else read).map(lambda row: {"text": "It must not be read."})  # leaves a cache beside the data
    assert list((tmp_path / "saved").rglob("cache-*.arrow"))
    found = read_rows(build("build-corpus", tmp_path / "corpus", "--books", tmp_path / "saved", *ALL))
    assert sorted(row["title"] for row in found) == sorted(rows["title"] + ["Book 0"] * as_dict)
    assert not any("must not" in sentence for row in found for sentence in row["sentences"])


def test_a_folder_as_the_hub_has_it(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    root = tmp_path / "hub"
    (root / "data").mkdir(parents=True)
    (root / "README.md").write_text("# Books")
    datasets.Dataset.from_dict({"text": SENTENCES}).to_parquet(root / "data" / "train-00000-of-00001.parquet")
    found = read_rows(build("build-corpus", tmp_path / "corpus", "--text", root))
    assert [row["sentences"] for row in found] == [[sentence] for sentence in SENTENCES]


def test_an_epub_of_real_structure(build: Build, tmp_path: Path) -> None:
    """Cover, title page, imprint, contents, two chapters with notes and a poem, as converters write them."""
    chapter = (
        "<h2>Chapter {0}</h2><p class='first'>{1}<sup><a epub:type='noteref' href='#n{0}'>{0}</a></sup></p><blockquote><p>{2}</p>"
        "</blockquote><div class='poem'><p>Sing, kettle,<br/>sing</p></div><p class='center'>* * *</p><p>{3}</p>"
        "<aside epub:type='footnote' id='n{0}'><p>It was a note.</p></aside>"
    )
    pages: dict[str, str | bytes] = {
        "cover.xhtml": page("<img src='cover.jpg' alt='Cover'/>", body_type="cover"),
        "title.xhtml": page("<p>The Kettle</p><p>by</p><p>A. Nobody</p>", body_type="titlepage"),
        "copyright.xhtml": page("<p>Copyright 2019 A. Nobody</p><p>ISBN 978-0-00-000000-0</p><p>No part may be copied.</p>"),
        "toc.xhtml": page("".join(f"<p><a href='c{n}.xhtml'>Chapter {n}</a></p>" for n in (1, 2, 3))),
        "c1.xhtml": page(chapter.format(1, *SENTENCES), body_type="bodymatter chapter"),
        "c2.xhtml": page(chapter.format(2, *SENTENCES[::-1])),
    }
    (tmp_path / "kettle.epub").write_bytes(epub(pages))
    (row,) = read_rows(build("build-corpus", tmp_path / "corpus", "--books", tmp_path / "kettle.epub", *ALL))
    assert row["sentences"] == [*SENTENCES, *SENTENCES[::-1]]
    assert row["paragraph_starts"] == list(range(6))
    assert (row["id"], row["title"], row["language"]) == ("books:kettle.epub", "The Kettle", "en")
