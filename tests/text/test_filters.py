"""Filters: what each measures, which documents it drops, and how drops are counted and explained."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from types import NoneType
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import Build, digests, read_manifest, read_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from test_language import TEXTS

from bertdata.cli import cli
from bertdata.config import CorpusConfig, FilterConfig
from bertdata.errors import UsageError
from bertdata.records import Document
from bertdata.text.filters import check, measures

TEA = ["Tea, 1859!", "Tea, 1859!", "Now."]


def document(*sentences: str) -> Document:
    return Document("text:a", "text", "en", "", "", list(sentences), [0])


def test_measures_by_hand() -> None:
    assert measures(document(*TEA)) == {"characters": 24, "letters": 9 / 22, "digits": 8 / 22, "repeated": 10 / 24}
    hindi = measures(document("हिन्दी १२"))
    assert (hindi["letters"], hindi["digits"]) == (6 / 8, 2 / 8)  # vowel signs belong to their letters
    assert measures(document("茶好了。"))["letters"] == 3 / 4
    assert measures(document("\U0001d400\U0001f600"))["letters"] == 1 / 2  # a bold A of mathematics, a smiling face
    assert measures(document("", "")) == {"characters": 0, "letters": 0, "digits": 0, "repeated": 0}


@settings(deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=8))
def test_measures_agree_with_counting_characters(sentences: list[str]) -> None:
    found, text = measures(document(*sentences)), "".join(sentences)
    kinds = [unicodedata.category(char)[0] for char in text]
    shown = max(1, sum(kind in "LMNPS" for kind in kinds))
    assert found["characters"] == len(text)
    assert found["letters"] == pytest.approx(sum(kind in "LM" for kind in kinds) / shown)
    assert found["digits"] == pytest.approx(kinds.count("N") / shown)
    assert found["repeated"] == pytest.approx(1 - sum(map(len, set(sentences))) / len(text))


@pytest.mark.parametrize(
    ("limits", "reason", "detail"),
    [
        ({"min_characters": 25}, "too short", "characters 24 < 25"),
        ({"max_characters": 23}, "too long", "characters 24 > 23"),
        ({"min_letters": 0.6}, "few letters", "letters 0.4091 < 0.6"),
        ({"min_letters": 0, "max_digits": 0}, "many digits", "digits 0.3636 > 0.0"),
        ({"min_letters": 0, "max_digits": 1, "max_repeated": 0.4}, "repeated sentences", "repeated 0.4167 > 0.4"),
    ],
)
def test_each_limit_has_its_reason_and_figure(limits: dict[str, float], reason: str, detail: str) -> None:
    drop = check(document(*TEA), FilterConfig(**limits))  # type: ignore[arg-type]
    assert drop is not None and (drop.reason, drop.detail) == (reason, detail)


def test_documents_at_a_limit_stay() -> None:
    limits = FilterConfig(min_characters=24, max_characters=24, min_letters=9 / 22, max_digits=8 / 22)
    assert check(document(*TEA), limits) is None
    assert check(document(*TEA), FilterConfig(min_letters=0, max_digits=1, max_repeated=1)) is None


def test_defaults_spare_every_script() -> None:
    for language, text in TEXTS.items():
        assert check(document(text), FilterConfig()) is None, language
        assert check(document(text[:12]), FilterConfig()) is None, f"a stub in {language}"


@pytest.mark.parametrize(
    "limits",
    [
        {"min_letters": 1.5},
        {"max_digits": -0.1},
        {"min_characters": -1},
        {"min_characters": 9, "max_characters": 8},
        {"languages": ("en", "")},
    ],
)
def test_impossible_limits_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="^`[a-z_]+`"):
        FilterConfig(**limits)


def test_limits_are_in_the_identity_and_in_the_help() -> None:
    identity = CorpusConfig().identity()["filters"]
    help_text = CliRunner().invoke(cli, ["build-corpus", "--help-all"]).output
    assert all(f"--{name.replace('_', '-')}" in help_text for name in identity)
    assert CorpusConfig(filters=FilterConfig(min_letters=0.6)).identity() != CorpusConfig().identity()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JSONL file of 40 good texts in four languages, and one for each limit."""
    path = tmp_path_factory.mktemp("mixed") / "mixed.jsonl"
    bad = {"digits": "In 1859 1860 1861 the harbour paid", "marks": "*** --- *** tea ***", "repeated": "The tide came in. " * 9}
    rows = [{"id": name, "text": text, "language": "en"} for name, text in bad.items()]
    for number in range(40):
        language = ("en", "de", "ja", "zh")[number % 4]
        rows.append({"id": f"{language}{number}", "text": f"{TEXTS[language]} {number}"})
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.slow
def test_drops_are_counted_listed_and_explained(build: Build, mixed: Path, tmp_path: Path, run: Any) -> None:
    options = ("--text", mixed, "--id-column", "id", "--languages", "en,zh")
    corpus = build("build-corpus", tmp_path / "one", *options)
    run("build-corpus", *options, "--output", tmp_path / "two", "--workers", 2)
    assert digests(corpus) == digests(tmp_path / "two")
    manifest = read_manifest(corpus)
    (stage,) = manifest["counts"]
    assert (stage["in"], stage["out"]) == (43, 20)
    assert stage["dropped"] == {"few letters": 1, "language": 20, "many digits": 1, "repeated sentences": 1}
    assert {row["language"] for row in read_rows(corpus)} == {"en", "zh"}
    lines = [line for path in sorted((corpus / "dropped").iterdir()) for line in path.read_bytes().splitlines()]
    assert {"id": "text:mixed.jsonl:de1", "reason": "language", "detail": "language de, not en or zh"} in map(json.loads, lines)

    def explained(id: str, known: bool = True) -> str:
        done = CliRunner().invoke(cli, ["inspect", str(corpus), "--explain", f"text:mixed.jsonl:{id}"])
        assert isinstance(done.exception, NoneType if known else UsageError), done.output
        return f"{done.output}{done.exception or ''}"

    assert "is document " in explained("en4")
    assert "was dropped: few letters (letters 0.2000 < 0.5)" in explained("marks")
    assert "was dropped: language (language ja, not en or zh)" in explained("ja2")
    assert "and not in its lists of drops and rejects" in explained("en5", known=False)
