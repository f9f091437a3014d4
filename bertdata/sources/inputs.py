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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..config.input_kinds import INPUTS, JSON_LINES, formats
from ..errors import NoInputError, UsageError
from ..storage.files import to_path
from ..storage.problems import storage_errors
from .packed import BrokenFile, open_packed

_PART = re.compile(r"-p\d+p\d+(?=(?:\.\w+)?$)")  # page range of a dump file: ``…-multistream1.xml-p1p41242.bz2``
_CACHE = re.compile(r"cache-[0-9a-f]+(?:_\d{5}_of_\d{5})?\.arrow")  # cache files of `datasets` next to a mapped dataset
_BY_CONTENT = re.compile(r".*\.json(?:\.bz2|\.gz|\.xz|\.zst)?|wiki_\d{2,}(?:\.bz2|\.gz)?")  # wiki_00 is of WikiExtractor
_MAX_LINE_BYTES = 64 << 20  # of the first line of a file of JSON


def find(patterns: Sequence[str], suffixes: Sequence[str], option: str, others: set[str] | None = None) -> list[tuple[str, str]]:
    """Return (name, absolute path) of every file, sorted by name, without duplicates.

    A directory means the files below it with one of the suffixes; files of a glob with another suffix are skipped. A file of JSON
    lines may have any name, and a file with the suffix ``.json`` is only read if its first line is an object.
    The paths of skipped files are added to `others`. Raise NoInputError if a pattern matches no file that can be read.
    """
    field = option.strip("`")
    matched: set[str] = set()
    for pattern in patterns:
        if not pattern:
            raise UsageError(f"{option}: the name is empty, like an unset variable. Pass a file, glob or directory", field=field)
        path = to_path(pattern)
        with storage_errors(f"{option} {pattern}"):
            path = Path(os.path.abspath(path.expanduser())) if isinstance(path, Path) else path
            seen = set(_local(path) if isinstance(path, Path) else _stored(path))
            matches = {file for file in seen if _is_read(file, tuple(suffixes), is_named=seen == {str(path)})}
        if not matches:
            quote = ", and quote a glob" if glob.has_magic(pattern) else ""
            problem = f"no regular file found, apart from bertdata's own datasets. Check the path{quote}"
            if seen:
                other = next(filter(_advice, sorted(seen)), min(seen))
                problem = f"{os.path.basename(other)} has no supported format{_advice(other)}"
            raise NoInputError(f"{option} {pattern}: {problem}. Formats: {formats(tuple(suffixes))}", field=field)
        matched |= matches
        if others is not None:
            others |= seen - matches
    # Every file once, by its real name instead of a link.
    by_link = sorted(matched, key=lambda path: (not os.path.islink(path), path))
    paths = {os.path.realpath(path): path for path in by_link}.values()
    for file in paths:
        if file.encode(errors="replace").decode() != file:
            raise UsageError(f"{option} {os.fsencode(file)!r} is not UTF-8. Rename the file, or set PYTHONUTF8=1", field=field)
    ends = [file.rpartition("://")[2] for file in paths]
    try:
        root = os.path.commonpath(map(os.path.dirname, ends)) if ends else ""
    except ValueError:
        raise UsageError(f"{option}: pass files of a disk or of stores, not of both", field=field) from None
    return sorted((Path(end).relative_to(root).as_posix(), file) for end, file in zip(ends, paths, strict=True))


def _is_read(path: str, suffixes: tuple[str, ...], *, is_named: bool) -> bool:
    """Return True if a file has one of the suffixes, or contains JSON lines and is named or has a name of such files."""
    name = _name(path)
    is_json = _BY_CONTENT.fullmatch(name)
    if not is_json and name.endswith(suffixes):
        return True
    if JSON_LINES[0] not in suffixes or not (is_json or is_named):
        return False
    with contextlib.suppress(BrokenFile, ValueError, RecursionError), open_packed(path, path) as file:
        lines = (line.removeprefix(codecs.BOM_UTF8).strip() for line in iter(lambda: file.readline(_MAX_LINE_BYTES), b""))
        return isinstance(json.loads(next(filter(None, lines), b"")), dict)
    return False


def _name(path: str) -> str:
    return _PART.sub("", os.path.basename(path).lower())


def _advice(path: str) -> str:
    """Say how to use a file that is not read."""
    if _BY_CONTENT.fullmatch(name := _name(path)):
        return ", whose first line is not a JSON object: convert it with jq -c, or run WikiExtractor with --json"
    return next((f": use --{option}" for option, kind in INPUTS.items() if name.endswith(kind.suffixes)), "")


def _local(path: Path) -> list[str]:
    """List the files that a name, a directory or a glob matches. Directories are searched, but links to directories are not.

    Hidden files and bertdata's own datasets, such as the output of this run, are not found below a directory or by ``**``.
    """
    before, *after = [str(path)] if path.exists() else re.split(r"/\*\*(?:/|$)", str(path), maxsplit=1)
    files: list[str] = []
    matched = set(glob.glob(str(path), recursive=True)) if "**" in "".join(after) else set[str]()  # `match` knows one `**`
    for hit in [before] if path.exists() else glob.glob(before):
        below = _below(hit) if os.path.isdir(hit) else [hit]
        files += (file for file in below if not any(after) or file in matched or Path(os.path.relpath(file, hit)).match(after[0]))
    return [file for file in files if os.path.isfile(file)]


def _below(directory: str) -> list[str]:
    def fail(error: OSError) -> None:
        raise error

    files: list[str] = []
    for parent, folders, names in os.walk(directory, onerror=fail):
        if os.path.isdir(os.path.join(parent, ".bertdata")):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [os.path.join(parent, name) for name in names if not (name.startswith(".") or _CACHE.fullmatch(name))]
    return files


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
    return [str(root / name) for name in names if "/." not in f"/{name}" and not name.startswith(ours)]
