"""Extract documents from samples of a corpus' input: some parts of the files of each kind and suffix.

wikipedia .bz2    [====|====|====|====]     four of many parts, each from its beginning to where the reader asks for more
books .txt        [=][==][=][===]           whole files
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from ..config.input_kinds import PROJECTS
from ..records import Document, Drop, FileRange, Reject
from ..sources import dumps
from ..sources.archives import zip_files
from ..sources.compressed import next_block_start
from ..storage.files import size
from ..storage.progress import NO_CONTEXT, Work

if TYPE_CHECKING:
    from ..config import CorpusConfig
    from ..stages.corpus.plan_tasks import CorpusPlan
    from ..stages.corpus.sources import Counts

__all__ = ["Stratum", "sample_files", "task_seconds"]

Clock = Callable[[], float]  # seconds
_MIN_SAMPLES = 4  # samples to take at least, where the time allows it
_MAX_WIKIS = 16  # the largest ones; smaller ones are sampled together
_BZIP2_SAMPLE_BYTES = 1_000_000  # bytes of a sample of bzip2: a reader decompresses two blocks more, some 300 kB


@dataclass
class Stratum:
    """Files of one kind, suffix and wiki, and what samples of them took.

    Attributes:
        kind: Kind of input.
        parts: All parts of these files.
        read: Bytes of input whose documents are finished.
        warm_up: Seconds until the first record: each worker loads tables once.
        seconds: Seconds that the samples took.
        output: Bytes of shards and lists.
        documents: Number of documents.
        tasks: Bytes of the parts that each task reads, by the task's position.
    """

    kind: str
    parts: list[FileRange] = field(default_factory=list)
    read: int = 0
    warm_up: float = 0.0
    seconds: float = 0.0
    output: int = 0
    documents: int = 0
    tasks: Counter[int] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """Bytes of all parts."""
        return _size(self.parts)

    @property
    def scale(self) -> float:
        """How many times the samples make the whole."""
        return self.total / max(1, self.read)


def sample_files(root: Path, plan: CorpusPlan, config: CorpusConfig, seconds: float, most: int, clock: Clock) -> list[Stratum]:
    """Extract samples for about `seconds`, from at most `most` file ranges per stratum, into files below `root`."""
    # Stratified sampling: text per byte and time per byte differ a lot between kinds of files, so
    # sample each kind in proportion to its bytes, and add up the scaled results.
    strata = _strata(plan)
    total = sum(stratum.total for stratum in strata)
    for number, stratum in enumerate(strata):
        _sample(root / str(number), stratum, config, seconds * stratum.total / total, most, clock)
    return strata


def _strata(plan: CorpusPlan) -> list[Stratum]:
    """Group file ranges by kind, suffix and, for dumps, wiki, because the text per byte differs between languages."""
    from ..stages.corpus.sources import is_check

    parts: dict[tuple[str, ...], list[tuple[int, FileRange]]] = {}
    for position, task in enumerate(plan.tasks):
        for part in () if is_check(task.kind) else task.parts:
            if part.end > part.start:
                wiki = dumps.read_site(part.path).dbname if task.kind in PROJECTS else ""
                parts.setdefault((task.kind, Path(part.name).suffix.lower(), wiki), []).append((position, part))
    strata: dict[tuple[str, ...], Stratum] = {}
    for rank, key in enumerate(sorted(parts, key=lambda key: -_size([part for _, part in parts[key]]))):
        stratum = strata.setdefault(key if rank < _MAX_WIKIS else key[:2], Stratum(key[0]))
        for position, part in parts[key]:
            stratum.parts += _pieces(part)
            stratum.tasks[position] += part.end - part.start
    return list(strata.values())


def task_seconds(strata: Sequence[Stratum]) -> list[float]:
    """Return the seconds that each task will take: tasks differ in size, and a file that cannot be cut is one task."""
    seconds = Counter[int]()
    for stratum in strata:
        for position, count in stratum.tasks.items():
            seconds[position] += count * stratum.seconds / max(1, stratum.read)  # type: ignore[assignment]
    return [seconds[position] for position in sorted(seconds)]


def _size(parts: Sequence[FileRange]) -> int:
    return sum(part.end - part.start for part in parts)


def _is_piece(part: FileRange) -> bool:
    """Return True for a part that is read to its end, because its beginning does not represent the rest."""
    small = part.end - part.start <= 4 * _BZIP2_SAMPLE_BYTES
    return part.name.lower().endswith((".xml.bz2", ".zip", *((".parquet", ".tar.gz", ".tgz") if small else ())))


def _pieces(part: FileRange) -> list[FileRange]:
    """Cut zip and Parquet files at members and row groups, and bzip2 into equal ranges. Leave parts of other files."""
    name = part.name.lower()
    if name.endswith(".xml.bz2"):
        starts = range(part.start, part.end, _BZIP2_SAMPLE_BYTES)
        ranges = [(start, min(start + _BZIP2_SAMPLE_BYTES, part.end)) for start in starts]
    elif name.endswith(".zip"):
        ranges = zip_files.pieces(part.path, _BZIP2_SAMPLE_BYTES)
    elif name.endswith(".parquet"):
        from ..sources.tables import parquet

        ranges = parquet.cut(part.path, size(part.path), _BZIP2_SAMPLE_BYTES)
    else:
        return [part]
    return [part._replace(start=start, end=end) for start, end in ranges if part.start <= start < part.end] or [part]


def _at_blocks(part: FileRange) -> FileRange:
    """Move the ends of a range of bzip2 to the next blocks, so that neighboring ranges still touch."""
    if not part.name.lower().endswith(".xml.bz2"):
        return part
    start, end = (next_block_start(part.path, at, size(part.path)) for at in (part.start, part.end))
    return part._replace(start=start, end=end)


def _spread(parts: Sequence[FileRange], most: int) -> Iterator[FileRange]:
    """Yield up to `most` parts, none twice: those at 1/2, 1/4, 3/4, 1/8, 5/8, ... of the bytes of all parts, then the others."""
    ends = list(accumulate(part.end - part.start for part in parts))
    # The van der Corput sequence: the bits of the number, mirrored at the point. 1, 2, 3, 4 in
    # binary are 1, 10, 11, 100, and become 0.1, 0.01, 0.11, 0.001 = 1/2, 1/4, 3/4, 1/8. So the
    # samples are spread evenly whenever the time is over.
    shares = (sum((number >> bit & 1) / (2 << bit) for bit in range(number.bit_length())) for number in range(1, 4 * most))
    places = dict.fromkeys(bisect_right(ends, int(share * ends[-1])) for share in shares)
    for place in list(places | dict.fromkeys(range(min(most, len(parts)))))[:most]:
        yield parts[place]


def _sample(root: Path, stratum: Stratum, config: CorpusConfig, seconds: float, most: int, clock: Clock) -> None:
    """Run the task's function on samples, and add up their cost and output."""
    from ..stages.corpus import source_records
    from ..stages.corpus.extract import write_shard
    from ..stages.corpus.sources import Counts
    from ..stages.selection import facts, rules

    start = clock()
    # Reading one record loads tables, as each worker does once.
    next(source_records.read(stratum.kind, stratum.parts[:1], config, Counts.none()), None)
    stratum.warm_up, begin = clock() - start, clock()
    for number, part in enumerate(map(_at_blocks, _spread(stratum.parts, most))):
        if part.start == part.end:  # no block of bzip2 begins here
            continue
        start = clock()
        gathered = facts.Facts(rules.needs(config.choice))
        with NO_CONTEXT.working("sample", 0) as work:
            read = _Read(stratum.kind, work.counted([part]), config, seconds / _MIN_SAMPLES, clock, work)
            entry, counts = write_shard(root, stratum.kind, number, most, config.format, read, facts=gathered)
            gathered.write(root, number)
        stratum.seconds += clock() - start
        stratum.read += read.finished
        stratum.output += sum(file.bytes for file in entry.files)
        stratum.documents += counts.tally.left
        if clock() - begin >= seconds:
            return


class _Read:
    """Read a sample until its time is over and the reader asks for more input: by then all documents it has read are finished."""

    def __init__(self, kind: str, parts: list[FileRange], config: CorpusConfig, seconds: float, clock: Clock, work: Work) -> None:
        self.finished, self._kind, self._parts, self._config = _size(parts), kind, parts, config
        self._seconds, self._clock, self._work = math.inf if any(map(_is_piece, parts)) else seconds, clock, work

    def __call__(self, counts: Counts) -> Iterator[Document | Drop | Reject]:
        from ..stages.corpus import source_records

        # Readers read ahead in blocks. When a reader asks for the next block, all documents of the
        # blocks before it are finished: only there the bytes and the documents fit together.
        before, deadline = 0, self._clock() + self._seconds
        for record in source_records.read(self._kind, self._parts, self._config, counts):
            if self._work.bytes > before:
                if before and self._clock() >= deadline:
                    self.finished = before
                    return
                before = self._work.bytes
            yield record
