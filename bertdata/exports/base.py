"""Code shared by all formats: the source dataset, its shards, and the description of a format."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ..dataset import manifest, shards
from ..dataset.manifest_records import File
from ..dataset.manifest_types import CorpusManifest, PairsManifest, ReadableManifest
from ..dataset.tasks import TaskReport
from ..errors import UsageError, VerificationError
from ..records import FileRange, Task
from ..storage.files import digest, to_path
from ..tally import StageCounts, Tally
from ..tokens.vocab import Vocabulary


class ExportSource(NamedTuple):
    """An exported dataset: its directory, and the digest of its manifest, so that a worker can check that it is the same."""

    directory: str
    sha256: str

    @functools.lru_cache(maxsize=2)  # noqa: B019  (its argument is a pair of strings)
    def manifest(self) -> CorpusManifest | PairsManifest:
        """Read the manifest; raise VerificationError if it has changed."""
        contents = manifest.read(to_path(self.directory), sha256=self.sha256)
        assert isinstance(contents, CorpusManifest | PairsManifest), "`read` has refused any other kind"
        return contents

    def batches(self, task: Task, tally: Tally) -> Iterator[pa.RecordBatch]:
        """Yield and count a shard's record batches; raise VerificationError if the shard does not match the manifest."""
        # An export may run hours after the dataset was checked, and must not mix two versions of it.
        digests = {shard.name: shard.sha256 for shard in self.manifest().shards}
        for part in task.parts:
            path = to_path(part.path)
            if digest(path) != digests[part.name]:
                raise VerificationError(f"{path} does not match the SHA-256 in the manifest: build it again with `overwrite`")
            for batch in shards.read_batches(path, part.start, part.end):
                tally.entered += batch.num_rows
                yield batch


def read(directory: Path, split: str) -> tuple[ExportSource, list[Task]]:
    """Return a dataset and a task per shard, or per shard of a split of rows, after checking the file sizes."""
    contents = manifest.read(directory)
    if not isinstance(contents, CorpusManifest | PairsManifest):
        raise UsageError(f"{directory} contains {contents.what}: use a corpus or rows")
    if split not in (contents.splits if isinstance(contents, PairsManifest) else ("train",)):
        raise UsageError(f"`split`: {directory} has no split {split}", field="split")
    manifest.check_files(directory, contents.listed)
    parts = [
        FileRange(shard.name, str((directory / shard.name).resolve()), 0, shard.batches)
        for shard in contents.shards
        if shard.name.startswith(f"data/{split}-")
    ]
    tasks = [Task(number, contents.kind, (part,)) for number, part in enumerate(parts)]
    return ExportSource(str(directory.resolve()), digest(directory / manifest.NAME)), tasks


@dataclass
class Shard:
    """Input and output of a format."""

    root: Path  # where to write
    number: int
    stem: str  # the name, such as ``data/train-00003-of-00016``
    manifest: ReadableManifest  # of the dataset
    vocabulary: Vocabulary | None  # of the rows, or the one that tokenizes the text
    batches: Iterator[pa.RecordBatch]
    tally: Tally  # of the rows read so far; a format adds those it drops
    index: Any = None  # its entry in the index of all files, if there is one


class ExportReport(TaskReport, frozen=True, kw_only=True):
    """The files of a shard, the one with the rows first, its counts, and its index. A shard without rows has no files."""

    files: Sequence[File]
    tally: StageCounts
    index: Any


class Format(NamedTuple):
    """A format: its input, and the functions that write it."""

    of: tuple[str, ...]  # kinds of datasets: documents, pairs
    write: Callable[[Shard], list[str]]  # writes a shard; returns the names of its files, the one with the rows first, or []
    finish: Callable[[Path, Sequence[ExportReport]], list[str]] = lambda root, reports: []  # writes the index; returns its name
    refusal: Callable[[PairsManifest], str] = lambda contents: ""  # returns why rows cannot be written
    needs_vocabulary: bool = False  # the text is tokenized
    packages: tuple[str, ...] = ()  # whose versions affect the bytes
    has_card: bool = False  # `datasets` can read the files
