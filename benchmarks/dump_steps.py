"""Take a dump to a shard of documents as one worker does, without Beam, and measure the processor time of each step.

The work is the pipeline's own task; the functions that do a step are replaced by ones that keep the time.  A step's time is
its own: what it spends in another step counts for that one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

from bertdata.build.corpus import extract
from bertdata.build.corpus.plan import plan
from bertdata.build.corpus.sources import base, wikipedia
from bertdata.config import CorpusConfig
from bertdata.dataset import shards
from bertdata.dataset.shards import DocumentBatch
from bertdata.sources.dumps import checksums, multistream, read
from bertdata.sources.dumps.pages import PageCutter
from bertdata.tally import Tally

__all__ = ["STEPS", "profile"]

# A step, and what does it: a module or class, and names in it.
STEPS: list[tuple[str, Any, list[str]]] = [
    ("check input", extract, ["digest"]),
    ("check input", checksums, ["check"]),
    ("check input", multistream, ["read_index"]),
    ("decompress", read, ["blocks"]),
    ("find pages", PageCutter, ["feed", "finish"]),
    ("parse XML", read, ["read_fields"]),
    ("extract prose", wikipedia, ["extract_paragraphs", "is_redirect", "is_disambiguation"]),
    ("split sentences", base, ["split_sentences"]),
    ("gather columns", DocumentBatch, ["add", "take"]),
    ("write, digest", shards, ["write"]),
]
REST = "everything else"


class Clock:
    """Keep the time of steps that call each other: it runs for the one that is innermost."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys([step for step, _, _ in STEPS] + [REST], 0.0)
        self.read = 0  # bytes of XML in which pages were looked for
        self._running = [REST]
        self._since = process_time()

    def turn(self) -> None:
        """Give the time since the last turn to the step that is running."""
        now = process_time()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def begin(self, step: str) -> None:
        """Run for a step."""
        self.turn()
        self._running.append(step)

    def end(self) -> None:
        """Run for the step around it again."""
        self.turn()
        self._running.pop()

    def watch(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function or generator function that does the same, on this clock."""

        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            self.begin(step)
            try:
                return function(*arguments, **options)
            finally:
                self.end()

        @functools.wraps(function)
        def generate(*arguments: Any, **options: Any) -> Iterator[Any]:
            items = function(*arguments, **options)
            self.read += sum(len(data) for data in arguments if isinstance(data, bytes))
            while True:
                self.begin(step)
                try:
                    item = next(items)
                except StopIteration:
                    return
                finally:
                    self.end()
                yield item

        return generate if inspect.isgeneratorfunction(function) else call


def profile(dump: Path, work: Path, rounds: int) -> str:
    """Take a dump to documents some times over and return the table of the fastest round; `work` is for the shards."""
    return min((_take(dump, work) for _ in range(rounds)), key=lambda taken: taken[0])[1]


def _take(dump: Path, work: Path) -> tuple[float, str]:
    """Take a dump to documents; return the processor seconds and the table of steps."""
    config = CorpusConfig()
    planned = plan(config, {"wikipedia": [(dump.name, str(dump.resolve()))]})
    run = extract.Extract(str(work), config, planned.shards)
    clock = Clock()
    with ExitStack() as watched:
        for step, owner, names in STEPS:
            for name in names:
                watched.enter_context(patch.object(owner, name, clock.watch(step, getattr(owner, name))))
        reports = [run(task) for task in planned.tasks]
        clock.turn()
    left = sum(Tally.from_json(report["tally"]).left for report in reports if "tally" in report)
    return sum(clock.seconds.values()), _table(dump, left, clock)


def _table(dump: Path, documents: int, clock: Clock) -> str:
    total, size = sum(clock.seconds.values()), clock.read / 1e6
    lines = [f"{dump.name}: {size:.1f} MB of XML, {documents} documents, {size / total:.1f} MB/s in one process"]
    lines.append(f"{'':18}{'seconds':>9}{'share':>8}{'MB/s':>9}")
    for step, seconds in clock.seconds.items():
        lines.append(f"{step:18}{seconds:9.3f}{seconds / total:8.1%}{size / max(seconds, 1e-9):9.1f}")
    return "\n".join([*lines, f"{'all':18}{total:9.3f}{1:8.1%}{size / total:9.1f}"])
