"""Tables: Parquet, Arrow, CSV and TSV in each form that other programs write, cut into ranges, broken and damaged."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import random
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import SENTENCES, books_of, table, write_arrow, write_parquet

from bertdata.errors import UsageError
from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources.tables import Columns, Row, is_table, read_table, split_table

KEYED = Columns(id="key")
MOST = 1 << 20
WRITERS = {
    "parquet": lambda path, data, rows: write_parquet(path, data, rows),
    "stream": lambda path, data, rows: write_arrow(path, data, rows),
    "file": lambda path, data, rows: write_arrow(path, data, rows, stream=False),
}
Found = list[Row | Drop | Reject]


def path_of(folder: Path, form: str) -> Path:
    return folder / ("a.parquet" if form == "parquet" else "a.arrow")


def read(path: Path, columns: Columns = KEYED, target: int = 1 << 30, most: int = MOST, encoding: str = "") -> Found:
    ranges = split_table(str(path), size := path.stat().st_size, target, columns)
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])] and ranges[-1][1] == size
    parts = [FileRange(path.name, str(path), *each) for each in ranges]
    return [row for part in parts for row in read_table(part, "text", columns, most, encoding=encoding)]


def read_csv(path: Path, data: bytes, columns: Columns | None = None, **options: Any) -> Found:
    path.write_bytes(data)
    return read(path, columns or Columns(), **options)


def texts(found: Found) -> list[str]:
    return [row.text for row in found if isinstance(row, Row)]


def brief(found: Found) -> list[str]:
    return [row.text if isinstance(row, Row) else row.reason for row in found]


# --- Parquet and Arrow ---


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_rows_have_their_columns_in_order(tmp_path: Path, form: str, kind: pa.DataType) -> None:
    data = table(500, language=["en"] * 500, url=[f"http://a/{n}" for n in range(500)], other=list(range(500)))
    if not (form == "parquet" and pa.types.is_string_view(kind)):
        data = data.set_column(1, "text", data["text"].combine_chunks().cast(kind))
    WRITERS[form](path := path_of(tmp_path, form), data, 20)
    if form != "parquet" and pa.types.is_dictionary(kind):
        assert {getattr(row, "reason", "") for row in read(path)} == {"damaged"}
        return
    found = read(path, target=3000)
    assert found[3] == Row(f"text:{path.name}:k3", "Story 3", "en", "http://a/3", f"{SENTENCES[0]}\n\nIt was the day 3.")
    assert [row.id for row in found if isinstance(row, Row)] == [f"text:{path.name}:k{n}" for n in range(500)]
    assert len(split_table(str(path), path.stat().st_size, 3000, KEYED)) > 5
    unkeyed = read(path, Columns(), target=3000)
    assert unkeyed == read(path, Columns()) and len({row.id for row in unkeyed if isinstance(row, Row)}) == 500


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("list_of", [pa.list_, pa.large_list])
def test_a_list_of_strings_is_a_list_of_paragraphs(tmp_path: Path, form: str, list_of: Any) -> None:
    data = pa.table({"text": pa.array([["Tea.", "Cake."], [], None, ["Bread."], ["A", None]], list_of(pa.string()))})
    WRITERS[form](path_of(tmp_path, form), data, 9)
    assert brief(read(path_of(tmp_path, form), Columns())) == ["Tea.\n\nCake.", "empty", "empty", "Bread.", "no-text"]


@pytest.mark.parametrize("form", WRITERS)
def test_a_broken_row_costs_itself(tmp_path: Path, form: str) -> None:
    strings = pa.array([b"Tea.", b"caf\xe9", None, b"", b"x" * 2000, b"Last."]).view(pa.string())
    WRITERS[form](path_of(tmp_path, form), pa.table({"text": strings}), 9)
    found = read(path_of(tmp_path, form), Columns(), most=1000)
    assert brief(found) == ["Tea.", "bad-utf-8", "empty", "empty", "too-large", "Last."]
    assert isinstance(found[1], Reject) and ":1: 'utf-8' codec can't decode" in found[1].where


@pytest.mark.parametrize("form", WRITERS)
def test_columns_are_checked_before_a_run(tmp_path: Path, form: str) -> None:
    path = path_of(tmp_path, form)
    WRITERS[form](path, pa.table({"body": ["Tea."], "title": ["T"], "number": [1], "blob": [b"\xff"]}), 9)
    with pytest.raises(UsageError, match=r"no column 'text' for the text: set `text_column` to one of 'body', 'title'"):
        read(path, Columns())
    with pytest.raises(UsageError, match=r"no column 'number' for the text: set `text_column` to one of 'body', 'title'"):
        read(path, Columns("number"))
    with pytest.raises(
        UsageError, match="no column 'name' for the title: set `title_column` to one of 'body', 'title', 'number'"
    ):
        read(path, Columns("body", "name"))
    assert read(path, Columns("body", "blob", "number")) == [Row(f"text:{path.name}:1", "", "", "", "Tea.")]


def test_columns_of_csv_are_checked(tmp_path: Path) -> None:
    for columns, reason in ((Columns("body"), "no-text"), (Columns(title="name"), "no-title"), (Columns(id="name"), "no-id")):
        (reject,) = read_csv(tmp_path / "a.csv", b"text,n\nTea.,1\n", columns)
        assert isinstance(reject, Reject) and reject.reason == reason and "_column` to one of 'text', 'n'" in reject.where


def test_names_of_tables() -> None:
    tables = ["a.jsonl", "a.JSONL.GZ", "a.jsonl.zst", "a.parquet", "b/a.arrow", "a.ndjson", "c4.json.gz", "AA/wiki_00"]
    assert all(map(is_table, tables)) and not any(map(is_table, ["a.txt", "a.md", "a.tar.gz", "a.epub"]))


@pytest.mark.parametrize("options", [{"compression": "lz4"}, {"compression": "zstd"}, {"use_legacy_format": True}])
def test_packed_and_old_batches(tmp_path: Path, options: dict[str, Any]) -> None:
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table().schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table(), 6)
    (tmp_path / "a.arrow").write_bytes(buffer.getvalue())
    assert texts(read(tmp_path / "a.arrow", target=1000)) == table()["text"].to_pylist()


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("size", [1, 8, 100, -1, -8, -100])
def test_a_cut_file_is_named(tmp_path: Path, form: str, size: int) -> None:
    WRITERS[form](path := path_of(tmp_path, form), table(), 5)
    path.write_bytes(path.read_bytes()[:size])
    found = read(path)
    assert not all(isinstance(row, Row) for row in found) and (form == "parquet" or size > 0 or len(texts(found)) >= 15)


@pytest.mark.parametrize("data", [b"PAR1", b"PAR1" * 99, b"ARROW1\0\0", b"\xff" * 64, bytes(64), b"tea " * 999])
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_file_that_is_no_table_is_one_reject(tmp_path: Path, data: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(data)
    (found,) = read(tmp_path / name)
    assert isinstance(found, Reject) and found.reason in ("damaged", "truncated") and str(tmp_path) not in found.where


@pytest.mark.parametrize("form", WRITERS)
def test_damage_costs_a_batch_and_is_measured(tmp_path: Path, form: str) -> None:
    path = path_of(tmp_path, form)
    options = {"write_page_checksum": True, "use_dictionary": False, "compression": "none"} if form == "parquet" else {}
    (write_parquet if options else WRITERS[form])(path, table(300), 30, **options)
    data = bytearray(path.read_bytes())
    middle = data.index(b"day 150.")
    data[middle - 2000 : middle - 1950] = b"\xff" * 50
    path.write_bytes(data)
    found = read(path, target=4000)
    broken = [row for row in found if isinstance(row, Reject)]
    assert 1 <= len(broken) <= 30 and len(texts(found)) >= 240
    assert sum(row.lost for row in broken) < len(data) / 3
    assert found == read(path)


@settings(max_examples=50, derandomize=True)  # pyarrow itself crashes on about 1 damaged file in 2,000
@given(st.sampled_from(sorted(WRITERS)), st.randoms(use_true_random=False))
@pytest.mark.slow
def test_any_damage_is_rows_or_rejects(tmp_path_factory: pytest.TempPathFactory, form: str, chance: random.Random) -> None:
    WRITERS[form](path := path_of(tmp_path_factory.getbasetemp(), form), table(30), 10)
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 6)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    try:
        found = read(path, target=chance.choice([300, 1 << 30]))
    except UsageError as error:
        assert "no column" in str(error)
        return
    assert all(json.dumps(row._asdict(), ensure_ascii=False).encode() for row in found)
    assert len(found) >= 30 or not all(isinstance(row, Row) for row in found)


def test_a_table_of_books_is_cleaned(tmp_path: Path) -> None:
    body = f"Chapter One\n\n\n{SENTENCES[0]}\n\n[Illustration]\n\n{SENTENCES[1]}\n"
    data = pa.table({"title": ["The Kettle"], "text": [body], "language": ["de"], "url": ["http://a"]})
    path = write_parquet(tmp_path / "a.parquet", data, 9)
    (found,) = books_of([FileRange("a.parquet", str(path), 0, path.stat().st_size)], max_bytes=MOST)
    assert found == Prose(
        "books:a.parquet:0:0", "books", "de", "The Kettle", "http://a", SENTENCES[:2], licence="as each book states"
    )


def test_a_row_without_the_id_that_was_asked_for_is_rejected(tmp_path: Path) -> None:
    rows = [{"text": "Tea.", "key": 7}, {"text": "Cake."}, {"text": "Jam.", "key": ""}, {"text": "Salt.", "key": None}]
    found = read_csv(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode(), KEYED)
    assert brief(found) == ["Tea.", *["no-id"] * 3] and isinstance(found[0], Row) and found[0].id == "text:a.jsonl:7"


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.slow
def test_a_page_of_many_books_is_read_and_a_bomb_is_not(tmp_path: Path, dictionary: bool) -> None:
    """As pyarrow writes them: a row group of long texts is one page, of many times the bytes that a text may have."""
    words = random.Random(1)
    kinds = SENTENCES[0].split() + ["tea", "of", "lamp"]
    books = [" ".join(words.choices(kinds, k=15_000) * 10) for _ in range(12)]  # which repeat beyond what snappy looks at
    data = pa.table({"text": [f"{n} {book}" for n in range(4) for book in books]})
    assert data.nbytes > 32 << 20
    pq.write_table(data, tmp_path / "a.parquet", use_dictionary=dictionary, compression="snappy")
    assert texts(read(tmp_path / "a.parquet", Columns())) == data["text"].to_pylist()
    data = pa.table({"text": [f"{n} " + "a kettle and a lamp " * 40_000 for n in range(48)]})
    pq.write_table(data, tmp_path / "a.parquet", use_dictionary=dictionary, compression="zstd")
    (found,) = read(tmp_path / "a.parquet", Columns())
    assert isinstance(found, Reject) and found.reason == "too-large" and "would unpack to" in found.where


# --- CSV and TSV ---


def written(rows: list[list[str]], **options: str) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, **options).writerows(rows)  # type: ignore[arg-type]
    return buffer.getvalue().encode()


def test_columns_and_ids_of_csv(tmp_path: Path) -> None:
    data = 'id,title,text,language,url,license\n7,Tea,Hot tea.,en,http://a/7,CC BY\n8,Cake,"A cake,\n\nor two.",,,\n'
    assert read_csv(tmp_path / "a.csv", data.encode()) == [
        Row("text:a.csv:2", "Tea", "en", "http://a/7", "Hot tea."),
        Row("text:a.csv:3", "Cake", "", "", "A cake,\n\nor two."),
    ]
    found = read_csv(tmp_path / "a.csv", data.encode(), Columns(id="id"))
    assert [row.id for row in found if isinstance(row, Row)] == ["text:a.csv:7", "text:a.csv:8"]
    for newline in ("\n", "\r\n", "\r"):
        lines = ["\ufeff", "", "text,n", "Tea.,1", "", "Cake.,2", '"In\ntwo.",3']
        found = read_csv(tmp_path / "a.csv", newline.join(lines).encode())
        assert texts(found) == ["Tea.", "Cake.", "In\ntwo."]
        assert [row.id.rpartition(":")[2] for row in found if isinstance(row, Row)] == ["4", "6", "7"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".tsv.bz2"])
def test_the_delimiter_is_that_of_the_header(tmp_path: Path, delimiter: str, suffix: str) -> None:
    data = written([["id", "text"], *([str(n), "Tea, cake; jam | milk."] for n in range(999))], delimiter=delimiter)
    pack = gzip.compress if suffix.endswith("gz") else bz2.compress if suffix.endswith("bz2") else bytes
    assert brief(read_csv(tmp_path / f"a{suffix}", pack(data))) == ["Tea, cake; jam | milk."] * 999
    if pack is not bytes:
        *rows, last = brief(read_csv(tmp_path / f"a{suffix}", pack(data)[:-20]))
        assert last == "truncated" and set(rows) <= {"Tea, cake; jam | milk."}


@pytest.mark.parametrize("suffix", ["gz", "xz"])
def test_the_rows_before_damage_are_read(tmp_path: Path, suffix: str) -> None:
    rows = [f"Tea {random.Random(n).random()}." for n in range(9999)]
    data = {"gz": gzip, "xz": lzma}[suffix].compress("\n".join(["text", *rows, ""]).encode())
    for damaged in (data[:-30], data + b"junk"):
        *found, last = brief(read_csv(tmp_path / f"a.csv.{suffix}", damaged))
        assert last in ("truncated", "damaged") and len(found) > 9900 and found == rows[: len(found)]


CSV = [  # a file, the encoding that is given, and its texts or reasons
    (b'id,text\n0,Before.\n1,A 5" nail.\n2,"A ""hot"" tea."\n', "", ["Before.", 'A 5" nail.', 'A "hot" tea.']),
    (b"id,text\n1,Tea, or cake.\n2,Tea.,,\n3\n4,\n", "", ["malformed-csv", "Tea.", "malformed-csv", "empty"]),
    (b"id,body\n1,Tea.\n", "", ["no-text"]),
    (b"x" * (2 << 20) + b"\nTea.\n", "", ["no-text"]),
    (b"\n\n", "", ["empty"]),
    (b"id,text\n", "", ["empty"]),
    (b'id, "text", n\n1, "Tea, or cake.", 2\n2, Jam., 3\n', "", ["Tea, or cake.", "Jam."]),
    (b"text\nTea.\ncaf\xe9.\nCake.\n", "", ["Tea.", "café.", "Cake."]),
    (b"text\nTea.\ncaf\xff.\nCake.\n", "utf-8", ["Tea.", "bad-utf-8", "Cake."]),
    (b"text\nTea.\0\n", "", ["undecodable"]),
    (b'text\nTea.\n""\n\n" "\nCake.', "", ["Tea.", "empty", "empty", "Cake."]),
    (b"text,text,id\nTea.,Cake.,1\n", "", ["Tea."]),
    *[
        (f"id,text\n{''.join(f'{n},{text * 9}' + chr(10) for n in range(9))}".encode(encoding), "", [text * 9] * 9)
        for encoding, text in {"utf-16": "Tea 茶。", "cp1252": "Thé – café.", "gb18030": "茶树原产于中国，叶子可以喝。"}.items()
    ],
]


@pytest.mark.parametrize(("data", "encoding", "expected"), CSV)
def test_a_csv_file_is_rows_or_rejects(tmp_path: Path, data: bytes, encoding: str, expected: list[str]) -> None:
    assert brief(read_csv(tmp_path / "a.csv", data, encoding=encoding)) == expected


FIELD = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('",\n;|'))


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.lists(FIELD, min_size=2, max_size=2)))
def test_what_csv_writes_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    data = written([["id", "text"], *rows], lineterminator="\n")
    found = read_csv(tmp_path_factory.mktemp("csv") / "a.csv", data)
    assert brief(found) == [text if text.strip() else "empty" for _, text in rows or [["", ""]]]


@pytest.mark.slow
def test_huge_records_cost_themselves_in_linear_time_and_memory(tmp_path: Path) -> None:
    lines = [f"{n},Tea." for n in range(1000)]
    lines[100] = '100,"Tea.'  # never closed: a record of the largest size
    found = brief(read_csv(tmp_path / "a.csv", "\n".join(["id,text", *lines, ""]).encode(), most=2000))
    assert found[99:101] == ["Tea.", "too-large"] and 700 < len(found) < 900
    for field in ("x" * MOST, f'"{"x" * MOST}"'):
        tracemalloc.start()
        found = brief(read_csv(tmp_path / "a.csv", f"id,text\n1,{field}\n2,After.\n".encode()))
        assert tracemalloc.get_traced_memory()[1] < 20 * MOST
        tracemalloc.stop()
        assert (found[0], found[-1]) == ("too-large", "After.")
    start = time.process_time()
    assert brief(read_csv(tmp_path / "a.csv", b"id,text\n" + b"," * (4 << 20), most=8 << 20)) == ["too-large"]
    assert brief(read_csv(tmp_path / "a.csv", b"id,text\n" + b'a","\n' * 100_000, most=8 << 20)) == ["malformed-csv"]
    assert time.process_time() - start < 10
