"""Keep long lists of a manifest in files beside it, of at most `MOST` entries each, which it names with their digests.

    manifest.json                              "shards": {"parts": [{"name": …, "entries": 10000, "bytes": …, "sha256": …}, …]}
    lists/shards-00000-of-00012.jsonl          an entry a line

So the manifest's digest of itself covers them.  In memory a manifest always has its lists whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import VerificationError
from ..io.files import open_file, write_text
from ..io.storage import storage_errors
from .manifest_rules import LISTS

__all__ = ["FOLDER", "FORMAT", "MOST", "bytes_entry", "join", "names", "split", "write"]

FOLDER = "lists"
FORMAT = 2  # of a manifest that has a list in such files: a reader that does not know them must not take it
MOST = 10_000  # entries of a list that are in one file
_LISTS = ("inputs", *LISTS)
_LARGEST = 1 << 28  # bytes of a file of entries


def split(contents: dict[str, Any]) -> tuple[dict[str, Any], Iterator[tuple[str, str]]]:
    """Return a manifest as it is stored, and the names and texts of its files of entries; a short one is stored as it is."""
    long = {key: contents[key] for key in _LISTS if isinstance(contents.get(key), list) and len(contents[key]) > MOST}
    parts = {
        key: {"parts": [_entry(name, text.encode("utf-8"), count) for name, text, count in _parts(key, entries)]}
        for key, entries in long.items()
    }
    texts = ((name, text) for key, entries in long.items() for name, text, _ in _parts(key, entries))
    return {**contents, **parts, **({"bertdata": FORMAT} if long else {})}, texts


def _parts(key: str, entries: list[dict[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Yield name, text and entries of each file of a list."""
    count = -(-len(entries) // MOST)
    for number in range(count):
        chunk = entries[number * MOST : (number + 1) * MOST]
        yield _name(key, number, count), "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in chunk), len(chunk)


def _name(key: str, number: int, count: int) -> str:
    return f"{FOLDER}/{key}-{number:05d}-of-{count:05d}.jsonl"


def bytes_entry(name: str, data: bytes) -> dict[str, Any]:
    """Describe a file that holds these bytes as `file_entry` does."""
    return {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _entry(name: str, data: bytes, entries: int) -> dict[str, Any]:
    return {"name": name, "entries": entries, **bytes_entry(name, data)}


def write(directory: Path, contents: dict[str, Any]) -> dict[str, Any]:
    """Write the files of entries, before the manifest that names them; return that."""
    stored, texts = split(contents)
    for name, text in texts:
        write_text(directory / name, text)
    return stored


def names(stored: dict[str, Any]) -> list[str]:
    """Return the names of the files of entries that a stored manifest has."""
    return [_name(key, number, len(parts)) for key, parts in _stored(stored).items() for number in range(len(parts))]


def _stored(stored: dict[str, Any]) -> dict[str, list[Any]]:
    parts = {key: stored[key].get("parts") for key in _LISTS if isinstance(stored.get(key), dict)}
    return {key: parts_of_list for key, parts_of_list in parts.items() if isinstance(parts_of_list, list)}


def join(directory: Path, stored: dict[str, Any], form: int) -> dict[str, Any]:
    """Return a stored manifest with its lists whole, of this `form`; raise VerificationError where a file is not as written.

    The manifest's own digest has been checked: it says what was written.
    """
    lists = _stored(stored)
    whole = {
        key: [entry for number, part in enumerate(parts) for entry in _read(directory, _name(key, number, len(parts)), part)]
        for key, parts in lists.items()
    }
    return {**stored, **whole, "bertdata": form} if whole else stored


def _read(directory: Path, name: str, part: Any) -> list[Any]:
    path = directory / name
    with storage_errors(f"cannot read {path}"), open_file(path) as file:
        data = file.read(_LARGEST)
    try:
        entries = [json.loads(line) for line in data.decode("utf-8").split("\n")[:-1]]
    except (ValueError, RecursionError):
        entries = []
    if _entry(name, data, len(entries)) != part:
        raise VerificationError(f"{path} is not as it was written: restore it from a copy, or build it again with `overwrite`")
    return entries
