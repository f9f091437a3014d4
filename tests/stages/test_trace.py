"""A trace shows where a document is, what each step of its extraction removed, and its sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SAMPLE, read_rows
from template_dump import page

import bertdata
from bertdata.cli import cli
from bertdata.errors import UsageError

ELLYN = "sampleenwiki:107"


def test_a_page_is_followed_to_its_sentences(sample_corpus: Path) -> None:
    found = bertdata.trace(sample_corpus, "river ellyn", wikipedia=SAMPLE)
    (document,) = [row for row in read_rows(sample_corpus) if row["id"] == ELLYN]
    assert (found.id, found.title, found.language) == (ELLYN, "River Ellyn", "en")
    assert [sentence for paragraph in found.paragraphs for sentence in paragraph] == document["sentences"]
    removed = {step.name: " ".join(change.before for change in step.changes) for step in found.steps}
    assert "<!--" in removed["comments, references and tags"]
    assert "{{Infobox river" in removed["templates"]
    assert "[[File:" in removed["links"]
    assert found.lost == [("rivers of the marrick hills", 1)]


def test_a_name_that_nothing_has_is_an_error(sample_corpus: Path) -> None:
    with pytest.raises(UsageError, match="this id is not in"):
        bertdata.trace(sample_corpus, "sampleenwiki:999999")
    with pytest.raises(UsageError, match="--title WORDS"):
        bertdata.trace(sample_corpus, "River Elyn", wikipedia=SAMPLE)
    with pytest.raises(UsageError, match="no such page"):
        bertdata.trace(sample_corpus, ELLYN, wikipedia=SAMPLE / "samplezhwiki-20261101-pages-articles-multistream.xml.bz2")


@pytest.mark.parametrize("title", ["1984", "Blink:182"])
def test_a_title_of_digits_is_no_id(tmp_path: Path, title: str) -> None:
    """The page is not in the corpus, so only its title can be searched for."""
    head = "<mediawiki xml:lang='en'><siteinfo><dbname>enwiki</dbname><base>https://en.wikipedia.org/wiki/X</base></siteinfo>\n"
    pages = page(1, "Tea", "The kettle sings, and the tea is ready.") + page(2, title, "{{Infobox|name=x}}")
    (dump := tmp_path / "dump.xml").write_text(f"{head}{pages}</mediawiki>", "utf-8")
    corpus = bertdata.build_corpus(wikipedia=dump, output=tmp_path / "corpus", workers=1)
    assert bertdata.trace(corpus.path, title, wikipedia=dump).wikitext == "{{Infobox|name=x}}"


def test_sentences_are_split_as_in_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A paragraph is one sentence to this splitter, so the run drops the paragraph with a formula."""
    (tmp_path / "whole.py").write_text("def split(paragraph, language):\n    return [paragraph]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    head = "<mediawiki xml:lang='en'><siteinfo><dbname>enwiki</dbname><base>https://en.wikipedia.org/wiki/X</base></siteinfo>\n"
    text = "The kettle sings. Its heat is <math>x_B</math> today.\n\nThe tea is ready, and it is green."
    (dump := tmp_path / "dump.xml").write_text(f"{head}{page(1, 'Tea', text)}</mediawiki>", "utf-8")
    options = {"sentence_splitter": "whole:split", "math": "text"}
    corpus = bertdata.build_corpus(wikipedia=dump, output=tmp_path / "corpus", workers=1, **options)
    found = bertdata.trace(corpus.path, "Tea", wikipedia=dump)
    assert found.paragraphs == [["The tea is ready, and it is green."]]
    assert not any("kettle" in change.after for change in found.steps[-1].changes)


def test_the_command_prints_a_trace(sample_corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["trace", str(sample_corpus), ELLYN, "--wikipedia", str(SAMPLE)]
    cli.main(arguments, standalone_mode=False)
    told = capsys.readouterr().out
    assert "templates: " in told
    assert "more sentences" in told
    cli.main([*arguments, "--full"], standalone_mode=False)
    full = capsys.readouterr().out
    assert "wikitext:\n" in full and "\n{{Infobox river" in full and "more sentences" not in full
