"""Chain the steps from dumps, books and other text to documents: extract each task into a shard, choose, commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bertdata.build.corpus.commit import CorpusCommit
from bertdata.build.corpus.extract import Extract
from bertdata.build.corpus.plan import CorpusPlan, packages
from bertdata.build.levels import Levels
from bertdata.build.selection import rules
from bertdata.build.selection.kinds import Kinds
from bertdata.build.selection.rewrite import Rewrite
from bertdata.build.selection.rounds import Decide, MergeClaims, MergeLosses, Rule, SplitLosses, WriteClaims, bucket_count
from bertdata.config import CorpusConfig
from bertdata.config.base import format_packages
from bertdata.io.files import to_path
from bertdata.records import Report
from bertdata.sources import PLAIN

from . import command
from .steps import FlatMap, GroupByKey, Map, Step, Steps
from .transforms import Chain, Gather, Perform, Tasks, Writing

__all__ = ["BuildCorpus"]

_PLAIN = (*PLAIN, ".xml", ".jsonl", ".csv", ".tsv", ".arrow", ".tar")  # what others hold is taken to be four times their bytes


class BuildCorpus(Chain):
    """Tasks -> a shard of documents each, or a check -> rounds that choose -> shards of what is left -> one manifest."""

    def __init__(self, plan: CorpusPlan, config: CorpusConfig, root: Path) -> None:
        super().__init__(root, plan.tasks)
        self._plan, self._config = plan, config
        self._rules = rules.make(config.choice, str(root), Kinds.of(task.kind for task in plan.tasks[: plan.shards]))
        self._inputs = self._store("inputs", plan.inputs)
        self._ignored = {kind: dict(suffixes) for kind, suffixes in plan.ignored.items()}

    def expand(self, begin: Steps) -> Steps:
        root, config, plan = str(self._root), self._config, self._plan
        extract = Extract(root, config, plan.shards, bool(self._rules))
        perform = Perform(self._root, "extract", extract, packages(config))
        reports = begin | "Tasks" >> Tasks(self._root, plan.tasks) | "Extract" >> FlatMap(perform)
        if self._rules:
            reports = reports | "Choose" >> Choose(root, config, self._rules, plan)
        return reports | "Commit" >> Gather(CorpusCommit(root, config, self._inputs, self._ignored), len(plan.tasks))


class Choose(Step):
    """Reports of tasks -> a round for each rule, which drops documents -> reports of what is left."""

    def __init__(self, root: str, config: CorpusConfig, rules: list[Rule], plan: CorpusPlan) -> None:
        self._root, self._format, self._rules, self._shards = root, config.format, rules, plan.shards
        self._tasks = len(plan.tasks)
        self._bytes = sum(entry["bytes"] * (1 if entry["name"].endswith(_PLAIN) else 4) for entry in plan.inputs)

    def expand(self, reports: Steps) -> Steps:
        tasks = reports | "Number" >> Map(_number)
        names: tuple[str, ...] = ()  # of rounds in which documents are lost
        for rule in self._rules:
            levels = Levels.of(self._tasks, bucket_count(rule, self._bytes))
            label = rule.name.capitalize()
            tasks = tasks | label >> Round(self._root, rule, names, levels, self._shards)
            names += (rule.name,) * rule.drops
        rewrite = Writing(
            Rewrite(self._root, names, self._format, self._shards), to_path(self._root), packages=format_packages(self._format)
        )
        return tasks | "Rewrite" >> Map(rewrite)


class Round(Step):
    """Tasks -> their claims, by bucket -> what each task loses, by task -> the same tasks, whose losses are on disk."""

    def __init__(self, root: str, rule: Rule, earlier: tuple[str, ...], levels: Levels, shards: int) -> None:
        self._root, self._rule, self._levels = root, rule, levels
        self._write = WriteClaims(root, rule, earlier, levels, shards)

    def expand(self, tasks: Steps) -> Steps:
        root, name, two = self._root, self._rule.name, self._levels.are_two
        steps = self._step(tasks, "Write claims", self._write)
        if two:
            steps = self._step(steps | "By group" >> GroupByKey(), "Merge claims", MergeClaims(root, self._rule, self._levels))
        decide = Decide(root, self._rule, self._levels)
        steps = self._step(steps | "By bucket" >> GroupByKey(), "Decide", decide)
        if two:
            steps = self._step(steps | "By block" >> GroupByKey(), "Split losses", SplitLosses(root, name))
        merge = Writing(MergeLosses(root, name, "split" if two else "lost", self._rule.drops), to_path(root))
        return steps | "By task" >> GroupByKey() | "Merge losses" >> Map(merge)

    def _step(self, elements: Steps, label: str, function: Callable[[Any], Any]) -> Steps:
        return elements | label >> FlatMap(Writing(function, to_path(self._root)))


def _number(report: Report) -> int:
    return report.number


if __name__ == "__main__":
    command.run("build-corpus")
