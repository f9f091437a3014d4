"""`bertdata inspect` finds documents and rows by language, title, id and words."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run
from rich.cells import cell_len

from bertdata.cli import cli
from bertdata.cli.inspect import _print
from bertdata.errors import UsageError
from bertdata.records import Document
from bertdata.reports.examples import document_lines


def inspect(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    cli.main(["inspect", *map(str, arguments)], standalone_mode=False)
    return capsys.readouterr().out


def test_documents_are_found(sample_corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = inspect(capsys, sample_corpus, "--language", "zh", "--search", "茶", "--n", 50)
    assert "samplezhwiki:107" in told
    assert "sampleenwiki" not in told
    assert "River Ellyn" in inspect(capsys, sample_corpus, "--title", "river ell")
    assert inspect(capsys, sample_corpus, "--id", "sampleenwiki:107").startswith("sampleenwiki:107  River Ellyn")
    assert inspect(capsys, sample_corpus, "--search", "COLD MOSS", "--n", 1).count("paragraphs") == 1
    with pytest.raises(UsageError, match="nothing with --title no such title"):
        inspect(capsys, sample_corpus, "--title", "no such title")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["--id", "sampelenwiki:12"], "with --id sampelenwiki:12: ids here look like sampleenwiki:"),
        (["--language", "chinese"], "use zh. The corpus has en, zh"),
        (["--language", "zzz"], "The corpus has en, zh"),
        (["--explain", "river elyn"], "Find titles with: bertdata inspect .* --title WORDS"),
    ],
)
def test_a_name_without_a_match_is_followed_by_examples(
    sample_corpus: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], meant: str
) -> None:
    with pytest.raises(UsageError, match=meant):
        inspect(capsys, sample_corpus, *arguments)


def test_a_row_is_shown_alone(sample_corpus: Path, sample_pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row that is named comes without the counts of its dataset."""
    assert inspect(capsys, sample_pairs, "--row", 3).startswith("row 3  ")
    assert "made by bertdata" in inspect(capsys, sample_pairs, "--n", 1)
    assert "made by bertdata" not in inspect(capsys, sample_corpus, "--row", 3)


def test_rows_are_found(sample_pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = inspect(capsys, sample_pairs, "--search", "cold moss", "--n", 3)
    assert "cold moss" in " ".join(told.split())
    told = inspect(capsys, sample_pairs, "--id", "sampleenwiki:107", "--n", 3)
    assert told.count("[sampleenwiki:107]") >= 3
    with pytest.raises(UsageError, match="--language: .* rows, which have no language"):
        inspect(capsys, sample_pairs, "--language", "zh")


def test_text_without_spaces_fills_its_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of Chinese goes on beside its name, is as wide as the terminal, and none begins with a mark that closes."""
    monkeypatch.setenv("COLUMNS", "40")
    text = "他们说，这条河很长。" * 6 + " tea and " + "x" * 30
    _print([(2, f"A: {text}")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("  A: 他们") and all(line.startswith("  ") for line in lines)
    widths = [cell_len(line) for line in lines]
    assert max(widths) <= 40 and min(widths[:3]) >= 36
    assert not any(line.strip()[0] in "，。" for line in lines)
    assert "".join("".join(lines).split()) == "A:" + "".join(text.split())


def document(sentences: int, hits: set[int]) -> Document:
    texts = [f"A Ferry crosses at {number}." if number in hits else f"Nothing at {number}." for number in range(sentences)]
    return Document("a", "text", "en", "A", "", texts, [0])


def numbers(lines: list[str]) -> list[str]:
    """The numbers of the sentences that are shown, and the marks of those that are not."""
    return [line.removeprefix("¶ ").split()[0] for line in (line.strip() for line in lines[1:])]


def test_search_shows_the_sentences_with_the_text_and_their_neighbours() -> None:
    shown = [line for _, line in document_lines(document(60, {20, 21, 40}), search="ferry")]
    assert numbers(shown) == ["…", "19", "20", "21", "22", "…", "39", "40", "41", "…"]
    assert shown[-1].split() == ["…", "18", "more", "sentences"]
    assert numbers([line for _, line in document_lines(document(3, {0, 2}), search="FERRY")]) == ["0", "1", "2"]


def test_search_shows_the_first_of_many_hits() -> None:
    shown = [line for _, line in document_lines(document(60, set(range(60))), most=5, search="ferry")]
    assert numbers(shown)[:-1] == [str(number) for number in range(6)]
    assert shown[-1].strip() == "… 55 more sentences with 'ferry'"


def test_search_highlights_the_text_on_a_terminal(run: Run, sample_corpus: Path, sample_pairs: Path) -> None:
    """Colours reach the terminal, also those of masks: what cleans output of control characters leaves them."""
    for path, word in ((sample_corpus, "River"), (sample_pairs, "river")):
        shown = run("inspect", path, "--search", "rivER", "--n", 1, FORCE_COLOR="1", COLUMNS="400").stdout
        assert f"\x1b[1;7m{word}\x1b[0m" in shown and "\ufffd" not in shown
        assert ("\x1b[1;36m[MASK]\x1b[0m" in shown) == (path == sample_pairs)
