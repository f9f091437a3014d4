"""Write a corpus's text as JSON lines or Parquet, one document per row, for tools with their own tokenizer.

    {"id": "enwiki:12", "source": "wikipedia", "language": "en", "title": "Tea", "url": "", "licence": "CC0", "text": "One. …"}

`licence` is the license of the inputs with the document's source.  A corpus does not record which input a document came from, so
if a source has several licenses, the value is ``one of: …``.

Sentences of a paragraph are joined with a space, or with nothing after a Chinese or Japanese full stop. An empty line separates
paragraphs: ``One. Two.\\n\\nThree.``
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import IO

import pyarrow as pa

from ..config.input_kinds import ONE_OF
from ..dataset import shards
from ..dataset.manifest_records import Input
from ..records import PARAGRAPH, UNSPACED, Document
from .base import ExportFile, Format, Shard, write_file

__all__ = ["JSON_LINES", "PARQUET", "licences_of", "text_of"]

_FIELDS = ("id", "source", "language", "title", "url")
_SCHEMA = pa.schema([(name, pa.string()) for name in (*_FIELDS, "licence", "text")])


def text_of(document: Document) -> str:
    """Return a document's text.

    >>> text_of(Document("1", "", "en", "", "", ["One.", "Two.", "三。", "四。"], [0, 2]))
    'One. Two.\\n\\n三。四。'
    """
    return PARAGRAPH.join(map(_join, document.paragraphs()))


def _join(sentences: list[str]) -> str:
    spaced = (sentence if sentence.endswith(UNSPACED) else f"{sentence} " for sentence in sentences[:-1])
    return "".join([*spaced, *sentences[-1:]])


def licences_of(inputs: Iterable[Input]) -> dict[str, str]:
    """Return the license of each source's documents, as far as the inputs identify it.

    >>> from bertdata.dataset.manifest_records import InputName
    >>> licences_of(InputName(name="", source="text", licence=licence) for licence in ("CC0", "CC BY", "CC0"))
    {'text': 'one of: CC BY; CC0'}
    """
    listed: dict[str, set[str]] = {}
    for entry in inputs:
        listed.setdefault(entry.source, set()).add(entry.licence)
    return {source: _one_of(licences) for source, licences in listed.items()}


def _one_of(licences: set[str]) -> str:
    if len(licences) == 1:
        return next(iter(licences))
    names = {name for licence in licences for name in licence.removeprefix(ONE_OF).split("; ")}
    return ONE_OF + "; ".join(sorted(names))


def _rows(shard: Shard) -> Iterator[list[dict[str, str]]]:
    """Yield the rows of each record batch."""
    licences = licences_of(shard.manifest.inputs)
    for batch in shard.batches:
        documents = (Document(**row) for row in batch.to_pylist())
        rows = [_row(document, licences) for document in documents]
        shard.tally.entered += len(rows)
        shard.tally.left += len(rows)
        yield rows


def _row(document: Document, licences: dict[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {name: getattr(document, name) for name in _FIELDS}
    return {**fields, "licence": licences.get(document.source, ""), "text": text_of(document)}


def _json_lines(shard: Shard) -> list[ExportFile]:
    def write(file: IO[bytes]) -> None:
        for rows in _rows(shard):
            file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8"))

    return [write_file(shard.root, f"{shard.stem}.jsonl", write)]


def _parquet(shard: Shard) -> list[ExportFile]:
    batches = (pa.RecordBatch.from_pylist(rows, schema=_SCHEMA) for rows in _rows(shard))
    return [ExportFile.of(shards.write(shard.root, f"{shard.stem}.parquet", _SCHEMA, batches, "parquet"))]


JSON_LINES = Format("documents", _json_lines)
PARQUET = Format("documents", _parquet, packages=("pyarrow",))
