"""Extract documents from samples of a corpus' input: some parts of the files of each kind and suffix.

wikipedia .bz2    [====|====|====|====]     four of many parts, each from its beginning to where the reader asks for more
books .txt        [=][==][=][===]           whole files
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from ..io.files import size
from ..io.progress import working
from ..records import Document, Drop, FileRange, Reject
from ..sources.archives import zip_files
from ..sources.compressed import next_block_start

if TYPE_CHECKING:
    from ..build.corpus.plan import CorpusPlan
    from ..build.corpus.sources import Counts
    from ..config import CorpusConfig

__all__ = ["Stratum", "lost_share", "rewritten_share", "sample_files", "task_seconds"]

_PICKS = 4  # samples to take at least, where the time allows it
_FEWEST = 3  # samples to take even if that takes longer
_MAX_MISSES = 2
_PIECE = 150_000  # bytes of a sample of bzip2, which is read to its end: some 600 kB of wikitext


@dataclass
class Stratum:
    """Files of one kind and suffix, and what samples of them took.

    Attributes:
        kind: Kind of input.
        parts: All parts of these files.
        read: Bytes of input whose documents are finished.
        seconds: Time that the samples took.
        cpu: CPU seconds that they took.
        output: Bytes of shards and lists.
        documents: Number of documents.
        rates: Characters of documents per byte of input, of each sample, with its bytes.
        tasks: Bytes of the parts that each task reads, by the task's position.
        texts: Fingerprint of each document's text, where duplicates are dropped.
        ids: Id of each document, where a repeated one is dropped.
    """

    kind: str
    parts: list[FileRange] = field(default_factory=list)
    read: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    output: int = 0
    documents: int = 0
    rates: list[tuple[float, int]] = field(default_factory=list)
    tasks: Counter[int] = field(default_factory=Counter)
    texts: list[Hashable] = field(default_factory=list)
    ids: list[Hashable] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Bytes of all parts."""
        return sum(part.end - part.start for part in self.parts)

    @property
    def scale(self) -> float:
        """How many times the samples make the whole."""
        return self.total / max(1, self.read)

    @property
    def error(self) -> float:
        """Relative error of a mean of the samples: twice its standard error, 0 if all was read."""
        if self.read >= self.total:
            return 0.0
        count, size = len(self.rates), sum(bytes for _, bytes in self.rates)
        if count < 2:
            return 0.3
        mean = sum(rate * bytes for rate, bytes in self.rates) / max(1, size)
        variance = sum(bytes * (rate - mean) ** 2 for rate, bytes in self.rates) / max(1, size) / (count - 1)
        return 2 * math.sqrt(variance * (1 - self.read / self.total)) / max(1e-9, mean)


def sample_files(root: Path, plan: CorpusPlan, config: CorpusConfig, seconds: float, most: int) -> list[Stratum]:
    """Extract samples for about so many seconds, from at most `most` parts of each stratum, into files below `root`."""
    strata = _strata(plan)
    for number, stratum in enumerate(strata):
        _sample(root / str(number), stratum, config, seconds / len(strata), most)
    return strata


def _strata(plan: CorpusPlan) -> list[Stratum]:
    from ..build.corpus.sources import is_check

    strata: dict[tuple[str, str], Stratum] = {}
    for position, task in enumerate(plan.tasks):
        if not is_check(task.kind):
            for part in task.parts:
                if part.end > part.start:
                    key = (task.kind, Path(part.name).suffix.lower())
                    stratum = strata.setdefault(key, Stratum(task.kind))
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


def lost_share(keys: Iterable[Hashable], sampled: float) -> float:
    """Estimate the share of all documents that are later copies, from the keys of a random share of them.

    Of a text that occurs k times, a share p of the documents holds two copies with a probability of about (pk)^2 / 2, so
    few are found.  Texts that the sample holds three times or more are taken to have 1 / p times as many copies.  The number of
    those that it holds twice gives the mean number of copies of the others.

    >>> lost_share("aabc", 1.0), lost_share("abcd", 0.1), round(lost_share([*range(90), *range(9)], 0.1), 2)
    (0.25, 0.0, 0.65)
    >>> lost_share([], 1.0)
    0.0
    """
    copies = Counter(Counter(keys).values())
    documents = sum(times * texts for times, texts in copies.items())
    if sampled >= 1:
        return 1 - copies.total() / documents if documents else 0.0
    many = sum(texts * (times - sampled) for times, texts in copies.items() if times > 2) / max(1, documents)
    pairs = 2 * copies[2] / max(1, documents) / sampled  # copies beside itself that a document has, in the mean
    return min(1 - sampled / max(1, documents), many + pairs / (1 + pairs))


def rewritten_share(lost: float, documents: float, tasks: int) -> float:
    """Return the share of shards that lose a document at least, if the losses are spread at random.

    >>> rewritten_share(0.0, 1000, 10), rewritten_share(0.5, 1000, 10), round(rewritten_share(0.01, 1000, 10), 2)
    (0.0, 1.0, 0.63)
    """
    return 1 - math.exp(-lost * documents / max(1, tasks)) if lost * documents < 30 * tasks else 1.0


def _is_piece(part: FileRange) -> bool:
    """Return True for a part that is read to its end: what its reader reads first says nothing about the rest."""
    small = part.end - part.start <= 4 * _PIECE
    return part.name.lower().endswith((".xml.bz2", ".zip", ".parquet") if small else (".xml.bz2", ".zip"))


def _pieces(part: FileRange) -> list[FileRange]:
    """Cut zip and Parquet files at members and row groups; leave parts of other files as they are."""
    name = part.name.lower()
    if not name.endswith((".zip", ".parquet")):
        return [part]
    if name.endswith(".zip"):
        ranges = zip_files.pieces(part.path, _PIECE)
    else:
        from ..sources.tables import parquet

        ranges = parquet.cut(part.path, size(part.path), _PIECE)
    return [part._replace(start=start, end=end) for start, end in ranges if part.start <= start < part.end] or [part]


def _spread(parts: Sequence[FileRange], most: int) -> Iterator[FileRange]:
    """Yield up to `most` samples, none twice, at 1/2, 1/4, 3/4, 1/8, 5/8, ... of the bytes of all parts.

    A sample is a piece of bzip2, or a part of another file.
    """
    ends = list(accumulate(part.end - part.start for part in parts))
    chosen, taken = set[int](), list[tuple[str, int, int]]()
    misses = 0  # in a row, where what is not sampled yet is smaller than a piece
    for number in range(1, 4 * most):
        at = int(sum((number >> bit & 1) / (2 << bit) for bit in range(number.bit_length())) * ends[-1])
        place = bisect_right(ends, at)
        part = parts[place]
        if part.name.lower().endswith(".xml.bz2"):
            start = next_block_start(part.path, max(part.start, at - ends[place] + part.end - _PIECE), part.end)
            end = next_block_start(part.path, start + _PIECE, part.end)
            if start < end and not any(part.path == path and start < stop and begin < end for path, begin, stop in taken):
                taken.append((part.path, start, end))
                misses = 0
                yield part._replace(start=start, end=end)
            else:
                misses += 1
        elif place not in chosen:
            chosen.add(place)
            yield part
        if len(chosen) + len(taken) >= most or misses > _MAX_MISSES:
            return
    for place, part in enumerate(parts if len(parts) <= most and not taken else ()):  # few parts, some of them small
        if place not in chosen:
            yield part


def _sample(root: Path, stratum: Stratum, config: CorpusConfig, seconds: float, most: int) -> None:
    from ..build.corpus import documents
    from ..build.corpus.ledger import Ledger
    from ..build.corpus.sources import Counts, source
    from ..build.listing import Listing
    from ..build.selection import facts, rules
    from ..dataset import shards
    from ..tally import Tally

    next(documents.read(stratum.kind, stratum.parts[:1], config, Counts.none()), None)  # loads tables, which takes a moment
    with Listing(root, "rejects") as rejects, Listing(root, "dropped") as drops:
        gathered = facts.Facts(rules.needs(config.choice))
        ledger = Ledger(Tally(source(stratum.kind).stage), rejects, drops, facts=gathered)
        records = _records(stratum, config, ledger.counts, seconds, most)
        entry = shards.write(root, "sample", shards.DOCUMENT, ledger.batches(records), config.format)
    stratum.output = sum(file["bytes"] for file in (entry, *rejects.entries(), *drops.entries()))
    stratum.documents = ledger.tally.left
    gathered.write(root, 0)
    found = facts.read(root, 0)
    if config.choice.dedup != "none":
        stratum.texts = list(zip(found.column("high").to_pylist(), found.column("low").to_pylist(), strict=True))
    if stratum.kind == "wikipedia":
        stratum.ids = found.column("id").to_pylist()


def _records(
    stratum: Stratum, config: CorpusConfig, counts: Counts, seconds: float, most: int
) -> Iterator[Document | Drop | Reject]:
    """Yield the records of samples, and count the input whose records are complete."""
    from ..build.corpus import documents

    begin = time.monotonic()
    for part in _spread(stratum.parts, most):
        deadline, characters, finished = time.monotonic() + seconds / _PICKS, 0, part.end - part.start
        start, cpu = time.monotonic(), time.process_time()
        with working("sample", 0) as work:
            work.reads([part])
            before = 0
            for record in documents.read(stratum.kind, [part], config, counts):
                if work.bytes > before:  # the reader has asked for more: the records of what it had read are complete
                    if before and time.monotonic() >= deadline and not _is_piece(part):
                        finished = before
                        break
                    before = work.bytes
                if isinstance(record, Document):
                    characters += sum(map(len, record.sentences))
                yield record
        stratum.seconds, stratum.cpu = stratum.seconds + time.monotonic() - start, stratum.cpu + time.process_time() - cpu
        stratum.read += finished
        stratum.rates.append((characters / max(1, finished), finished))
        if time.monotonic() - begin >= seconds and len(stratum.rates) >= _FEWEST:
            return
