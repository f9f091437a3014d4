"""Find documents and rows: by language, words of the title, id, or words of the text; and why a document was dropped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..dataset import shards
from ..dataset.manifest import check_files
from ..dataset.manifest_types import CorpusManifest, Manifest, PairsManifest, ReadableManifest
from ..errors import UsageError, VerificationError
from ..storage.files import open_file
from ..tokens.encode import Encoder
from ..tokens.read import read_any

_WORD_BEFORE = "a"  # a word before the one to find


def batches(directory: Path, manifest: ReadableManifest, first: int = 0) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the record batches, each with the number of its first row, from the shard on that holds the row `first`."""
    number = 0
    for shard in manifest.shards:
        if number + shard.rows <= first:
            number += shard.rows
            continue
        for batch in shards.read_batches(directory / shard.name):
            yield number, batch
            number += batch.num_rows
            del batch  # frees it before the next one is read


def select(directory: Path, manifest: ReadableManifest, wanted: Mapping[str, str]) -> Iterator[int]:
    """Yield the numbers of documents or rows that have all that is `wanted`.

    `wanted` has a text for ``language``, ``title`` and ``search`` (words of it, in any case) and ``id``. Empty ones are ignored.

    Raise UsageError if the dataset lacks the column: rows have no language, and have document ids only with `provenance`.
    """
    filters = {name: text for name, text in wanted.items() if text}
    if not isinstance(manifest, PairsManifest):
        for number, batch in batches(directory, manifest):
            yield from (number + row for row in _documents(batch, filters))
        return
    for name in ("language", "title"):
        if name in filters:
            raise UsageError(f"--{name}: {directory} contains rows, which have no {name}. Search the corpus of the rows")
    if "id" in filters and not manifest.settings.provenance:
        raise UsageError(f"--id: the rows in {directory} have no document ids. Run make-pairs with `provenance` to store them")
    probes = _probes(directory, filters["search"]) if "search" in filters else None
    for number, batch in batches(directory, manifest):
        rows = range(batch.num_rows) if probes is None else _rows_with(batch, probes)
        yield from (number + row for row in rows if _is_of(batch, row, filters.get("id")))


def _documents(batch: pa.RecordBatch, filters: Mapping[str, str]) -> list[int]:
    matches = set(range(batch.num_rows))
    for name, text in filters.items():
        column = batch.column("sentences" if name == "search" else name)
        if name == "search":
            hits = pc.indices_nonzero(pc.match_substring(column.flatten(), text, ignore_case=True))
            matches &= set((np.searchsorted(_ends(column), hits, "right") - 1).tolist())
        else:
            found = pc.match_substring(column, text, ignore_case=True) if name == "title" else pc.equal(column, text)
            matches &= set(pc.indices_nonzero(found).to_pylist())
    return sorted(matches)


def _ends(lists: pa.ListArray) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *pc.list_value_length(lists).to_numpy()])


def _probes(directory: Path, text: str) -> set[bytes]:
    """Return the bytes of the ids of a text: first in a document, and behind a word."""
    encoder = Encoder(read_any(directory))
    both = [encoder.encode_documents(pa.array([[*first, text]]), pa.array([[0]])) for first in ([], [_WORD_BEFORE])]
    return {both[0][0].tobytes(), both[1][0][both[1][1][0] :].tobytes()} - {b""}


def _rows_with(batch: pa.RecordBatch, probes: Iterable[bytes]) -> list[int]:
    """Return the rows that contain one of these runs of token ids, in the type of the column ``input_ids``, ignoring masks."""
    ids, ends = shards.flat(batch.column("input_ids"))
    if "masked_lm_positions" in batch.schema.names:
        positions, of_row = shards.flat(batch.column("masked_lm_positions"))
        ids = ids.copy()
        ids[np.repeat(ends[:-1], np.diff(of_row)) + positions], _ = shards.flat(batch.column("masked_lm_labels"))
    data, width = ids.tobytes(), ids.dtype.itemsize
    rows: set[int] = set()
    for probe in probes:
        at = data.find(probe)
        while at >= 0:
            if at % width == 0:
                rows.add(int(np.searchsorted(ends, at // width, "right")) - 1)
            at = data.find(probe, at + 1)
    return sorted(rows)


def _is_of(batch: pa.RecordBatch, row: int, id: str | None) -> bool:
    """Return True if a row has text of the document with this id."""
    names = [name for name in ("a_document", "b_document", "documents") if name in batch.schema.names]
    values = [batch.column(name)[row].as_py() for name in names if id]
    return not id or any(id == value or (isinstance(value, list) and id in value) for value in values)


def longest(directory: Path, manifest: ReadableManifest, count: int) -> list[int]:
    """Return the numbers of the longest documents, by characters, or rows, by tokens; the longest first."""
    sizes = [np.zeros(0, np.int64)]
    for _, batch in batches(directory, manifest):
        if isinstance(manifest, PairsManifest):
            sizes.append(np.diff(shards.flat(batch.column("input_ids"))[1]))
        else:
            lists = batch.column("sentences")
            sizes.append(np.diff(np.cumsum([0, *pc.utf8_length(lists.flatten()).to_numpy()])[_ends(lists)]))
    found: list[int] = np.argsort(-np.concatenate(sizes), kind="stable")[:count].tolist()
    return found


def explain(directory: Path, manifest: Manifest, id: str) -> Iterator[str]:
    """Yield a line for each document, drop and reject of a corpus with this id. Raise UsageError if it is missing."""
    if not isinstance(manifest, CorpusManifest):
        raise UsageError(f"{directory} contains {manifest.what}: pass the corpus that they were built from, to explain {id}")
    check_files(directory, manifest.listed)
    found = False
    for number in select(directory, manifest, {"id": id}):
        found = True
        yield f"{id} is document {number}; see it with: bertdata inspect {directory} --row {number}"
    for verb, files in (("dropped", manifest.drops), ("rejected", manifest.rejects)):
        for file in files:
            for record in records(directory / file.name):
                if record["id"] == id:
                    found = True
                    yield f"{id} was {verb}: {reason_of(record)}; listed in {file.name}"
    if not found:
        raise UsageError(
            f"{id}: this id is not in {directory}, and not in its lists of drops and rejects (redirects are only counted). "
            f"Ids look like {example(directory, manifest)}. Find titles with: bertdata inspect {directory} --title WORDS"
        )


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a list of drops or rejects. Raise VerificationError for a damaged line."""
    with open_file(path) as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                known = type(record) is dict and all(type(record.get(key)) is str for key in ("id", "reason"))
            except (ValueError, RecursionError):
                known = False
            if not known:
                raise VerificationError(f"{path}: line {number} is damaged. Run bertdata verify to find all damage")
            yield record


def reason_of(record: Mapping[str, str]) -> str:
    """Return the reason of a drop or reject, with its detail or place."""
    detail = record.get("detail") or record.get("where", "")
    return f"{record['reason']}{f' ({detail})' if detail else ''}"


def example(directory: Path, manifest: CorpusManifest) -> str:
    """Return the ids of the first documents of a corpus, two of one shard."""
    return next((" and ".join(batch.column("id")[:2].to_pylist()) for _, batch in batches(directory, manifest)), "enwiki:12")
