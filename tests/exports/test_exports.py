"""Each format is read as it was written, by readers written here from the formats' descriptions, and other input is refused."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import Build, Load, digests, read_manifest, read_rows
from tokenizers import Tokenizer

import bertdata
from bertdata.config.base import hints_of
from bertdata.config.export import ExportConfig
from bertdata.dataset.shards import DocumentBatch
from bertdata.errors import OutputExistsError, UsageError
from bertdata.exports import FORMATS
from bertdata.exports.base import Shard
from bertdata.records import Document
from bertdata.tally import Tally
from bertdata.tokens import vocab
from bertdata.tokens.vocab import SPECIAL, from_tokens

# --- readers ---


def read_jsonl(directory: Path) -> list[dict[str, Any]]:
    paths = sorted((directory / "data").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def read_parquet(directory: Path) -> list[dict[str, Any]]:
    return [row for path in sorted((directory / "data").glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def mds_value(data: bytes, encoding: str) -> Any:
    if encoding == "str":
        return data.decode()
    if encoding in ("int", "int8", "uint16"):
        return int.from_bytes(data, "little", signed=encoding != "uint16")
    first, kind = data[0], np.dtype(encoding.removeprefix("ndarray:"))
    assert first >> 2 == 1, "of one dimension"
    width = (1, 2, 4)[first & 3]
    values = np.frombuffer(data[1 + width :], kind).tolist()
    assert values and len(values) == int.from_bytes(data[1 : 1 + width], "little"), "empty arrays are forbidden"
    return values


def read_mds(directory: Path) -> Iterator[dict[str, Any]]:
    index = json.loads((directory / "data" / "index.json").read_text())
    assert index["version"] == 2
    for shard in index["shards"]:
        data = (directory / "data" / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"] and shard["format"] == "mds" and shard["zip_data"] is None
        (count,) = struct.unpack_from("<I", data)
        offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
        assert count == shard["samples"] and offsets[-1] == len(data)
        header = json.loads(data[8 + 4 * count : offsets[0]])
        assert header == {key: shard[key] for key in header} and header["column_names"] == sorted(header["column_names"])
        for start, end in zip(offsets, offsets[1:], strict=False):
            sizes = list(header["column_sizes"])
            for place in [i for i, size in enumerate(sizes) if size is None]:
                (sizes[place],) = struct.unpack_from("<I", data, start)
                start += 4
            row = {}
            for name, encoding, size in zip(header["column_names"], header["column_encodings"], sizes, strict=True):
                row[name] = mds_value(data[start : start + size], encoding)
                start += size
            assert start == end
            yield row


def read_megatron(directory: Path) -> list[list[list[int]]]:
    documents = []
    for path in sorted((directory / "data").glob("*_text_sentence.idx")):
        index, ids = path.read_bytes(), path.with_suffix(".bin").read_bytes()
        assert index[:9] == b"MMIDIDX\0\0"
        version, code, sentences, bound_count = struct.unpack_from("<QBQQ", index, 9)
        assert version == 1
        kind = {8: np.dtype("<u2"), 4: np.dtype("<i4")}[code]
        lengths = np.frombuffer(index, "<i4", sentences, 34)
        offsets = np.frombuffer(index, "<i8", sentences, 34 + 4 * sentences)
        bounds = np.frombuffer(index, "<i8", bound_count, 34 + 12 * sentences)
        assert len(index) == 34 + 12 * sentences + 8 * bound_count and bounds[0] == 0 and bounds[-1] == sentences
        assert len(ids) == lengths.sum() * kind.itemsize and (lengths > 0).all()
        rows = [np.frombuffer(ids, kind, n, at).tolist() for n, at in zip(lengths, offsets, strict=True)]
        documents += [rows[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    return documents


def masked_crc(data: bytes) -> int:
    """CRC-32C bit by bit, and as a record has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def varints(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield each number, and where the next one begins."""
    value = shift = 0
    for at, byte in enumerate(data, 1):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value, at
            value = shift = 0


def fields(data: bytes) -> Iterator[bytes]:
    """Yield the values of a message whose fields all have a length."""
    at = 0
    while at < len(data):
        assert data[at] & 7 == 2
        size, used = next(varints(data[at + 1 :]))
        at += 1 + used
        yield data[at : at + size]
        at += size


def read_tfrecord(directory: Path) -> Iterator[dict[str, list[Any]]]:
    for path in sorted((directory / "data").glob("*.tfrecord")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            body = data[at + 12 : at + 12 + size]
            if at < 9000:
                assert struct.unpack_from("<I", data, at + 8)[0] == masked_crc(data[at : at + 8])
                assert struct.unpack_from("<I", data, at + 12 + size)[0] == masked_crc(body)
            at += 16 + size
            row = {}
            for entry in fields(next(fields(body))):
                name, feature = fields(entry)
                packed = next(fields(next(fields(feature))))
                numbers = [value for value, _ in varints(packed)]
                row[name.decode()] = numbers if feature[0] >> 3 == 3 else np.frombuffer(packed, "<f4").tolist()
            yield row


# --- documents ---


def test_the_table_has_the_formats_of_the_option() -> None:
    assert tuple(FORMATS) == hints_of(ExportConfig)["to"].__args__


@pytest.mark.parametrize(("to", "read"), [("jsonl", read_jsonl), ("parquet", read_parquet)])
def test_every_document_is_there_in_order(sample_corpus: Path, tmp_path: Path, to: Any, read: Any) -> None:
    made = bertdata.export(sample_corpus, to=to, output=tmp_path / "out", workers=1)
    documents, rows = read_rows(sample_corpus), read(tmp_path / "out")
    assert [row["id"] for row in rows] == [document["id"] for document in documents]
    for row, document in zip(rows, documents, strict=True):
        assert {**document, **row, "text": ""} == {**document, "text": ""}
        assert "".join(row["text"].split()) == "".join("".join(document["sentences"]).split())
        assert len(row["text"].split("\n\n")) == max(1, len(document["paragraph_starts"]))
    assert made.rows == len(rows) and not bertdata.verify(made.path, workers=1).problems


def test_ids_of_megatron_are_those_of_tokenizers(parts: Path, build: Build, tmp_path: Path) -> None:
    corpus, vocabulary = parts / "build-corpus", parts / "train-vocab"
    made = build("export", tmp_path / "one", corpus, "--to", "megatron", "--vocab", vocabulary)
    tokenizer = Tokenizer.from_file(str(vocabulary / "tokenizer.json"))
    expected = [[tokenizer.encode(s, add_special_tokens=False).ids for s in row["sentences"]] for row in read_rows(corpus)]
    assert read_megatron(made) == expected and not bertdata.verify(made, workers=1).problems


def test_megatron_drops_and_counts_documents_without_tokens_and_large_ids_take_four_bytes(tmp_path: Path) -> None:
    batch = DocumentBatch()
    for text in ["Tea.", "\u200b", "Cup."], ["\u200b"], ["Cup."]:
        batch.add(Document("1", "text", "en", "", "", text, [0]))
    vocabulary = from_tokens([*SPECIAL, *(f"w{number}" for number in range(65600)), "tea", "cup", "."], True, True)
    tally, manifest = Tally("documents"), Any
    shard = Shard(tmp_path, 0, "data/train-00000-of-00001", manifest, vocabulary, iter([batch.take()]), tally)  # type: ignore[arg-type]
    assert [name[-3:] for name in FORMATS["megatron"].write(shard)] == ["bin", "idx"]
    assert read_megatron(tmp_path) == [[[65605, 65607], [65606, 65607]], [[65606, 65607]]]
    assert tally.dropped == Counter({"no pieces": 1})


# --- rows ---

ROWS: dict[str, list[object]] = {
    "pairs": [],
    "static masks": ["--masking", "static", "--provenance"],
    "packed documents": ["--objective", "documents", "--pack", "--provenance", "--max-seq-length", 300],
    "packed pairs": ["--pack", "--provenance"],
    "large vocabulary, Chinese words": ["--chinese-words", "jieba"],
}


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.long] * kind.startswith("large")) for kind in ROWS])
def test_rows_in_mds_and_parquet_are_those_of_the_shards(parts: Path, build: Build, tmp_path: Path, kind: str) -> None:
    vocabulary = parts / "train-vocab"
    if kind.startswith("large"):
        vocab.write(vocabulary := tmp_path / "vocab", from_tokens([*SPECIAL, *map(str, range(66_000)), "the"], True, True))
    arguments = [parts / "build-corpus", "--vocab", vocabulary, "--shards", 3, *ROWS[kind]]
    rows = build("make-pairs", tmp_path / "rows", *arguments)
    stored = read_rows(rows)
    for to in ("mds", "parquet"):
        made = build("export", tmp_path / to, rows, "--to", to)
        assert not bertdata.verify(made, workers=1).problems
        for file in read_manifest(rows)["files"]:
            assert (made / file["name"]).read_bytes() == (rows / file["name"]).read_bytes()
    assert read_parquet(tmp_path / "parquet") == stored
    samples = list(read_mds(tmp_path / "mds"))
    ids = [sample.pop("id") for sample in samples]
    assert ids == sorted(set(ids)) and [sample.pop("len") for sample in samples] == [len(row["input_ids"]) for row in stored]
    for row in stored:  # the documents of a packed row are one text
        row |= {
            name: "\n".join(value)
            for name, value in row.items()
            if isinstance(value, list) and name.endswith(("document", "documents"))
        }
    assert samples == stored
    assert not kind.startswith("large") or max(max(row["input_ids"]) for row in stored) > 1 << 16


def test_examples_of_tfrecord_are_the_pairs(parts: Path, build: Build, tmp_path: Path) -> None:
    options = ["--masking", "static", "--shards", 2, "--max-seq-length", 64, "--vocab", parts / "train-vocab"]
    static = build("make-pairs", tmp_path / "static", parts / "build-corpus", *options)
    made = build("export", tmp_path / "out", static, "--to", "tfrecord")
    most, rows, examples = read_manifest(static)["statistics"]["max_predictions"], read_rows(static), list(read_tfrecord(made))

    def full(values: list[int], width: int) -> list[int]:
        return values + [0] * (width - len(values))

    assert len(rows) == len(examples)
    for row, example in zip(rows, examples, strict=True):
        count, masked = len(row["input_ids"]), len(row["masked_lm_positions"])
        assert example == {
            "input_ids": full(row["input_ids"], 64),
            "input_mask": full([1] * count, 64),
            "segment_ids": full(row["token_type_ids"], 64),
            "masked_lm_positions": full(row["masked_lm_positions"], most),
            "masked_lm_ids": full(row["masked_lm_labels"], most),
            "masked_lm_weights": full([1] * masked, most),
            "next_sentence_labels": [row["next_sentence_label"]],
        }


@pytest.mark.slow
def test_a_parquet_export_is_a_dataset_with_a_card(parts: Path, build: Build, load_datasets: Load, tmp_path: Path) -> None:
    rows = parts / "make-pairs"
    made = build("export", tmp_path / "out", rows, "--to", "parquet")
    assert load_datasets(made) == [{"train": read_rows(rows)}]
    card = (made / "README.md").read_text(encoding="utf-8")
    assert "path: data/train-*.parquet" in card and "license:" in card and read_manifest(made)["card"]["name"] == "README.md"


# --- runs ---


@pytest.mark.slow
def test_two_workers_write_the_same_bytes_and_a_broken_run_continues(
    parts: Path, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bertdata.exports import plain_text

    corpus, join, seen = parts / "build-corpus", plain_text._join, list[int]()

    def broken(sentences: list[str]) -> str:
        seen.append(1)
        if len(seen) == 300:
            raise OSError("no")
        return join(sentences)

    with monkeypatch.context() as patched:
        patched.setattr(plain_text, "_join", broken)
        with pytest.raises(Exception, match="no"):
            bertdata.export(corpus, to="jsonl", output=tmp_path / "one", workers=1)
    assert list((tmp_path / "one").glob(".bertdata/build-*/.bertdata/tasks/export/*.json"))
    one = bertdata.export(corpus, to="jsonl", output=tmp_path / "one", workers=1)
    two = bertdata.export(corpus, to="jsonl", output=tmp_path / "two", workers=2)
    assert digests(one.path) == digests(two.path) and one.new
    assert not bertdata.export(corpus, to="jsonl", output=tmp_path / "one", workers=1).new
    with pytest.raises(OutputExistsError, match="`to`: 'jsonl' then, 'parquet' now"):
        bertdata.export(corpus, to="parquet", output=tmp_path / "one", workers=1)


def test_other_input_is_refused(parts: Path, build: Build, tmp_path: Path) -> None:
    pairs, corpus, vocabulary = parts / "make-pairs", parts / "build-corpus", parts / "train-vocab"
    packed = build("make-pairs", tmp_path / "packed", corpus, "--vocab", vocabulary, "--shards", 1, "--pack")
    for source, options, says in (
        (pairs, {"to": "jsonl"}, "contains rows of make-pairs, which jsonl cannot hold. Use `to` parquet or mds or tfrecord"),
        (corpus, {"to": "mds"}, "contains a corpus, which mds cannot hold. Use `to` jsonl or parquet or megatron"),
        (vocabulary, {"to": "jsonl"}, "contains a vocabulary: use a corpus or rows"),
        (corpus, {"to": "lddl"}, "`to`.*lddl.*use one of jsonl"),
        (corpus, {"to": "jsonl", "split": "validation"}, "no split validation"),
        (corpus, {"to": "jsonl", "vocab": vocabulary}, "omit it"),
        (corpus, {"to": "megatron"}, "`vocab`: megatron stores token ids. Pass the vocabulary"),
        (pairs, {"to": "tfrecord"}, "it has pairs with static masks, one a row"),
        (packed, {"to": "tfrecord"}, "and without `pack`"),
    ):
        with pytest.raises(UsageError, match=says):
            bertdata.export(source, output=tmp_path / "out", **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is also an input"):
        bertdata.export(corpus, to="jsonl", output=corpus)
    assert not (tmp_path / "out").exists()
