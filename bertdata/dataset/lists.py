"""Store long lists of a manifest in separate files of at most 10,000 entries, listed in the manifest with their digests.

    manifest.json                              "shards": {"parts": [{"name": …, "entries": 10000, "bytes": …, "sha256": …}, …]}
    lists/shards-00000-of-00012.jsonl          one entry per line

So the manifest's own digest covers them.  In memory, a manifest always has complete lists.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import VerificationError
from ..storage.files import open_file, write_text
from ..storage.storage import storage_errors
from .manifest_rules import LISTS

__all__ = ["FOLDER", "FORMAT", "MAX_FILE_ENTRIES", "bytes_entry", "join", "names", "split", "write"]

FOLDER = "lists"
FORMAT = 2  # of a manifest with list files, so that a reader without support for them refuses it
MAX_FILE_ENTRIES = 10_000  # maximum entries in one file
_LISTS = ("inputs", *LISTS)
_LARGEST = 1 << 28  # maximum bytes of a file of entries


def split(contents: dict[str, Any]) -> tuple[dict[str, Any], Iterator[tuple[str, str]]]:
    """Return a manifest in its stored form, and the (name, text) of its list files. A short manifest is stored unchanged."""
    long = {key: contents[key] for key in _LISTS if isinstance(contents.get(key), list) and len(contents[key]) > MAX_FILE_ENTRIES}
    parts = {
        key: {"parts": [_entry(name, text.encode("utf-8"), count) for name, text, count in _parts(key, entries)]}
        for key, entries in long.items()
    }
    texts = ((name, text) for key, entries in long.items() for name, text, _ in _parts(key, entries))
    return {**contents, **parts, **({"bertdata": FORMAT} if long else {})}, texts


def _parts(key: str, entries: list[dict[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Yield the name, text and number of entries of each file of a list."""
    count = -(-len(entries) // MAX_FILE_ENTRIES)
    for number in range(count):
        chunk = entries[number * MAX_FILE_ENTRIES : (number + 1) * MAX_FILE_ENTRIES]
        yield _name(key, number, count), "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in chunk), len(chunk)


def _name(key: str, number: int, count: int) -> str:
    return f"{FOLDER}/{key}-{number:05d}-of-{count:05d}.jsonl"


def bytes_entry(name: str, data: bytes) -> dict[str, Any]:
    """Return the `file_entry` of a file with these bytes."""
    return {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _entry(name: str, data: bytes, entries: int) -> dict[str, Any]:
    return {"name": name, "entries": entries, **bytes_entry(name, data)}


def write(directory: Path, contents: dict[str, Any]) -> dict[str, Any]:
    """Write the list files, then return the manifest that names them."""
    stored, texts = split(contents)
    for name, text in texts:
        write_text(directory / name, text)
    return stored


def names(stored: dict[str, Any]) -> list[str]:
    """Return the names of a stored manifest's list files."""
    return [_name(key, number, len(parts)) for key, parts in _stored(stored).items() for number in range(len(parts))]


def _stored(stored: dict[str, Any]) -> dict[str, list[Any]]:
    parts = {key: stored[key].get("parts") for key in _LISTS if isinstance(stored.get(key), dict)}
    return {key: parts_of_list for key, parts_of_list in parts.items() if isinstance(parts_of_list, list)}


def join(directory: Path, stored: dict[str, Any], form: int) -> dict[str, Any]:
    """Return a stored manifest with complete lists in this `form`. Raise VerificationError if a list file was modified.

    The caller has verified the manifest's own digest, so its digests of the list files are trusted.
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
