"""Read a corpus of documents back, some record batches a task."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..dataset import manifest, shards
from ..dataset.manifest_records import CorpusInfo, InputName, ShardInput
from ..dataset.manifest_types import CorpusManifest
from ..errors import UsageError, VerificationError
from ..io.files import digest, is_local, to_path
from ..io.progress import current
from ..io.stamp import stamp
from ..records import FileRange, Task

__all__ = ["BATCHES", "Corpus", "DocumentReader", "read", "refuse_to_replace", "text_bytes"]

_SLICE_BYTES = 5 << 20  # text given to the tokenizer at a time, at the most: two record batches as build-corpus writes them
_NAMED = 1000  # inputs of a corpus that what is made from it names
BATCHES = 8  # record batches in a task, at the most: 16 MB of text as build-corpus writes it
_USUAL_TASKS = 4096  # of a larger corpus tasks are larger, as each has a piece for each bucket of make-pairs,
_TOGETHER = 8  # but so many times at the most: 128 MB of text, and 70 MB of tokens in memory


class DocumentReader(NamedTuple):
    """Read tasks of the corpus in this directory, whose manifest has this digest.

    A worker reads the shards' digests from the manifest.  So nothing in a job grows with the corpus but its tasks.
    """

    directory: str
    sha256: str

    def columns(self, task: Task, *names: str, whole: bool = True, most: int = 0) -> Iterator[list[pa.Array]]:
        """Read columns of a task's documents in slices of `most` bytes (0: 5 MiB), or one larger document; each tells progress.

        The task that begins a shard checks all of it first, unless not the `whole` corpus is read, and so does each whose shard
        was changed later than the manifest, or while it was read; raise VerificationError for one that is not as it was.
        """
        format, digests = _known(self)
        for part in task.parts:
            path = to_path(part.path)
            before = stamp(path)
            if (whole and part.start == 0) or self._is_later(before):
                _check(path, digests[part.name])
            batches = shards.read_batches(path, format, part.start, part.end)
            for cut in _slices((batch.select(names) for batch in batches), most or _SLICE_BYTES):
                yield cut.columns
                current().add(bytes=text_bytes(cut), documents=cut.num_rows)
            if stamp(path) != before:
                _check(path, digests[part.name])

    def _is_later(self, changed: tuple[Any, ...]) -> bool:
        """Return True if a file was changed later than the manifest was written; of one in a store that is not known."""
        path = to_path(self.directory) / manifest.NAME
        return is_local(path) and changed > stamp(path)

    def manifest(self) -> CorpusManifest:
        """Read the manifest; raise VerificationError where it is another one by now."""
        return manifest.read_again(to_path(self.directory), self.sha256, CorpusManifest)

    def inputs(self) -> list[ShardInput]:
        """Describe the shards as the inputs of what is made from them."""
        return manifest.as_inputs(self.manifest(), "corpus")

    def about(self) -> CorpusInfo:
        """Return what a manifest tells of the corpus that its rows were made from: counts, sources, and what licences ask for."""
        contents = self.manifest()
        named = contents.inputs[:_NAMED]
        return CorpusInfo(
            rows=contents.rows,
            counts=contents.counts,
            sources=contents.sources,
            inputs=[InputName(name=entry.name, source=entry.source, licence=entry.licence) for entry in named],
            further_inputs=len(contents.inputs) - len(named),
        )


def text_bytes(batch: pa.RecordBatch) -> int:
    """Count the bytes of a batch's sentences, of which the manifest has the sum; none where they are not read."""
    if "sentences" not in batch.schema.names:
        return 0
    return pc.sum(pc.binary_length(batch.column("sentences").flatten())).as_py() or 0


def _check(path: Path, sha256: str) -> None:
    if digest(path) != sha256:
        raise VerificationError(f"{path} is not what its manifest says: build the corpus again")


def _slices(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Cut or join batches to about `most` bytes, or one larger document: in larger ones fewer words are looked up twice."""
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
    """Halve a batch until no part is too large, or has more than one document."""
    if batch.nbytes <= most or batch.num_rows < 2:
        yield batch
    else:
        half = batch.num_rows // 2
        yield from _cut(batch.slice(0, half), most)
        yield from _cut(batch.slice(half), most)


@functools.lru_cache(maxsize=2)
def _known(reader: DocumentReader) -> tuple[str, dict[str, str]]:
    """Return the format of a corpus' shards, and their digests by name."""
    contents = reader.manifest()
    return contents.settings.format, {shard.name: shard.sha256 for shard in contents.shards}


class Corpus(NamedTuple):
    """A finished corpus: its manifest, its tasks, and what reads them."""

    manifest: CorpusManifest
    tasks: list[Task]
    text_bytes: int
    reader: DocumentReader

    def identity(self) -> list[dict[str, str]]:
        """Return what distinguishes it from other corpora, for a run that is resumed: its shards and their digests."""
        return [{"name": shard.name, "sha256": shard.sha256} for shard in self.manifest.shards]


def read(directory: Path) -> Corpus:
    """Read a corpus' manifest and check that its shards have the sizes it names; cut each into tasks of about equal size."""
    contents = manifest.read(directory, CorpusManifest)
    reader = DocumentReader(str(directory.resolve()), digest(directory / manifest.NAME))
    ranges: list[FileRange] = []
    manifest.check_files(directory, manifest.listed(contents))
    for shard in contents.shards:
        path = directory / shard.name
        count = math.ceil(shard.batches / BATCHES)
        for start, end in pairwise(shard.batches * number // max(1, count) for number in range(count + 1)):
            ranges.append(FileRange(shard.name, str(path.resolve()), start, end))
    together = min(_TOGETHER, max(1, math.ceil(len(ranges) / _USUAL_TASKS)))
    groups = [ranges[start : start + together] for start in range(0, len(ranges), together)]
    tasks = [Task(number, "documents", tuple(group)) for number, group in enumerate(groups)]
    return Corpus(contents, tasks, sum(shard.text_bytes for shard in contents.shards), reader)


def refuse_to_replace(inputs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Raise UsageError for an output that is an input: with `overwrite` it would replace what it is made from."""
    for output in outputs:
        if output.resolve() in [path.resolve() for path in inputs]:
            raise UsageError(f"`output`: {output} is what is read; choose another directory", field="output")
