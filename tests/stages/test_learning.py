"""A run learns templates from the dump's own template pages: the same ones at any number of workers, and after a kill."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from conftest import STEPS, Run, digests, read_manifest, read_rows, records
from processes import start
from template_dump import WIKIS, write_dump

from bertdata import build_corpus, trace
from bertdata.config import CorpusConfig
from bertdata.records import FileRange
from bertdata.stages import learning
from bertdata.stages.learning import learn


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("language", WIKIS)
def test_templates_are_learned_in_any_language(tmp_path: Path, language: str, indexed: bool) -> None:
    path = write_dump(tmp_path, language, indexed=indexed)
    (learned,) = learn([FileRange(path.name, str(path), 0, path.stat().st_size)], CorpusConfig())
    assert set(learned.bodies) == {"ewz test", "zahl test", "alt", "neu"}, "a note on a line of its own is not prose"
    assert learned.unknown == {"lua test": "needs Lua"}
    assert learned.revisions["neu"][0] == "2026-01-01T00:00:00Z"


def test_a_run_writes_learned_words_and_names_them_in_its_manifest(tmp_path: Path, run: Run) -> None:
    path = write_dump(tmp_path, "de")
    arguments = ["build-corpus", "--wikipedia", path, "--output"]
    run(*arguments, tmp_path / "one", "--workers", 1)
    run(*arguments, tmp_path / "two", "--workers", 2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    sentence = "Die Stadt ist mit rund 3.755.251 Einwohnern und xxyy groß."
    assert all(sentence in row["sentences"] for row in read_rows(tmp_path / "one"))
    manifest = read_manifest(tmp_path / "one")
    (learned,) = manifest["learned_templates"]
    assert (learned["wiki"], learned["unknown"]) == ("dewiki", {"lua test": "needs Lua"})
    assert set(learned["templates"]) == {"ewz test", "zahl test", "alt", "neu"}
    assert dict(manifest["dropped_templates"]["most_frequent"]) == {"lua test": 40, "hinweis test": 40}
    assert "nothing to do" in run(*arguments, tmp_path / "one").stdout


@pytest.mark.slow
def test_beam_workers_use_learned_templates(tmp_path: Path, run: Run) -> None:
    path = write_dump(tmp_path, "de", articles=800)
    arguments = ["build-corpus", "--wikipedia", path, "--task-bytes", 1 << 16, "--output"]
    run(*arguments, tmp_path / "local", "--workers", 1)
    run(*arguments, tmp_path / "beam", "--", "--runner=FnApiRunner", "--direct_num_workers=2")
    assert len(read_manifest(tmp_path / "beam")["shards"]) > 1
    assert digests(tmp_path / "beam") == digests(tmp_path / "local")
    assert all("3.755.251" in row["sentences"][0] for row in read_rows(tmp_path / "beam"))


@pytest.mark.parametrize("indexed", [False, True])
def test_a_trace_uses_the_templates_that_its_run_learned(tmp_path: Path, indexed: bool) -> None:
    path = write_dump(tmp_path, "de", indexed=indexed)
    build_corpus(wikipedia=path, output=tmp_path / "out", workers=1)
    traced = trace(tmp_path / "out", "A3", wikipedia=path)
    shown = [change.after for step in traced.steps if step.name == "templates" for change in step.changes]
    assert any("3.755.251</span> Einwohnern und xxyy" in text for text in shown)
    assert traced.lost == [("hinweis test", 1), ("lua test", 1)]


def test_a_trace_says_which_learned_templates_have_changed(tmp_path: Path) -> None:
    path = write_dump(tmp_path, "de")
    build_corpus(wikipedia=path, output=tmp_path / "out", workers=1)
    path.write_text(path.read_text(encoding="utf-8").replace("3.755.251", "3.755.252"), encoding="utf-8")
    traced = trace(tmp_path / "out", "A3", wikipedia=path)
    assert "1 of 4 learned templates are not in these dumps: the steps lack their words" in traced.fate
    assert ("ewz test", 1) in traced.lost


def test_a_large_dump_without_an_index_says_that_it_learns_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_MAX_UNINDEXED", 1000)
    path = write_dump(tmp_path, "de")
    (learned,) = learn([FileRange(path.name, str(path), 0, path.stat().st_size)], CorpusConfig())
    assert not learned.bodies and "no templates learned: a dump of more than 16 MB needs its multistream index" in learned.summary
    made = build_corpus(wikipedia=path, output=tmp_path / "out", workers=1)
    assert made.manifest.learned_templates == ()


def test_no_learn_templates_learns_nothing(tmp_path: Path, run: Run) -> None:
    path = write_dump(tmp_path, "de")
    run("build-corpus", "--wikipedia", path, "--no-learn-templates", "--output", tmp_path / "out", "--workers", 1)
    assert "learned_templates" not in read_manifest(tmp_path / "out")
    assert "rund Einwohnern" in read_rows(tmp_path / "out")[0]["sentences"][0]


def test_what_was_learned_is_part_of_a_runs_identity(tmp_path: Path, run: Run) -> None:
    path = write_dump(tmp_path, "de")
    run("build-corpus", "--wikipedia", path, "--output", tmp_path / "out", "--workers", 1)
    known = json.loads((tmp_path / "out" / ".bertdata" / "run.json").read_text(encoding="utf-8"))
    assert list(known["learned"]) == ["dewiki"]


def test_the_dry_run_names_what_is_learned(tmp_path: Path, run: Run) -> None:
    path = write_dump(tmp_path, "de")
    shown = run("build-corpus", "--wikipedia", path, "--output", tmp_path / "out", "--dry-run").stdout
    assert "dewiki: 4 templates learned from the dump; not learned: 1 needs Lua" in shown


def test_a_killed_run_resumes_to_the_same_bytes(tmp_path: Path, run: Run) -> None:
    path = write_dump(tmp_path, "de", articles=3000)
    arguments = ["build-corpus", "--wikipedia", path, "--task-bytes", 1 << 16, "--workers", 1, "--output"]
    run(*arguments, tmp_path / "whole")
    process = start(*arguments, tmp_path / "out")
    while len(records(tmp_path / "out", STEPS["build-corpus"])) < 1:
        assert process.poll() is None
    process.kill()
    assert process.wait() == -signal.SIGKILL
    run(*arguments, tmp_path / "out")
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")
