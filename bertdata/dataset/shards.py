"""Define the Arrow schemas of documents and rows, build record batches of them, and write and read shards.

    data/train-00003-of-00016.arrow     one shard: a file in the Arrow IPC file format, uncompressed, so that it can be mapped

The footer of the file lists its record batches, so a reader opens any of them directly, and a file that was cut has no footer. A
schema carries the ``huggingface`` features key, so `datasets` shows the right column types.
"""

from __future__ import annotations

import errno
import json
from array import array
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..config import LABEL_1_COUNTS, PairsConfig
from ..errors import VerificationError
from ..records import Document
from ..storage.files import digest, is_local, open_file, replacing
from ..storage.problems import storage_errors
from .manifest_records import RowFile

Array = npt.NDArray[Any]
Columns = dict[str, npt.NDArray[Any] | list[str]]  # of rows, by name
_LISTS = ("input_ids", "token_type_ids", "document_starts", "continues_word", "masked_lm_positions", "masked_lm_labels")
READ = (*_LISTS[:3], "next_sentence_label", *_LISTS[3:])  # the columns that models read
_REMAKE_ADVICE = "build it again with `overwrite`"
BATCH_BYTES = 2 << 20  # text per record batch of documents, which is in memory until it is written
_REQUEST_BYTES = 1 << 16  # least bytes per request to a store: the footer and the batches are at scattered offsets


def _with_features(schema: pa.Schema) -> pa.Schema:
    """Add the features key in the form that every release of `datasets` since 2.0 reads."""

    def feature(kind: pa.DataType) -> dict[str, Any]:
        if pa.types.is_list(kind):
            return {"feature": feature(kind.value_type), "_type": "Sequence"}
        return {"dtype": str(kind), "_type": "Value"}

    features = {column.name: feature(column.type) for column in schema}
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})


_FIELDS = ("id", "source", "language", "title", "url", "licence")  # of a document, before its text
_TEXT = (("sentences", pa.list_(pa.string())), ("paragraph_starts", pa.list_(pa.uint32())))
DOCUMENT = _with_features(pa.schema([*((name, pa.string()) for name in _FIELDS), *_TEXT]))


def pair_schema(vocab_size: int, names: Container[str]) -> pa.Schema:
    """Return the schema of rows with these columns. Ids take two bytes for vocabularies of up to 65,536 tokens.

    ``continues_word`` is True for a token that continues the word before it. ``masked_lm_positions`` and ``masked_lm_labels`` are
    the masked positions of a row and their original ids; ``input_ids`` are then masked. ``origin`` numbers the source and
    language of a row's first document in the manifest. ``a_document`` and ``b_document`` are the document ids of A and B;
    ``documents`` are those of a row that is not a pair, in order. Packed rows have ``document_starts``, the start positions of
    their segments, and labels and document ids for each segment.
    """
    ids = pa.list_(pa.uint16() if vocab_size <= 1 << 16 else pa.uint32())

    def of_part(kind: pa.DataType) -> pa.DataType:
        return pa.list_(kind) if "document_starts" in names else kind

    columns = {
        "input_ids": ids,
        "token_type_ids": pa.list_(pa.uint8()),
        "document_starts": pa.list_(pa.uint16()),
        "next_sentence_label": of_part(pa.int8()),
        "continues_word": pa.list_(pa.bool_()),
        "origin": pa.uint16(),
        "masked_lm_positions": pa.list_(pa.uint16()),
        "masked_lm_labels": ids,
        "a_document": of_part(pa.string()),
        "b_document": of_part(pa.string()),
        "documents": pa.list_(pa.string()),
    }
    return _with_features(pa.schema([(name, kind) for name, kind in columns.items() if name in names]))


class DocumentBatch:
    """Collect documents into one record batch. Their text is stored once, as UTF-8."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, ...]] = []  # the columns before the sentences
        self._starts = array("i", [0])  # first sentence of each document
        self._ends = array("i", [0])  # end of each sentence's text
        self._text = bytearray()
        self._names = 0  # characters of the documents' other fields
        self._paragraphs = array("I")
        self._paragraph_ends = array("i", [0])

    @property
    def bytes(self) -> int:
        """Bytes of text collected so far."""
        return len(self._text)

    @property
    def is_full(self) -> bool:
        """True if the text, or the ids, titles and addresses, fill a batch."""
        return max(len(self._text), self._names) >= BATCH_BYTES

    def add(self, document: Document) -> None:
        """Add a document."""
        self.rows.append((*document[:5], document.licence))
        self._names += sum(map(len, self.rows[-1]))
        for sentence in document.sentences:
            self._text += sentence.encode("utf-8", "replace")
            self._ends.append(len(self._text))
        self._starts.append(len(self._ends) - 1)
        self._paragraphs.extend(document.paragraph_starts)
        self._paragraph_ends.append(len(self._paragraphs))

    def take(self) -> pa.RecordBatch:
        """Return the documents as a record batch."""
        sentences = pa.StringArray.from_buffers(len(self._ends) - 1, pa.py_buffer(self._ends), pa.py_buffer(self._text))
        paragraphs = pa.array(self._paragraphs, pa.uint32())
        columns = [pa.array([row[i] for row in self.rows], pa.string()) for i in range(len(_FIELDS))]
        columns += [
            pa.ListArray.from_arrays(pa.array(self._starts, pa.int32()), sentences),
            pa.ListArray.from_arrays(pa.array(self._paragraph_ends, pa.int32()), paragraphs),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=DOCUMENT)


def pair_batch(schema: pa.Schema, columns: Columns) -> pa.RecordBatch:
    """Build a record batch from flat ids: ``input_ids`` [T], ``token_type_ids`` [T], ``ends`` [N + 1], labels [N].

    Provenance is lists of strings. Masked positions are also flat, [M]. The ends of
    each row are in ``masked_lm_ends`` [N + 1] for masks, ``part_ends`` [N + 1] for the segments of a packed row, and
    ``document_ends`` [N + 1] for documents.
    """
    arrays = []
    ends_of = dict.fromkeys(("document_starts", "next_sentence_label", "a_document", "b_document"), "part_ends")
    ends_of |= {"documents": "document_ends"} | dict.fromkeys(("masked_lm_positions", "masked_lm_labels"), "masked_lm_ends")
    for column in schema:
        values = columns[column.name]
        if pa.types.is_list(column.type):
            ends = columns[ends_of.get(column.name, "ends")]
            flat = pa.array(values if isinstance(values, list) else np.ascontiguousarray(values), column.type.value_type)
            arrays.append(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat))
        else:
            arrays.append(pa.array(values, column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def name(split: str, index: int, count: int) -> str:
    """Return a shard's name as `datasets` expects it: ``data/train-00003-of-00016.arrow``."""
    return f"data/{split}-{index:05d}-of-{count:05d}.arrow"


def write(root: Path, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> RowFile:
    """Write a shard completely or not at all. Return its manifest entry."""
    rows = count = 0
    with replacing(root / name) as file:
        with pa.ipc.new_file(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                rows, count = rows + batch.num_rows, count + 1
                del batch  # free its memory before the next one is made
        file.flush()
        path = Path(file.name)
        sha256, size = digest(path), path.stat().st_size
    return RowFile(name=name, rows=rows, batches=count, bytes=size, sha256=sha256)


def joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Join record batches into one. Over 2 GB, a text column makes several, and lists of text raise ArrowInvalid."""
    return pa.Table.from_batches(batches).combine_chunks().to_batches() or [batches[0].slice(0, 0)]


def read_batches(path: Path, start: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
    """Read the record batches ``[start, end)`` of a shard, with one in memory at a time.

    Raise VerificationError for a missing, truncated or damaged file, and StorageError if the disk or the store fails.
    """
    try:
        # Pages of a mapped file would count as memory of the process, so a local file is read.
        with pa.OSFile(str(path)) if is_local(path) else pa.PythonFile(open_file(path, _REQUEST_BYTES), "r") as source:
            reader = pa.ipc.open_file(source)
            for index in range(start, reader.num_record_batches if end is None else end):
                batch = reader.get_batch(index)
                batch.validate(full=True)  # damaged offsets or UTF-8 would crash the process that reads them
                _ = batch.schema.names  # validates the names, which are text too
                yield batch
                del batch
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise_for(path, error, "missing or damaged", "build the dataset again")


def map_batches(path: Path) -> list[pa.RecordBatch]:
    """Map the record batches of a local shard into memory. Errors are those of Arrow.

    Each batch is checked without reading its values. A mapped file stays readable after it was removed.
    """
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        batches = [reader.get_batch(index) for index in range(reader.num_record_batches)]
    for batch in batches:
        batch.validate()
        _ = batch.schema.names
    return batches


def raise_for(path: Path, error: Exception, problem: str, advice: str) -> NoReturn:
    """Raise VerificationError for a missing or damaged file, or StorageError if the disk or the store failed."""
    if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT, errno.EINVAL):  # errors of a truncated file
        with storage_errors(f"cannot read {path}"):
            raise error
    raise VerificationError(f"{path} is {problem} ({error}): {advice}") from error


def flat(column: pa.Array) -> tuple[Array, Array]:
    """Return the values of a list column's rows, and row ends in them [N + 1]."""
    ends = column.offsets.to_numpy().astype(np.int64)  # of a slice, they count from the start of the whole array
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False)), ends - ends[0]


def padded(values: Array, ends: Array, rows: Array, width: int, fill: int) -> Array:
    """Gather ragged rows [B] into [B, width], padded with `fill`. Row i is ``values[ends[i]:ends[i + 1]]``.

    >>> padded(np.array([5, 6, 7]), np.array([0, 1, 3]), np.array([1, 0]), 3, 0).tolist()
    [[6, 7, 0], [5, 0, 0]]
    """
    indices = ends[rows][:, None] + np.arange(width)
    inside = indices < ends[rows + 1][:, None]
    return np.asarray(np.where(inside, values[np.minimum(indices, len(values) - 1)], fill), values.dtype)


class Column(NamedTuple):
    """A column of a record batch, as views of the mapped file: values and, for lists, row ends [N + 1]."""

    # Memoryviews, because their slices and elements take half the time of those of arrays.
    values: memoryview
    ends: memoryview


def view(column: pa.Array) -> Column:
    """Return a zero-copy view of a column."""
    if not pa.types.is_list(column.type):
        return Column(memoryview(column.to_numpy()), memoryview(b""))
    if pa.types.is_boolean(column.type.value_type):
        return Column(memoryview(column.values.buffers()[1] or b"").cast("B"), memoryview(column.offsets.to_numpy()))
    return Column(memoryview(column.values.to_numpy()), memoryview(column.offsets.to_numpy()))


def map_rows(path: Path, entry: RowFile, config: PairsConfig, vocab_size: int, verify: bool) -> list[pa.RecordBatch]:
    """Map a shard's record batches. Raise VerificationError if it is damaged, or differs from its manifest."""
    if verify and digest(path) != entry.sha256:
        raise VerificationError(f"{path} differs from its manifest (SHA-256): {_REMAKE_ADVICE}")
    try:
        batches = map_batches(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise_for(path, error, "damaged", _REMAKE_ADVICE)
    if (rows := sum(batch.num_rows for batch in batches)) != entry.rows:
        raise VerificationError(f"{path} contains {rows} rows, but its manifest lists {entry.rows}: {_REMAKE_ADVICE}")
    needed = {"input_ids", "token_type_ids", "origin", *(["next_sentence_label"] if config.objective in LABEL_1_COUNTS else [])}
    needed |= {"document_starts"} if config.pack else set()
    needed |= {"masked_lm_positions", "masked_lm_labels"} if config.masking == "static" else set()
    names = ["origin", *(name for name in READ if config.pack or name != "document_starts")]
    for field in pair_schema(vocab_size, names) if batches else ():
        types = [column.type for column in batches[0].schema if column.name == field.name]
        if (types or field.name in needed) and types != [field.type]:
            problem = f"has no one column {field.name}" if len(types) != 1 else f"has a column {field.name} of {types[0]}"
            raise VerificationError(f"{path} {problem}, not of {field.type}: {_REMAKE_ADVICE}")
    return batches
