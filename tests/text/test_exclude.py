"""Documents that share a run of words with an evaluation set are found, all of them and no others, and dropped."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import Build, digests, read_manifest, read_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.cli import cli
from bertdata.config import CorpusConfig
from bertdata.errors import ResumeError, UsageError
from bertdata.stages.corpus import filtering
from bertdata.text.filters import Grams, overlap, read_examples

EXAMPLE = "Nobody in the lower harbour had seen the grey ferry since the night of the great flood."


def words(text: str) -> list[str]:
    """Split a text as the module says, one character at a time."""
    found, word = [], ""
    for character in unicodedata.normalize("NFC", text):
        folded = unicodedata.normalize("NFKC", character).lower()
        character = folded if len(folded) == 1 else character
        inside = unicodedata.category(character)[0] in "LMN"
        alone = inside and any(first <= ord(character) < end for first, end in overlap._SINGLE)
        if inside and not alone:
            word += character
            continue
        found += [word] if word else []
        found += [character] if alone else []
        word = ""
    return found + ([word] if word else [])


def runs(text: str) -> set[tuple[str, ...]]:
    """List the runs of a text: 13 words, or 26 where half or more are characters by themselves."""
    split = words(text)
    found = set()
    for size in (13, 26):
        for start in range(len(split) - size + 1):
            run = tuple(split[start : start + size])
            alone = sum(len(word) == 1 and any(a <= ord(word) < b for a, b in overlap._SINGLE) for word in run)
            if (2 * alone >= size) == (size == 26):
                found.add(run)
    return found


def test_thirteen_words_by_hand() -> None:
    grams = Grams([EXAMPLE])
    assert len(words(EXAMPLE)) == 17
    assert len(grams) == 17 - 13 + 1
    shared = "nobody in the lower harbour had seen the grey ferry since the night"
    assert grams.find(f"He said that {shared}, and left.") == shared
    assert grams.find(f"He said that {shared.rsplit(' ', 1)[0]}, and left.") == "", "twelve words are not enough"


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLE.upper(),
        EXAMPLE.replace(" ", " -- "),
        EXAMPLE.replace(" ", "\n"),
        "".join(chr(ord(c) + 0xFEE0) if "a" <= c.lower() <= "z" else c for c in EXAMPLE),  # wide letters
        f"{'Tea. ' * 200}{EXAMPLE}{' Tea.' * 200}",
    ],
)
def test_case_width_punctuation_and_space_do_not_matter(text: str) -> None:
    assert Grams([EXAMPLE]).find(text)


def test_accents_are_compared_in_one_form() -> None:
    french = "À l'été, le bac était là où la marée l'avait laissé, près du vieux môle de pierre."
    assert Grams([unicodedata.normalize("NFD", french)]).find(french)
    assert not Grams([french.replace("é", "e")]).find(french)


@pytest.mark.parametrize("text", ["", "tea", "… !", EXAMPLE[:40]])
def test_short_texts_have_no_runs(text: str) -> None:
    grams = Grams([text])
    assert (len(grams), grams.examples, grams.short) == (0, 1, 1)
    assert grams.find(EXAMPLE) == ""


def test_order_and_borders_of_words_matter() -> None:
    grams = Grams(["a bc d e f g h i j k l m n"])
    assert grams.find("a bc d e f g h i j k l m n")
    assert not grams.find("ab c d e f g h i j k l m n")
    assert not grams.find("bc a d e f g h i j k l m n")


def test_chinese_needs_twenty_six_characters() -> None:
    example = "渡船又晚点了，港口里没有人知道它什么时候会来，我们和其他人一起在屋檐下等着。"
    grams = Grams([example])
    assert grams.find(f"他说：{example}") != ""
    assert not grams.find("港口里没有人知道它什么时候会来，大家都走了。"), "a phrase of 15 characters is no copy"


def test_what_lies_across_windows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "WINDOW_CHARS", 300)
    monkeypatch.setattr(overlap, "_OVERLAP_CHARS", 200)
    overlap._powers.cache_clear()
    try:
        grams = Grams([EXAMPLE])
        for before in range(250, 330):
            assert grams.find("x " * (before // 2) + "x" * (before % 2) + f" {EXAMPLE} " + "tide " * 100), before
    finally:
        overlap._powers.cache_clear()


VOCABULARY = ["tea", "Tea", "tide", "harbour", "7", "茶", "港", "のり", "é", "x-y", "Ｔ", "हि"]


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 60), st.integers(0, 60), st.booleans())
@pytest.mark.slow
def test_it_finds_what_a_set_of_tuples_finds(draw: random.Random, first: int, second: int, copied: bool) -> None:
    example = " ".join(draw.choices(VOCABULARY, k=first))
    text = " ".join(draw.choices(VOCABULARY, k=second))
    if copied and first:
        start = draw.randrange(first)
        text += " " + " ".join(example.split(" ")[start : start + draw.randrange(40)])
    found = Grams([example]).find(text)
    assert bool(found) == bool(runs(text) & runs(example))
    if found:
        assert found in text
        assert runs(found) & runs(example)


def test_files(tmp_path: Path) -> None:
    lines = tmp_path / "a.txt"
    lines.write_bytes("\ufeffone\n\ntwo é\r\n".encode())
    assert [text.strip() for text in read_examples("a.txt", str(lines))] == ["one", "", "two é"]
    rows = tmp_path / "b.jsonl"
    rows.write_text('{"question": "q", "answers": ["a", {"text": "b", "n": 3}], "none": null}\n\n"alone"\n', encoding="utf-8")
    assert list(read_examples("b.jsonl", str(rows))) == ["q", "a", "b", "alone"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"fine\n\xff\xfe\n", "a.txt: line 2"),
        ("a.jsonl", b'{"text": "fine"}\n{"text": \n', "a.jsonl: line 2"),
        ("a.jsonl", b"[" * 100000 + b"\n", "a.jsonl: line 1"),
        ("a.parquet", b"PAR1", "unsupported file type. Use .txt"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        list(read_examples(name, str(tmp_path / name)))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    arguments = ["build-corpus", "--text", str(tmp_path), "--exclude", str(tmp_path / "no.txt"), "--output", str(tmp_path / "c")]
    found = CliRunner().invoke(cli, arguments).exception
    assert isinstance(found, UsageError)
    assert "no.txt" in str(found)


def test_a_file_that_has_changed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "eval.txt"
    path.write_text(EXAMPLE, encoding="utf-8")
    with pytest.raises(ResumeError, match=r"eval\.txt has changed"):
        filtering.load_grams((("eval.txt", str(path), "0" * 64),))


def test_only_names_and_digests_are_in_the_identity() -> None:
    here, there = (CorpusConfig(exclude=(("eval.txt", path, "ab"),)) for path in ("/here/eval.txt", "/there/eval.txt"))
    assert here.identity() == there.identity()
    assert here.identity()["exclude"] == [{"name": "eval.txt", "sha256": "ab"}]
    assert here.identity() != CorpusConfig(exclude=(("eval.txt", "/here/eval.txt", "cd"),)).identity()


@pytest.mark.long
def test_overlap_is_dropped_counted_and_explained(build: Build, text: Path, tmp_path: Path, run: Any) -> None:
    """Documents that an evaluation set shares words with go, those and no others, with any number of workers."""
    rows = [json.loads(line) for line in text.read_bytes().splitlines()]
    held = [rows[7]["text"][:400].upper(), rows[120]["text"][:400].upper(), rows[399]["text"]]
    (tmp_path / "eval.txt").write_text("\n".join(held[:2]), encoding="utf-8")
    (tmp_path / "eval.jsonl").write_text(json.dumps({"context": {"passage": held[2]}}), encoding="utf-8")
    options = ("--text", text, "--id-column", "title", "--task-bytes", 65536)
    options += ("--exclude", tmp_path / "eval.txt", "--exclude", tmp_path / "eval.jsonl")
    corpus = build("build-corpus", tmp_path / "one", *options)
    run("build-corpus", *options, "--output", tmp_path / "two", "--workers", 2)
    assert digests(corpus) == digests(tmp_path / "two")
    kept = {row["title"] for row in read_rows(corpus)}
    known = set().union(*map(runs, held))
    assert kept == {row["title"] for row in rows if not runs(row["text"]) & known}
    assert 300 < len(kept) < 400
    assert not kept & {"Story 7", "Story 120", "Story 399"}
    manifest = read_manifest(corpus)
    assert manifest["counts"][0]["dropped"] == {"evaluation overlap": 400 - len(kept)}
    assert len(manifest["shards"]) > 1
    told = CliRunner().invoke(cli, ["inspect", str(corpus), "--explain", "text:text.jsonl:Story 120"]).output
    assert "evaluation overlap (shares with an evaluation set:" in told
    assert "13 words in a row with eval.jsonl, eval.txt are dropped" in (corpus / "README.md").read_text(encoding="utf-8")
