"""Tables: Parquet and Arrow in every form that pyarrow and `datasets` write, cut at row groups and batches, and broken."""

from __future__ import annotations

import io
import json
import random
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
WRITERS = {
    "parquet": lambda path, data, rows: write_parquet(path, data, rows),
    "stream": lambda path, data, rows: write_arrow(path, data, rows),
    "file": lambda path, data, rows: write_arrow(path, data, rows, stream=False),
}


def path_of(folder: Path, form: str) -> Path:
    return folder / ("a.parquet" if form == "parquet" else "a.arrow")


def read(
    path: Path, columns: Columns = KEYED, target: int = 1 << 30, most: int = 1 << 20, cuts: list[tuple[int, int]] | None = None
) -> list[Row | Drop | Reject]:
    ranges = cuts or split_table(str(path), path.stat().st_size, target, columns)
    return [row for each in ranges for row in read_table(FileRange(path.name, str(path), *each), "text", columns, most)]


def texts(found: list[Row | Reject]) -> list[str]:
    return [row.text for row in found if isinstance(row, Row)]


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_rows_come_with_their_columns_in_order(tmp_path: Path, form: str, kind: pa.DataType) -> None:
    data = table(language=["en"] * 20, url=[f"http://a/{n}" for n in range(20)], other=list(range(20)))
    if not (form == "parquet" and pa.types.is_string_view(kind)):
        data = data.set_column(1, "text", data["text"].combine_chunks().cast(kind))
    WRITERS[form](path_of(tmp_path, form), data, 7)
    if form != "parquet" and pa.types.is_dictionary(kind):
        with pytest.raises(UsageError, match="Parquet"):
            read(path_of(tmp_path, form))
        return
    found = read(path_of(tmp_path, form))
    name = path_of(tmp_path, form).name
    assert found[3] == Row(f"text:{name}:k3", "Story 3", "en", "http://a/3", f"{SENTENCES[0]}\n\nIt was the day 3.")
    assert [row.id for row in found if isinstance(row, Row)] == [f"text:{name}:k{n}" for n in range(20)]


@pytest.mark.parametrize("form", WRITERS)
def test_parts_give_what_the_whole_table_gives_and_ids_stay_apart(tmp_path: Path, form: str) -> None:
    path = path_of(tmp_path, form)
    WRITERS[form](path, table(500), 20)
    size = path.stat().st_size
    ranges = split_table(str(path), size, 3000, Columns())
    assert len(ranges) > 5
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == size
    found = read(path, Columns(), cuts=ranges)
    assert found == read(path, Columns(), cuts=[(0, size)])
    assert texts(found) == table(500)["text"].to_pylist()
    assert len({row.id for row in found}) == 500


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("list_of", [pa.list_, pa.large_list])
def test_a_list_of_strings_is_a_list_of_paragraphs(tmp_path: Path, form: str, list_of: Any) -> None:
    data = pa.table({"text": pa.array([["Tea.", "Cake."], [], None, ["Bread."], ["A", None]], list_of(pa.string()))})
    WRITERS[form](path_of(tmp_path, form), data, 9)
    found = read(path_of(tmp_path, form), Columns())
    assert [row.text if isinstance(row, Row) else row.reason for row in found] == [
        "Tea.\n\nCake.",
        "empty",
        "no-text",
        "Bread.",
        "no-text",
    ]


@pytest.mark.parametrize("form", WRITERS)
def test_a_broken_row_costs_itself(tmp_path: Path, form: str) -> None:
    strings = pa.array([b"Tea.", b"caf\xe9", None, b"", b"x" * 2000, b"Last."]).view(pa.string())
    path = path_of(tmp_path, form)
    WRITERS[form](path, pa.table({"text": strings}), 9)
    found = read(path, Columns(), most=1000)
    assert [row.text if isinstance(row, Row) else row.reason for row in found] == [
        "Tea.",
        "bad-utf-8",
        "no-text",
        "empty",
        "too-large",
        "Last.",
    ]
    assert isinstance(found[1], Reject) and "row 1: unexpected end of data at byte 3" in found[1].where


@pytest.mark.parametrize("form", WRITERS)
def test_a_missing_column_is_told_before_anything_runs(tmp_path: Path, form: str) -> None:
    path = path_of(tmp_path, form)
    WRITERS[form](path, pa.table({"body": ["Tea."], "number": [1], "title": ["T"]}), 9)
    with pytest.raises(UsageError, match=r"no column 'text': set `text_column` to one of 'body', 'number', 'title'"):
        read(path, Columns())
    with pytest.raises(UsageError, match=r"no column 'key': set `id_column` to one of"):
        read(path, Columns("body", id="key"))
    with pytest.raises(UsageError, match=r"no column 'name': set `title_column` to one of"):
        read(path, Columns("body", "name"))
    with pytest.raises(UsageError, match=r"'number' contains int64, not text: set `text_column` to one of 'body', 'title'"):
        read(path, Columns("number"))
    WRITERS[form](path, pa.table({"body": ["Tea."], "number": [1]}), 9)
    assert read(path, Columns("body", id="number")) == [Row(f"text:{path.name}:1", "", "", "", "Tea.")]


def test_columns_of_other_kinds_are_not_looked_at(tmp_path: Path) -> None:
    when = pa.array([1 << 62], pa.timestamp("s", "No/Where"))
    path = write_arrow(tmp_path / "a.arrow", pa.table({"text": ["Tea."], "url": when, "title": [b"\xff"], "language": [True]}), 9)
    (row,) = read(path, Columns())
    assert isinstance(row, Row) and row[1:] == ("", "", "", "Tea.")


def test_names_tell_tables() -> None:
    assert all(
        map(is_table, ["a.jsonl", "a.JSONL.GZ", "a.jsonl.zst", "a.parquet", "b/a.arrow", "a.ndjson", "c4.json.gz", "AA/wiki_00"])
    )
    assert not any(map(is_table, ["a.txt", "a.md", "a.tar.gz", "a.epub"]))


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_packed_batches(tmp_path: Path, compression: str) -> None:
    buffer = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(buffer, table().schema, options=options) as writer:
        writer.write_table(table(), 6)
    (tmp_path / "a.arrow").write_bytes(buffer.getvalue())
    assert texts(read(tmp_path / "a.arrow", target=1000)) == table()["text"].to_pylist()
    write_parquet(tmp_path / "a.parquet", table(), 6, compression=compression)
    assert texts(read(tmp_path / "a.parquet", target=1000)) == table()["text"].to_pylist()


def test_the_form_before_arrow_0_15(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table().schema, options=pa.ipc.IpcWriteOptions(use_legacy_format=True)) as writer:
        writer.write_table(table(), 6)
    (tmp_path / "a.arrow").write_bytes(buffer.getvalue())
    assert texts(read(tmp_path / "a.arrow", target=1000)) == table()["text"].to_pylist()


@pytest.mark.parametrize("stream", [True, False])
def test_a_stream_without_its_end_is_told(tmp_path: Path, stream: bool) -> None:
    data = table(30)
    path = write_arrow(tmp_path / "a.arrow", data, 10, stream=stream, end=False)
    found = read(path)
    assert texts(found) == data["text"].to_pylist()
    assert [row.reason for row in found if isinstance(row, Reject)] == ["truncated"]
    whole = write_arrow(tmp_path / "a.arrow", data, 10, stream=stream).read_bytes()
    assert not [row for row in read(path) if isinstance(row, Reject)]
    path.write_bytes(whole[: len(whole) * 2 // 3])
    found = read(path)
    assert 10 <= len(texts(found)) < 30 and [row.reason for row in found if isinstance(row, Reject)] in (
        ["truncated"],
        ["damaged"],
    )


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("size", [1, 7, 8, 12, 100, -1, -8, -100])
def test_a_cut_file_is_told(tmp_path: Path, form: str, size: int) -> None:
    path = path_of(tmp_path, form)
    WRITERS[form](path, table(), 5)
    path.write_bytes(path.read_bytes()[:size])
    found = read(path)
    assert not all(isinstance(row, Row) for row in found)
    if form != "parquet" and size < 0:
        assert len(texts(found)) >= 15


@pytest.mark.parametrize(
    "data", [b"PAR1", b"PAR1" * 99, b"ARROW1\0\0", b"\xff" * 64, bytes(64), b'{"text": "Tea."}\n', b"tea " * 999]
)
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_what_is_no_table_is_one_reject(tmp_path: Path, data: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    (found,) = read(path)
    assert isinstance(found, Reject) and found.reason in ("damaged", "truncated")
    assert str(tmp_path) not in found.where


@pytest.mark.parametrize("form", WRITERS)
def test_damage_costs_a_batch_and_is_measured(tmp_path: Path, form: str) -> None:
    path = path_of(tmp_path, form)
    if form == "parquet":
        write_parquet(path, table(300), 30, write_page_checksum=True, use_dictionary=False, compression="none")
    else:
        WRITERS[form](path, table(300), 30)
    data = bytearray(path.read_bytes())
    middle = data.index(b"day 150.")
    data[middle - 2000 : middle - 1950] = b"\xff" * 50
    path.write_bytes(data)
    found = read(path, target=4000)
    broken = [row for row in found if isinstance(row, Reject)]
    assert 1 <= len(broken) <= 30 and len(texts(found)) >= 240
    assert sum(row.lost for row in broken) < len(data) / 3
    assert found == read(path, target=1 << 30)


@settings(max_examples=150)
@given(st.sampled_from(sorted(WRITERS)), st.randoms(use_true_random=False))
@pytest.mark.slow
def test_any_damage_is_rows_or_rejects(tmp_path_factory: pytest.TempPathFactory, form: str, chance: random.Random) -> None:
    path = path_of(tmp_path_factory.getbasetemp(), form)
    WRITERS[form](path, table(30), 10)
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 6)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    try:
        found = read(path, target=chance.choice([300, 1 << 30]))
    except UsageError as error:
        assert "no column" in str(error) or "not text" in str(error)
        return
    assert all(not isinstance(row, Row) or (row.text.encode() and row.id.encode()) for row in found)
    assert all(json.dumps(row._asdict(), ensure_ascii=False).encode() for row in found)
    assert len(found) >= 30 or not all(isinstance(row, Row) for row in found)


def test_a_table_of_books_is_cleaned(tmp_path: Path) -> None:
    body = f"Chapter One\n\n\n{SENTENCES[0]}\n\n[Illustration]\n\n{SENTENCES[1]}\n"
    data = pa.table({"title": ["The Kettle"], "text": [body], "language": ["de"], "url": ["http://a"]})
    path = write_parquet(tmp_path / "a.parquet", data, 9)
    found = list(books_of([FileRange("a.parquet", str(path), 0, path.stat().st_size)], max_bytes=1 << 20))
    assert found == [
        Prose("books:a.parquet:0:0", "books", "de", "The Kettle", "http://a", SENTENCES[:2], licence="as each book states")
    ]


def test_a_row_without_the_id_that_was_asked_for_is_refused(tmp_path: Path) -> None:
    """An id that is a position in the file, where another was asked for, would be found nowhere again."""
    path = tmp_path / "a.jsonl"
    rows = [{"text": "Tea.", "key": 7}, {"text": "Cake."}, {"text": "Jam.", "key": ""}, {"text": "Salt.", "key": None}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    part = FileRange("a.jsonl", str(path), 0, path.stat().st_size)
    found = list(read_table(part, "text", Columns(id="key"), 1000))
    assert [one.id for one in found if isinstance(one, Row)] == ["text:a.jsonl:7"]
    assert [one.reason for one in found if isinstance(one, Reject)] == ["no-id"] * 3


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.slow
def test_a_page_of_many_books_is_read(tmp_path: Path, dictionary: bool) -> None:
    """As pyarrow writes them: a row group of long texts is one page, of many times the bytes that a text may have."""
    words = random.Random(1)
    kinds = SENTENCES[0].split() + ["tea", "of", "lamp"]
    books = [" ".join(words.choices(kinds, k=15_000) * 10) for _ in range(12)]  # which repeat beyond what snappy looks at
    data = pa.table({"text": [f"{n} {book}" for n in range(4) for book in books]})
    path = tmp_path / "a.parquet"
    pq.write_table(data, path, use_dictionary=dictionary, compression="snappy")
    assert data.nbytes > 32 << 20
    assert texts(read(path, Columns())) == data["text"].to_pylist()


def test_a_page_that_unpacks_to_many_times_its_bytes_is_refused(tmp_path: Path) -> None:
    texts = [f"{n} " + "a kettle and a lamp " * 40_000 for n in range(48)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    (found,) = read(tmp_path / "a.parquet", Columns())
    assert isinstance(found, Reject) and found.reason == "too-large" and "would unpack to" in found.where
