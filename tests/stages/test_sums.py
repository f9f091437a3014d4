"""Sums of reports: names of templates are bounded, and no call is lost."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from bertdata.chains import transforms
from bertdata.chains.transforms import CommitOnce, Gather

from bertdata.dataset import reports
from bertdata.dataset.tasks import record_path
from bertdata.errors import VerificationError
from bertdata.records import ReportReference
from bertdata.stages.corpus import sums
from bertdata.stages.corpus.sums import SourceSum
from bertdata.stages.corpus_report import SourceCounts, Templates
from bertdata.storage.files import write_json
from bertdata.tally import Tally


def report(number: int) -> SourceCounts:
    """What a task might count."""
    draw = random.Random(number)
    kept, redirects, broken = (draw.randrange(50) for _ in range(3))
    names = {f"name {draw.randrange(200)}": draw.randrange(1, 9) for _ in range(20)}
    examples = dict.fromkeys([*names][:5], f"line {number}")
    tally = Tally("pages", kept + redirects + broken, kept, Counter(redirect=redirects), Counter(broken=broken))
    return SourceCounts(
        kind=("wikipedia", "wikipedia", "books")[number % 3],
        tally=tally.counts(),
        text_bytes=number,
        amounts={("en", "de")[number % 2]: {"documents": kept, "words": number, "characters": 9 * number}},
        templates=Templates(calls=300, names=names, examples=examples),
        formulas=[("found", "math", number)],
        marks={"citation": 1},
        apparatus={"characters": 9, "kept": 8, "index": 1},
        put_back={"index": 1},
        edits={"map changed": kept},
        removed={"trimmed_documents": 1, "removed_words": number % 2} if number % 4 == 0 else {},
    )


def test_a_sum_does_not_grow_with_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are as many as there is place for; all calls are counted; an example is of the first task that has one."""
    monkeypatch.setattr(sums, "_MAX_NAMES", 50)
    total = SourceSum("wikipedia", Tally("pages"))
    reports = [report(number) for number in range(300)]
    for each in reports:
        total.add(each)
    assert len(total.examples) <= len(total.names) <= 100
    assert total.calls == 300 * 300 and total.text_bytes == sum(range(300)) and total.formulas["found", "math"] == sum(range(300))
    whole = SourceSum("wikipedia", Tally("pages"))
    monkeypatch.setattr(sums, "_MAX_NAMES", 1000)
    for each in reports:
        whole.add(each)
    for name, line in whole.examples.items():
        assert line == next(each.templates.examples[name] for each in reports if name in each.templates.examples)


class Kept:
    """A commit that keeps numbers."""

    kind: ClassVar = dict

    def __init__(self, root: Path) -> None:
        self.root, self.found = root, list[Any]()

    def roots(self) -> list[Path]:
        return [self.root]

    def __call__(self, reports: Iterable[list[dict[str, Any]]], /) -> None:
        self.found += [report["value"] for (report,) in reports]


def done(root: Path, number: int) -> ReportReference:
    """Leave the record of a task."""
    write_json(record_path(root, "add", number), {"task": number, "report": {"value": number * 10}})
    return reports.reference(number, "add", [{"value": number * 10}])


def test_reports_are_added_up_by_number_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine may bring them in any order, and twice; one that is lost, or is not what was reported, is an error."""
    monkeypatch.setattr(transforms, "committing", lambda root: contextlib.nullcontext(True))
    for name in ("check_begun", "clean_up"):
        monkeypatch.setattr(transforms, name, lambda root: None)
    found = [done(tmp_path, number) for number in [*range(10), *range(5)]]
    random.Random(1).shuffle(found)
    kept = Kept(tmp_path)
    commit = CommitOnce(kept, Gather(kept, 10)._runs, 10)
    commit(found)
    assert kept.found == [number * 10 for number in range(10)]
    with pytest.raises(VerificationError, match="the engine returned 9 of 10 reports"):
        commit([own for own in found if own.number != 6])
    write_json(record_path(tmp_path, "add", 6), {"task": 6, "report": {"value": 61}})
    with pytest.raises(
        VerificationError, match=r"add/00006\.json has changed since its task wrote it: run the same command again"
    ):
        commit(found)
