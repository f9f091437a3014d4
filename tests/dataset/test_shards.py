"""Shards: what goes in comes out, and by every reader, and a damaged file says so."""

from __future__ import annotations

import json
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
NAMES = st.text(max_size=6)


def rows_of(batch: pa.RecordBatch) -> list[Document]:
    """Read a batch's documents."""
    return [Document(**row) for row in batch.to_pylist()]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    paragraphs = draw(st.lists(st.lists(TEXT, min_size=1, max_size=3), max_size=3))
    starts = [sum(map(len, paragraphs[:i])) for i in range(len(paragraphs))]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    return Document(*(draw(NAMES) for _ in range(5)), sentences=sentences, paragraph_starts=starts)


@st.composite
def pair_columns(draw: st.DrawFn) -> dict[str, Any]:
    lengths = draw(st.lists(st.integers(0, 9), max_size=5))
    total, ends = sum(lengths), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.array(draw(st.lists(st.integers(0, 65535), min_size=total, max_size=total)), np.uint16)
    segments = np.arange(total).astype(np.uint8) % 2
    return {"ends": ends, "input_ids": ids, "token_type_ids": segments, "next_sentence_label": np.array(lengths, np.int8) % 2}


SOME = [
    Document("w:1", "wikipedia", "en", "Tea", "https://w/Tea", ["Tea is a drink.", "茶 😀", ""], [0, 2]),
    Document("w:2", "wikipedia", "zh", "", "", ["一。"], [0]),
    Document("w:3", "books", "", "", "", [], []),
]


def _row(document: Document) -> dict[str, Any]:
    """Return what a shard holds of a document."""
    return {name: value for name, value in document._asdict().items() if name != "as_of"}


PAIRS: dict[str, Any] = {
    "ends": np.array([0, 5, 12], np.int64),
    "input_ids": np.array([2, 65535, 3, 9, 3, 2, 7, 8, 3, 9, 10, 3], np.uint16),
    "token_type_ids": np.array([0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1], np.uint8),
    "next_sentence_label": np.array([1, 0], np.int8),
}
PAIR_ROWS = [
    {"input_ids": [2, 65535, 3, 9, 3], "token_type_ids": [0, 0, 0, 1, 1], "next_sentence_label": 1},
    {"input_ids": [2, 7, 8, 3, 9, 10, 3], "token_type_ids": [0, 0, 0, 0, 1, 1, 1], "next_sentence_label": 0},
]


def _batch(many: list[Document]) -> pa.RecordBatch:
    gathered = shards.DocumentBatch()
    for document in many:
        gathered.add(document)
    assert gathered.bytes == sum(len(s.encode()) for d in many for s in d.sentences)
    return gathered.take()


def _write_documents(root: Path, *batches: list[Document]) -> Path:
    name = shards.name("train", 0, 1)
    told = shards.write(root, name, shards.DOCUMENT, map(_batch, batches))
    path = root / name
    rows, size = sum(map(len, batches)), path.stat().st_size
    assert told == RowFile(name=name, rows=rows, batches=len(batches), bytes=size, sha256=digest(path))
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    return path


def _write_pairs(root: Path) -> Path:
    schema, name = shards.pair_schema(30522, PAIR_ROWS[0]), shards.name("train", 0, 1)
    shards.write(root, name, schema, [shards.pair_batch(schema, PAIRS)])
    return root / name


@LAW
@given(many=st.lists(st.lists(documents(), min_size=1, max_size=3), min_size=1, max_size=3), data=st.data())
@pytest.mark.slow
def test_documents_round_trip(tmp_path: Path, many: list[list[Document]], data: st.DataObject) -> None:
    path = _write_documents(tmp_path, *many)
    read = [rows_of(batch) for batch in shards.read_batches(path)]
    assert read == many
    start = data.draw(st.integers(0, len(many)))
    end = data.draw(st.integers(start, len(many)))
    part = [rows_of(batch) for batch in shards.read_batches(path, start, end)]
    assert part == many[start:end]


@LAW
@given(columns=pair_columns())
def test_pairs_round_trip(tmp_path: Path, columns: dict[str, Any]) -> None:
    schema = shards.pair_schema(30522, PAIR_ROWS[0])
    shards.write(tmp_path, "x", schema, [shards.pair_batch(schema, columns)])
    rows = [row for batch in shards.read_batches(tmp_path / "x") for row in batch.to_pylist()]
    ends = columns["ends"]
    for row, (start, end) in zip(rows, zip(ends[:-1], ends[1:], strict=True), strict=True):
        assert row["input_ids"] == columns["input_ids"][start:end].tolist()
        assert row["token_type_ids"] == columns["token_type_ids"][start:end].tolist()
    assert [row["next_sentence_label"] for row in rows] == columns["next_sentence_label"].tolist()


def test_equal_batches_give_equal_bytes(tmp_path: Path) -> None:
    assert digest(_write_documents(tmp_path / "a", SOME)) == digest(_write_documents(tmp_path / "b", SOME))


def test_a_batch_is_empty_again_after_it_was_taken() -> None:
    gathered = shards.DocumentBatch()
    assert gathered.take().num_rows == 0
    gathered.add(SOME[0])
    first = gathered.take()
    assert gathered.bytes == 0 and gathered.rows == []
    gathered.add(SOME[1])
    assert rows_of(gathered.take()) == SOME[1:2]
    assert rows_of(first) == SOME[:1]


def test_names_are_those_that_datasets_looks_for() -> None:
    assert shards.name("train", 3, 16) == "data/train-00003-of-00016.arrow"
    assert shards.name("validation", 0, 1) == "data/validation-00000-of-00001.arrow"


def test_ids_take_two_bytes_up_to_65536_words() -> None:
    assert shards.pair_schema(1 << 16, PAIR_ROWS[0]).field("input_ids").type == pa.list_(pa.uint16())
    assert shards.pair_schema((1 << 16) + 1, PAIR_ROWS[0]).field("input_ids").type == pa.list_(pa.uint32())
    columns = {**PAIRS, "a_document": ["w:1", "w:2"], "b_document": ["w:1", "w:1"]}
    schema = shards.pair_schema(100, columns)
    assert shards.pair_batch(schema, columns).to_pylist()[0]["a_document"] == "w:1"
    assert schema.names == [*PAIR_ROWS[0], "a_document", "b_document"]


def test_masks_and_words_are_columns(tmp_path: Path) -> None:
    flags, positions = np.arange(12) % 3 == 1, np.array([1, 65535, 2])
    masks = {"masked_lm_positions": positions, "masked_lm_labels": np.array([7, 65535, 9]), "masked_lm_ends": [0, 2, 3]}
    columns = {**PAIRS, "continues_word": flags, **masks}
    schema = shards.pair_schema(30522, columns)
    assert schema.names == [*PAIR_ROWS[0], "continues_word", "masked_lm_positions", "masked_lm_labels"]
    shards.write(tmp_path, "x", schema, [shards.pair_batch(schema, columns)])
    rows = [row for batch in shards.read_batches(tmp_path / "x") for row in batch.to_pylist()]
    assert [row["continues_word"] for row in rows] == [flags[:5].tolist(), flags[5:].tolist()]
    assert [row["masked_lm_positions"] for row in rows] == [[1, 65535], [2]]
    assert [row["masked_lm_labels"] for row in rows] == [[7, 65535], [9]]
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert features["continues_word"]["feature"]["dtype"] == "bool"
    assert features["masked_lm_positions"]["feature"]["dtype"] == "uint16"


def test_the_default_is_one_record_batch_mapped_without_a_copy(tmp_path: Path) -> None:
    path = _write_pairs(tmp_path)
    before = pa.total_allocated_bytes()
    (batch,) = shards.map_batches(path)
    values = batch.column("input_ids").flatten().to_numpy(zero_copy_only=True)
    assert pa.total_allocated_bytes() == before
    assert values.tolist() == PAIRS["input_ids"].tolist()
    assert not values.flags.writeable
    assert path.read_bytes().count(PAIRS["input_ids"].tobytes()) == 1  # not compressed


# --- other readers ---


def test_pyarrow_reads_it(tmp_path: Path) -> None:
    path = _write_pairs(tmp_path)
    with pa.memory_map(str(path)) as source:
        assert pa.ipc.open_file(source).read_all().to_pylist() == PAIR_ROWS


def test_polars_reads_it(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    documents = polars.read_ipc(_write_documents(tmp_path / "d", SOME))
    assert documents.to_dicts() == [_row(document) for document in SOME]
    assert polars.read_ipc(_write_pairs(tmp_path / "p")).to_dicts() == PAIR_ROWS


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Import `datasets` so that it reaches no network and leaves nothing in a home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("hf")))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
        yield pytest.importorskip("datasets")


def _check_features(datasets: Any, features: Any) -> None:
    assert set(features) == {"input_ids", "token_type_ids", "next_sentence_label"}
    assert features["next_sentence_label"] == datasets.Value("int8")
    assert features["input_ids"].feature == datasets.Value("uint16")
    assert features["token_type_ids"].feature == datasets.Value("uint8")


def test_load_dataset_reads_the_directory(tmp_path: Path, datasets: Any) -> None:
    root = tmp_path / "pairs"
    _write_pairs(root)
    (root / ".bertdata" / "work").mkdir(parents=True)
    (root / ".bertdata" / "work" / "tokens.arrow").write_bytes(b"not for readers")
    (root / "manifest.json").write_text("{}\n")
    read = datasets.load_dataset(str(root), split="train", cache_dir=str(tmp_path / "cache"))
    _check_features(datasets, read.features)
    assert read.to_list() == PAIR_ROWS


# --- damage ---


def _rows(path: Path) -> int:
    return sum(batch.num_rows for batch in shards.read_batches(path))


def test_a_file_cut_anywhere_is_named(tmp_path: Path) -> None:
    path = _write_documents(tmp_path, SOME, SOME)
    whole, cut = path.read_bytes(), tmp_path / "cut"
    assert _rows(path) == 6
    quiet = []
    for size in {*range(0, len(whole), 8), *range(len(whole) - 9, len(whole))}:
        cut.write_bytes(whole[:size])
        try:
            quiet.append((size - len(whole), _rows(cut)))
        except VerificationError as error:
            assert str(cut) in str(error)
    assert sorted(quiet) == []


@pytest.mark.parametrize("content", [None, b"", b"no shard at all" * 9])
def test_a_missing_or_foreign_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "train.arrow"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VerificationError, match=r"train\.arrow is missing or damaged.*build the dataset again"):
        _rows(path)


@pytest.mark.slow
def test_flipped_bytes_raise_our_error_or_none(tmp_path: Path) -> None:
    """A flipped byte of text can't be seen here (the manifest's SHA-256 does); what is seen must be our error."""
    path = _write_pairs(tmp_path)
    whole, bad, refused = path.read_bytes(), tmp_path / "bad", 0
    for at in range(0, len(whole), 5):
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            _rows(bad)
        except VerificationError:
            refused += 1
    assert refused > 20


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def batches() -> Any:
        yield _batch(SOME)
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        shards.write(tmp_path, "data/x", shards.DOCUMENT, batches())
    assert list((tmp_path / "data").iterdir()) == []
