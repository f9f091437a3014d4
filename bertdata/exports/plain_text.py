"""Write a corpus's text as JSON lines or Parquet, one document per row, and rows as Parquet with the same columns.

    {"id": "enwiki:12", "source": "wikipedia", "language": "en", "title": "Tea", "url": "", "licence": "CC0", "text": "One. …"}

Sentences of a paragraph are joined with a space, or with nothing after a Chinese or Japanese full stop. An empty line separates
paragraphs: ``One. Two.\\n\\nThree.``
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

import pyarrow as pa

from ..records import PARAGRAPH, UNSPACED, Document
from ..storage.files import replacing
from .base import Format, Shard

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


def _documents(shard: Shard) -> Iterator[list[dict[str, str]]]:
    """Yield the documents of each record batch."""
    for batch in shard.batches:
        documents = (Document(**row) for row in batch.to_pylist())
        yield [{**{name: getattr(document, name) for name in _FIELDS}, "text": text_of(document)} for document in documents]


def _write_json_lines(shard: Shard) -> list[str]:
    name = f"{shard.stem}.jsonl"
    with replacing(shard.root / name) as file:
        for rows in _documents(shard):
            file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8"))
    return [name]


def _write_parquet(shard: Shard) -> list[str]:
    import pyarrow.parquet as pq  # imported only if needed: it slows down every start

    batches = shard.batches
    if shard.manifest.kind == "documents":
        batches = (pa.RecordBatch.from_pylist(rows, schema=_SCHEMA) for rows in _documents(shard))
    # `datasets` fails on an empty row group, so empty batches are skipped, and a shard without rows is not written.
    batches = (batch for batch in batches if batch.num_rows)
    if (first := next(batches, None)) is None:
        return []
    name = f"{shard.stem}.parquet"
    with replacing(shard.root / name) as file, pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)
    return [name]


JSON_LINES = Format(("documents",), _write_json_lines)
PARQUET = Format(("documents", "pairs"), _write_parquet, packages=("pyarrow",), has_card=True)
