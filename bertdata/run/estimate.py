"""Estimate the time, memory and disk of a run from its input and measured rates, before it starts.

The rates were measured on one core (x86-64, 2026) with dumps of nine Wikipedias, ten books of Project Gutenberg, and the text of
the dumps in files of each kind. Files that compress much more or less than natural text differ from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..reports.summary import count, size

_TEXT = {"books": (0.86, 0.8), "text": (1.0, 0.2)}  # by source: bytes of text per unpacked byte, and CPU seconds per MB of text
_DUMP = (0.4, 0.6)
# By the end of a name: unpacked bytes per byte of the file; of HTML, bytes without markup
_UNPACKED = {4.3: ".bz2", 4.2: ".xz .7z", 3.3: ".gz .tgz .zst", 3.0: ".zip", 2.3: ".epub", 2.0: ".parquet", 0.6: ".html .htm"}
_EXPORTS = {"parquet": (0.4, 0.04), "megatron": (0.6, 0.15), "tfrecord": (1.8, 0.3)}  # bytes per byte of shards, CPU s per MB
_NEAR_CPU_SECONDS_PER_MB = 0.4  # of text, with `dedup` near
_START_SECONDS = 1.0
_UNITS = ((3600, "hour"), (60, "minute"), (1, "second"))
_PROCESS_BYTES = 200_000_000  # memory of a process: it reads, converts and writes one task at a time


class Estimate(NamedTuple):
    """The CPU seconds of all tasks, the bytes of the datasets, and those of work files, which the run removes at its end."""

    cpu_seconds: float
    output: float
    work: float
    is_limit: bool = False  # whether options such as `max_documents` make the run smaller than this

    def line(self, workers: int) -> str:
        """Describe the estimate for a number of workers."""
        seconds = _START_SECONDS + self.cpu_seconds / workers
        time = next((count(round(seconds / unit), name) for unit, name in _UNITS if seconds > 1.5 * unit), "1 second")
        memory = size(_PROCESS_BYTES * (workers + 1 if workers > 1 else 1))
        disk = f"{size(round(self.output + self.work))} of disk, {size(round(self.work))} of it for work files"
        how = "at most" if self.is_limit else "about"
        return f"  estimate   {how} {time} with {count(workers, 'worker')}, {memory} of memory, {disk}"


def of_files(files: Iterable[tuple[str, str, int]], near: bool, is_limit: bool) -> Estimate:
    """Estimate a corpus from the source, name and bytes of each input file."""
    text = seconds = 0.0
    for source, name, length in files:
        share, cpu_seconds_per_mb = _TEXT.get(source, _DUMP)
        ratio = next((ratio for ratio, ends in _UNPACKED.items() if name.lower().endswith(tuple(ends.split()))), 1.0)
        text += (read := length * share * ratio)
        seconds += read * (cpu_seconds_per_mb + _NEAR_CPU_SECONDS_PER_MB * near) / 1e6
    # Work files: the records of tasks, facts about documents, and a second copy of the shards that lose some.
    return Estimate(seconds, 1.05 * text, (0.4 if near else 0.2) * text, is_limit)


def of_vocabulary(text_bytes: float, vocabulary_size: int) -> Estimate:
    """Estimate a vocabulary from the bytes of text that it reads."""
    return Estimate(1 + 0.45 * text_bytes / 1e6 + vocabulary_size / 8000, 32 * vocabulary_size, 0.1 * text_bytes)


def of_rows(text_bytes: float, outputs: int, static: bool) -> Estimate:
    """Estimate rows from the bytes of text. `outputs` is the number of outputs times the number of passes over the text."""
    output = (1.1 if static else 0.9) * outputs * text_bytes
    return Estimate((0.06 + 0.12 * outputs) * text_bytes / 1e6, output, 0.55 * text_bytes)


def of_export(shard_bytes: float, format: str) -> Estimate:
    """Estimate an export from the bytes of the shards."""
    output_per_byte, cpu_seconds_per_mb = _EXPORTS.get(format, (1.0, 0.05))
    return Estimate(cpu_seconds_per_mb * shard_bytes / 1e6, output_per_byte * shard_bytes, 0)
