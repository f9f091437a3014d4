"""Describe a finished dataset: where it is, its manifest, and what that counts."""

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
    """What `build_corpus`, `train_vocab` and `make_pairs` return.

    path: its directory.  manifest: the record of manifest.json.  new: False where it was complete already, and nothing was done.
    """

    path: Path
    manifest: M = field(repr=False)
    new: bool = True

    @classmethod
    def read(cls, path: Path, *, new: bool = True) -> DataSet[Manifest]:
        """Read a dataset's manifest; raise NoInputError where there is none, VerificationError where it was changed."""
        return DataSet(path, manifest.read(path), new)

    @property
    def kind(self) -> str:
        """What it holds: ``documents``, ``vocabulary`` or ``pairs``."""
        return self.manifest.kind

    @property
    def rows(self) -> int:
        """How many documents or rows it holds."""
        return self.manifest.rows

    @property
    def counts(self) -> list[StageCounts]:
        """Of each stage what went in, what came out, and what was dropped or rejected, by reason; these add up."""
        return list(self.manifest.counts)

    @property
    def shards(self) -> list[Path]:
        """The files of its rows, in order."""
        return [self.path / shard.name for shard in self.manifest.shards]
