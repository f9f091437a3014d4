"""Choose the record batches that a sample of a corpus is read from: as many bytes of a large corpus as of a larger one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import keys
from ..config import VocabConfig
from ..io.files import to_path
from ..records import FileRange, Task
from .documents import BATCHES, Corpus

__all__ = ["Sample"]

_READ = 4  # times the sample's text that is read of a large corpus
_FEWEST = 64  # record batches that are read: 128 MB of text as build-corpus writes it


class Sample(NamedTuple):
    """A sample of a corpus: `share` of its documents, which are `share_of_read` of the documents that `tasks` read.

    Of a large corpus the tasks read some record batches and take a document in `_READ`.  So the bytes that are read do not grow
    with the corpus, and still come from many places in it.
    """

    share: float
    share_of_read: float
    tasks: list[Task]

    @classmethod
    def of(cls, source: Corpus, config: VocabConfig) -> Sample:
        """Draw the record batches to read: all, up to `_READ` times the sample's text or `_FEWEST` batches."""
        share = min(1.0, config.sample_bytes / max(1, source.text_bytes))
        batches = sum(shard.batches for shard in source.manifest.shards)
        read = max(_READ * share, _FEWEST / max(1, batches))
        if read >= 1:
            return cls(share, share, source.tasks)
        return cls(share, share / read, _some(source, config.seed, read))


def _some(source: Corpus, seed: int, share: float) -> list[Task]:
    """Return tasks that read this share of a corpus' record batches, drawn by shard and number; all tasks where none is drawn."""
    drawn: list[FileRange] = []
    for shard in source.manifest.shards:
        name, numbers = shard.name, np.arange(shard.batches)
        chosen = numbers[keys.share(keys.at(keys.key(seed, "batches", name), numbers)) < share]
        path = str(to_path(source.reader.directory) / name)
        drawn += [FileRange(name, path, batch, batch + 1) for batch in chosen.tolist()]
    groups = [drawn[start : start + BATCHES] for start in range(0, len(drawn), BATCHES)]
    return [Task(number, "documents", tuple(parts)) for number, parts in enumerate(groups)] or source.tasks
