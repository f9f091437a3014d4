"""Write a corpus's text as JSON lines or Parquet, one document per row, for tools with their own tokenizer.

    {"id": "enwiki:12", "source": "wikipedia", "language": "en", "title": "Tea", "url": "", "licence": "CC0", "text": "One. …"}

Sentences of a paragraph are joined with a space, or with nothing after a Chinese or Japanese full stop. An empty line separates
paragraphs: ``One. Two.\\n\\nThree.``
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO

import pyarrow as pa

from ..records import PARAGRAPH, UNSPACED, Document
from .base import ExportFile, Format, Shard, write_file, write_parquet

__all__ = ["JSON_LINES", "PARQUET", "text_of"]

_FIELDS = ("id", "source", "language", "title", "url", "licence")
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
        yield [{**{name: getattr(document, name) for name in _FIELDS}, "text": text_of(document)} for document in documents]


def _json_lines(shard: Shard) -> list[ExportFile]:
    def write(file: IO[bytes]) -> None:
        for rows in _rows(shard):
            file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8"))

    return [write_file(shard.root, f"{shard.stem}.jsonl", write)]


def _parquet(shard: Shard) -> list[ExportFile]:
    batches = (pa.RecordBatch.from_pylist(rows, schema=_SCHEMA) for rows in _rows(shard))
    return [write_parquet(shard.root, f"{shard.stem}.parquet", _SCHEMA, batches)]


JSON_LINES = Format("documents", _json_lines)
PARQUET = Format("documents", _parquet, packages=("pyarrow",))
