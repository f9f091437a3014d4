"""Write MDS, the shards of MosaicML's streaming datasets for ModernBERT, mmBERT and MosaicBERT: one file per shard.

    data/index.json                      list of files and their contents
    data/train-00000-of-00016.mds        uint32 n; uint32 offsets[n + 1], from the file's start; the columns as JSON; n samples

A sample contains the uint32 size of each variable-size column, then the values, both in order of the column names.  A list is
an ``ndarray``: a byte ``ndim << 2 | code``, the shape in integers of the code's type (0 uint8, 1 uint16, 2 uint32), and
the values.  ``id`` is the number of the shard and the row, ``len`` the number of tokens.
Source: mosaicml-streaming 0.11, streaming/base/format/mds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..dataset.shards import flat
from ..errors import UsageError
from ..storage.files import json_text, replacing, write_text
from .base import ExportReport, Format, Shard

_MAX_SHARD_BYTES = 1 << 32  # maximum 32-bit offset
_FIXED_BYTES = {"int": 8, "int8": 1, "uint16": 2}  # fixed-size encodings; all others are variable
_INDEX_FILE = "data/index.json"


def ndarray(values: np.ndarray[Any, Any]) -> bytes:
    """Return a one-dimensional array of a supported type in MDS encoding.

    >>> ndarray(np.array([7, 8], np.uint16)).hex(" ")
    '04 02 07 00 08 00'
    """
    code = 0 if len(values) < 1 << 8 else 1 if len(values) < 1 << 16 else 2
    return bytes([1 << 2 | code]) + len(values).to_bytes(1 << code, "little") + values.tobytes()


def _encodings(schema: pa.Schema) -> dict[str, str]:
    """Return the encoding of each column of rows and of the two added columns, ordered by name."""
    encodings = {"id": "str", "len": "int"}
    for field in schema:
        is_list = pa.types.is_list(field.type)
        kind = field.type.value_type if is_list else field.type
        encoding = {"string": "str", "bool": "uint8"}.get(str(kind), str(kind))
        encodings[field.name] = f"ndarray:{encoding}" if is_list and encoding != "str" else encoding
    return dict(sorted(encodings.items()))


def _values(batch: pa.RecordBatch, name: str, encoding: str) -> Iterable[bytes]:
    """Return a column's encoded values; the documents of a packed row are one text, separated by newlines."""
    if encoding == "str":
        return ((v if isinstance(v, str) else "\n".join(v)).encode() for v in batch.column(name).to_pylist())
    kind = np.dtype(encoding.removeprefix("ndarray:")).newbyteorder("<")
    if encoding.startswith("ndarray"):
        values, ends = flat(batch.column(name))
        return map(ndarray, np.split(values.astype(kind), ends[1:-1]))
    return (value.tobytes() for value in batch.column(name).to_numpy().astype(kind))


def _samples(shard: Shard, batch: pa.RecordBatch, encodings: dict[str, str]) -> Iterator[bytes]:
    first = shard.tally.entered - batch.num_rows
    lengths = np.diff(batch.column("input_ids").offsets.to_numpy()).astype("<i8")
    columns: dict[str, Iterable[bytes]] = {
        "id": (f"{shard.number:05d}-{first + row:09d}".encode() for row in range(batch.num_rows)),
        "len": (length.tobytes() for length in lengths),
        **{name: _values(batch, name, encodings[name]) for name in batch.schema.names},
    }
    varies = [encoding not in _FIXED_BYTES for encoding in encodings.values()]
    for values in zip(*(columns[name] for name in encodings), strict=True):
        sizes = [len(value) for value, is_stated in zip(values, varies, strict=True) if is_stated]
        yield b"".join((np.array(sizes, "<u4").tobytes(), *values))


def _write(shard: Shard) -> list[str]:
    samples: list[bytes] = []
    encodings: dict[str, str] = {}
    for batch in shard.batches:
        encodings = _encodings(batch.schema)
        samples += _samples(shard, batch, encodings)
    if not samples:
        return []
    header = {
        "column_encodings": list(encodings.values()),
        "column_names": list(encodings),
        "column_sizes": [_FIXED_BYTES.get(encoding) for encoding in encodings.values()],
        "compression": None,
        "format": "mds",
        "hashes": [],
        "size_limit": 1 << 26,  # of streaming's writer; its readers ignore it
        "version": 2,
    }
    columns = json.dumps(header, sort_keys=True).encode()
    # Offsets are from the start of the file. The first sample follows the count (4 bytes), n + 1 offsets (4 each) and the JSON.
    ends = np.cumsum([4 + 4 * (len(samples) + 1) + len(columns), *map(len, samples)])
    if ends[-1] >= _MAX_SHARD_BYTES:
        raise UsageError(f"{shard.stem} has over 4 GB in MDS, which its offsets cannot name: make rows with more `shards`")

    name = f"{shard.stem}.mds"
    with replacing(shard.root / name) as file:
        file.write(len(samples).to_bytes(4, "little") + ends.astype("<u4").tobytes() + columns)
        file.writelines(samples)
    raw = {"basename": Path(name).name, "bytes": int(ends[-1]), "hashes": {}}
    shard.index = {**header, "raw_data": raw, "samples": len(samples), "zip_data": None}
    return [name]


def _finish(root: Path, reports: Sequence[ExportReport]) -> list[str]:
    write_text(root / _INDEX_FILE, json_text({"shards": [report.index for report in reports], "version": 2}))
    return [_INDEX_FILE]


MDS = Format(("pairs",), _write, _finish, packages=("tokenizers",))
