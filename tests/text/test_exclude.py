"""Documents that share a run of words with an evaluation set are found and dropped."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, digests, read_manifest, read_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.config import CorpusConfig
from bertdata.errors import ResumeError, UsageError
from bertdata.stages.corpus import filtering
from bertdata.text import filters
from bertdata.text.filters import Grams, read_examples

EXAMPLE = "Nobody in the lower harbour had seen the grey ferry since the night of the great flood."


def is_single(word: str) -> bool:
    return len(word) == 1 and any(first <= ord(word) < end for first, end in filters._CJK)


def words(text: str) -> list[str]:
    """Split a text as the module describes, one character at a time."""
    found, word = [], ""
    for character in unicodedata.normalize("NFC", text):
        folded = unicodedata.normalize("NFKC", character).lower()
        character = folded if len(folded) == 1 else character
        inside = unicodedata.category(character)[0] in "LMN"
        if inside and not is_single(character):
            word += character
            continue
        found += [word] if word else []
        found += [character] if inside else []
        word = ""
    return found + ([word] if word else [])


def runs(text: str) -> set[tuple[str, ...]]:
    """List the runs of a text: 13 words, or 26 where half or more are Chinese or Japanese characters."""
    split = words(text)
    found = set()
    for size in (13, 26):
        for start in range(len(split) - size + 1):
            run = tuple(split[start : start + size])
            if (2 * sum(map(is_single, run)) >= size) == (size == 26):
                found.add(run)
    return found


def test_thirteen_words_by_hand() -> None:
    grams = Grams([EXAMPLE])
    assert len(grams) == 17 - 13 + 1
    shared = "nobody in the lower harbour had seen the grey ferry since the night"
    assert grams.find(f"He said that {shared}, and left.") == shared
    assert grams.find(f"He said that {shared.rsplit(' ', 1)[0]}, and left.") == "", "twelve words are not enough"
    assert not Grams(["a bc d e f g h i j k l m n"]).find("ab c d e f g h i j k l m n")
    short = Grams(["", "tea", EXAMPLE[:40]])
    assert (len(short), short.examples, short.short) == (0, 3, 3)


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


def test_accents_and_chinese() -> None:
    french = "À l'été, le bac était là où la marée l'avait laissé, près du vieux môle de pierre."
    assert Grams([unicodedata.normalize("NFD", french)]).find(french)
    assert not Grams([french.replace("é", "e")]).find(french)
    example = "渡船又晚点了，港口里没有人知道它什么时候会来，我们和其他人一起在屋檐下等着。"
    assert Grams([example]).find(f"他说：{example}")
    assert not Grams([example]).find("港口里没有人知道它什么时候会来，大家都走了。"), "a phrase of 15 characters is not a copy"


def test_runs_across_windows_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "_WINDOW_CHARS", 300)
    monkeypatch.setattr(filters, "_OVERLAP_CHARS", 200)
    grams = Grams([EXAMPLE])
    for before in range(250, 330):
        assert grams.find("x " * (before // 2) + "x" * (before % 2) + f" {EXAMPLE} " + "tide " * 100), before


VOCABULARY = ["tea", "Tea", "tide", "harbour", "7", "茶", "港", "のり", "é", "x-y", "Ｔ", "हि"]


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 60), st.integers(0, 60), st.booleans())
def test_hashes_find_the_same_as_a_set_of_tuples(draw: random.Random, first: int, second: int, copied: bool) -> None:
    example = " ".join(draw.choices(VOCABULARY, k=first))
    text = " ".join(draw.choices(VOCABULARY, k=second))
    if copied and first:
        start = draw.randrange(first)
        text += " " + " ".join(example.split(" ")[start : start + draw.randrange(40)])
    found = Grams([example]).find(text)
    assert bool(found) == bool(runs(text) & runs(example))
    assert not found or (found in text and runs(found) & runs(example))


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
def test_unreadable_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        list(read_examples(name, str(tmp_path / name)))


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "eval.txt"
    path.write_text(EXAMPLE, encoding="utf-8")
    with pytest.raises(ResumeError, match=r"eval\.txt has changed"):
        filtering.load_grams((("eval.txt", str(path), "0" * 64),))
    here, there = (CorpusConfig(exclude=(("eval.txt", path, "ab"),)) for path in ("/here/eval.txt", "/there/eval.txt"))
    assert here.identity() == there.identity() != CorpusConfig(exclude=(("eval.txt", "/here/eval.txt", "cd"),)).identity()


@pytest.mark.slow
def test_overlap_is_dropped_and_counted(build: Build, text: Path, tmp_path: Path, run: Any) -> None:
    rows = [json.loads(line) for line in text.read_bytes().splitlines()]
    held = [rows[7]["text"][:400].upper(), rows[120]["text"][:400].upper(), rows[399]["text"]]
    (tmp_path / "eval.txt").write_text("\n".join(held[:2]), encoding="utf-8")
    (tmp_path / "eval.jsonl").write_text(json.dumps({"context": {"passage": held[2]}}), encoding="utf-8")
    options = ("--text", text, "--id-column", "title", "--task-bytes", 65536)
    options += ("--exclude", tmp_path / "eval.txt", "--exclude", tmp_path / "eval.jsonl")
    corpus = build("build-corpus", tmp_path / "one", *options)
    run("build-corpus", *options, "--output", tmp_path / "two", "--workers", 2)
    assert digests(corpus) == digests(tmp_path / "two")
    known = set().union(*map(runs, held))
    kept = {row["title"] for row in read_rows(corpus)}
    assert kept == {row["title"] for row in rows if not runs(row["text"]) & known}
    assert 300 < len(kept) < 400
    assert read_manifest(corpus)["counts"][0]["dropped"] == {"evaluation overlap": 400 - len(kept)}
