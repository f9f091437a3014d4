"""Check the laws of the formats that `export` writes, by readers of their own: first the format's, then those of its rows.

rows.py       what all of them share: columns of lists, arrays that are filled up
mds.py        index and headers agree, offsets rise to the file's end, columns are of the size that is stated
megatron.py   lengths, offsets and bounds of documents agree with each other and with the ids' file
tfrecord.py   sizes, CRCs, Protocol Buffers' wire format
hdf5.py       arrays of the right types, all of them of one length
lddl.py       pieces of the vocabulary, sizes, masks
text.py       JSON lines and Parquet: the fields of a document, none of the needed ones empty
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...config import PairsConfig
from ...io.files import to_path
from .. import pairs
from ..files import CheckFailed, fetched
from ..rows import SpecialPieces
from . import hdf5, lddl, mds, megatron, text, tfrecord
from .rows import Read, counted, static_config

__all__ = ["check", "indexes", "lacking"]

_PACKAGES = {"hdf5": "h5py"}
_TEXT: dict[str, Callable[[Path, dict[str, Any]], int]] = {"jsonl": text.json_lines, "parquet": text.parquet}
_ROWS: dict[str, Callable[[Path, Read], Any]] = {"mds": mds.read, "tfrecord": tfrecord.read, "hdf5": hdf5.read, "lddl": lddl.read}
_INDEXES: dict[str, Callable[[Path, dict[str, Any]], tuple[str, str]]] = {"mds": mds.index, "lddl": lddl.sizes}


def lacking(contents: dict[str, Any]) -> str:
    """Name the package that is not there, without which a format can't be read."""
    package = _PACKAGES.get(contents["config"]["to"], "")
    return package if package and importlib.util.find_spec(package) is None else ""


def indexes(directory: Path, whole: set[str], contents: dict[str, Any]) -> dict[str, str]:
    """Check the file that tells of all shards, if it is `whole`; return what is wrong, by file."""
    if find := _INDEXES.get(contents["config"]["to"]):
        name, problem = find(directory, contents)
        if name not in {file["name"] for file in contents["files"]}:
            return {"manifest.json": f"does not name {name}"}
        return {name: problem} if problem and name in whole else {}
    return {}


def check(
    directory: str, path: Path, entry: dict[str, Any], contents: dict[str, Any], special: SpecialPieces | None
) -> Counter[str]:
    """Check a shard, which lies at `path`; return how many rows it has.  Raise CheckFailed for a law that does not hold."""
    to = contents["config"]["to"]
    if to in _TEXT:
        return counted(_TEXT[to](path, entry), entry)
    if special is None or lacking(contents):
        return Counter()  # of a broken vocabulary or without a package: its digest is all that can be checked
    if to == "megatron":
        name = f"{entry['name'].removesuffix('.bin')}.idx"
        beside = next((file for file in contents["files"] if file["name"] == name), None)
        if beside is None:
            raise CheckFailed(f"has no {name} beside it")
        with fetched(directory, beside) as index:
            return counted(megatron.check(path, index, special), entry)
    config = static_config(PairsConfig.of(contents["of_config"]))
    read = Read(to_path(directory), entry, config, special)
    return counted(pairs.laws(_ROWS[to](path, read), config, special)["rows"], entry)
