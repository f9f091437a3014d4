"""Store the facts by which documents are selected: one small file per task, one row per document, in shard order.

Two texts are identical if their words are, ignoring case and whitespace. A document is compared as one sequence of words, so
boundaries of paragraphs and sentences do not matter either.

The selection reads a column of all documents at a time, so a fact takes memory only while its rule runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import keys
from ...config import ChoiceConfig
from ...dataset import shards
from ...dataset.build import STATE
from ...dataset.manifest_records import RowFile
from ...records import Document
from ..counts import count_words
from .minhash import SIGNATURE_VALUES, signature

FACTS_PREFIX = f"{STATE}/work/facts-"  # prefix of the file names
HASH_BYTES = 16
MIN_PARAGRAPH_CHARS = 100  # minimum characters of a paragraph that must not repeat: shorter ones recur by chance
_ROWS_PER_BATCH = 1024  # rows collected as Python objects


def schema(choice: ChoiceConfig, pages: bool) -> pa.Schema:
    """Return the schema of a file of facts. Only `pages` of wikis have ids that may repeat.

    Long paragraphs are lists: their indices, hashes, bytes and words.
    """
    number, list_of, hash_of = pa.uint64(), pa.list_, pa.binary(HASH_BYTES)
    long = choice.dedup_paragraphs
    columns = {
        "id": pa.string(),  # read only for the list of drops
        **({"id_hash": hash_of, "as_of": pa.uint32()} if pages else {}),
        **({"hash": hash_of} if choice.dedup != "none" else {}),
        **({"signature": pa.binary(SIGNATURE_VALUES)} if choice.dedup == "near" else {}),
        **({"paragraphs": pa.uint32(), "long_index": list_of(pa.uint32()), "long_hash": list_of(hash_of)} if long else {}),
        **({"key": number, "words_key": number} if samples(choice) else {}),
    }
    for unit in units(choice):
        columns |= {unit: number} | ({f"long_{unit}": list_of(pa.uint32())} if long else {})
    return pa.schema(columns)


def units(choice: ChoiceConfig) -> list[str]:
    """Return the units in which texts are measured: bytes for a mixture, words for their limits."""
    return ["bytes"] * bool(choice.mix.strip()) + ["words"] * bool(choice.word_limits)


def samples(choice: ChoiceConfig) -> bool:
    """Return True if documents are chosen at random."""
    return bool(choice.mix.strip() or choice.sample_documents or choice.word_limits)


class Facts:
    """Collect the facts of a task's documents."""

    def __init__(self, choice: ChoiceConfig, pages: bool) -> None:
        self._seed, self._schema = choice.seed, schema(choice, pages)
        self._names = frozenset(self._schema.names)
        self._rows: list[dict[str, object]] = []
        self._batches: list[pa.RecordBatch] = []

    def add(self, document: Document, size: int) -> None:
        """Add a document whose sentences have `size` bytes."""
        names, row = self._names, dict[str, object](id=document.id)
        if "id_hash" in names:
            row |= {"id_hash": fingerprint(document.id), "as_of": document.as_of}
        if "key" in names:  # after a mixture, the keys of its documents are all small: words are limited by other keys
            row["key"], row["words_key"] = (keys.key(self._seed, purpose, document.id) for purpose in ("choose", "words"))
        if "bytes" in names:
            row["bytes"] = size
        if "words" in names:
            row["words"] = count_words(document.sentences)
        if "hash" in names or "long_hash" in names:  # normalizing and hashing a text takes longer than all other facts
            self._compare(row, document)
        self._rows.append(row)
        if len(self._rows) == _ROWS_PER_BATCH:
            self._take()

    def _compare(self, row: dict[str, object], document: Document) -> None:
        """Add the facts by which texts are compared."""
        names, compared = self._names, document._replace(sentences=list(map(normal, document.sentences)))
        text = _joined(compared.sentences)
        if "hash" in names:
            row["hash"] = fingerprint(text)
        if "signature" in names:
            row["signature"] = signature(text).tobytes()
        if "long_hash" not in names:
            return
        paragraphs, normalized = document.paragraphs(), compared.paragraphs()
        long = [index for index, sentences in enumerate(paragraphs) if len(" ".join(sentences)) >= MIN_PARAGRAPH_CHARS]
        row |= {"paragraphs": len(paragraphs), "long_index": long}
        row["long_hash"] = [fingerprint(_joined(normalized[index])) for index in long]
        if "long_bytes" in names:
            row["long_bytes"] = [sum(len(each.encode("utf-8", "replace")) for each in paragraphs[index]) for index in long]
        if "long_words" in names:
            row["long_words"] = [count_words(paragraphs[index]) for index in long]

    def write(self, root: Path, task: int) -> RowFile:
        """Write the task's file, with at least one record batch, and return its entry."""
        if self._rows or not self._batches:
            self._take()
        return shards.write(root, _name(task), self._schema, self._batches)

    def _take(self) -> None:
        self._batches.append(pa.RecordBatch.from_pylist(self._rows, self._schema))
        self._rows = []


def normal(text: str) -> str:
    """Normalize a text for comparison: lower case, with one space between words.

    >>> normal(" The tide\\tTURNS. ")
    'the tide turns.'
    """
    lower = text.lower()
    if lower.isprintable() and "  " not in lower:  # a space is the only printable whitespace; splitting takes much longer
        return lower.strip()
    return " ".join(lower.split())


def fingerprint(text: str) -> bytes:
    """Hash a text to `HASH_BYTES` bytes."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def _joined(sentences: list[str]) -> str:
    """Join normalized sentences. This equals the normalized text, because words and case rules never span two sentences."""
    return " ".join(filter(None, sentences))


def _name(task: int) -> str:
    return f"{FACTS_PREFIX}{task:05d}.arrow"


def read(root: Path, task: int) -> Iterator[pa.RecordBatch]:
    """Read a task's facts, in order of its documents."""
    return shards.read_batches(root / _name(task))


def values(column: pa.Array) -> npt.NDArray[np.generic]:
    """Return the numbers of a column [N], or its byte strings as bytes [N, width]. Lists are flattened."""
    if pa.types.is_list(column.type):
        column = column.flatten()
    if not pa.types.is_fixed_size_binary(column.type):
        return np.asarray(column.to_numpy())
    width = column.type.byte_width
    flat = np.frombuffer(column.buffers()[1] or b"", np.uint8)
    return flat[column.offset * width :][: len(column) * width].reshape(len(column), width)
