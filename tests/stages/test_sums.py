"""Sums of reports: sums of sums are sums, however reports are divided; names of templates are bounded, and no call is lost."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from conftest import Build

from bertdata.chains import transforms
from bertdata.chains.transforms import CommitOnce, Gather
from bertdata.codec import decode, encode
from bertdata.dataset import reports
from bertdata.dataset.reports import record_path
from bertdata.errors import VerificationError
from bertdata.records import Report
from bertdata.stages.corpus import sums
from bertdata.stages.corpus_report import SourceCounts, Templates
from bertdata.storage.files import write_json
from bertdata.tally import Tally


def report(number: int) -> SourceCounts:
    """What a task might count."""
    draw = random.Random(number)
    kept, redirects, broken = (draw.randrange(50) for _ in range(3))
    names = {f"name {draw.randrange(200)}": draw.randrange(1, 9) for _ in range(20)}
    examples = dict.fromkeys([*names][:5], (number, f"line {number}"))
    tally = Tally("pages", kept + redirects + broken, kept, Counter(redirect=redirects), Counter(broken=broken))
    return SourceCounts(
        kind=("wikipedia", "wikipedia", "books")[number % 3],
        tally=tally.counts(),
        text_bytes=number,
        amounts={("en", "de")[number % 2]: {"documents": kept, "words": number, "characters": 9 * number}},
        templates=Templates(calls=300, names=names, examples=examples),
        formulas={"found math": number},
        marks={"citation": 1},
        apparatus={"characters": 9, "kept": 8, "index": 1},
        edits={"map changed": kept},
        removed={"trimmed_documents": 1, "removed_words": number % 2} if number % 4 == 0 else {},
    )


def text(value: object) -> str:
    return json.dumps(encode(value))


@pytest.mark.parametrize("size", [1, 7, 100])
def test_sums_of_sums_are_sums(size: int) -> None:
    reports = [report(number) for number in range(100)]
    parts = [sums.add_up(reports[start : start + size]) for start in range(0, 100, size)]
    found = sums.add_up(decode(json.loads(text(each)), SourceCounts) for part in parts for each in part)
    assert text(found) == text(sums.add_up(reports)), "the order of keys as well"
    assert sum(total.text_bytes for total in found) == sum(range(100))
    assert sum(total.templates.calls for total in found) == 30_000
    for total in found:
        for name, (first, line) in total.templates.examples.items():
            own = [n for n, each in enumerate(reports) if each.kind == total.kind and name in each.templates.examples]
            assert (first, line) == (own[0], f"line {own[0]}"), "of the first task that has one"


@pytest.mark.slow
def test_a_sum_does_not_grow_with_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are as many as there is place for: the most frequent, of equal ones the first by name; all calls are counted."""
    monkeypatch.setattr(sums, "_MAX_NAMES", 50)
    monkeypatch.setattr(sums, "_MAX_EXAMPLES", 20)
    few, many = (len(text(sums.add_up(map(report, range(count))))) for count in (300, 3000))
    assert many < few * 1.1
    (total, *_) = sums.add_up(map(report, range(300)))
    names = [*total.templates.names.items()]
    assert len(total.templates.examples) == 20
    assert len(names) == 50 and total.templates.calls == 200 * 300
    assert names == sorted(names, key=lambda item: (-item[1], item[0]))


class Kept:
    """A commit that adds up numbers."""

    kind: ClassVar = dict

    def __init__(self, root: Path) -> None:
        self.root, self.found = root, list[Any]()

    def roots(self) -> list[Path]:
        return [self.root]

    def add_up(self, reports: Iterable[list[dict[str, Any]]]) -> tuple[int, list[int]]:
        values = [report["value"] for (report,) in reports]
        return sum(values), values

    def __call__(self, totals: Any, entries: Any, /) -> None:
        self.found += [totals, entries]


def done(root: Path, number: int) -> Report:
    """Leave the record of a task."""
    write_json(record_path(root, "add", number), {"task": number, "report": {"value": number * 10}})
    return reports.reference(number, "add", [{"value": number * 10}])


def test_reports_are_added_up_by_number_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine may bring them in any order, and twice; one that is lost, or is not what was reported, is an error."""
    monkeypatch.setattr(transforms, "REPORTS_PER_SUM", 4)
    monkeypatch.setattr(transforms, "committing", lambda root: contextlib.nullcontext(True))
    for name in ("check_begun", "clean_up"):
        monkeypatch.setattr(transforms, name, lambda root: None)
    found = [done(tmp_path, number) for number in [*range(10), *range(5)]]
    random.Random(1).shuffle(found)
    kept = Kept(tmp_path)
    commit = CommitOnce(kept, Gather(kept, 10)._runs, 10)
    commit(found)
    assert kept.found == [[60, 220, 170], [number * 10 for number in range(10)]]
    with pytest.raises(VerificationError, match="the engine returned 9 of 10 reports"):
        commit([own for own in found if own.number != 6])
    write_json(record_path(tmp_path, "add", 6), {"task": 6, "report": {"value": 61}})
    with pytest.raises(
        VerificationError, match=r"add/00006\.json has changed since its task wrote it: run the same command again"
    ):
        commit(found)


def test_any_division_of_reports_gives_the_same_corpus(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        lines = [json.dumps({"text": f"Boat {number} {line} came in. It had herring."}) for line in range(20)]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines) + "\n" + "{\n" * (number == 3))
    found = set()
    for together in (1, 3, 1000):
        monkeypatch.setattr(transforms, "REPORTS_PER_SUM", together)
        words = ("--text", tmp_path / "*.jsonl", "--task-bytes", 1 << 16, "--max-rejects", 0.5)
        found.add((build("build-corpus", tmp_path / f"out-{together}", *words) / "manifest.json").read_bytes())
    assert len(found) == 1
