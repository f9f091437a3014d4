"""Compare the files of a dataset with its manifest: names, links, sizes, digests, record batches and lists."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from ..dataset.build import MANIFEST, REPORT, STATE
from ..dataset.manifest import check_inside
from ..dataset.manifest_records import File, RowFile
from ..dataset.manifest_types import CARD, Manifest
from ..errors import VerificationError
from ..storage.files import TEMPORARY_PREFIX, digest, is_local, to_path
from ..storage.problems import storage_errors

_MAX_LINE_BYTES = 64 << 20  # of a list; an id and a file name are much shorter
# In the state directory: files that stay after a run, and folders removed then.
_STATE_FILES = frozenset(("run.json", "run.sha256", "lock", "commit", "stages.json"))
_UNFINISHED = re.compile(r"tasks|work|build-[0-9a-f]{16}")
_OTHER = -1  # in place of a size: not a regular file


class CheckFailed(Exception):
    """A problem with a file. The caller knows which file."""


def compare(directory: Path, manifest: Manifest) -> tuple[dict[str, str], list[str]]:
    """Compare names and sizes. Return problems by file, and notes on harmless files."""
    with storage_errors(f"cannot read {directory}"):
        sizes = dict(_walk(directory)) if is_local(directory) else _list(directory)
    entries = [*manifest.listed, *([manifest.card] if manifest.card else [])]
    problems = {entry.name: problem for entry in entries if (problem := _misplaced(directory, entry, sizes))}
    known = {entry.name for entry in entries} | {MANIFEST, CARD, REPORT}
    notes: dict[str, None] = {}
    for name in sorted(sizes.keys() - known):
        folder, *rest = name.split("/")
        left_over = any(part.startswith(TEMPORARY_PREFIX) for part in (folder, *rest))
        if folder != STATE:
            problems[name] = "is left over from a run that was killed" if left_over else "does not belong to this dataset"
        elif left_over or (len(rest) > 1 and _UNFINISHED.fullmatch(rest[0])):
            path = directory / (name if left_over else f"{STATE}/{rest[0]}")
            notes[f"{path} is left over from a run that was killed: it may be removed"] = None
        elif "/".join(rest) not in _STATE_FILES or sizes[name] < 0:
            problems[name] = "does not belong to this dataset"
    return problems, list(notes)


def _misplaced(directory: Path, entry: File, sizes: dict[str, int]) -> str:
    size = sizes.get(entry.name)
    try:
        check_inside(directory, entry.name)
    except VerificationError:
        return "is a link that leads out of the dataset"
    if size is None:
        return "is missing"
    if size < 0:
        return "is not a regular file"
    return "" if size == entry.bytes else f"has {size:,} bytes, but {entry.bytes:,} were written"


def _walk(directory: Path) -> Iterator[tuple[str, int]]:
    """Yield the name and size of all files below a directory. A link has the size of its target and is not followed."""
    for parent, folders, names in os.walk(directory):
        for name in (*folders, *names):
            path = Path(parent, name)
            if path.is_dir() and not path.is_symlink():
                continue
            try:
                status = path.stat()
            except FileNotFoundError:  # a broken link, or a file that is being removed
                size = _OTHER
            else:
                size = status.st_size if stat.S_ISREG(status.st_mode) else _OTHER
            yield str(path.relative_to(directory)), size


def _list(directory: Any) -> dict[str, int]:
    """List the files of a store below a name, in as few requests as possible."""
    root = directory.path.rstrip("/") + "/"
    listing = directory.fs.find(directory.path, detail=True)
    return {path.removeprefix(root): int(info["size"]) for path, info in listing.items() if not path.endswith("/")}


@contextlib.contextmanager
def fetched(directory: str, entry: File) -> Iterator[Path]:
    """Yield the path of a file with verified bytes. A file in a store is copied to this machine first.

    Raise CheckFailed if its bytes are wrong, and StorageError if the disk or the store fails.
    """
    path = to_path(directory) / entry.name
    with contextlib.ExitStack() as stack:
        if not is_local(path):
            here = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bertdata-")), path.name)
            with storage_errors(f"cannot read {path}"):
                cast("Any", path).fs.get_file(cast("Any", path).path, str(here))
            path = here
        if digest(path) != entry.sha256:
            raise CheckFailed("has changed since it was written (its SHA-256 differs)")
        yield path


def batches(path: Path, schema: pa.Schema, entry: RowFile) -> Iterator[pa.RecordBatch]:
    """Yield a shard's record batches, mapped, so that one large batch needs no extra memory.

    Raise CheckFailed if the file cannot be read, or has another schema or other numbers of rows and batches than its entry.
    """
    rows = count = 0
    try:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            for count in range(1, reader.num_record_batches + 1):
                batch = reader.get_batch(count - 1)
                check_batch(batch, schema)
                rows += batch.num_rows
                yield batch
                del batch
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk failed; a file that is too short to map raises EINVAL
        raise CheckFailed(f"cannot be read as an Arrow file: {' '.join(str(error).split())}") from error
    if (rows, count) != (entry.rows, entry.batches):
        found = f"{rows:,} rows in {count:,} record batches"
        raise CheckFailed(f"contains {found}, but the manifest lists {entry.rows:,} rows in {entry.batches:,}")


def check_batch(batch: pa.RecordBatch, schema: pa.Schema) -> None:
    """Raise CheckFailed for another schema or a null, and ArrowException for values that are not valid."""
    if not batch.schema.equals(schema, check_metadata=True):
        ours, theirs = (" ".join(each.to_string(show_schema_metadata=False).split()) for each in (schema, batch.schema))
        raise CheckFailed(f"has the columns {ascii(theirs)[1:-1]}, not {ours}, or describes others to `datasets`")
    batch.validate(full=True)
    for name, column in zip(schema.names, batch.columns, strict=True):
        if column.null_count or (pa.types.is_list(column.type) and column.flatten().null_count):
            raise CheckFailed(f"has a null in column {name}")


def check_list(path: Path, entry: RowFile, kind: str) -> Counter[str]:
    """Check each line of a list, ``rejects`` or ``drops``. Return the number of records by reason."""
    counts: Counter[str] = Counter()
    rows = 0
    with open(path, "rb") as file:
        while line := file.readline(_MAX_LINE_BYTES):
            rows += 1
            try:
                record = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                raise CheckFailed(f"line {rows} is not valid JSON: {' '.join(str(error).split())}") from error
            for key in ("id", "reason", "where" if kind == "rejects" else "detail"):
                if not isinstance(record, dict) or not isinstance(record.get(key), str):
                    raise CheckFailed(f"line {rows} has no {key}")
            count = record.get("pages", 1)  # one line stands for all pages that a dump lacks
            if type(count) is not int or count < 1:
                raise CheckFailed(f"line {rows} counts {ascii(count)[:100]} pages")
            counts[record["reason"]] += count
    if rows != entry.rows:
        raise CheckFailed(f"has {rows:,} lines, but {entry.rows:,} in the manifest")
    return counts
