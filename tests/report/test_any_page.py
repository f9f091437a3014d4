"""Pages, search and traces of rows whose vocabulary is not BERT's."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build

import bertdata
from bertdata.cli import cli
from bertdata.report.page.tokens import marked
from bertdata.report.page.trace import write_trace

ELLYN = "sampleenwiki:107"


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_rows_are_told_of(
    build: Build, sample_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    vocab = build("train-vocab", tmp_path / "vocab", sample_corpus, "--model", model, "--size", 900)
    pairs = build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", vocab, "--provenance")
    for made in (vocab, pairs):
        page = (made / "report.html").read_text(encoding="utf-8")
        assert "could not be made" not in page
    assert "<mark>" in page
    cli.main(["inspect", str(pairs), "--search", "Cold Moss", "--n", "2"], standalone_mode=False)
    assert "Cold Moss" in " ".join(capsys.readouterr().out.split())
    found = bertdata.trace(sample_corpus, "sampleenwiki:107", pairs=pairs)
    assert found.rows and all(ELLYN in (row.columns["a_document"], row.columns["b_document"]) for row in found.rows)
    write_trace(found, tmp_path / "page.html", pairs)
    assert "<mark>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_bytes_of_a_character_are_read_together() -> None:
    told = marked(["Ġtea", "s", "è", "Į", "¶", "Ġcup"], {4: "[MASK]", 5: "kept"}, "Ġ")
    assert str(told) == ' teas<mark><bdi>茶</bdi></mark> <mark class="kept"><bdi>cup</bdi></mark>'.strip()
