"""Choose the record batches for a sample of a corpus. The bytes read stop growing with the size of the corpus."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import keys
from ..config import VocabConfig
from ..records import FileRange, Task
from ..storage.files import to_path
from .corpus_reader import MAX_BATCHES, Corpus

_READ_RATIO = 4  # text read from a large corpus, as a multiple of the sample's text
_MIN_BATCHES = 64  # minimum record batches read: 128 MB of text from build-corpus


class Sample(NamedTuple):
    """A sample of a corpus: `share` of all documents, which is `share_of_read` of the documents that `tasks` read.

    For a large corpus, the tasks read some of the record batches and take one document in `_READ_RATIO`. The bytes read do not
    grow with the corpus, and still come from many places in it.
    """

    share: float
    share_of_read: float
    tasks: list[Task]

    @classmethod
    def of(cls, source: Corpus, config: VocabConfig) -> Sample:
        """Choose the record batches to read: `_READ_RATIO` times the sample's text, or `_MIN_BATCHES` batches if that is more."""
        # Reading one document in a million of a large corpus would still read every shard. Read a
        # few record batches instead, and take a quarter of their documents: still many places,
        # little input.
        share = min(1.0, config.sample_bytes / max(1, source.text_bytes))
        batches = sum(shard.batches for shard in source.manifest.shards)
        read = max(_READ_RATIO * share, _MIN_BATCHES / max(1, batches))
        if read >= 1:
            return cls(share, share, source.tasks)
        return cls(share, share / read, _some(source, config.seed, read))


def _some(source: Corpus, seed: int, share: float) -> list[Task]:
    """Return tasks for a random share of a corpus' record batches, drawn by shard and number, or all tasks if none is drawn."""
    drawn: list[FileRange] = []
    for shard in source.manifest.shards:
        name, numbers = shard.name, np.arange(shard.batches)
        chosen = numbers[keys.share(keys.at(keys.key(seed, "batches", name), numbers)) < share]
        path = str(to_path(source.reader.directory) / name)
        drawn += [FileRange(name, path, batch, batch + 1) for batch in chosen.tolist()]
    groups = [drawn[start : start + MAX_BATCHES] for start in range(0, len(drawn), MAX_BATCHES)]
    return [Task(number, "documents", tuple(parts)) for number, parts in enumerate(groups)] or source.tasks
