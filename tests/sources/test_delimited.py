"""CSV and TSV: quoting, encodings, broken rows, long fields, and ids that do not depend on the run."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.records import FileRange, Reject
from bertdata.sources.tables import Columns, Row, read_table, split_table

MOST = 1 << 20
Found = list[Row | Reject]


def read(path: Path, data: bytes, columns: Columns | None = None, *, most: int = MOST, encoding: str = "") -> Found:
    path.write_bytes(data)
    wanted = columns or Columns()
    (whole,) = split_table(str(path), len(data), 1 << 10, wanted)
    return list(read_table(FileRange(path.name, str(path), *whole), "text", wanted, most, encoding=encoding))


def texts(found: Found) -> list[str]:
    return [row.text if isinstance(row, Row) else row.reason for row in found]


def written(rows: list[list[str]], **options: str) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, **options).writerows(rows)  # type: ignore[arg-type]
    return buffer.getvalue().encode()


def test_columns_and_ids(tmp_path: Path) -> None:
    data = 'id,title,text,language,url,license\n7,Tea,Hot tea.,en,http://a/7,CC BY\n8,Cake,"A cake,\n\nor two.",,,\n'
    assert read(tmp_path / "a.csv", data.encode()) == [
        Row("text:a.csv:2", "Tea", "en", "http://a/7", "Hot tea."),
        Row("text:a.csv:3", "Cake", "", "", "A cake,\n\nor two."),
    ]
    found = read(tmp_path / "a.csv", data.encode(), Columns(id="id"))
    assert [row.id for row in found if isinstance(row, Row)] == ["text:a.csv:7", "text:a.csv:8"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_the_delimiter_is_the_one_of_the_header(tmp_path: Path, delimiter: str, suffix: str) -> None:
    data = written([["id", "text"], ["1", "Tea, cake; jam | milk."]], delimiter=delimiter)
    assert texts(read(tmp_path / f"a{suffix}", data)) == ["Tea, cake; jam | milk."]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_and_blank_lines(tmp_path: Path, newline: str) -> None:
    data = newline.join(["", "text,n", "Tea.,1", "", "Cake.,2", '"In\ntwo.",3'])
    found = read(tmp_path / "a.csv", data.encode())
    assert texts(found) == ["Tea.", "Cake.", "In\ntwo."]
    assert [row.id.rpartition(":")[2] for row in found] == ["3", "5", "6"]


QUOTES = {  # a careless line, and the text it has
    "inside": ('1,A 5" nail.', 'A 5" nail.'),
    "doubled": ('1,"A ""hot"" tea."', 'A "hot" tea.'),
}


@pytest.mark.parametrize(("line", "text"), QUOTES.values(), ids=QUOTES)
def test_a_careless_quote_costs_no_row(tmp_path: Path, line: str, text: str) -> None:
    found = read(tmp_path / "a.csv", f'id,text\n0,Before.\n{line}\n2,After.\n3,Last "one".\n'.encode())
    assert texts(found) == ["Before.", text, "After.", 'Last "one".']


def test_a_quote_that_is_never_closed_costs_a_record_of_the_largest_size(tmp_path: Path) -> None:
    lines = [f"{n},Tea." for n in range(1000)]
    lines[100] = '100,"Tea.'
    found = read(tmp_path / "a.csv", "\n".join(["id,text", *lines, ""]).encode(), most=2000)
    assert texts(found)[99:101] == ["Tea.", "too-large"] and 700 < len(found) < 900


def test_rows_with_other_columns_are_rejected(tmp_path: Path) -> None:
    found = read(tmp_path / "a.csv", b"id,text\n1,Tea, or cake.\n2,Tea.,,\n3\n4,\n")
    assert texts(found) == ["malformed-csv", "Tea.", "malformed-csv", "empty"]
    assert isinstance(found[0], Reject) and found[0].where == "a.csv: line 2: 3 fields where the first line has 2"


def test_a_file_without_the_column_is_one_reject(tmp_path: Path) -> None:
    (reject,) = read(tmp_path / "a.csv", b"id,body\n1,Tea.\n")
    assert isinstance(reject, Reject) and reject.reason == "no-text" and "id, body" in reject.where
    assert texts(read(tmp_path / "a.csv", b"\n\n")) == ["empty"]


ENCODINGS = {"utf-8-sig": "Tea – café.", "utf-16": "Tea 茶。", "cp1252": "Thé – café.", "gb18030": "茶树原产于中国，叶子可以喝。"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = ENCODINGS[encoding]
    data = ("id,text\n" + "".join(f"{n},{text * 9}\n" for n in range(9))).encode(encoding)
    assert texts(read(tmp_path / "a.csv", data)) == [text * 9] * 9


def test_bytes_of_no_encoding_cost_their_row(tmp_path: Path) -> None:
    assert texts(read(tmp_path / "a.csv", b"text\nTea.\ncaf\xe9.\nCake.\n")) == ["Tea.", "café.", "Cake."]
    assert texts(read(tmp_path / "a.csv", b"text\nTea.\ncaf\xff.\nCake.\n", encoding="utf-8")) == ["Tea.", "undecodable", "Cake."]
    assert texts(read(tmp_path / "a.csv", b"text\nTea.\0\n")) == ["binary"]


@pytest.mark.parametrize("packer", [".gz", ".bz2"])
def test_compressed_files(tmp_path: Path, packer: str) -> None:
    pack = {".gz": gzip.compress, ".bz2": bz2.compress}[packer]
    data = pack(written([["text"], *([f"Tea {n}, hot."] for n in range(5000))]))
    path = tmp_path / f"a.csv{packer}"
    assert texts(read(path, data)) == [f"Tea {n}, hot." for n in range(5000)]
    *rows, last = read(path, data[: len(data) // 2])
    assert isinstance(last, Reject) and last.reason == "truncated"
    assert texts(rows) == [f"Tea {n}, hot." for n in range(len(rows))]  # no text is cut short


FIELD = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('",\n;|'))


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.lists(FIELD, min_size=2, max_size=2)))
def test_what_csv_writes_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    data = written([["id", "text"], *rows], lineterminator="\n")
    found = read(tmp_path_factory.mktemp("csv") / "a.csv", data)
    assert texts(found) == [text if text.strip() else "empty" for _, text in rows]


@pytest.mark.slow
def test_a_huge_field_costs_itself(tmp_path: Path) -> None:
    huge = "x" * MOST
    for field in (huge, f'"{huge}"'):
        tracemalloc.start()
        found = read(tmp_path / "a.csv", f"id,text\n1,{field}\n2,After.\n".encode())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert texts(found)[0] == "too-large" and texts(found)[-1] == "After.", texts(found)
        assert peak < 20 * MOST


@pytest.mark.slow
def test_many_fields_and_open_quotes_take_linear_time_and_memory(tmp_path: Path) -> None:
    start = time.process_time()
    (reject,) = read(tmp_path / "a.csv", b"id,text\n" + b"," * (4 << 20), most=8 << 20)
    assert isinstance(reject, Reject) and reject.reason == "too-large"
    found = read(tmp_path / "a.csv", b"id,text\n" + b'a","\n' * 100_000, most=8 << 20)
    assert [row.reason for row in found if isinstance(row, Reject)] == ["malformed-csv"]
    assert time.process_time() - start < 10
