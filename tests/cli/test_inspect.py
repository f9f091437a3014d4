"""`bertdata inspect` finds documents and rows, explains drops, and refuses options that it would ignore."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import call
from conftest import Build, Run
from rich.cells import cell_len

from bertdata.cli.inspect import _print
from bertdata.records import Document
from bertdata.reports.examples import document_lines


def test_documents_pairs_and_vocabularies_are_shown(sample_corpus: Path, sample_vocab: Path, sample_pairs: Path) -> None:
    documents = call("inspect", sample_corpus, "--n", 2).out
    assert "¶   0" in documents and "sampleenwiki:" in documents
    assert {"max-page-bytes 16777216", "dedup exact"} <= {" ".join(line.split()) for line in documents.splitlines()}, "one a line"
    pairs = call("inspect", sample_pairs, "--n", 8).out
    for word in ("IsNext (0)", "token_type_ids: 0 x", "masked (epoch 0):", "[MASK]", "to predict", "NotNext"):
        assert word in pairs
    one = call("inspect", sample_pairs, "--row", 7).out
    assert one.startswith("row 7  ") and one == call("inspect", sample_pairs, "--row", 7).out
    assert one != call("inspect", sample_pairs, "--row", 7, "--epoch", 1).out
    assert "[CLS]" in call("inspect", sample_vocab).out
    assert "contains a vocabulary. Pass a corpus or rows" in call("inspect", sample_vocab, "--row", 4).err


def test_documents_are_found(sample_corpus: Path) -> None:
    found = call("inspect", sample_corpus, "--language", "zh", "--search", "茶", "--n", 50).out
    assert "samplezhwiki:107" in found and "sampleenwiki" not in found
    assert "River Ellyn" in call("inspect", sample_corpus, "--title", "river ell").out
    assert call("inspect", sample_corpus, "--id", "sampleenwiki:107").out.startswith("sampleenwiki:107  River Ellyn")
    assert call("inspect", sample_corpus, "--search", "COLD MOSS", "--n", 1).out.count("paragraph") == 1


def test_rows_are_found(sample_pairs: Path) -> None:
    assert "cold moss" in " ".join(call("inspect", sample_pairs, "--search", "cold moss", "--n", 3).out.split())
    assert call("inspect", sample_pairs, "--id", "sampleenwiki:107", "--n", 3).out.count("[sampleenwiki:107]") >= 3


def test_json_has_an_object_for_each_example(sample_corpus: Path) -> None:
    lines = [json.loads(line) for line in call("inspect", sample_corpus, "--json", "--id", "sampleenwiki:107").out.splitlines()]
    assert [line["id"] for line in lines] == ["sampleenwiki:107"]
    lines = [json.loads(line) for line in call("inspect", sample_corpus, "--json", "--n", 3, "--longest").out.splitlines()]
    lengths = [sum(map(len, line["sentences"])) for line in lines]
    assert len(lengths) == 3 and lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--row", "99999"], "has rows 0 to"),
        (["--row", "0", "--id", "sampleenwiki:107"], "--row and --id cannot be combined"),
        (["--row", "0", "--id", "nope", "--json"], "--row and --id cannot be combined"),
        (["--epoch", "1"], "has no rows"),
        (["--row", "0", "--random"], "--row and --random cannot be combined"),
        (["--explain", "x", "--title", "x"], "--explain and --title cannot be combined"),
        (["--explain", "River Ellyn", "--json"], "--explain and --json cannot be combined"),
        (["--reason", "redirect", "--language", "zh"], "--reason and --language cannot be combined"),
        (["--json", "--id", "nope"], "nothing with --id nope: ids here look like sampleenwiki:107 and sampleenwiki:"),
        (["--title", "no such title"], "nothing with --title no such title"),
        (["--id", "sampelenwiki:12"], "with --id sampelenwiki:12: ids here look like sampleenwiki:"),
        (["--language", "chinese"], "Use zh. The corpus has en, zh"),
        (["--explain", "river elyn"], "Find titles with: bertdata inspect"),
        (["--reason", "noise"], "no record has this reason"),
    ],
)
def test_what_is_not_there_or_would_be_ignored_is_an_error(sample_corpus: Path, arguments: list[str], says: str) -> None:
    done = call("inspect", sample_corpus, *arguments)
    assert done.code == 2 and says in done.err


def test_options_for_corpora_are_refused_for_rows(sample_pairs: Path) -> None:
    assert "rows, which have no language" in call("inspect", sample_pairs, "--language", "zh").err
    assert "pass the corpus" in call("inspect", sample_pairs, "--explain", "x").err


def test_explain_finds_documents_and_drops_by_id(build: Build, tmp_path: Path) -> None:
    table = tmp_path / "notes.jsonl"
    rows = [{"id": f"a:{n}", "title": f"Note {n}", "text": f"Note {n}. The kettle sang."} for n in range(23)]
    rows.append({"id": "short", "title": "Tea", "text": "Tea."})
    table.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    corpus = build("build-corpus", tmp_path / "corpus", "--text", table, "--id-column", "id", "--min-characters", 10)
    shown = call("inspect", corpus, "--explain", "text:notes.jsonl:a:1").out
    assert shown.startswith("text:notes.jsonl:a:1 is document ") and shown.count("\n") == 1
    assert "text:notes.jsonl:short was dropped: too short" in call("inspect", corpus, "--explain", "text:notes.jsonl:short").out
    done = call("inspect", corpus, "--explain", "short")
    assert done.code == 2 and "Ids look like text:notes.jsonl:a:" in done.err


def test_text_without_spaces_fits_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = "他们说，这条河很长。" * 6 + " tea and " + "x" * 30
    _print([(2, f"A: {text}")])
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("  ") and cell_len(line) <= 40 for line in lines)
    assert "".join("".join(lines).split()) == "A:" + "".join(text.split())


def document(sentences: int, hits: set[int]) -> Document:
    texts = [f"A Ferry crosses at {number}." if number in hits else f"Nothing at {number}." for number in range(sentences)]
    return Document("a", "text", "en", "A", "", texts, [0])


def test_search_shows_the_sentences_with_the_text() -> None:
    shown = [line.strip().removeprefix("¶ ") for _, line in document_lines(document(60, {20, 21, 40}), search="ferry")]
    assert [line.split()[0] for line in shown[1:]] == ["20", "21", "40"]
    shown = [line for _, line in document_lines(document(60, set(range(60))), most=5, search="ferry")]
    assert len(shown) == 7 and shown[-1].strip() == "… 55 more sentences with 'ferry'"


@pytest.mark.slow
def test_search_highlights_the_text_on_a_terminal(run: Run, sample_corpus: Path, sample_pairs: Path) -> None:
    """Colors reach the terminal, also those of masks, although output is cleaned of control characters."""
    for path, word in ((sample_corpus, "River"), (sample_pairs, "river")):
        shown = run("inspect", path, "--search", "rivER", "--n", 1, FORCE_COLOR="1", COLUMNS="400").stdout
        assert f"\x1b[1;7m{word}\x1b[0m" in shown and "\ufffd" not in shown
        assert ("\x1b[1;36m[MASK]\x1b[0m" in shown) == (path == sample_pairs)
