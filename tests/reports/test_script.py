"""Simplified and traditional Chinese are told apart, and the report of a corpus says how much of each there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import Build
from test_page import page_of

from bertdata.reports.script import Scripts, scripts_of

SIMPLIFIED, TRADITIONAL, BOTH = "他们说这本书很长。", "他們說這本書很長。", "他今天早上在山下。"


def test_sentences_count_as_the_script_of_which_they_have_more() -> None:
    mixed = "「這個詞」在简体中文里写作这个词。"
    assert scripts_of([pa.array([SIMPLIFIED, BOTH]), pa.array([TRADITIONAL]), pa.array([mixed, "tea 123", ""])]) == (22, 8, 8)
    assert scripts_of([]) == scripts_of([pa.array([], pa.string())]) == Scripts(0, 0, 0)


def test_it_agrees_with_opencc() -> None:
    """Of all traditional characters that its tables know, and of what they become, where one of the two sets has them alone."""
    opencc = pytest.importorskip("opencc", reason="the extra `chinese` is not installed")
    characters = list(map(chr, range(0x4E00, 0xA000)))
    simplified = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    changed = [(old, new) for old, new in zip(characters, simplified, strict=True) if old != new]
    told = [tuple(scripts_of([pa.array([character])]) for character in pair) for pair in changed]
    assert sum(old.traditional for old, _ in told) > 3000 and sum(old.simplified for old, _ in told) < 5
    assert sum(new.simplified for _, new in told) > 2000 and sum(new.traditional for _, new in told) < 60


@pytest.mark.slow
@pytest.mark.parametrize("language", ["zh", "ja"])
def test_the_report_of_a_corpus_says_how_much_is_of_each(build: Build, tmp_path: Path, language: str) -> None:
    lines = [json.dumps({"text": text}) for text in (TRADITIONAL * 3, SIMPLIFIED * 5, BOTH * 2)]
    (tmp_path / "text.jsonl").write_text("\n".join(lines), encoding="utf-8")
    made = build(
        "build-corpus", tmp_path / "corpus", "--text", tmp_path / "text.jsonl", "--language", language, "--max-repeated", 1
    )
    page = page_of(made / "report.html").text
    shares = re.findall(r"(simplified|traditional|characters that both) [a-z ]+(\d+) ([\d.]+) %", page)
    wanted = [("simplified", "40", "50.0"), ("traditional", "24", "30.0"), ("characters that both", "16", "20.0")]
    assert shares == (wanted if language == "zh" else []), "Japanese has characters of its own"
