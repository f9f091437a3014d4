"""Define the Arrow schemas of documents and rows, and build record batches of them.

A schema carries the ``huggingface`` features key, so `datasets` shows the right column types.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Container
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...records import Document

__all__ = ["BATCH_BYTES", "DOCUMENT", "Columns", "DocumentBatch", "as_written", "pair_batch", "pair_schema"]

Columns = dict[str, npt.NDArray[Any] | list[str]]  # of rows, by name
BATCH_BYTES = 2 << 20  # text per record batch of documents, which is in memory until it is written


def _with_features(schema: pa.Schema) -> pa.Schema:
    """Add the features key in the form that every release of `datasets` since 2.0 reads."""

    def feature(kind: pa.DataType) -> dict[str, Any]:
        if pa.types.is_list(kind):
            return {"feature": feature(kind.value_type), "_type": "Sequence"}
        return {"dtype": str(kind), "_type": "Value"}

    features = {column.name: feature(column.type) for column in schema}
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})


DOCUMENT = _with_features(
    pa.schema(
        [
            ("id", pa.string()),
            ("source", pa.string()),
            ("language", pa.string()),
            ("title", pa.string()),
            ("url", pa.string()),
            ("licence", pa.string()),
            ("sentences", pa.list_(pa.string())),
            ("paragraph_starts", pa.list_(pa.uint32())),
        ]
    )
)


def as_written(schema: pa.Schema, names: Container[str]) -> pa.Schema:
    """Return a schema without `licence` if a file lacks this column, as in corpora made before it was added."""
    if "licence" in names or "licence" not in schema.names:
        return schema
    return _with_features(schema.remove(schema.get_field_index("licence")))


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
        """Return the batch and start an empty one."""
        sentences = pa.StringArray.from_buffers(len(self._ends) - 1, pa.py_buffer(self._ends), pa.py_buffer(self._text))
        paragraphs = pa.array(self._paragraphs, pa.uint32())
        columns = [pa.array([row[i] for row in self.rows], pa.string()) for i in range(6)]
        columns += [
            pa.ListArray.from_arrays(pa.array(self._starts, pa.int32()), sentences),
            pa.ListArray.from_arrays(pa.array(self._paragraph_ends, pa.int32()), paragraphs),
        ]
        self.__init__()  # type: ignore[misc]
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
