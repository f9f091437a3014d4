"""Find the input files that names, globs and directories refer to.

Every file gets a machine-independent name: its path below the common parent of all files of its kind.

    books/austen/emma.txt  books/doyle/sign.txt   ->   austen/emma.txt  doyle/sign.txt
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..config.input_kinds import INPUTS
from ..errors import NoInputError, UsageError
from ..storage.files import to_path
from ..storage.storage import storage_errors
from .ignored import by_suffix, conversions, describe

__all__ = ["find"]

_PART = re.compile(r"-p\d+p\d+(?=(?:\.\w+)?$)")  # page range of a dump file: ``…-multistream1.xml-p1p41242.bz2``
_CACHE = re.compile(r"cache-[0-9a-f]+(?:_\d{5}_of_\d{5})?\.arrow")  # cache files of `datasets` next to a mapped dataset
# Commands to unpack compressed files that are not read, by suffix.
_UNPACK = {".7z": "7z x -so", ".zip": "unzip -p", ".lz4": "lz4 -dc", ".lzma": "xz -dc", ".br": "brotli -dc"}


def find(patterns: Sequence[str], suffixes: Sequence[str], option: str, others: set[str] | None = None) -> list[tuple[str, str]]:
    """Return (name, absolute path) of every file, sorted by name, without duplicates.

    A directory means the files below it with one of the suffixes; files of a glob with another suffix are skipped.
    The paths of skipped files are added to `others`.
    Raise NoInputError if a pattern matches nothing, UsageError if a file named explicitly cannot be read as its kind
    or must be recompressed (``.xml.7z``), unless it also exists in another form.
    """
    matched: set[str] = set()
    others = set() if others is None else others
    for pattern in patterns:
        if not pattern:
            raise UsageError(
                f"{option}: the name is empty, like an unset variable: pass a file, glob or directory",
                field=option.strip("`"),
            )
        with storage_errors(f"{option} {pattern}"):
            matched.update(_find(pattern, suffixes, option, others))
    paths = sorted(_once(matched))
    if not_utf8 := [path for path in paths if path.encode(errors="replace").decode() != path]:
        other = sys.getfilesystemencoding() != "utf-8"
        advice = "rename the file, or set PYTHONUTF8=1: this locale is not UTF-8" if other else "rename the file"
        raise UsageError(f"{option} {os.fsencode(not_utf8[0])!r}: the name is not UTF-8: {advice}", field=option.strip("`"))
    ends = [path.rpartition("://") for path in paths]
    if len({store for store, _, _ in ends}) > 1:
        raise UsageError(
            f"{option}: {paths[0]} and {paths[-1]} have no common parent: pass files from one disk or store",
            field=option.strip("`"),
        )
    root = os.path.commonpath([os.path.dirname(end) for _, _, end in ends]) if paths else ""
    return sorted((Path(end).relative_to(root).as_posix(), path) for path, (_, _, end) in zip(paths, ends, strict=True))


def _find(pattern: str, suffixes: Sequence[str], option: str, others: set[str]) -> list[str]:
    """List the absolute paths, or the URLs, that one pattern matches."""
    path = to_path(pattern)
    if isinstance(path, Path):
        path = path.expanduser()
    if path.exists() and not path.is_dir():
        if not path.is_file():
            raise UsageError(
                f"{option} {pattern}: a pipe, socket or device can't be read twice: pass a regular file", field=option.strip("`")
            )
        if not _has_suffix(path.name, suffixes):
            raise _unread(option, path, suffixes)
    list_files = _matches if isinstance(path, Path) else _stored
    seen = list_files(path)
    matches = [file for file in seen if _has_suffix(file, suffixes)]
    packed_suffixes = [suffix + packer for suffix in suffixes for packer in _UNPACK]
    unread = sorted(set(seen).difference(matches))
    others.update(unread)
    for packed in (file for file in unread if _has_suffix(file, packed_suffixes)):
        if not any(match.startswith(os.path.splitext(packed)[0]) for match in matches):
            raise _unread(option, to_path(packed), suffixes)
    if not matches:
        raise _nothing(option, pattern, path.is_dir(), suffixes, unread)
    return matches if list_files is _stored else [os.path.abspath(match) for match in matches]


def _nothing(option: str, pattern: str, is_directory: bool, suffixes: Sequence[str], unread: Sequence[str]) -> NoInputError:
    """Return the error for a pattern without readable files, with a way to convert the files that it matches."""
    none = "no file below this directory is of a kind that is read" if is_directory else "no file of this name"
    counts = by_suffix(unread)
    there = f"; it matches {describe(counts)}" if counts else ""
    ways = conversions(counts, _kind(suffixes))
    advice = f", or convert the files ({'; '.join(ways)})" if ways else ""
    return NoInputError(
        f"{option} {pattern}: {none}{there}: check the path, and quote a glob{advice}. Supported: "
        f"{', '.join(suffixes) or 'all files'}",
        field=option.strip("`"),
    )


def _kind(suffixes: Sequence[str]) -> str:
    """Return the kind of input that reads these suffixes."""
    return next((kind for kind, each in INPUTS.items() if each.suffixes == tuple(suffixes)), "")


def _once(paths: set[str]) -> Iterable[str]:
    """Return every file once, by its real name instead of a link."""
    return {os.path.realpath(path): path for path in sorted(paths, key=lambda p: (not os.path.islink(p), p))}.values()


def _has_suffix(name: str, suffixes: Sequence[str]) -> bool:
    return _PART.sub("", name).lower().endswith(tuple(suffixes))


def _unread(option: str, path: Path, suffixes: Sequence[str]) -> UsageError:
    """Return the error for an unreadable file: the suffixes that are read, and a command to convert it if known."""
    known = f"{option} {path}: bertdata reads {', '.join(suffixes)} here"
    if (unpack := _UNPACK.get(path.suffix.lower())) is None:
        ways = conversions(by_suffix([path.name]), _kind(suffixes))
        how = f". Convert the file: {'; '.join(ways)}" if ways else ""
        return UsageError(f"{known}, not this kind of file{how}", field=option.strip("`"))
    packed = f"{path.stem}.bz2"
    if _has_suffix(packed, suffixes):
        return UsageError(
            f"{known}, not {path.suffix}: recompress it: {unpack} {path.name} | bzip2 > {packed}", field=option.strip("`")
        )
    how = f": {unpack} {path.name} > {path.stem}" if _has_suffix(path.stem, suffixes) else ""
    return UsageError(f"{known}, not {path.suffix}: unpack it{how}", field=option.strip("`"))


def _matches(path: Path) -> list[str]:
    """List the files that a name, a directory or a glob matches."""
    hits = [str(path)] if path.exists() else list(_globbed("", path.parts))
    files = [hit for hit in hits if os.path.isfile(hit)]
    return files + [file for hit in hits if os.path.isdir(hit) for file in _below(Path(hit))]


def _globbed(root: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the matches of a glob below `root`; ``**`` does not follow directory links, which can form an infinite loop."""
    if not parts:
        yield root
        return
    head, rest = parts[0], parts[1:]
    if head != "**":
        hits = glob.glob(os.path.join(glob.escape(root), head))
        for hit in hits if not rest else filter(os.path.isdir, hits):
            yield from _globbed(hit, rest)
        return
    yield from _globbed(root, rest)
    with os.scandir(root or ".") as entries:
        folders = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name[:1] != ".")
    for name in folders:
        yield from _globbed(os.path.join(root, name), parts)


def _fail(error: OSError) -> None:
    raise error


def _below(directory: Path) -> list[str]:
    """List the files below a directory, except hidden ones, caches of `datasets` and bertdata's own datasets."""
    files: list[str] = []
    for parent, directories, names in os.walk(directory, onerror=_fail):
        if os.path.isdir(os.path.join(parent, ".bertdata")):
            directories[:] = []  # a bertdata dataset, possibly the output of this run: not an input
            continue
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        seen = [name for name in names if not (name.startswith(".") or _CACHE.fullmatch(name))]
        files += [os.path.join(parent, name) for name in seen]
    return [file for file in files if os.path.isfile(file)]


def _stored(path: Any) -> list[str]:
    """List the files in a store that a URL matches, like `_matches` on a disk."""
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
