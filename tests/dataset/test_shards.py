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
FLAGS = np.arange(12) % 3 == 1
PAIRS: dict[str, Any] = {
    "ends": np.array([0, 5, 12], np.int64),
    "input_ids": np.array([2, 65535, 3, 9, 3, 2, 7, 8, 3, 9, 10, 3], np.uint16),
    "token_type_ids": np.array([0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1], np.uint8),
    "next_sentence_label": np.array([1, 0], np.int8),
    "continues_word": FLAGS,
    "masked_lm_positions": np.array([1, 65535, 2]),
    "masked_lm_labels": np.array([7, 65535, 9]),
    "masked_lm_ends": [0, 2, 3],
    "a_document": ["w:1", "w:2"],
    "b_document": ["w:1", "w:1"],
}


@st.composite
def documents(draw: st.DrawFn) -> Document:
    paragraphs = draw(st.lists(st.lists(TEXT, min_size=1, max_size=3), max_size=3))
    starts = [sum(map(len, paragraphs[:i])) for i in range(len(paragraphs))]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    return Document(*(draw(st.text(max_size=6)) for _ in range(5)), sentences=sentences, paragraph_starts=starts)


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


def write_pairs(root: Path) -> Path:
    schema = shards.pair_schema(30522, PAIRS)
    shards.write(root, "x.arrow", schema, [shards.pair_batch(schema, PAIRS)])
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


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = rows_of(write_pairs(tmp_path))
    for name in ("input_ids", "token_type_ids", "continues_word"):
        assert [row[name] for row in rows] == [PAIRS[name][:5].tolist(), PAIRS[name][5:].tolist()]
    assert [row["masked_lm_positions"] for row in rows] == [[1, 65535], [2]]
    assert [row["masked_lm_labels"] for row in rows] == [[7, 65535], [9]]
    for name in ("next_sentence_label", "a_document", "b_document"):
        assert [row[name] for row in rows] == list(PAIRS[name])
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
