"""Build a corpus: learn templates, extract each task into a shard, choose documents, rewrite the shards that lose some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from ...codec import decode
from ...config import CorpusConfig
from ...config.input_kinds import PROJECTS
from ...dataset.manifest_records import Input
from ...dataset.tasks import StoredValue, perform, stored
from ...records import Task
from ...run.job import Job, Stage, on_worker
from ...sources import rendered
from .. import learning
from ..selection import facts
from ..selection.choose import choose, losses
from ..selection.rewrite import rewrite
from .commit import commit
from .extract import WORK, CorpusReport, extract
from .plan_tasks import CorpusPlan, packages


@dataclass(frozen=True, kw_only=True)
class CorpusJob(Job):
    """The work of build-corpus.

    Attributes:
        sources: Number of tasks by source, in order. Each task writes a shard.
        samples: Where each wiki's articles are read to learn its templates. Empty to learn none.
        archives: Large archives of rendered pages, which are unpacked first, because tasks read pieces of them.
        inputs: The manifest entry of each input file.
        ignored: Number of files that are not read, by kind of input and suffix.
    """

    config: CorpusConfig
    sources: dict[str, int]
    samples: dict[str, learning.Sample]
    archives: tuple[str, ...]
    inputs: StoredValue
    ignored: dict[str, dict[str, int]]

    @classmethod
    def of(cls, plan: CorpusPlan, config: CorpusConfig, roots: Sequence[Path | None], work: Path) -> CorpusJob:
        """Return the job of `build_corpus`."""
        (root,) = filter(None, roots)
        return cls(
            roots=(root,),
            packages=packages(config),
            config=config,
            sources=dict(Counter(task.kind for task in plan.tasks)),
            samples=learning.samples(plan.tasks, config),
            archives=_archives(plan.tasks),
            inputs=StoredValue.written(root, "inputs", plan.inputs),
            ignored={kind: dict(suffixes) for kind, suffixes in plan.ignored.items()},
        )

    @property
    def count(self) -> int:
        """Number of tasks."""
        return sum(self.sources.values())

    @property
    def pages(self) -> int:
        """Number of tasks that read dumps. They are the first ones."""
        return sum(count for source, count in self.sources.items() if source in PROJECTS)

    @property
    def chooses(self) -> bool:
        """Whether documents are chosen after the extraction."""
        choice = self.config.choice
        return bool(self.pages) or choice.dedup != "none" or choice.dedup_paragraphs or facts.samples(choice)

    @on_worker
    def collect(self, task: Task) -> int:
        """Write the template pages of a task's range of a dump."""
        work = partial(learning.collect, self.roots[0], self.config, self.samples)
        self.once("collect", task, work, learning.TemplatesReport)
        return task.number

    @on_worker
    def learn(self, _: object) -> list[int]:
        """Learn templates, if any, after all pages are collected. Return the numbers of all tasks."""
        if self.samples:
            reports = self.reports("collect", self.pages, learning.TemplatesReport)
            learning.learn(self.roots[0], (report for (report,) in reports), self.config)
        return [*range(self.count)]

    @on_worker
    def unpack(self, path: str) -> str:
        """Unpack a large archive of rendered pages."""
        rendered.unpack(path, self.roots[0] / WORK)
        return path

    @on_worker
    def extract(self, task: Task) -> int:
        """Write the documents of a task to a shard."""
        work = partial(extract, self.roots[0], self.config, self.count, self.chooses)
        self.once("extract", task, work, CorpusReport)
        return task.number

    @on_worker
    def choose(self, _: object) -> list[int]:
        """Decide which documents each task loses, after all are extracted. Return the numbers of the tasks."""
        choose(self.roots[0], self.sources, self.config.choice)
        return [*range(self.count)]

    @on_worker
    def rewrite(self, number: int) -> int:
        """Rewrite the shard of a task without its losses, if it has any."""
        (root,), (lost,) = self.roots, losses(self.roots[0], number, number + 1)
        if lost.num_rows:
            report = stored(root, "extract", number, CorpusReport)
            # The new shard depends only on the old one and the losses, so a resumed run can detect that it is complete.
            identity = [report.shard.sha256, sha256(lost.serialize()).hexdigest()]
            drops = f"dropped/{number:05d}-of-{self.count:05d}.jsonl"
            perform(root, "rewrite", number, identity, partial(rewrite, root, drops, report, lost), CorpusReport)
        return number

    def stages(self, tasks: Sequence[Task]) -> list[Stage]:
        """Return the stages of a run on this machine."""
        unpack = [Stage("unpack", self.unpack, self.archives)] if self.archives else []
        learn = [Stage("collect", self.collect, tasks[: self.pages]), Stage("learn", self.learn, [None])] if self.samples else []
        choose = [Stage("choose", self.choose, [None]), Stage("rewrite", self.rewrite, range(self.count))]
        return [*unpack, *learn, Stage("extract", self.extract, tasks), *choose * self.chooses]

    def finish(self) -> None:
        """Add up the counts, and write the data card and the manifest."""
        commit(self.roots[0], self.config, decode(self.inputs.read(), list[Input]), self.ignored, self._reports())

    def _reports(self) -> Iterator[CorpusReport]:
        """Yield the report of each task, without its losses if it has any."""
        lost = [batch.num_rows > 0 for batch in losses(self.roots[0])] if self.chooses else [False] * self.count
        for number, has_losses in enumerate(lost):
            yield stored(self.roots[0], "rewrite" if has_losses else "extract", number, CorpusReport)


def _archives(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return the archives of which tasks read pieces."""
    parts = (part for task in tasks if task.kind in PROJECTS for part in task.parts)
    return tuple(dict.fromkeys(part.path for part in parts if rendered.is_rendered(part.path) and rendered.is_piece(part)))
