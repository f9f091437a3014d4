"""Build a corpus from dumps, books and other text: extract each task into a shard, select documents, commit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..config import CorpusConfig
from ..config.base import format_packages
from ..config.input_kinds import PROJECTS
from ..records import ReportReference
from ..sources import PLAIN
from ..stages.corpus.commit import CorpusCommit
from ..stages.corpus.extract import Extract
from ..stages.corpus.plan_tasks import CorpusPlan, packages
from ..stages.corpus_report import CorpusReport
from ..stages.selection import rules
from ..stages.selection.rewrite import Rewrite
from ..stages.selection.rounds import Decide, KeepLosses, PutClaims, Rule, partition_count
from ..stages.shuffle import Receive
from .steps import FlatMap, Map, Step, Steps
from .transforms import Chain, Gather, GuardedCall, Regroup, TaskRunner, Tasks, shuffle_of

__all__ = ["BuildCorpus"]

_PLAIN = (
    *PLAIN,
    ".xml",
    ".jsonl",
    ".csv",
    ".tsv",
    ".arrow",
    ".tar",
)  # other files are assumed to unpack to four times their size


class BuildCorpus(Chain):
    """Tasks -> a shard of documents or a check per task -> selection rounds -> shards of the remaining documents -> one
    manifest."""

    def __init__(self, plan: CorpusPlan, config: CorpusConfig, root: Path) -> None:
        super().__init__(root, plan.tasks)
        self._plan, self._config = plan, config
        wiki_tasks = sum(task.kind in PROJECTS for task in plan.tasks)
        self._rules = rules.make(config.choice, root, plan.shard_count, wiki_tasks)
        self._inputs = self._store("inputs", plan.inputs)
        self._ignored = {kind: dict(suffixes) for kind, suffixes in plan.ignored.items()}

    def expand(self, begin: Steps) -> Steps:
        root, config, plan = self._root, self._config, self._plan
        extract = Extract(root, config, plan.shard_count, bool(self._rules))
        runner = TaskRunner(root, "extract", extract, CorpusReport, packages(config))
        reports = begin | "Tasks" >> Tasks(root, plan.tasks) | "Extract" >> Map(runner)
        if self._rules:
            reports = reports | "Choose" >> Choose(root, config.format, self._rules, plan)
        return reports | "Commit" >> Gather(CorpusCommit(root, config, self._inputs, self._ignored), len(plan.tasks))


@dataclass
class Choose(Step):
    """Reports of tasks -> a round for each rule, which drops documents -> reports of the remaining documents."""

    root: Path
    format: str
    rules: list[Rule]
    plan: CorpusPlan

    def expand(self, reports: Steps) -> Steps:
        root, shards, count = self.root, self.plan.shard_count, len(self.plan.tasks)
        size = sum(entry.bytes * (1 if entry.name.endswith(_PLAIN) else 4) for entry in self.plan.inputs)
        tasks = reports | "Number" >> Map(_number)
        # The rules one after another: what one rule drops makes no claims to the next. Each is a
        # round of two shuffles, so the number of steps grows with the number of rules, and memory
        # does not.
        names: tuple[str, ...] = ()  # rounds that drop documents
        for rule in self.rules:
            round = Round(root, rule, names, count, shards, partition_count(rule, size))
            tasks = tasks | rule.name.capitalize() >> round
            names += (rule.name,) * rule.drops
        rewrite = GuardedCall(Rewrite(root, names, self.format, shards), root, packages=format_packages(self.format))
        return tasks | "Rewrite" >> Map(rewrite)


@dataclass
class Round(Step):
    """Tasks -> claims by partition -> losses by task -> the same tasks, with their losses on disk.

    `count` is the number of tasks, of which the first `shards` write a shard. `earlier` rounds have dropped documents.
    """

    root: Path
    rule: Rule
    earlier: tuple[str, ...]
    count: int
    shards: int
    partitions: int

    def expand(self, tasks: Steps) -> Steps:
        root, rule = self.root, self.rule
        claims = shuffle_of(tasks, root, f"{rule.name}-claims", self.count, self.partitions)
        losses = shuffle_of(tasks, root, f"{rule.name}-losses", self.partitions, self.count)
        put = PutClaims(root, rule, self.earlier, claims, self.shards)
        # The graph of a round. "Claim" and "Decide" may run on any worker, because all they need
        # comes with the element or is in files below the output directory:
        #
        #   task -> Claim -> (partition, claims) -> By partition -> Decide -> (task, losses) -> By task -> Keep losses
        return (
            tasks
            | "Claim" >> FlatMap(GuardedCall(put, root))
            | "By partition" >> Regroup(claims)
            | "Decide" >> FlatMap(GuardedCall(Receive(claims, Decide(rule, losses)), root))
            | "By task" >> Regroup(losses)
            | "Keep losses" >> Map(GuardedCall(Receive(losses, KeepLosses(root, rule)), root))
        )


def _number(report: ReportReference) -> int:
    return report.number
