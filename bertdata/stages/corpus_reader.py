"""Read a corpus of documents, a few record batches per task."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from ..dataset import manifest, shards
from ..dataset.manifest_records import CorpusInfo, Input
from ..dataset.manifest_types import CorpusManifest
from ..errors import UsageError, VerificationError
from ..records import FileRange, Task
from ..storage.files import digest, is_local, to_path
from ..storage.stamp import stamp

_SLICE_BYTES = 5 << 20  # maximum text per tokenizer call: two record batches of build-corpus
_MAX_NAMED_INPUTS = 1000  # maximum corpus inputs that a derived dataset names
MAX_BATCHES = 8  # maximum record batches per task: 16 MB of text from build-corpus
_USUAL_TASKS = 4096  # a larger corpus has larger tasks, because each has one piece per make-pairs partition,
_MAX_GROUP = 8  # up to this factor: 128 MB of text and 70 MB of tokens in memory


class DocumentReader(NamedTuple):
    """Read tasks of the corpus in this directory, whose manifest has this digest.

    A worker reads the shard digests from the manifest, so only the number of tasks grows with the corpus.
    """

    directory: str
    sha256: str

    def columns(self, task: Task, *names: str, whole: bool = True, most: int = 0) -> Iterator[list[pa.Array]]:
        """Read columns of a task's documents in slices of at most `most` bytes (0: 5 MiB), or one larger document.

        The first task of a shard verifies the complete shard, if the `whole` corpus is read. A task
        also verifies its shard if it was modified after the manifest was written, or while it was read. Raise VerificationError
        if a shard does not match its digest.
        """
        digests = _digests(self)
        for part in task.parts:
            path = to_path(part.path)
            before, known = stamp(path), to_path(self.directory) / manifest.NAME
            is_later = is_local(known) and before > stamp(known)  # in a store, this is unknown
            if (whole and part.start == 0) or is_later:
                _check(path, digests[part.name])
            batches = shards.read_batches(path, part.start, part.end)
            for cut in _slices((batch.select(names) for batch in batches), most or _SLICE_BYTES):
                yield cut.columns
            if stamp(path) != before:
                _check(path, digests[part.name])

    def manifest(self) -> CorpusManifest:
        """Read the manifest. Raise VerificationError if it has changed."""
        return manifest.read(to_path(self.directory), CorpusManifest, sha256=self.sha256)

    def inputs(self) -> list[Input]:
        """Return the shards as inputs of a derived dataset."""
        return manifest.as_inputs(self.manifest(), "corpus")

    def about(self) -> CorpusInfo:
        """Return the corpus information that a rows manifest stores: counts, sources and licence requirements."""
        contents = self.manifest()
        named = contents.inputs[:_MAX_NAMED_INPUTS]
        return CorpusInfo(
            rows=contents.rows,
            counts=contents.counts,
            sources=contents.sources,
            inputs=[Input(name=entry.name, source=entry.source, licence=entry.licence) for entry in named],
            further_inputs=len(contents.inputs) - len(named),
        )


def _check(path: Path, sha256: str) -> None:
    if digest(path) != sha256:
        raise VerificationError(f"{path} does not match the SHA-256 in the manifest: build it again with `overwrite`")


def _slices(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Split or join batches to about `most` bytes, or one larger document. Larger slices repeat fewer word lookups."""
    held: list[pa.RecordBatch] = []
    size = 0
    for part in (part for batch in batches for part in _cut(batch, most)):
        if held and size + part.nbytes > most:
            full, held, size = shards.joined(held), [], 0
            yield from full
        held.append(part)
        size += part.nbytes
    if held:
        yield from shards.joined(held)


def _cut(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """Halve a batch until each part is small enough or has one document."""
    if batch.nbytes <= most or batch.num_rows < 2:
        yield batch
    else:
        half = batch.num_rows // 2
        yield from _cut(batch.slice(0, half), most)
        yield from _cut(batch.slice(half), most)


@functools.lru_cache(maxsize=2)
def _digests(reader: DocumentReader) -> dict[str, str]:
    """Return the digests of a corpus' shards by name."""
    return {shard.name: shard.sha256 for shard in reader.manifest().shards}


class Corpus(NamedTuple):
    """A finished corpus: its manifest, its tasks, and a reader for them."""

    manifest: CorpusManifest
    tasks: list[Task]
    text_bytes: int
    reader: DocumentReader

    def identity(self) -> list[dict[str, str]]:
        """Return the shards and their digests, which identify the corpus when a run resumes."""
        return [{"name": shard.name, "sha256": shard.sha256} for shard in self.manifest.shards]


def read(directory: Path) -> Corpus:
    """Read a corpus' manifest, check the shard sizes, and split each shard into tasks of about equal size."""
    contents = manifest.read(directory, CorpusManifest)
    reader = DocumentReader(str(directory.resolve()), digest(directory / manifest.NAME))
    ranges: list[FileRange] = []
    manifest.check_files(directory, contents.listed)
    for shard in contents.shards:
        path = directory / shard.name
        count = math.ceil(shard.batches / MAX_BATCHES)
        for start, end in pairwise(shard.batches * number // max(1, count) for number in range(count + 1)):
            ranges.append(FileRange(shard.name, str(path.resolve()), start, end))
    together = min(_MAX_GROUP, max(1, math.ceil(len(ranges) / _USUAL_TASKS)))
    groups = [ranges[start : start + together] for start in range(0, len(ranges), together)]
    tasks = [Task(number, "documents", tuple(group)) for number, group in enumerate(groups)]
    return Corpus(contents, tasks, sum(shard.text_bytes for shard in contents.shards), reader)


def refuse_to_replace(inputs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Raise UsageError if an output is also an input, which `overwrite` would replace."""
    for output in outputs:
        if output.resolve() in [path.resolve() for path in inputs]:
            raise UsageError(f"`output`: {output} is also an input; choose another directory", field="output")
