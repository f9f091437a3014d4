"""Code shared by all formats: the source dataset, its shards, the description of a format, and columns of rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..dataset import manifest, shards
from ..dataset.manifest_records import File
from ..dataset.manifest_types import PairsManifest, ReadableManifest
from ..dataset.tasks import TaskReport
from ..errors import UsageError, VerificationError
from ..pieces import Special
from ..records import FileRange, Task
from ..storage.files import digest, replacing, to_path
from ..tally import StageCounts, Tally
from ..tokens.vocab import Vocabulary

__all__ = [
    "ExportFile",
    "ExportReport",
    "ExportSource",
    "Format",
    "ListColumn",
    "Shard",
    "column",
    "nothing_more",
    "read",
    "write_file",
    "write_parquet",
]

Array = npt.NDArray[Any]


class ExportSource(NamedTuple):
    """An exported dataset: its directory, and the digest of its manifest, so that a worker can check that it is the same."""

    directory: str
    sha256: str

    def manifest(self) -> ReadableManifest:
        """Read the manifest; raise VerificationError if it has changed."""
        return _manifest(self)

    def batches(self, task: Task, tally: Tally) -> Iterator[pa.RecordBatch]:
        """Yield and count a shard's record batches; raise VerificationError if the shard does not match the manifest."""
        # An export may run hours after the dataset was checked. Compare the digest of every shard
        # while reading, so that an export is never a mixture of two versions.
        contents = self.manifest()
        digests = {shard.name: shard.sha256 for shard in contents.shards}
        for part in task.parts:
            path = to_path(part.path)
            if digest(path) != digests[part.name]:
                raise VerificationError(f"{path} does not match the SHA-256 in the manifest: build it again with `overwrite`")
            for batch in shards.read_batches(path, part.start, part.end):
                tally.entered += batch.num_rows
                yield batch


@functools.lru_cache(maxsize=2)
def _manifest(source: ExportSource) -> ReadableManifest:
    contents = manifest.read(to_path(source.directory), sha256=source.sha256)
    assert isinstance(contents, ReadableManifest)  # `read` raises for any other kind
    return contents


def read(directory: Path, split: str) -> tuple[ExportSource, list[Task]]:
    """Return a dataset and a task per shard, or per shard of a split of rows, after checking the file sizes."""
    contents = manifest.read(directory)
    if not isinstance(contents, ReadableManifest):
        raise UsageError(f"{directory} contains {contents.kind}: use a corpus or rows")
    if split not in (contents.splits if isinstance(contents, PairsManifest) else ("train",)):
        raise UsageError(f"`split`: {directory} has no split {split}", field="split")
    of_split = [shard for shard in contents.shards if shard.name.startswith(f"data/{split}-")]
    manifest.check_files(directory, [*(file for file in contents.listed if file not in contents.shards), *of_split])
    paths = [str((directory / shard.name).resolve()) for shard in of_split]
    parts = [FileRange(shard.name, path, 0, shard.batches) for shard, path in zip(of_split, paths, strict=True)]
    tasks = [Task(number, contents.kind, (part,)) for number, part in enumerate(parts)]
    return ExportSource(str(directory.resolve()), digest(directory / manifest.NAME)), tasks


@dataclass(frozen=True)
class Shard:
    """Input and output of a format: where to write, the name (``data/train-00003-of-00016``), and the record batches.

    `manifest` is the dataset's; `vocabulary` is that of the rows, or the one used to tokenize the text.  `tally` counts
    the rows read so far, and a format adds those it drops.
    """

    root: Path
    number: int
    stem: str
    manifest: ReadableManifest
    vocabulary: Vocabulary | None
    batches: Iterator[pa.RecordBatch]
    tally: Tally

    @property
    def rows_manifest(self) -> PairsManifest:
        """The manifest of rows, for formats based on rows."""
        assert isinstance(self.manifest, PairsManifest)
        return self.manifest

    @property
    def pieces(self) -> list[str]:
        """The vocabulary's pieces."""
        return self.vocabulary.pieces if self.vocabulary else []

    @property
    def special(self) -> Special:
        """The vocabulary's special tokens."""
        assert self.vocabulary is not None
        return self.vocabulary.special


class ExportFile(File, frozen=True, kw_only=True):
    """A file of a shard, and its entry in the index of all files, for formats that have one."""

    index: Any = None

    @classmethod
    def of(cls, file: File) -> ExportFile:
        """Return the entry of a file whose rows are counted elsewhere."""
        return cls(name=file.name, bytes=file.bytes, sha256=file.sha256)


class ExportReport(TaskReport, frozen=True, kw_only=True):
    """The files of a shard, the one with the rows first, and its counts. A shard without rows has no files."""

    files: Sequence[ExportFile]
    tally: StageCounts


def nothing_more(root: Path, reports: Sequence[ExportReport]) -> list[str]:
    """Return no files, for a format without an index."""
    return []


class Format(NamedTuple):
    """A format: its input, and the functions that write it.

    of: ``documents`` or ``pairs``.  write: writes a shard and returns its files, the one with the rows first, or [] for a shard
    without rows.  finish: writes the index of all files after all shards, and returns the index names.  refusal: returns why
    rows with this manifest cannot be written, or "".  needs_vocabulary: the text is tokenized.  packages: the packages whose
    versions affect the output's bytes.
    """

    of: str
    write: Callable[[Shard], list[ExportFile]]
    finish: Callable[[Path, Sequence[ExportReport]], list[str]] = nothing_more
    refusal: Callable[[PairsManifest], str] = lambda contents: ""
    needs_vocabulary: bool = False
    packages: tuple[str, ...] = ()


class ListColumn(NamedTuple):
    """A column of lists: concatenated values, and the list offsets [N + 1]."""

    values: Array
    ends: Array

    def rows(self) -> Iterator[Array]:
        """Yield the values of each row."""
        ends = self.ends.tolist()
        return (self.values[start:end] for start, end in zip(ends, ends[1:], strict=False))


def column(batch: pa.RecordBatch, name: str) -> ListColumn:
    """Return a column of lists of a record batch as NumPy arrays."""
    lists = batch.column(name)
    # A slice of an Arrow array keeps the offsets of the original. Subtract the first one.
    offsets = lists.offsets.to_numpy()
    return ListColumn(lists.flatten().to_numpy(zero_copy_only=False), (offsets - offsets[0]).astype(np.int64))


def write_parquet(root: Path, name: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> ExportFile:
    """Write a Parquet file atomically, with a row group per record batch; return its entry."""
    import pyarrow.parquet as pq  # imported only if needed: it slows down every start

    def write(file: IO[bytes]) -> None:
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for batch in batches:
                if batch.num_rows:  # `datasets` fails on an empty row group, but reads a file without row groups
                    writer.write_batch(batch)

    return write_file(root, name, write)


def write_file(root: Path, name: str, write: Callable[[IO[bytes]], None]) -> ExportFile:
    """Write a file atomically with a function that receives the open file; return its entry."""
    with replacing(root / name) as file:
        write(file)
    return ExportFile.of(manifest.entry(root, name))
