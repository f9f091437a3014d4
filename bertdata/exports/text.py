"""Write a corpus' text, one document a row, as JSON lines or Parquet, for tools that have a tokenizer of their own.

    {"id": "enwiki:12", "source": "wikipedia", "language": "en", "title": "Tea", "url": "", "text": "One. Two.\\n\\nThree."}

Sentences of a paragraph have a space between them, where the first does not end in a full stop of Chinese or Japanese; paragraphs
have an empty line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa

from ..dataset import shards
from ..records import PARAGRAPH, UNSPACED, Document
from .base import Format, Shard, write_file

__all__ = ["JSON_LINES", "PARQUET", "text_of"]

_FIELDS = ("id", "source", "language", "title", "url")
_SCHEMA = pa.schema([(name, pa.string()) for name in (*_FIELDS, "text")])


def text_of(document: Document) -> str:
    """Return a document's text.

    >>> text_of(Document("1", "", "en", "", "", ["One.", "Two.", "三。", "四。"], [0, 2]))
    'One. Two.\\n\\n三。四。'
    """
    return PARAGRAPH.join(map(_join, document.paragraphs()))


def _join(sentences: list[str]) -> str:
    spaced = (sentence if sentence.endswith(UNSPACED) else f"{sentence} " for sentence in sentences[:-1])
    return "".join([*spaced, *sentences[-1:]])


def _rows(shard: Shard) -> Iterator[list[dict[str, str]]]:
    """Yield the rows of each record batch."""
    for batch in shard.batches:
        documents = (Document(**row) for row in batch.to_pylist())
        rows = [{**{name: getattr(document, name) for name in _FIELDS}, "text": text_of(document)} for document in documents]
        shard.tally.entered += len(rows)
        shard.tally.left += len(rows)
        yield rows


def _json_lines(shard: Shard) -> list[dict[str, Any]]:
    def write(file: IO[bytes]) -> None:
        for rows in _rows(shard):
            file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8"))

    return [write_file(shard.root, f"{shard.stem}.jsonl", write)]


def _parquet(shard: Shard) -> list[dict[str, Any]]:
    batches = (pa.RecordBatch.from_pylist(rows, schema=_SCHEMA) for rows in _rows(shard))
    return [shards.write(shard.root, f"{shard.stem}.parquet", _SCHEMA, batches, "parquet")]


JSON_LINES = Format("documents", _json_lines)
PARQUET = Format("documents", _parquet)
