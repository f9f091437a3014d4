"""Rounds that choose with two levels of buckets: the same bytes as with one, from pieces that are as many as is said."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bertdata.pipelines import build_corpus
from conftest import digests, read_manifest
from test_choose import build, sources

from bertdata.build import levels
from bertdata.build.levels import Levels
from bertdata.build.selection import facts, near, rounds, rules
from bertdata.build.selection.kinds import Kinds
from bertdata.config import ChoiceConfig
from bertdata.dataset import shards

EVERYTHING: dict[str, Any] = {
    "dedup": "near",
    "dedup_paragraphs": True,
    "mix": "wikipedia=1,books=1,text=2",
    "sample_documents": 40,
}


class Count:
    """Count the pieces that are written and read, by what they are of, where so many give one level of buckets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        self._monkeypatch, self._most = monkeypatch, most
        self.written, self.read = Counter[str](), Counter[str]()

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        write, read = shards.write_ranges, shards.ranges.read_range

        def written(root: Path, name: str, batches: Any) -> Any:
            entry, found = write(root, name, batches)
            self.written[what(name)] += len(found)
            return entry, found

        def fetched(path: Path, *piece: int) -> bytes:
            self.read[what(path.name)] += 1
            return read(path, *piece)

        with self._monkeypatch.context() as patched:
            patched.setattr(levels, "_ONE_LEVEL", self._most)
            patched.setattr(shards, "write_ranges", written)
            patched.setattr(shards.ranges, "read_range", fetched)
            yield


def what(name: str) -> str:
    """Return the round and the kind of a file's pieces."""
    return "-".join(Path(name).name.split("-")[:2])


BUCKETS = 25


@pytest.mark.slow
def test_two_levels_choose_the_same_documents_from_fewer_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rule, with one level of buckets and with two; each piece is read once, by one request.

    With one level a task has a piece for each bucket; with two one for each group, and a block of tasks one for each bucket.
    """
    files = sources(tmp_path / "in")
    monkeypatch.setattr(build_corpus, "bucket_count", lambda rule, size: BUCKETS if rule.per_document else 1)
    one, two = (Count(monkeypatch, most) for most in (1 << 30, 1))
    for name, count in (("one", one), ("two", two)):
        with count.counting():
            build(tmp_path / name, files, **EVERYTHING)
    assert digests(tmp_path / "two") == digests(tmp_path / "one")
    dropped = Counter[str]()
    for stage in read_manifest(tmp_path / "two")["counts"]:
        dropped.update(stage["dropped"])
    told = ("repeated id", "duplicate", "near-duplicate", "duplicate paragraphs", "mixture")
    assert all(dropped[reason] > 0 for reason in told)
    tasks = len(list((tmp_path / "one" / "data").iterdir()))
    found = Levels(BUCKETS, 3, 3)
    blocks = -(-tasks // found.together)
    assert blocks > 1
    for rule in ("ids", "texts", "bands", "near", "paragraphs"):
        assert one.written[f"{rule}-lost"] > 0 == two.written[f"{rule}-lost"], rule
        assert blocks * BUCKETS >= two.written[f"{rule}-merged"] >= two.written[f"{rule}-together"] > 0, rule
        assert tasks * found.groups >= two.written[f"{rule}-claims"] >= two.written[f"{rule}-split"] > 0, rule
        for kind in ("claims", "merged", "together", "split"):
            assert two.read[f"{rule}-{kind}"] == two.written[f"{rule}-{kind}"], (rule, kind)
    assert one.written["bands-claims"] > 0.9 * tasks * BUCKETS > tasks * found.groups == two.written["bands-claims"]
    assert two.written["bands-merged"] > 0.9 * blocks * BUCKETS
    assert two.written["selection-claims"] > 0 == two.written["selection-merged"], "all go to one bucket"


WIDE = {"high": 8, "low": 8, "row": 4, "part": 4, "id": 24, "signature": 128}  # bytes of a claim's columns; an id of 20


def test_pieces_at_ten_terabytes_have_fifty_kilobytes() -> None:
    """10 TB of plain text of 3 kB a document, 40,000 tasks, and one pair to compare for each eighth document.

    A bucket of `near` holds the signatures of its tasks, so there are more than its claims alone would take: pieces have 30 kB.
    """
    documents, tasks = 10**13 // 3000, 40_000
    made = {rule.name: rule for rule in rules.make(ChoiceConfig(dedup="near"), "", Kinds.of(["text"]))}
    claims = {"texts": 1.0, "bands": made["bands"].per_document, "near": 1 / 8}  # of a document
    assert made.keys() == claims.keys()
    for name, rule in made.items():
        found = Levels.of(tasks, rounds.bucket_count(rule, 10**13))
        count, least = documents * claims[name], 30_000 if name == "near" else 50_000
        size = count * sum(WIDE[column] for column in rule.columns)
        blocks = -(-tasks // found.together)
        assert size / (tasks * found.groups) > least, name
        assert (size + 4 * count) / (blocks * found.buckets) > least, "merged claims tell their task as well"
        assert documents * rule.per_document / found.buckets < 2 * rounds.CLAIMS
    held = documents / rounds.bucket_count(made["near"], 10**13) * (WIDE["signature"] + WIDE["id"])
    assert held < 64 << 20, "a bucket of near holds the signatures of its range of tasks"
    pairs = Levels.of(625_000, 99_999)
    assert 5.4e12 / (625_000 * pairs.groups) > 50_000 and 5.4e12 / (-(-625_000 // pairs.together) * 99_999) > 50_000


@pytest.mark.slow
def test_claims_are_merged_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a block of tasks claims more than is merged at a time, a bucket has more pieces, and loses the same."""
    files = sources(tmp_path / "in", count=40)
    monkeypatch.setattr(build_corpus, "bucket_count", lambda rule, size: 8 if rule.per_document else 1)
    written = []
    for name, most in (("one", 1 << 30), ("some", 500)):
        monkeypatch.setattr(rounds, "_MERGED", most)
        count = Count(monkeypatch, 1)
        with count.counting():
            build(tmp_path / name, files, dedup="near")
        written.append(count.written["bands-merged"])
    assert written[1] > 1.5 * written[0]
    assert digests(tmp_path / "some") == digests(tmp_path / "one")


@pytest.mark.slow
def test_pairs_are_compared_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same documents are dropped where few pairs are sent, and few compared, at a time; and no fact is looked up."""
    files = sources(tmp_path / "in", count=40)
    build(tmp_path / "one", files, dedup="near")
    monkeypatch.setattr(near, "_PAIRS", 2)
    monkeypatch.setattr(near, "_COMPARED", 400)
    read, asked = facts.read, Counter[int]()

    def counted(root: Path, task: int) -> Any:
        asked[task] += 1
        return read(root, task)

    monkeypatch.setattr(facts, "read", counted)
    assert digests(build(tmp_path / "some", files, dedup="near")) == digests(tmp_path / "one")
    assert max(asked.values()) <= 5, "a round reads them once, the last one for its claims and in one bucket"
