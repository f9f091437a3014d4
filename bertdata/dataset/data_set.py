"""A finished dataset: its path, its manifest and its counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from ..tally import StageCounts
from . import manifest
from .manifest_types import Manifest

__all__ = ["DataSet"]


M = TypeVar("M", bound=Manifest)


@dataclass(frozen=True)
class DataSet(Generic[M]):
    """The return value of `build_corpus`, `train_vocab` and `make_pairs`.

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
