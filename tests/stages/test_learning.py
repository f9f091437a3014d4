"""A run learns templates from the dump's own template pages: the same ones for any division, workers and engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import digests, read_manifest, read_rows
from template_dump import WIKIS, write_dump

from bertdata import build_corpus, trace
from bertdata.stages import learning
from bertdata.stages.corpus.job import CorpusJob

LEARNED = {"volk test", "zahl test", "alt", "neu"}
SENTENCE = "Die Stadt ist mit rund 3.755.251 Einwohnern und xxyy groß."


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("language", WIKIS)
def test_templates_are_learned_in_any_language(tmp_path: Path, language: str, indexed: bool) -> None:
    corpus = build_corpus(wikipedia=write_dump(tmp_path, language, indexed=indexed), output=tmp_path / "out", workers=1)
    (learned,) = corpus.manifest.learned_templates
    assert (learned.wiki, learned.unknown) == (f"{language}wiki", {"lua test": "needs Lua"})
    assert {*learned.templates} == LEARNED, "a note on a line of its own is not prose"
    assert learned.templates["neu"].revised == "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump that is cut into several tasks, the last of which has the templates."""
    return write_dump(tmp_path_factory.mktemp("dump"), "de", articles=800)


@pytest.fixture(scope="module")
def whole(dump: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_corpus(wikipedia=dump, output=tmp_path_factory.mktemp("whole") / "out", workers=1, task_bytes=1 << 16).path


def test_a_page_has_the_words_of_templates_from_other_tasks(whole: Path, dump: Path, tmp_path: Path) -> None:
    assert all(SENTENCE in row["sentences"] for row in read_rows(whole))
    manifest = read_manifest(whole)
    assert len(manifest["shards"]) > 1
    assert dict(manifest["dropped_templates"]["most_frequent"]) == {"lua test": 800, "hinweis test": 800}
    assert manifest["dropped_templates"]["calls"] == 1600
    one = build_corpus(wikipedia=dump, output=tmp_path / "out", workers=1, task_bytes=1 << 30)
    assert read_rows(one.path) == read_rows(whole)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"workers": 2}, {"beam_args": ("--runner=FnApiRunner",)}], ids=str)
def test_two_workers_and_beam_learn_the_same(whole: Path, dump: Path, tmp_path: Path, how: dict[str, Any]) -> None:
    build_corpus(wikipedia=dump, output=tmp_path / "out", task_bytes=1 << 16, **how)
    assert digests(tmp_path / "out") == digests(whole)


@pytest.mark.parametrize("place", ["collect", "learn", "extract"])
def test_an_interrupted_run_learns_the_same(
    whole: Path, dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    original, calls = getattr(CorpusJob, place), [0]

    def fail(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] > (place != "learn"):
            raise KeyboardInterrupt
        return original(*given)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(CorpusJob, place, fail)
        build_corpus(wikipedia=dump, output=tmp_path / "out", workers=1, task_bytes=1 << 16)
    build_corpus(wikipedia=dump, output=tmp_path / "out", workers=1, task_bytes=1 << 16)
    assert digests(tmp_path / "out") == digests(whole)


def test_a_trial_of_a_large_dump_and_an_option_learn_nothing(dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_MAX_TRIAL_BYTES", 1000)
    for name, options in {"trial": {"max_documents": 3}, "option": {"learn_templates": False}}.items():
        corpus = build_corpus(wikipedia=dump, output=tmp_path / name, workers=1, **options)
        assert not corpus.manifest.learned_templates
        assert "rund Einwohnern" in read_rows(corpus.path)[0]["sentences"][0]


def test_a_trace_uses_the_templates_that_its_run_learned(tmp_path: Path) -> None:
    path = write_dump(tmp_path, "de")
    build_corpus(wikipedia=path, output=tmp_path / "out", workers=1)
    traced = trace(tmp_path / "out", "A3", wikipedia=path)
    shown = [change.after for step in traced.steps if step.name == "templates" for change in step.changes]
    assert any("3.755.251</span> Einwohnern und xxyy" in text for text in shown)
    path.write_text(path.read_text(encoding="utf-8").replace("3.755.251", "3.755.252"), encoding="utf-8")
    traced = trace(tmp_path / "out", "A3", wikipedia=path)
    assert "1 of 4 learned templates are not in these dumps: the steps lack their words" in traced.fate
