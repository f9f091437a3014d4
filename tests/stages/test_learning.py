"""A run learns templates from the dump's own template pages: the same ones at any number of workers, and after a kill."""

from __future__ import annotations

import bz2
import json
import signal
from html import escape
from pathlib import Path

import pytest
from conftest import STEPS, Run, digests, read_manifest, read_rows, records
from processes import start

from bertdata import build_corpus
from bertdata.config import CorpusConfig
from bertdata.records import FileRange
from bertdata.stages import learning
from bertdata.stages.learning import learn

WIKIS = {
    "de": ("Vorlage", "Die Stadt ist mit rund {{EWZ Test|BE}} Einwohnern und {{Alt}} groß.", "#WEITERLEITUNG [[Vorlage:Neu]]"),
    "ru": ("Шаблон", "Город имеет {{EWZ Test|BE}} жителей и {{Alt}} велик.", "#ПЕРЕНАПРАВЛЕНИЕ [[Шаблон:Neu]]"),
    "ar": ("قالب", "المدينة بها {{EWZ Test|BE}} نسمة و {{Alt}} كبيرة.", "#تحويل [[قالب:Neu]]"),
    "ko": ("틀", "이 도시의 인구는 {{EWZ Test|BE}} 명이고 {{Alt}} 크다.", "#넘겨주기 [[틀:Neu]]"),
}
TEMPLATES = {
    "EWZ Test": "{{#switch:{{{1}}}|BE={{Zahl Test|3.755.251}}|HH=1.892.122}}<noinclude>{{Doc}}</noinclude>",
    "Zahl Test": "<span>{{{1}}}</span>",
    "Neu": "xx{{{1|}}}yy",
    "Lua Test": "{{#invoke:M|f}}",
    "Hinweis Test": "''Dieser Text zeigt einen Hinweis.''",
}


def page(number: int, title: str, text: str, namespace: int = 0) -> str:
    redirect = '<redirect title="x"/>' if text.startswith("#") else ""
    return (
        f"  <page>\n    <title>{title}</title>\n    <ns>{namespace}</ns>\n    <id>{number}</id>{redirect}\n    <revision>"
        f"<id>{number}</id><timestamp>2026-01-01T00:00:00Z</timestamp><model>wikitext</model>"
        f"<text>{escape(text)}</text></revision>\n  </page>\n"
    )


def write_dump(folder: Path, language: str, articles: int = 40, indexed: bool = False) -> Path:
    """Write a dump with articles and template pages; a multistream dump has three pages in a stream and an index."""
    prefix, prose, redirect = WIKIS[language]
    lines = f"{{{{Hinweis Test}}}}\n{prose} Lua gibt {{{{Lua Test}}}} aus."
    pages = [(f"A{n}", f"{lines}\n\nDer Absatz Nummer {n} steht nur hier.", 0) for n in range(articles)]
    pages += [(f"{prefix}:{name}", text, 10) for name, text in [*TEMPLATES.items(), ("Alt", redirect)]]
    head = (
        f'<mediawiki xml:lang="{language}"><siteinfo><dbname>{language}wiki</dbname><base>https://{language}.wikipedia.org/wiki/X</base>'
        f'<namespaces><namespace key="0" /><namespace key="10">{prefix}</namespace></namespaces></siteinfo>\n'
    )
    xml = [page(n, *each) for n, each in enumerate(pages, 1)]
    if not indexed:
        path = folder / f"{language}wiki-pages-articles.xml"
        path.write_text(head + "".join(xml) + "</mediawiki>", encoding="utf-8")
        return path
    path = folder / f"{language}wiki-20260101-pages-articles-multistream.xml.bz2"
    data, index = bz2.compress(head.encode()), []
    for n in range(0, len(xml), 3):
        index += [f"{len(data)}:{n + k + 1}:{title}\n" for k, (title, _, _) in enumerate(pages[n : n + 3])]
        data += bz2.compress("".join(xml[n : n + 3]).encode())
    path.write_bytes(data + bz2.compress(b"</mediawiki>"))
    (folder / f"{language}wiki-20260101-pages-articles-multistream-index.txt").write_text("".join(index), encoding="utf-8")
    return path


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


def test_the_dry_run_and_the_survey_name_what_is_learned(tmp_path: Path, run: Run) -> None:
    path = write_dump(tmp_path, "de")
    shown = run("build-corpus", "--wikipedia", path, "--output", tmp_path / "out", "--dry-run").stdout
    assert "dewiki: 4 templates learned from the dump; not learned: 1 needs Lua" in shown
    shown = run("templates", path).stdout
    assert "ewz test  (learned)" in shown
    assert "lua test  (needs Lua)" in shown


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
