"""Sums of reports: names of templates are bounded, and no call is lost."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from bertdata.stages.corpus import sums
from bertdata.stages.corpus.sums import SourceSum
from bertdata.stages.corpus_report import SourceCounts, Templates
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
