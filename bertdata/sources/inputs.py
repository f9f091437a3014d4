"""Find the input files that names, globs and directories refer to.

Every file gets a machine-independent name: its path below the common parent of all files of its kind.

    books/austen/emma.txt  books/doyle/sign.txt   ->   austen/emma.txt  doyle/sign.txt
"""

from __future__ import annotations

import codecs
import contextlib
import glob
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..config.input_kinds import INPUTS, JSON_LINES
from ..errors import NoInputError, UsageError
from ..storage.files import to_path
from ..storage.storage import storage_errors
from .packed import PACKED, BrokenFile, open_packed

_PART = re.compile(r"-p\d+p\d+(?=(?:\.\w+)?$)")  # page range of a dump file: ``…-multistream1.xml-p1p41242.bz2``
_CACHE = re.compile(r"cache-[0-9a-f]+(?:_\d{5}_of_\d{5})?\.arrow")  # cache files of `datasets` next to a mapped dataset
_WIKI = re.compile(r"wiki_\d{2,}(?:\.bz2|\.gz)?")  # output of WikiExtractor
_MAX_LINE_BYTES = 64 << 20  # of the first line of a file of JSON
# Commands to unpack compressed files, by suffix: those that are never read, and those that are read for some kinds of files.
_UNPACK = {".7z": "7z x -so", ".zip": "unzip -p", ".lz4": "lz4 -dc", ".lzma": "xz -dc", ".br": "brotli -dc"}
_UNPACK_SOME = {".gz": "gzip -dc", ".bz2": "bzip2 -dc", ".xz": "xz -dc", ".zst": "zstd -dc"}


def find(patterns: Sequence[str], suffixes: Sequence[str], option: str, others: set[str] | None = None) -> list[tuple[str, str]]:
    """Return (name, absolute path) of every file, sorted by name, without duplicates.

    A directory means the files below it with one of the suffixes; files of a glob with another suffix are skipped. A file of JSON
    lines may have any name, and a file with the suffix ``.json`` is only read if its first line is an object.
    The paths of skipped files are added to `others`.
    Raise NoInputError if a pattern matches nothing, UsageError if a file named explicitly cannot be read as its kind
    or must be recompressed (``.xml.7z``), unless it also exists in another form.
    """
    field = option.strip("`")
    matched: set[str] = set()
    others = set() if others is None else others
    for pattern in patterns:
        if not pattern:
            raise UsageError(f"{option}: the name is empty, like an unset variable: pass a file, glob or directory", field=field)
        with storage_errors(f"{option} {pattern}"):
            matched.update(_find(pattern, tuple(suffixes), option, others))
    # Every file once, by its real name instead of a link.
    by_link = sorted(matched, key=lambda path: (not os.path.islink(path), path))
    paths = sorted({os.path.realpath(path): path for path in by_link}.values())
    if not_utf8 := [path for path in paths if path.encode(errors="replace").decode() != path]:
        other = sys.getfilesystemencoding() != "utf-8"
        advice = "rename the file, or set PYTHONUTF8=1: this locale is not UTF-8" if other else "rename the file"
        raise UsageError(f"{option} {os.fsencode(not_utf8[0])!r}: the name is not UTF-8: {advice}", field=field)
    ends = [path.rpartition("://") for path in paths]
    if len({store for store, _, _ in ends}) > 1:
        problem = f"{paths[0]} and {paths[-1]} have no common parent: pass files from one disk or store"
        raise UsageError(f"{option}: {problem}", field=field)
    root = os.path.commonpath([os.path.dirname(end) for _, _, end in ends]) if paths else ""
    return sorted((Path(end).relative_to(root).as_posix(), path) for path, (_, _, end) in zip(paths, ends, strict=True))


def _find(pattern: str, suffixes: tuple[str, ...], option: str, others: set[str]) -> list[str]:
    """List the absolute paths, or the URLs, that one pattern matches."""
    path, field = to_path(pattern), option.strip("`")
    if isinstance(path, Path):
        path = path.expanduser()
    is_named = path.exists() and not path.is_dir()
    if is_named and not path.is_file():
        raise UsageError(f"{option} {pattern}: a pipe, socket or device can't be read twice: pass a regular file", field=field)
    seen = _local(path) if isinstance(path, Path) else _stored(path)
    matches = [file for file in seen if _is_read(file, suffixes, is_named=is_named)]
    unread = sorted(set(seen).difference(matches))
    others.update([] if is_named else unread)
    packed = tuple(suffix + packer for suffix in suffixes for packer in _UNPACK)
    for file in unread:
        other_form = os.path.splitext(file)[0]
        if is_named or (_has_suffix(file, packed) and not any(match.startswith(other_form) for match in matches)):
            raise UsageError(
                f"{option} {file}: bertdata reads {', '.join(suffixes)} here, not {_what(file, suffixes)}", field=field
            )
    if not matches:
        none = "no file below this directory is of a kind that is read" if path.is_dir() else "no file of this name"
        there = f" ({len(unread)} of other kinds, such as {os.path.basename(unread[0])})" if unread else ""
        hint = _json_hint(unread[0]) if unread and JSON_LINES[0] in suffixes else ""
        advice = f"check the path, and quote a glob{hint}. Supported: {', '.join(suffixes)}"
        raise NoInputError(f"{option} {pattern}: {none}{there}: {advice}", field=field)
    return [os.path.abspath(match) for match in matches] if isinstance(path, Path) else matches


def _is_read(path: str, suffixes: tuple[str, ...], *, is_named: bool) -> bool:
    """Return True if a file has one of the suffixes, or contains JSON lines and is named or has a name of such files."""
    name = os.path.basename(path).lower()
    is_json = name.endswith((".json", *(f".json{packer}" for packer in PACKED)))
    if _has_suffix(name, suffixes) and not is_json:
        return True
    is_known = any(name.endswith(kind.suffixes) for kind in INPUTS.values())
    if JSON_LINES[0] in suffixes and (
        is_json or _WIKI.fullmatch(name) or (is_named and not is_known and not name.endswith(tuple(_UNPACK)))
    ):
        with contextlib.suppress(ValueError, RecursionError):
            return isinstance(json.loads(_first_line(path)), dict)
    return False


def _first_line(path: str) -> bytes:
    """Return the first line of a file that is not blank, without a byte order mark, or b"" if it cannot be read."""
    try:
        with open_packed(path, path) as file:
            lines = (line.removeprefix(codecs.BOM_UTF8).strip() for line in iter(lambda: file.readline(_MAX_LINE_BYTES), b""))
            return next(filter(None, lines), b"")
    except BrokenFile:
        return b""


def _has_suffix(name: str, suffixes: Sequence[str]) -> bool:
    return _PART.sub("", name).lower().endswith(tuple(suffixes))


def _json_hint(path: str) -> str:
    """Say how to convert JSON, or the output of WikiExtractor, to lines."""
    name = os.path.basename(path)
    if _WIKI.fullmatch(name.lower()):
        return ", run WikiExtractor with --json"
    how = {b"[": "an array: jq -c '.[]'", b"{": "an object to a line: jq -c ."}.get(_first_line(path)[:1], "")
    return f", convert {how} {name} > {Path(name).stem}.jsonl" if how and name.lower().endswith(".json") else ""


def _what(path: str, suffixes: Sequence[str]) -> str:
    """Name the kind of a file that is not read, and say how to convert or use it."""
    name, suffix = os.path.basename(path), os.path.splitext(path)[1].lower()
    stem = name[: -len(suffix)] if suffix else name
    if suffix in _UNPACK and _has_suffix(f"{stem}.bz2", suffixes):
        return f"{suffix}: recompress it: {_UNPACK[suffix]} {name} | bzip2 > {stem}.bz2"
    if suffix in _UNPACK or (suffix in _UNPACK_SOME and _has_suffix(stem, suffixes)):
        how = f": {(_UNPACK | _UNPACK_SOME)[suffix]} {name} > {stem}" if _has_suffix(stem, suffixes) else ""
        return f"{suffix}: unpack it{how}"
    other = next((f", use --{option}" for option, kind in INPUTS.items() if _has_suffix(name, kind.suffixes)), "")
    is_json = JSON_LINES[0] in suffixes and name.lower().endswith(JSON_LINES)
    hint = _json_hint(path) if JSON_LINES[0] in suffixes else ""
    return f"this kind of file{hint or (', which has no JSON object in its first line' if is_json else other)}"


def _local(path: Path) -> list[str]:
    """List the files that a name, a directory or a glob matches. Directories are searched, but links to directories are not."""
    hits = [str(path)] if path.exists() else _glob(str(path))
    return [file for hit in hits for file in (_below(hit) if os.path.isdir(hit) else [hit]) if os.path.isfile(file)]


def _glob(pattern: str) -> list[str]:
    """Expand a glob. ``**`` does not follow links to directories, which can form an infinite loop."""
    before, stars, after = pattern.partition(f"**{os.sep}")
    if not stars:
        return glob.glob(pattern)
    roots = glob.glob(before) if before else ["."]
    folders = [parent for root in roots for parent, _ in _walk(root)]
    return [hit for folder in dict.fromkeys(folders) for hit in _glob(os.path.join(glob.escape(folder), after))]


def _walk(directory: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders below a directory and their files, except hidden ones and bertdata's own datasets."""

    def fail(error: OSError) -> None:
        raise error

    for parent, folders, names in os.walk(directory, onerror=fail):
        if os.path.isdir(os.path.join(parent, ".bertdata")):
            folders.clear()  # a bertdata dataset, possibly the output of this run: not an input
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield parent, [name for name in names if not (name.startswith(".") or _CACHE.fullmatch(name))]


def _below(directory: str) -> list[str]:
    return [os.path.join(parent, name) for parent, names in _walk(directory) for name in names]


def _stored(path: Any) -> list[str]:
    """List the files in a store that a URL matches, like `_local` on a disk."""
    if path.is_file() and not path.path.endswith("/"):  # HTTP also returns True for a folder
        return [str(path)]
    root = path
    while glob.has_magic(root.path):
        root = root.parent
    hits = [path.path] if root == path else path.fs.glob(path.path)
    names = sorted({name[len(root.path) :].strip("/") for hit in hits for name in path.fs.find(hit)})
    ours = tuple({name[:at] for name in names if (at := f"/{name}".find("/.bertdata/")) >= 0})  # bertdata datasets: not an input
    seen = [name for name in names if "/." not in f"/{name}" and not name.startswith(ours)]
    return [str(root / name) for name in seen]
