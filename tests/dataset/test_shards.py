"""Shards: every reader gets what was written, and a damaged file says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertdata.dataset import shards
from bertdata.dataset.manifest_records import RowFile
from bertdata.errors import VerificationError
from bertdata.records import Document
from bertdata.storage.files import digest

LAW = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = st.one_of(
    st.text(max_size=12), st.sampled_from(["", "茶树原产于中国。", "👩‍👩‍👧‍👦 tea", "naïve\u0301", "a\x00b", "\U0010ffff"])
)
SOME = [
    Document("w:1", "wikipedia", "en", "Tea", "https://w/Tea", ["Tea is a drink.", "茶 😀", ""], [0, 2]),
    Document("w:2", "wikipedia", "zh", "", "", ["一。"], [0]),
    Document("w:3", "books", "", "", "", [], []),
]
PAIRS: dict[str, Any] = {
    "ends": np.array([0, 5, 12], np.int64),
    "input_ids": np.array([2, 65535, 3, 9, 3, 2, 7, 8, 3, 9, 10, 3], np.uint16),
    "token_type_ids": np.array([0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1], np.uint8),
    "next_sentence_label": np.array([1, 0], np.int8),
}


@st.composite
def documents(draw: st.DrawFn) -> Document:
    paragraphs = draw(st.lists(st.lists(TEXT, min_size=1, max_size=3), max_size=3))
    starts = [sum(map(len, paragraphs[:i])) for i in range(len(paragraphs))]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    return Document(*(draw(st.text(max_size=6)) for _ in range(5)), sentences=sentences, paragraph_starts=starts)


@st.composite
def pair_columns(draw: st.DrawFn) -> dict[str, Any]:
    lengths = draw(st.lists(st.integers(0, 9), max_size=5))
    total, ends = sum(lengths), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.array(draw(st.lists(st.integers(0, 65535), min_size=total, max_size=total)), np.uint16)
    segments = np.arange(total).astype(np.uint8) % 2
    return {"ends": ends, "input_ids": ids, "token_type_ids": segments, "next_sentence_label": np.array(lengths, np.int8) % 2}


def batch_of(many: list[Document]) -> pa.RecordBatch:
    gathered = shards.DocumentBatch()
    for document in many:
        gathered.add(document)
    assert gathered.bytes == sum(len(s.encode()) for d in many for s in d.sentences)
    return gathered.take()


def write_documents(root: Path, *batches: list[Document]) -> Path:
    name = shards.name("train", 0, 1)
    entry = shards.write(root, name, shards.DOCUMENT, map(batch_of, batches))
    path = root / name
    rows, size = sum(map(len, batches)), path.stat().st_size
    assert entry == RowFile(name=name, rows=rows, batches=len(batches), bytes=size, sha256=digest(path))
    return path


def write_pairs(root: Path, columns: dict[str, Any] = PAIRS) -> Path:
    schema = shards.pair_schema(30522, columns)
    shards.write(root, "x.arrow", schema, [shards.pair_batch(schema, columns)])
    return root / "x.arrow"


def rows_of(path: Path, *part: int) -> list[dict[str, Any]]:
    return [row for batch in shards.read_batches(path, *part) for row in batch.to_pylist()]


@LAW
@given(many=st.lists(st.lists(documents(), min_size=1, max_size=3), min_size=1, max_size=3), data=st.data())
def test_documents_are_read_as_they_were_written(tmp_path: Path, many: list[list[Document]], data: st.DataObject) -> None:
    path = write_documents(tmp_path, *many)
    start = data.draw(st.integers(0, len(many)))
    end = data.draw(st.integers(start, len(many)))
    for part in ((), (start, end)):
        assert [Document(**row) for row in rows_of(path, *part)] == [
            each for batch in many[slice(*part or (None,))] for each in batch
        ]


@LAW
@given(columns=pair_columns())
def test_pairs_are_read_as_they_were_written(tmp_path: Path, columns: dict[str, Any]) -> None:
    rows, ends = rows_of(write_pairs(tmp_path, columns)), columns["ends"].tolist()
    for row, start, end in zip(rows, ends, ends[1:], strict=False):
        for name in ("input_ids", "token_type_ids"):
            assert row[name] == columns[name][start:end].tolist()
    assert [row["next_sentence_label"] for row in rows] == columns["next_sentence_label"].tolist()


def test_masks_words_and_documents_are_columns(tmp_path: Path) -> None:
    flags = np.arange(12) % 3 == 1
    more = {
        "masked_lm_positions": np.array([1, 65535, 2]),
        "masked_lm_labels": np.array([7, 65535, 9]),
        "masked_lm_ends": [0, 2, 3],
    }
    names = {"a_document": ["w:1", "w:2"], "b_document": ["w:1", "w:1"]}
    rows = rows_of(write_pairs(tmp_path, {**PAIRS, "continues_word": flags, **more, **names}))
    assert [row["continues_word"] for row in rows] == [flags[:5].tolist(), flags[5:].tolist()]
    assert [row["masked_lm_positions"] for row in rows] == [[1, 65535], [2]]
    assert [row["masked_lm_labels"] for row in rows] == [[7, 65535], [9]]
    assert [row["a_document"] for row in rows] == names["a_document"]
    assert shards.pair_schema(1 << 16, PAIRS).field("input_ids").type == pa.list_(pa.uint16())
    assert shards.pair_schema((1 << 16) + 1, PAIRS).field("input_ids").type == pa.list_(pa.uint32())


def test_equal_batches_give_equal_bytes_which_are_mapped_without_a_copy(tmp_path: Path) -> None:
    assert digest(write_documents(tmp_path / "a", SOME)) == digest(write_documents(tmp_path / "b", SOME))
    path = write_pairs(tmp_path)
    before = pa.total_allocated_bytes()
    (batch,) = shards.map_batches(path)
    values = batch.column("input_ids").flatten().to_numpy(zero_copy_only=True)
    assert pa.total_allocated_bytes() == before and values.tolist() == PAIRS["input_ids"].tolist()
    assert path.read_bytes().count(PAIRS["input_ids"].tobytes()) == 1  # not compressed


def test_a_file_cut_anywhere_is_named(tmp_path: Path) -> None:
    path = write_documents(tmp_path, SOME, SOME)
    contents, cut = path.read_bytes(), tmp_path / "cut"
    for size in {*range(0, len(contents), 8), *range(len(contents) - 9, len(contents))}:
        cut.write_bytes(contents[:size])
        with pytest.raises(VerificationError, match="cut is missing or damaged.*build the dataset again"):
            rows_of(cut)
    with pytest.raises(VerificationError, match="gone is missing or damaged"):
        rows_of(tmp_path / "gone")


def test_flipped_bytes_raise_our_error_or_none(tmp_path: Path) -> None:
    """A flipped byte of text is found by the manifest's SHA-256. What Arrow finds must be our error."""
    path = write_pairs(tmp_path)
    contents, bad, refused = path.read_bytes(), tmp_path / "bad", 0
    for at in range(0, len(contents), 5):
        bad.write_bytes(contents[:at] + bytes([contents[at] ^ 0xFF]) + contents[at + 1 :])
        try:
            rows_of(bad)
        except VerificationError:
            refused += 1
    assert refused > 20


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def batches() -> Any:
        yield batch_of(SOME)
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        shards.write(tmp_path, "data/x", shards.DOCUMENT, batches())
    assert list((tmp_path / "data").iterdir()) == []
