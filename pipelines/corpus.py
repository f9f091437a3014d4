"""Read a corpus of documents back, a record batch a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bertdata import manifest, shards
from bertdata.errors import UsageError, VerificationError
from bertdata.files import digest, place
from bertdata.records import Piece, Task, pack, unpack

__all__ = ["Corpus", "Reader", "keep", "read"]

SLICE_BYTES = 1 << 20  # text handed to the tokenizer at a time
_BATCHES = 8  # record batches in a task: 16 MB of text as build-corpus writes it


class Reader(NamedTuple):
    """Read tasks of a corpus whose shards are of this format and have these digests, by name."""

    format: str
    digests: dict[str, str]

    def columns(self, task: Task, *names: str) -> Iterator[list[Any]]:
        """Read columns of a task's documents in slices of about a megabyte of text.

        The task that begins a shard checks all of it first; raise VerificationError for one that has changed.
        """
        for piece in unpack(task.pieces):
            path = place(piece.path)
            if piece.start == 0 and digest(path) != self.digests[piece.name]:
                raise VerificationError(f"{path} is not what its manifest says: build the corpus again")
            for batch in shards.read_batches(path, self.format, piece.start, piece.end):
                rows = max(1, int(batch.num_rows * SLICE_BYTES / max(1, batch.nbytes)))
                for start in range(0, batch.num_rows, rows):
                    part = batch.slice(start, rows)
                    yield [part.column(name).to_pylist() for name in names]


class Corpus(NamedTuple):
    """A finished corpus: its manifest, and a task for each record batch."""

    manifest: dict[str, Any]
    tasks: list[Task]
    text_bytes: int

    def reader(self) -> Reader:
        """Return what a worker needs to read it."""
        return Reader(self.manifest["config"]["format"], {shard["name"]: shard["sha256"] for shard in self.manifest["shards"]})

    def inputs(self) -> list[dict[str, Any]]:
        """Describe its shards as the inputs of what is made from it."""
        licences = ", ".join(sorted({entry["licence"] for entry in self.manifest["inputs"]}))
        keys = ("name", "bytes", "sha256")
        return [{**{key: s[key] for key in keys}, "source": "corpus", "licence": licences} for s in self.manifest["shards"]]

    def identity(self) -> list[dict[str, str]]:
        """Return what tells it from other corpora, for a run that is resumed: its shards and their digests."""
        return [{key: shard[key] for key in ("name", "sha256")} for shard in self.manifest["shards"]]


def read(directory: Path) -> Corpus:
    """Read a corpus' manifest and check that its shards have the sizes it names."""
    found = manifest.read(directory, "documents")
    tasks: list[Task] = []
    manifest.check_files(directory, found)
    for shard in found["shards"]:
        path = directory / shard["name"]
        for batch in range(0, shard["batches"], _BATCHES):
            piece = Piece(shard["name"], str(path.resolve()), batch, min(batch + _BATCHES, shard["batches"]))
            tasks.append(Task(len(tasks), "documents", pack([piece])))
    return Corpus(found, tasks, sum(shard["text_bytes"] for shard in found["shards"]))


def keep(inputs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Raise UsageError for an output that is an input: --overwrite would put it in the place of what it is made from."""
    for output in outputs:
        if output.resolve() in [path.resolve() for path in inputs]:
            raise UsageError(f"--output: {output} is what is read; choose another directory")
