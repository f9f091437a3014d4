"""Documents are chosen as a plain loop would choose them, for any division of the input and after any interruption."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import digests, leftovers, read_manifest, read_rows
from mixed_inputs import Files, build, sentence, write_inputs

from bertdata import keys
from bertdata.config import ChoiceConfig
from bertdata.errors import StorageError, TooManyRejectsError, UsageError
from bertdata.stages.corpus import job
from bertdata.stages.corpus.job import CorpusJob
from bertdata.stages.selection import choose as choose_module
from bertdata.stages.selection import rewrite

Rows = list[dict[str, Any]]


def paragraphs_of(row: dict[str, Any]) -> list[list[str]]:
    ends = [*row["paragraph_starts"][1:], len(row["sentences"])]
    return [row["sentences"][a:b] for a, b in zip(row["paragraph_starts"], ends, strict=True)]


def normal(sentences: list[str]) -> str:
    return " ".join(" ".join(sentences).lower().split())


def bytes_of(row: dict[str, Any]) -> int:
    return sum(len(text.encode()) for text in row["sentences"])


def words_of(row: dict[str, Any]) -> int:
    return sum(len(text.split()) for text in row["sentences"])


def first_ones(rows: Rows, key: Callable[[dict[str, Any]], Any]) -> Rows:
    known: set[Any] = set()
    return [row for row in rows if not (key(row) in known or known.add(key(row)))]  # type: ignore[func-returns-value]


def without_paragraphs(rows: Rows) -> Rows:
    known, left = set(), []
    for row in rows:
        kept = []
        for own in paragraphs_of(row):
            is_long = len(" ".join(own)) >= 100
            if not is_long or normal(own) not in known:
                kept.append(own)
            if is_long:
                known.add(normal(own))
        if kept:
            starts = [sum(map(len, kept[:i])) for i in range(len(kept))]
            left.append({**row, "sentences": [s for own in kept for s in own], "paragraph_starts": starts})
    return left


def drawn(rows: Rows, config: ChoiceConfig) -> Rows:
    """Reduce sources and draw a sample, by exact fractions."""
    positions = {id(row): position for position, row in enumerate(rows)}

    def order(row: dict[str, Any]) -> tuple[int, int]:
        return keys.key(config.seed, "choose", row["id"]), positions[id(row)]

    cuts = dict.fromkeys(("wikipedia", "books", "text"), (1 << 64, 0))
    if config.shares:
        sizes = {source: sum(bytes_of(row) for row in rows if row["source"] == source) for source in config.shares}
        total = min(sizes[source] / share for source, share in config.shares.items())
        for source, share in config.shares.items():
            room = min(sizes[source], round(total * share))
            for row in sorted((row for row in rows if row["source"] == source), key=order):
                room -= bytes_of(row)
                if room < 0:
                    cuts[source] = order(row)
                    break
    rows = [row for row in rows if order(row) < cuts[row["source"]]]
    if config.sample_documents:
        chosen = sorted(rows, key=lambda row: (Fraction(order(row)[0], cuts[row["source"]][0]), order(row)[1]))
        kept = {id(row) for row in chosen[: config.sample_documents]}
        rows = [row for row in rows if id(row) in kept]
    return rows


def plain(rows: Rows, **choice: Any) -> Rows:
    """Choose among rows by one rule after another."""
    config = ChoiceConfig(**choice)
    known: set[str] = set()
    left = []
    for row in rows:
        if row["source"] != "wikipedia" or row["id"] not in known:
            left.append(row)
        known.add(row["id"])
    if config.dedup != "none":
        left = first_ones(left, lambda row: normal(row["sentences"]))
    if config.dedup_paragraphs:
        left = without_paragraphs(left)
    return drawn(left, config)


CHOICES: dict[str, dict[str, Any]] = {
    "none": {"dedup": "none"},
    "exact": {},
    "paragraphs": {"dedup_paragraphs": True},
    "paragraphs alone": {"dedup": "none", "dedup_paragraphs": True},
    "sample": {"sample_documents": 30},
    "mixture": {"mix": "wikipedia=2,books=1,text=1"},
    "all": {"dedup_paragraphs": True, "mix": "wikipedia=0.2,books=0.4,text=0.4", "sample_documents": 12, "seed": 3},
}
EVERY_RULE: dict[str, Any] = {
    "dedup": "near",
    "dedup_paragraphs": True,
    "mix": "wikipedia=1,books=1,text=2",
    "sample_documents": 40,
    "max_words": "1500",
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return write_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def everything(inputs: Files, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """All documents in order, including pages with the same id."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CorpusJob, "chooses", False)
        rows = read_rows(build(tmp_path_factory.mktemp("all") / "corpus", inputs))
    assert [row["source"] for row in rows] == sorted((row["source"] for row in rows), key="wikipedia books text".index)
    return rows


@pytest.mark.parametrize("name", CHOICES)
def test_the_rules_choose_as_a_loop_would(inputs: Files, everything: Rows, tmp_path: Path, name: str) -> None:
    expected = plain(everything, **CHOICES[name])
    corpus = build(tmp_path / "out", inputs, **CHOICES[name])
    assert read_rows(corpus) == expected
    assert 0 < len(expected) < len(everything)
    manifest = read_manifest(corpus)
    assert sum(stage["in"] for stage in manifest["counts"]) == len(everything)
    for source, counts in manifest["sources"].items():
        own = [row for row in expected if row["source"] == source]
        assert (counts["documents"], counts["text_bytes"]) == (len(own), sum(map(bytes_of, own)))
    assert leftovers(corpus) == []


def test_the_division_into_tasks_does_not_matter(inputs: Files, tmp_path: Path) -> None:
    many, one = (build(tmp_path / str(size), inputs, task_bytes=size, **EVERY_RULE) for size in (1 << 16, 1 << 30))
    assert read_rows(many) == read_rows(one)
    assert read_manifest(many)["counts"] == read_manifest(one)["counts"]
    dropped = {reason for stage in read_manifest(one)["counts"] for reason in stage["dropped"]}
    assert {"duplicate", "near-duplicate", "duplicate paragraphs", "mixture", "words"} <= dropped


@pytest.mark.slow
def test_same_bytes_with_two_workers_and_in_any_order(inputs: Files, tmp_path: Path) -> None:
    backwards = {kind: paths[::-1] for kind, paths in [*inputs.items()][::-1]}
    one = build(tmp_path / "1", inputs, **EVERY_RULE)
    assert digests(build(tmp_path / "2", backwards, workers=2, **EVERY_RULE)) == digests(one)


def test_drops_are_listed_with_what_is_kept(inputs: Files, tmp_path: Path) -> None:
    corpus = build(tmp_path / "out", inputs, dedup_paragraphs=True, sample_documents=40)
    manifest = read_manifest(corpus)
    listed = [json.loads(line) for file in manifest["drops"] for line in (corpus / file["name"]).read_text().splitlines()]
    dropped = [stage["dropped"] for stage in manifest["counts"]]
    for reason in ("repeated id", "duplicate", "duplicate paragraphs"):
        entries = [entry for entry in listed if entry["reason"] == reason]
        assert len(entries) == sum(stage.get(reason, 0) for stage in dropped) > 0
        assert all(entry["detail"].startswith("of ") for entry in entries)
    assert all(entry["detail"] == f"of {entry['id']}" for entry in listed if entry["reason"] == "repeated id")
    assert sum(stage.get("sample", 0) for stage in dropped) > 0
    assert not any(entry["reason"] == "sample" for entry in listed)
    assert sum(source["removed_paragraphs"] for source in manifest["sources"].values()) > 0


def test_a_larger_sample_contains_the_smaller_one(inputs: Files, tmp_path: Path) -> None:
    small, large = (read_rows(build(tmp_path / str(n), inputs, sample_documents=n)) for n in (10, 20))
    assert (len(small), len(large)) == (10, 20)
    assert all(row in large for row in small)
    assert read_rows(build(tmp_path / "seed", inputs, sample_documents=10, seed=1)) != small


def test_a_trial_reads_no_further_than_its_documents(inputs: Files, tmp_path: Path) -> None:
    trial = read_manifest(build(tmp_path / "out", inputs, max_documents=20, dedup="none"))
    assert sum(stage["in"] for stage in trial["counts"]) == 20
    assert 15 < trial["rows"] <= 20
    assert not any("sha256" in entry for entry in trial["inputs"])


REFUSED = [
    ({"mix": "wikipedia=1"}, r"of the input \(wikipedia, books, text\) and no others"),
    ({"mix": "wikipedia=1,books=1,text=0"}, "a share over 0"),
    ({"mix": "wikipedia"}, "a share over 0"),
    ({"mix": "books=1,books=2"}, "each source once"),
    ({"near_threshold": 0.5}, "without `dedup` near"),
    *(({"max_words": text}, "max_words") for text in ("0", "text", "text=1,text=2", "-4", "1e6")),
]


@pytest.mark.parametrize(("choice", "message"), REFUSED, ids=str)
def test_impossible_choices_are_refused(inputs: Files, tmp_path: Path, choice: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(tmp_path / "out", inputs, **choice)


def test_more_documents_than_fit_into_memory_are_refused_first(
    inputs: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose_module, "_BASE_BYTES", 1 << 60)
    with pytest.raises(StorageError, match="of memory, and this machine has"):
        build(tmp_path / "out", inputs)
    assert not (tmp_path / "out").exists()


def test_a_source_without_text_cannot_be_mixed(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "One sentence of a text. And another one."}\n')
    (tmp_path / "b.txt").write_text("One sentence of a text. And another one.\n")
    with pytest.raises(UsageError, match="asks for text, and no document of it is left"):
        build(tmp_path / "out", {"text": [tmp_path / "a.jsonl"], "books": [tmp_path / "b.txt"]}, mix="books=1,text=1")


def test_an_interrupted_run_continues_to_the_same_bytes(inputs: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends in each stage in turn, and while the commit moves shards."""
    output = tmp_path / "out"
    for place in ("extract", "choose", "rewrite", "move"):
        target: Any = rewrite if place == "move" else CorpusJob
        original, calls = getattr(target, place), [0]

        def fail(*given: Any, calls: list[int] = calls, original: Any = original, last: int = place != "choose") -> Any:
            calls[0] += 1
            if calls[0] > 2 * last:
                raise TooManyRejectsError("stop")
            return original(*given)

        with monkeypatch.context() as patch, pytest.raises(TooManyRejectsError, match="stop"):
            patch.setattr(target, place, fail)
            build(output, inputs, **EVERY_RULE)
        assert not (output / "manifest.json").exists()
    done: list[object] = []
    monkeypatch.setattr(job, "rewrite", lambda *given: done.append(given) or rewrite.rewrite(*given))  # type: ignore[func-returns-value]
    build(output, inputs, **EVERY_RULE)
    assert digests(output) == digests(build(tmp_path / "whole", inputs, **EVERY_RULE))
    assert len(done) > 2


# --- near-copies ---


def new_word(draw: random.Random) -> str:
    return "".join(draw.choices("abcdefghiklmnoprstu", k=8))


def plant(path: Path) -> None:
    """Write 60 documents, copies in which a run of 5 % or half of the words is new, and a chain of copies."""
    draw = random.Random(2)
    originals = [" ".join(sentence(draw, 12) + f" Not the {new_word(draw)}." for _ in range(30)) for _ in range(60)]
    texts = {f"original-{n}": text for n, text in enumerate(originals)}
    for n, text in enumerate(originals[:40]):
        words = text.split()
        length = len(words) // (20 if n % 2 else 2)
        words[40 : 40 + length] = [new_word(draw) for _ in range(length)]
        texts[f"{'near' if n % 2 else 'far'}-{n}"] = " ".join(words)
    words = originals[50].split()
    for link in range(8):  # each is a near-copy of the one before, and the last is far from the first
        words = [*words[:-40], *(new_word(draw) for _ in range(10)), *words[-30:]][10:]
        texts[f"chain-{link}"] = " ".join(words)
    lines = [json.dumps({"id": id, "text": text}) for id, text in texts.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_near_copies_are_dropped_and_others_are_kept(tmp_path: Path) -> None:
    plant(tmp_path / "a.jsonl")
    corpus = build(tmp_path / "out", {"text": [tmp_path / "a.jsonl"]}, dedup="near")
    left = {row["id"].rpartition(":")[2] for row in read_rows(corpus)}
    assert left == {f"original-{n}" for n in range(60)} | {f"far-{n}" for n in range(0, 40, 2)}
    entries = [json.loads(line) for path in (corpus / "dropped").iterdir() for line in path.read_text().splitlines()]
    details = {entry["id"].rpartition(":")[2]: entry["detail"] for entry in entries}
    assert {entry["reason"] for entry in entries} == {"near-duplicate"}
    assert all(details[f"near-{n}"].endswith(f"original-{n}") for n in range(1, 40, 2))


def test_texts_without_words_are_no_near_copies(tmp_path: Path) -> None:
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(("Tea is hot.", "— ! —", "… ? …"))]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = build(tmp_path / "out", {"text": [tmp_path / "a.jsonl"]}, dedup="near", min_letters=0)
    assert all("near" not in path.read_text() for path in (corpus / "dropped").glob("*"))
