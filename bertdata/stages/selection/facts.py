"""Store the facts by which documents are selected: one small file per task, one row per document, in shard order."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import keys
from ...config.byte_premiums import premium
from ...dataset import shards
from ...dataset.build import STATE
from ...dataset.manifest_records import RowFile
from ...records import Document
from ..text_counts import count_words
from .duplicates import HASH_BYTES, MIN_PARAGRAPH_CHARS, fingerprint, normal
from .minhash import SIGNATURE_VALUES, Signer

__all__ = ["FACTS_PREFIX", "Facts", "Needs", "bytes_of", "group_of", "read"]

FACTS_PREFIX = f"{STATE}/work/facts-"  # prefix of the file names
ROWS_PER_BATCH = 1024  # rows of a record batch; the last one may have fewer


class Needs(NamedTuple):
    """The facts to collect in addition to id, age, size and fingerprint: signatures, hashes of long paragraphs, word counts, the
    `source` or `language`, and byte premiums."""

    signature: bool
    paragraphs: bool
    words: bool = False
    group: str = ""
    premiums: dict[str, float] = {}  # noqa: RUF012 (never changed)

    def schema(self) -> pa.Schema:
        """Return the schema of a file of facts."""
        number, list_of = pa.uint64(), pa.list_
        columns = [("id", pa.string()), ("as_of", pa.uint32()), ("bytes", number), ("hash", pa.binary(HASH_BYTES))]
        if self.signature:
            columns.append(("signature", pa.binary(SIGNATURE_VALUES)))
        if self.paragraphs:  # the number of paragraphs; for long ones also their index, hash and bytes
            columns += [("paragraphs", pa.uint32()), ("long_index", list_of(pa.uint32()))]
            columns += [("long_hash", list_of(pa.binary(HASH_BYTES))), ("long_bytes", list_of(number))]
        if self.words:
            columns += [("words", number)] + [("long_words", list_of(number))] * self.paragraphs
        columns += [("group", number)] * bool(self.group) + [("premium", pa.float64())] * bool(self.premiums)
        return pa.schema(columns)


class Facts:
    """Collect the facts of a task's documents."""

    def __init__(self, needs: Needs) -> None:
        self._needs, self._schema = needs, needs.schema()
        self._rows: list[dict[str, object]] = []
        self._batches: list[pa.RecordBatch] = []

    def add(self, document: Document, size: int) -> None:
        """Add a document whose sentences have `size` bytes."""
        compared = document._replace(sentences=list(map(normal, document.sentences)))
        text = _joined(compared.sentences)
        paragraphs = document.paragraphs() if self._needs.paragraphs else []
        long = [index for index, sentences in enumerate(paragraphs) if len(" ".join(sentences)) >= MIN_PARAGRAPH_CHARS]
        row: dict[str, object] = {"id": document.id, "as_of": document.as_of, "bytes": size, "hash": fingerprint(text)}
        if self._needs.signature:
            row["signature"] = _signer()([text])[0].tobytes()
        if self._needs.paragraphs:
            normalized = compared.paragraphs()
            row |= {"paragraphs": len(paragraphs), "long_index": long}
            row["long_hash"] = [fingerprint(_joined(normalized[index])) for index in long]
            row["long_bytes"] = [sum(len(each.encode("utf-8", "replace")) for each in paragraphs[index]) for index in long]
        if self._needs.words:
            row["words"] = count_words(document.sentences)
            if self._needs.paragraphs:
                row["long_words"] = [count_words(paragraphs[index]) for index in long]
        if self._needs.group:
            row["group"] = group_of(getattr(document, self._needs.group))
        if self._needs.premiums:
            row["premium"] = premium(document.language, self._needs.premiums)
        self._rows.append(row)
        if len(self._rows) == ROWS_PER_BATCH:
            self._take()

    def write(self, root: Path, task: int) -> RowFile:
        """Write the task's file, with at least one record batch, and return its entry."""
        if self._rows or not self._batches:
            self._take()
        return shards.write(root, _name(task), self._schema, self._batches)

    def _take(self) -> None:
        self._batches.append(pa.RecordBatch.from_pylist(self._rows, self._schema))
        self._rows = []


@cache
def group_of(name: str) -> int:
    """Hash the name of a source or language. A claim stores it in eight bytes."""
    return keys.key(0, "group", name)


@cache
def _signer() -> Signer:
    return Signer()


def _joined(sentences: list[str]) -> str:
    """Join normalized sentences. This equals the normalized text, because words and case rules never span two sentences."""
    return " ".join(filter(None, sentences))


def _name(task: int) -> str:
    return f"{FACTS_PREFIX}{task:05d}.arrow"


def read(root: Path, task: int) -> pa.RecordBatch:
    """Read a task's facts, in order of its documents."""
    return shards.joined([*shards.read_batches(root / _name(task))])[0]


def bytes_of(column: pa.FixedSizeBinaryArray) -> npt.NDArray[np.uint8]:
    """Return the values of a column as an array [N, bytes]."""
    width = column.type.byte_width
    values = np.frombuffer(column.buffers()[1] or b"", np.uint8)
    return values[column.offset * width :][: len(column) * width].reshape(len(column), width)
