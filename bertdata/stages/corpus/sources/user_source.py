"""Read documents with a user-defined function, named ``module:function``, that takes a path and yields documents.

    def read(path):
        yield {"id": "1", "title": "A letter", "text": "Dear all.\\n\\nThe kettle sings.", "language": "en"}

A document has one of `text` (paragraphs with blank lines between them), `paragraphs` or `sentences` (lists of strings), and may
have `id`, `title`, `url`, `language` and `licence`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ....config import CorpusConfig
from ....errors import BertDataError
from ....records import FileRange, Prose, Reject
from ....sources import licences
from ....storage.user_functions import load
from .base import Counts, Record, Source

__all__ = ["reader"]

_BLANK = re.compile(r"\n[^\S\n]*\n\s*")  # separates paragraphs
_LICENCE = "as its owner states"
_STRINGS = ("id", "title", "url", "language", "licence")
_FIELDS = {*_STRINGS, "text", "paragraphs", "sentences"}


@cache
def reader(name: str) -> Source:
    """Return the source that calls a user's reader function, ``module:function``."""

    def read(parts: list[FileRange], config: CorpusConfig, counts: Counts) -> Iterator[Record]:
        function = load(name, "read", dict(config.functions).get(name, ""))
        for part in parts:
            yield from _read(function(str(part.path)), name, part, config, counts)

    return Source(
        name=name,
        stage=f"documents of {name}",
        licence=_LICENCE,
        suffixes=("",),
        ranges=lambda path, size, target, config: [(0, size)],
        read=read,
    )


def _read(documents: Any, name: str, part: FileRange, config: CorpusConfig, counts: Counts) -> Iterator[Record]:
    """Yield the documents of one file. An invalid document becomes a reject. So does the rest of the file if the reader
    raises."""
    number = -1
    try:
        for number, item in enumerate(documents):
            record = _record(item, f"{name}:{part.name}:{number}", name, part, config)
            if isinstance(record, Prose) and record.paragraphs:
                licences.count(counts.licences, part.name, item.get("licence") or "")
            yield record
    except (BertDataError, GeneratorExit):
        raise
    except Exception as error:  # any exception of the user's function: reject this file, then read the next one
        where = f"{part.name}, after {number + 1} documents: {type(error).__name__}: {error}"
        yield Reject(f"{name}:{part.name}:{number + 1}", "reader-failed", where)


def _record(item: Any, id: str, name: str, part: FileRange, config: CorpusConfig) -> Record:
    if problem := _problem(item):
        return Reject(id, "no-document", f"{part.name}: {problem}")
    language, title, url, licence = (item.get(key) or "" for key in ("language", "title", "url", "licence"))
    sentences = item.get("sentences")
    paragraphs = sentences if sentences is not None else item.get("paragraphs")
    if paragraphs is None:
        paragraphs = _BLANK.split(item["text"].strip())
    id = f"{name}:{item['id']}" if item.get("id") else id
    if sum(map(len, paragraphs)) > config.max_page_bytes:
        return Reject(id, "too-large", f"{part.name}: more than {config.max_page_bytes} characters")
    kept = [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()]
    is_split = sentences is not None and bool(kept)
    return Prose(id, name, language, title, url, kept, is_split=is_split, licence=licences.name_of(licence, _LICENCE))


def _problem(item: Any) -> str:
    """Return why an item is not a valid document, or an empty string if it is valid."""
    if not isinstance(item, Mapping):
        return f"{type(item).__name__} in the place of a document: yield a dict"
    if strange := sorted(map(str, item.keys() - _FIELDS)):
        return f"a document has no {strange[0]!r}: use {', '.join(sorted(_FIELDS))}"
    given = [key for key in ("text", "paragraphs", "sentences") if item.get(key) is not None]
    if len(given) != 1:
        return "return one of text, paragraphs, sentences"
    values = [item["text"]] if given[0] == "text" else item[given[0]]
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return "text is not a string" if given[0] == "text" else f"{given[0]} is not a list of strings"
    wrong = [key for key in _STRINGS if not isinstance(item.get(key, ""), str | None)]
    return f"{wrong[0]} is not a string" if wrong else ""
