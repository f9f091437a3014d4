"""Dumps, books and other text to documents: plan tasks, extract each into a shard, choose, commit the manifest."""

from __future__ import annotations

from pathlib import Path

import apache_beam as beam

from bertdata.config import CorpusConfig
from bertdata.fence import fence
from bertdata.files import place
from bertdata.output import STATE
from bertdata.records import Report

from .choosing import rules
from .choosing.rewrite import Rewrite
from .choosing.rounds import Round, Rule, bucket_count
from .extraction.commit import Commit
from .extraction.extract import Extract
from .extraction.plan import Plan, packages
from .transforms import Gather, Perform, Tasks

__all__ = ["BuildCorpus"]

_PLAIN = (".xml", ".txt", ".jsonl", ".arrow", ".tar")  # what others hold is taken to be four times their bytes


class BuildCorpus(beam.PTransform):
    """Tasks -> a shard of documents each, or a check -> rounds that choose -> shards of what is left -> one manifest."""

    def __init__(self, plan: Plan, config: CorpusConfig, root: Path) -> None:
        super().__init__()
        self._plan, self._config, self._root = plan, config, root
        kinds = tuple(task.kind for task in plan.tasks[: plan.shards])
        self._rules = rules.make(config.choice, str(root), kinds)

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        root, config, plan = str(self._root), self._config, self._plan
        extract = Extract(root, config, plan.shards, bool(self._rules))
        perform = Perform(self._root, "extract", extract, packages(config))
        reports = begin | "Tasks" >> Tasks(plan.tasks) | "Extract" >> beam.ParDo(perform)
        if self._rules:
            reports = reports | "Choose" >> Choose(root, config, self._rules, plan)
        return reports | "Commit" >> Gather(Commit(root, config, plan.inputs), len(plan.tasks))


class Choose(beam.PTransform):
    """Reports of tasks -> rounds in which each rule says what goes -> reports of what is left."""

    def __init__(self, root: str, config: CorpusConfig, rules: list[Rule], plan: Plan) -> None:
        super().__init__()
        self._root, self._format, self._rules, self._shards = root, config.format, rules, plan.shards
        self._bytes = sum(entry["bytes"] * (1 if entry["name"].endswith(_PLAIN) else 4) for entry in plan.inputs)

    def expand(self, reports: beam.PCollection) -> beam.PCollection:
        names, closing = tuple(rule.name for rule in self._rules), fence(place(self._root) / STATE)
        tasks = reports | "Number" >> beam.Map(_number)
        for number, rule in enumerate(self._rules):
            buckets = bucket_count(rule, self._bytes)
            label = rule.name.capitalize()
            tasks = tasks | label >> Round(self._root, rule, names[:number], buckets, self._shards, closing)
        return tasks | "Rewrite" >> beam.Map(Rewrite(self._root, names, self._format, self._shards, closing))


def _number(report: Report) -> int:
    return report.number
