"""`bertdata inspect` finds documents and rows by language, title, id and words."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from bertdata.cli import cli
from bertdata.cli.inspect import _print
from bertdata.errors import UsageError


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
        (["--title", "River Elyn"], "with --title River Elyn: did you mean 'River Ellyn'"),
        (["--id", "sampelenwiki:12"], "with --id sampelenwiki:12: ids here look like sampleenwiki:"),  # all ids are like a number
        (["--id", "samplenwiki:x"], "did you mean 'sampleenwiki:"),
        (["--language", "chinese"], "use zh; there are en, zh"),
        (["--language", "zzz"], "there are en, zh"),
        (["--explain", "river elyn"], "did you mean 'River Ellyn'"),
        (["--explain", "sampleenwiki:99"], "known in [^:]*$"),
    ],
)
def test_what_is_like_a_name_is_told(
    sample_corpus: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], meant: str
) -> None:
    with pytest.raises(UsageError, match=meant):
        inspect(capsys, sample_corpus, *arguments)


def test_a_row_is_shown_alone(sample_corpus: Path, sample_pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row that is named comes without the counts of its data set."""
    assert inspect(capsys, sample_pairs, "--row", 3).startswith("row 3  ")
    assert "made by bertdata" in inspect(capsys, sample_pairs, "--n", 1)
    assert "made by bertdata" not in inspect(capsys, sample_corpus, "--row", 3)


def test_rows_are_found(sample_pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = inspect(capsys, sample_pairs, "--search", "cold moss", "--n", 3)
    assert "cold moss" in " ".join(told.split())
    told = inspect(capsys, sample_pairs, "--id", "sampleenwiki:107", "--n", 3)
    assert told.count("[sampleenwiki:107]") >= 3
    with pytest.raises(UsageError, match="--language: .* rows, which do not tell it"):
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
