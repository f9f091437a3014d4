"""Documents are chosen across the corpus as a plain loop over all of them would choose, at any number of tasks and partitions."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import Run, build_of, digests, leftovers, read_manifest, read_rows
from test_resume import kill_in_mid_run

from bertdata import keys
from bertdata.config import ChoiceConfig, CorpusConfig
from bertdata.dataset.build import STATE
from bertdata.errors import TooManyRejectsError, UsageError, VerificationError
from bertdata.pipelines.engines import engine
from bertdata.stages.corpus.plan_tasks import plan
from bertdata.stages.selection import facts, rewrite, rounds, rules
from bertdata.stages.selection.rewrite import Rewrite
from bertdata.stages.shuffle import FileShuffle
from bertdata.storage.files import write_json
from bertdata.storage.moves import move

TEXT = """the tide turned at noon and grey herons left marsh while ferry waited by old pier for nobody in long winter rain
seven lamps burned on every boat that crossed after dark until morning came over empty harbour walls"""
WORDS = TEXT.split()
Rows = list[dict[str, Any]]


def sentence(draw: random.Random, words: int = 9) -> str:
    return " ".join(draw.choices(WORDS, k=words)).capitalize() + "."


def story(draw: random.Random) -> list[str]:
    """Paragraphs, of which some are long enough to count as written once."""
    return [" ".join(sentence(draw) for _ in range(draw.randrange(1, 5))) for _ in range(draw.randrange(1, 6))]


def sources(directory: Path, seed: int = 0, count: int = 120) -> dict[str, list[tuple[str, str]]]:
    """Write dumps, books and texts that share documents, paragraphs and ids, in several files of each."""
    draw = random.Random(seed)
    known = [story(draw) for _ in range(count // 2)]
    shared = [" ".join(sentence(draw) for _ in range(4)) for _ in range(4)]

    def document() -> list[str]:
        paragraphs = [*draw.choice(known)] if draw.random() < 0.4 else story(draw)
        if draw.random() < 0.3:
            paragraphs.insert(draw.randrange(len(paragraphs) + 1), draw.choice(shared))
        if draw.random() < 0.3:
            paragraphs = [text.upper().replace(" ", "  ") for text in paragraphs]
        return [draw.choice(shared)] if draw.random() < 0.1 else paragraphs

    directory.mkdir(parents=True, exist_ok=True)
    files: dict[str, list[tuple[str, str]]] = {"wikipedia": [], "books": [], "text": []}

    def write(kind: str, name: str, text: str) -> None:
        (directory / name).write_text(text, encoding="utf-8")
        files[kind].append((name, str(directory / name)))

    for name in "ab":
        pages = "".join(
            f"<page><title>P {n}</title><ns>0</ns><id>{draw.randrange(1, count)}</id><revision><id>9</id><text>"
            + "\n\n".join(document())
            + "</text></revision></page>\n"
            for n in range(count // 3)
        )
        head = (
            '<mediawiki xml:lang="en"><siteinfo><dbname>xwiki</dbname><base>https://en.wikipedia.org/wiki/M</base></siteinfo>\n'
        )
        write("wikipedia", f"{name}.xml", f"{head}{pages}</mediawiki>\n")
        lines = [json.dumps({"id": draw.randrange(count), "text": "\n\n".join(document())}) for _ in range(count // 2)]
        write("text", f"{name}.jsonl", "\n".join(lines) + "\n")
        for number in range(count // 20):
            write("books", f"{name}{number}.txt", "\n\n".join([*document(), *document(), *document()]) + "\n")
    return files


def build(
    output: Path,
    files: dict[str, list[tuple[str, str]]],
    *,
    task_bytes: int = 1 << 16,
    run: Callable[[Step], None] = local.run,
    **choice: Any,
) -> Path:
    """Run build-corpus in this process, or go on with what a run before has left."""
    most = choice.pop("max_documents", 0)
    choice = ChoiceConfig(**choice)  # type: ignore[assignment]
    config = CorpusConfig(task_bytes=task_bytes, id_column="id", choice=choice, max_documents=most)  # type: ignore[arg-type]
    write_json(output / STATE / "run.json", {})
    run(BuildCorpus(plan(config, files), config, output))
    return output


def paragraphs_of(row: dict[str, Any]) -> list[list[str]]:
    ends = [*row["paragraph_starts"][1:], len(row["sentences"])]
    return [row["sentences"][a:b] for a, b in zip(row["paragraph_starts"], ends, strict=True)]


def same(sentences: list[str]) -> str:
    return " ".join(" ".join(sentences).lower().split())


def bytes_of(row: dict[str, Any]) -> int:
    return sum(len(text.encode()) for text in row["sentences"])


def first_ones(rows: Rows, key: Callable[[dict[str, Any]], Any]) -> Rows:
    known: set[Any] = set()
    return [row for row in rows if not (key(row) in known or known.add(key(row)))]  # type: ignore[func-returns-value]


def without_paragraphs(rows: Rows) -> Rows:
    known, left = set(), []
    for row in rows:
        kept = []
        for own in paragraphs_of(row):
            if len(" ".join(own)) < 100 or same(own) not in known:
                kept.append(own)
            if len(" ".join(own)) >= 100:
                known.add(same(own))
        if kept:
            starts = [sum(map(len, kept[:i])) for i in range(len(kept))]
            left.append({**row, "sentences": [s for own in kept for s in own], "paragraph_starts": starts})
    return left


def drawn(rows: Rows, config: ChoiceConfig) -> Rows:
    """Thin sources and draw a sample, by exact fractions."""
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
    """Choose among rows as the rules say, one after another."""
    config = ChoiceConfig(**choice)
    known: set[str] = set()
    left = []
    for row in rows:
        if row["source"] != "wikipedia" or row["id"] not in known:
            left.append(row)
        known.add(row["id"])
    if config.dedup != "none":
        left = first_ones(left, lambda row: same(row["sentences"]))
    if config.dedup_paragraphs:
        left = without_paragraphs(left)
    return drawn(left, config)


CHOICES: dict[str, dict[str, Any]] = {
    "none": {"dedup": "none"},
    "exact": {},
    "paragraphs": {"dedup_paragraphs": True},
    "paragraphs alone": {"dedup": "none", "dedup_paragraphs": True},
    "sample": {"sample_documents": 30},
    "sample of all": {"sample_documents": 100_000},
    "mixture": {"mix": "wikipedia=2,books=1,text=1"},
    "all": {"dedup_paragraphs": True, "mix": "wikipedia=0.2,books=0.4,text=0.4", "sample_documents": 25, "seed": 3},
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, str]]]:
    return sources(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def everything(inputs: dict[str, list[tuple[str, str]]], tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """All documents in order: those of pages as well that come again under one id."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "make", lambda *_: [])
        rows = read_rows(build(tmp_path_factory.mktemp("all") / "corpus", inputs))
    assert [row["source"] for row in rows] == sorted((row["source"] for row in rows), key="wikipedia books text".index)
    assert len(rows) > 150
    return rows


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.slow
def test_the_rules_choose_as_a_loop_would(
    inputs: dict[str, list[tuple[str, str]]], everything: Rows, tmp_path: Path, name: str
) -> None:
    expected = plain(everything, **CHOICES[name])
    made = build(tmp_path / "out", inputs, **CHOICES[name])
    assert read_rows(made) == expected
    assert 0 < len(expected) < len(everything)
    manifest = read_manifest(made)
    assert sum(stage["in"] for stage in manifest["counts"]) == len(everything)
    for source, told in manifest["sources"].items():
        own = [row for row in expected if row["source"] == source]
        assert (told["documents"], told["text_bytes"]) == (len(own), sum(map(bytes_of, own)))
    for shard in manifest["shards"]:
        assert shard["rows"] >= 0 and shard["batches"] >= 1
    assert leftovers(made) == []


@pytest.mark.parametrize("name", ["all", "exact"])
@pytest.mark.slow
def test_partitions_and_tasks_do_not_matter(
    inputs: dict[str, list[tuple[str, str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    one = build(tmp_path / "one", inputs, **CHOICES[name])
    monkeypatch.setattr(rounds, "CLAIMS_PER_PARTITION", 16)
    monkeypatch.setattr(facts, "ROWS_PER_BATCH", 7)
    assert rounds.partition_count(rules.make(ChoiceConfig(), Path(), tasks=1, wiki_tasks=0)[0], 1 << 20) > 10
    assert digests(build(tmp_path / "many", inputs, **CHOICES[name])) == digests(one)
    whole = build(tmp_path / "whole", inputs, task_bytes=1 << 30, **CHOICES[name])
    assert read_rows(whole) == read_rows(one), "the size of a task changes files, not what is chosen"


@pytest.mark.slow
def test_what_is_dropped_is_listed_with_what_stays(inputs: dict[str, list[tuple[str, str]]], tmp_path: Path) -> None:
    made = build(tmp_path / "out", inputs, dedup_paragraphs=True, sample_documents=40)
    manifest = read_manifest(made)
    listed = [json.loads(line) for file in manifest["drops"] for line in (made / file["name"]).read_text().splitlines()]
    dropped = [stage["dropped"] for stage in manifest["counts"]]
    for reason in ("repeated id", "duplicate", "duplicate paragraphs"):
        assert sum(entry["reason"] == reason for entry in listed) == sum(stage.get(reason, 0) for stage in dropped) > 0
        assert all(entry["detail"].startswith("of ") for entry in listed if entry["reason"] == reason)
    assert sum(stage.get("sample", 0) for stage in dropped) > 0
    assert not any(entry["reason"] == "sample" for entry in listed)
    repeated = [entry for entry in listed if entry["reason"] == "repeated id"]
    assert all(entry["detail"] == f"of {entry['id']}" for entry in repeated)
    assert all(file["rows"] for file in manifest["drops"])
    assert sum(told["removed_paragraphs"] for told in manifest["sources"].values()) > 0


@pytest.mark.slow
def test_the_mixture_is_met_with_as_much_text_as_there_is(inputs: dict[str, list[tuple[str, str]]], tmp_path: Path) -> None:
    made = read_manifest(build(tmp_path / "out", inputs, mix="wikipedia=0.5,books=0.25,text=0.25"))
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "sampled down to these shares" in card and f"| books | {made['sources']['books']['documents']} |" in card
    full = read_manifest(build(tmp_path / "full", inputs))["sources"]
    largest = max(2000, 0.02 * sum(told["text_bytes"] for told in made["sources"].values()))
    for source, share in {"wikipedia": 0.5, "books": 0.25, "text": 0.25}.items():
        assert made["sources"][source]["share"] == pytest.approx(share, abs=0.03)
        assert made["sources"][source]["text_bytes"] <= full[source]["text_bytes"]
    assert any(full[source]["text_bytes"] - told["text_bytes"] < largest for source, told in made["sources"].items())


@pytest.mark.slow
def test_a_sample_holds_the_smaller_one(inputs: dict[str, list[tuple[str, str]]], tmp_path: Path) -> None:
    small, large = (read_rows(build(tmp_path / str(n), inputs, sample_documents=n)) for n in (10, 20))
    assert (len(small), len(large)) == (10, 20)
    assert all(row in large for row in small)
    assert read_rows(build(tmp_path / "seed", inputs, sample_documents=10, seed=1)) != small


def test_empty_shards_are_read_by_datasets(
    inputs: dict[str, list[tuple[str, str]]], tmp_path: Path, run: Run
) -> None:
    datasets = pytest.importorskip("datasets")
    texts = [item for _, path in inputs["text"] for item in ("--text", path)]
    options = ("--sample-documents", 1, "--task-bytes", 1 << 16, "--workers", 1)
    books = [item for _, path in inputs["books"] for item in ("--books", path)]
    run("build-corpus", *texts, *books, *options, "--output", tmp_path / "out")
    made = read_manifest(tmp_path / "out")
    assert [shard["rows"] for shard in made["shards"]].count(0) >= 1
    found = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(found) == 1


@pytest.mark.slow
def test_a_trial_reads_no_more_than_it_has(inputs: dict[str, list[tuple[str, str]]], tmp_path: Path) -> None:
    made = read_manifest(build(tmp_path / "out", inputs, max_documents=20, dedup="none"))
    assert sum(stage["in"] for stage in made["counts"]) == 20, "no record beyond is read"
    assert 15 < made["rows"] <= 20
    assert not any("sha256" in entry for entry in made["inputs"])
    two = read_manifest(build(tmp_path / "two", inputs, max_documents=2, dedup="none"))
    assert len(two["shards"]) == two["rows"] == 2
    assert read_rows(tmp_path / "two")[0] != read_rows(tmp_path / "two")[1]


def test_without_rules_there_is_nothing_beside_the_shards(inputs: dict[str, list[tuple[str, str]]], tmp_path: Path) -> None:
    config = CorpusConfig(choice=ChoiceConfig(dedup="none"))
    labels: list[str] = []

    class Labels:
        def __or__(self, step: Step) -> Labels:
            labels.append(step.label)
            return self

    BuildCorpus(plan(config, {"text": inputs["text"]}), config, tmp_path).expand(Labels())
    assert labels == ["Tasks", "Extract", "Commit"]


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"mix": "wikipedia=1"}, "and no others: wikipedia, books, text"),
        ({"mix": "wikipedia=1,books=1,text=0"}, "a share over 0"),
        ({"mix": "wikipedia"}, "a share over 0"),
        ({"mix": "books=1,books=2"}, "each source once"),
        ({"dedup": "fuzzy"}, "none, exact, near"),
        ({"near_threshold": 0.5}, "without `dedup` near"),
        ({"dedup": "near", "near_threshold": 0.1}, "between 0.3 and 1"),
        ({"sample_documents": -1}, "at least 1"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    inputs: dict[str, list[tuple[str, str]]], tmp_path: Path, choice: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        plan(CorpusConfig(choice=ChoiceConfig(**choice)), inputs)


def test_a_source_without_text_cannot_be_mixed(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "One sentence of a text. And another one."}\n')
    (tmp_path / "b.txt").write_text("One sentence of a text. And another one.\n")
    files = {"text": [("a.jsonl", str(tmp_path / "a.jsonl"))], "books": [("b.txt", str(tmp_path / "b.txt"))]}
    with pytest.raises(UsageError, match="asks for text, and no document of it is left"):
        build(tmp_path / "out", files, mix="books=1,text=1")


@pytest.mark.slow
def test_same_bytes_at_two_workers_and_in_any_order(run: Run, inputs: dict[str, list[tuple[str, str]]], tmp_path: Path) -> None:
    given = [(kind, path) for kind, files in inputs.items() for _, path in files]
    options = ["--dedup-paragraphs", "--mix", "wikipedia=1,books=1,text=2", "--sample-documents", 60, "--task-bytes", 1 << 16]
    for workers, files in ((1, given), (2, given[::-1])):
        arguments = [item for kind, path in files for item in (f"--{kind}", path)]
        run("build-corpus", *arguments, *options, "--output", tmp_path / str(workers), "--workers", workers)
    assert digests(tmp_path / "1") == digests(tmp_path / "2")
    assert leftovers(tmp_path / "2") == []


def test_sigkill_while_shards_are_rewritten(run: Run, text: Path, tmp_path: Path) -> None:
    lines = text.read_text(encoding="utf-8").splitlines(keepends=True)
    doubled = tmp_path / "doubled.jsonl"
    doubled.write_text("".join([*lines, *lines[::-1], *lines]), encoding="utf-8")
    arguments = ["build-corpus", "--text", doubled, "--task-bytes", 1 << 16, "--workers", 1]
    run(*arguments, "--output", tmp_path / "whole")
    assert read_manifest(tmp_path / "whole")["counts"][0]["dropped"] == {"duplicate": 800}
    output = tmp_path / "out"
    kill_in_mid_run(output, "choose", 2, *arguments, "--output", output)
    assert not (output / "manifest.json").exists(), "killed too late to prove anything"
    extracted = {path: path.stat().st_ino for path in (build_of(output) / "data").iterdir()}
    assert sum(path.stat().st_size for path in extracted) > 2.5 * text.stat().st_size, "what is replaced is still there"
    done = {path: path.stat().st_ino for path in (build_of(output) / STATE / "work" / "chosen" / "data").glob("train-*")}
    assert done
    (output / "rewritten").mkdir()
    for number, path in enumerate(done):
        (output / "rewritten" / str(number)).hardlink_to(path)  # so that its number is not given to another file
    linked = sorted(path.stat().st_ino for path in (output / "rewritten").iterdir())
    shutil.move(output / "rewritten", tmp_path / "rewritten")
    run(*arguments, "--output", output)
    assert digests(output) == digests(tmp_path / "whole")
    assert leftovers(output) == []
    assert {*linked} <= {path.stat().st_ino for path in (output / "data").iterdir()}, "what was rewritten is kept"


@pytest.mark.slow
def test_an_interrupted_round_is_done_again(
    inputs: dict[str, list[tuple[str, str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run ends in each step of a round in turn, each time taken up where the last one has left it."""
    choice, output = {"dedup_paragraphs": True, "sample_documents": 50}, tmp_path / "out"
    for broken in (rounds.PutClaims, rounds.Decide, rounds.KeepLosses, Rewrite):
        calls, original = [0], broken.__call__

        def fail(self: Any, *given: Any, calls: list[int] = calls, original: Any = original, **named: Any) -> Any:
            calls[0] += 1
            if calls[0] == 4:
                raise TooManyRejectsError("stop")
            return original(self, *given, **named)

        with monkeypatch.context() as patch, pytest.raises(TooManyRejectsError):
            patch.setattr(broken, "__call__", fail)
            build(output, inputs, **choice)
    assert digests(build(output, inputs, **choice)) == digests(build(tmp_path / "whole", inputs, **choice))


@pytest.mark.slow
def test_shards_that_a_killed_commit_has_moved_are_extracted_again(
    inputs: dict[str, list[tuple[str, str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They no longer match the records of their tasks. The shards of all other tasks are kept."""
    choice, output = {"dedup_paragraphs": True, "sample_documents": 50}, tmp_path / "out"
    moved: list[int] = []

    def killed(path: Path, target: Path) -> None:
        if len(moved) == 2:
            raise TooManyRejectsError("killed")
        move(path, target)
        moved.append(int(target.name[len("train-") :][:5]))

    with monkeypatch.context() as patch, pytest.raises(TooManyRejectsError, match="killed"):
        patch.setattr(rewrite, "move", killed)
        build(output, inputs, **choice)
    seen: list[TaskProgress] = []
    build(output, inputs, run=partial(local.run, report=seen.append), **choice)
    for step in ("extract", "choose"):
        assert [progress.task for progress in seen if progress.step == step and progress.done] == moved
    assert digests(output) == digests(build(tmp_path / "whole", inputs, **choice))


def test_what_is_lost_twice_is_lost_once(tmp_path: Path) -> None:
    """Two bands may find two earlier copies: the first of them is named, and the document counted once."""
    rows = [(5, 1, 9, b"b"), (5, 0, 3, b"a"), (2, 1, 1, b"c")]
    tables = []
    for own in (rows[:1], rows[1:]):
        lost = np.zeros(len(own), LOST)
        for at, (row, task, first, _) in enumerate(own):
            lost[at] = row, WHOLE_DOCUMENT, 0, b"near-duplicate", task, first
        tables.append(Table(lost, pa.array([id for *_, id in own], pa.large_binary())))
    write_kept(tmp_path, "near", 7, merged(tables, LOST))
    found = Losses(tmp_path, 7, ("near",)).table
    assert found.columns["row"].tolist() == [2, 5] and found.payload.to_pylist() == [b"c", b"a"]
    (path,) = (tmp_path / STATE / "work").iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(VerificationError, match="missing or damaged: run the same command again"):
        read_kept(tmp_path, "near", 7, LOST)


@pytest.mark.slow
def test_every_rule_drops_the_same_through_the_groupbykey_of_beam(
    inputs: dict[str, list[tuple[str, str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With several partitions, and with each bundle done twice."""
    monkeypatch.setattr(rounds, "CLAIMS_PER_PARTITION", 64)
    choice: dict[str, Any] = {
        "dedup": "near",
        "dedup_paragraphs": True,
        "mix": "wikipedia=1,books=1,text=2",
        "sample_documents": 40,
    }
    choice |= {"max_words": "1500"}
    here = build(tmp_path / "here", inputs, **choice)
    by_beam = partial(engine.run, beam_args=("--runner=FnApiRunner", "--direct_runner_bundle_repeat=1"))
    with monkeypatch.context() as patched:
        patched.delattr(FileShuffle, "write")
        there = build(tmp_path / "there", inputs, run=by_beam, **choice)
    assert digests(here) == digests(there)
    dropped = {reason for stage in read_manifest(here)["counts"] for reason in stage["dropped"]}
    assert {"duplicate", "mixture", "words"} <= dropped
