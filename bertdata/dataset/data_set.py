"""A finished dataset: its path, its manifest and its counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from ..storage.files import to_path
from ..tally import StageCounts
from . import manifest
from .manifest_types import Manifest

__all__ = ["DataSet", "open"]

M = TypeVar("M", bound=Manifest)


@dataclass(frozen=True)
class DataSet(Generic[M]):
    """A finished dataset: the return value of `build_corpus`, `train_vocab`, `make_pairs` and `open`.

    Attributes:
        path: Directory of the dataset.
        manifest: Contents of manifest.json.
        new: False if the dataset was already complete, so the command did nothing.
    """

    path: Path
    manifest: M = field(repr=False)
    new: bool = True

    @classmethod
    def read(cls, path: Path, *, new: bool = True) -> DataSet[Manifest]:
        """Read a dataset's manifest. Raise NoInputError if it is missing, VerificationError if it was modified."""
        return DataSet(path, manifest.read(path), new)

    def __repr__(self) -> str:
        return f"DataSet({str(self.path)!r}, {self.kind}: {self.rows:,} rows in {len(self.shards):,} shards)"

    @property
    def kind(self) -> str:
        """Kind of contents: ``documents``, ``vocabulary`` or ``pairs``."""
        return self.manifest.kind

    @property
    def rows(self) -> int:
        """Number of documents or rows."""
        return self.manifest.rows

    @property
    def counts(self) -> list[StageCounts]:
        """Input, output, and dropped and rejected records of each stage, by reason. The counts add up."""
        return list(self.manifest.counts)

    @property
    def shards(self) -> list[Path]:
        """Paths of the shards, in order."""
        return [self.path / shard.name for shard in self.manifest.shards]


def open(directory: str | Path) -> DataSet[Manifest]:
    """Open a dataset of any kind: a corpus, a vocabulary, rows or an export.

    Args:
        directory: Output of another command, a local directory or an address in a store.

    Returns:
        The dataset, with its path, manifest, counts and shards.

    Raises:
        NoInputError: There is no dataset.
        VerificationError: The manifest was modified.

    Examples:
        >>> from bertdata.sample import sample
        >>> from bertdata import build_corpus
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> open(corpus.path).kind
        'documents'
    """
    return DataSet.read(to_path(str(directory)), new=False)
