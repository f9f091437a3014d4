"""Read a corpus of documents back, a record batch a task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bertdata import manifest, shards
from bertdata.errors import VerificationError
from bertdata.records import Piece, Task, pack, unpack

__all__ = ["Corpus", "read", "sentences"]

SLICE_BYTES = 1 << 20  # text handed to the tokenizer at a time
_BATCHES = 4  # record batches in a task: 16 MB of text as build-corpus writes it


class Corpus(NamedTuple):
    """A finished corpus: its manifest, and a task for each record batch."""

    manifest: dict[str, Any]
    tasks: list[Task]
    text_bytes: int

    @property
    def format(self) -> str:
        """The format of its shards."""
        return str(self.manifest["config"]["format"])

    def inputs(self) -> list[dict[str, Any]]:
        """Describe its shards as the inputs of what is made from it."""
        licences = ", ".join(sorted({entry["licence"] for entry in self.manifest["inputs"]}))
        keys = ("name", "bytes", "sha256")
        return [{**{key: s[key] for key in keys}, "source": "corpus", "licence": licences} for s in self.manifest["shards"]]


def read(directory: Path) -> Corpus:
    """Read a corpus' manifest and check that its shards have the sizes it names."""
    found = manifest.read(directory, "documents")
    tasks: list[Task] = []
    for shard in found["shards"]:
        path = directory / shard["name"]
        if not path.is_file() or path.stat().st_size != shard["bytes"]:
            raise VerificationError(f"{path} is missing or cut: build the corpus again")
        for batch in range(0, shard["batches"], _BATCHES):
            piece = Piece(shard["name"], str(path.resolve()), batch, min(batch + _BATCHES, shard["batches"]))
            tasks.append(Task(len(tasks), "documents", pack([piece])))
    return Corpus(found, tasks, sum(shard["text_bytes"] for shard in found["shards"]))


def sentences(task: Task, format: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Read a task's documents in slices of about a megabyte: their ids, and their sentences."""
    for piece in unpack(task.pieces):
        for batch in shards.read_batches(Path(piece.path), format, piece.start, piece.end):
            rows = max(1, int(batch.num_rows * SLICE_BYTES / max(1, batch.nbytes)))
            for start in range(0, batch.num_rows, rows):
                part = batch.slice(start, rows)
                yield part.column("id").to_pylist(), part.column("sentences").to_pylist()
