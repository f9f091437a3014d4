"""Mixtures and limits of words by language, with byte premiums."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bertdata.pipelines.engines import engine
from conftest import digests, read_manifest, read_rows
from test_choose import build, bytes_of

from bertdata import keys
from bertdata.config import ChoiceConfig
from bertdata.config.byte_premiums import BABYBABELLM, BYTES_PER_WORD
from bertdata.errors import UsageError

COUNTS = {"en": 160, "nl": 60, "el": 30}
Files = dict[str, list[tuple[str, str]]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Write a dump of each language."""
    folder, found = tmp_path_factory.mktemp("dumps"), list[tuple[str, str]]()
    for language, count in COUNTS.items():
        word = "\u03bb\u03cc\u03b3\u03bf\u03c2" if language == "el" else "harbour"
        pages = "".join(
            f"<page><title>P {n}</title><ns>0</ns><id>{n}</id><revision><id>9</id><text>The {word} {n} of {language} lay "
            f"{f'{word} ' * (5 + n % 7)}under {n} lamps.</text></revision></page>\n"
            for n in range(1, count + 1)
        )
        site = f"<siteinfo><dbname>{language}wiki</dbname><base>https://{language}.wikipedia.org/wiki/M</base></siteinfo>"
        path = folder / f"{language}.xml"
        path.write_text(f'<mediawiki xml:lang="{language}">{site}\n{pages}</mediawiki>\n', "utf-8")
        found.append((path.name, str(path)))
    return {"wikipedia": found}


def sizes(rows: list[dict[str, Any]], premiums: dict[str, float]) -> dict[str, float]:
    """Return the bytes of each language, divided by its byte premium."""
    found = dict.fromkeys(COUNTS, 0.0)
    for row in rows:
        found[row["language"]] += bytes_of(row) / premiums[row["language"]]
    return found


def made(output: Path, files: Files, **choice: Any) -> list[dict[str, Any]]:
    corpus = build(output, files, dedup="none", group_by="language", **choice)
    (stage,) = read_manifest(corpus)["counts"]
    assert stage["in"] == stage["out"] + sum(stage["dropped"].values())
    return read_rows(corpus)


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.0])
def test_shares_follow_the_temperature_and_byte_premiums(files: Files, tmp_path: Path, temperature: float) -> None:
    full = sizes(made(tmp_path / "full", files, mix="temperature=1"), BABYBABELLM)
    left = sizes(made(tmp_path / "a", files, mix=f"temperature={temperature}", byte_premium="babybabellm"), BABYBABELLM)
    weights = {language: size**temperature for language, size in full.items()}
    most = min(size / weights[language] for language, size in full.items())
    for language, weight in weights.items():
        assert most * weight - 120 < left[language] <= most * weight + len(COUNTS) + 90, "one document has at most 120 bytes"


@pytest.mark.slow
def test_limits_by_language_count_english_words_of_the_same_content(files: Files, tmp_path: Path) -> None:
    rows = made(tmp_path / "a", files, max_words="en=300,el=200", byte_premium="babybabellm,el=2")
    left = sizes(rows, {**BABYBABELLM, "el": 2.0})
    assert 300 * BYTES_PER_WORD - 120 < left["en"] <= 300 * BYTES_PER_WORD + 40
    assert 200 * BYTES_PER_WORD - 120 < left["el"] <= 200 * BYTES_PER_WORD + 40
    chosen = [[row["id"] for row in rows if row["language"] == language] for language in COUNTS]
    assert len(chosen[1]) == COUNTS["nl"], "a language without a limit is kept in full"
    every = sorted((f"enwiki:{n}" for n in range(1, COUNTS["en"] + 1)), key=lambda id: keys.key(12345, "choose", id))
    assert set(chosen[0]) == set(every[: len(chosen[0])]), "those with the smallest keys"
    plain = made(tmp_path / "b", files, max_words="en=300,el=200")
    words = {x: sum(len(s.split()) for row in plain if row["language"] == x for s in row["sentences"]) for x in ("en", "el")}
    assert words == {"en": 300, "el": 200}, "without byte premiums, words are exact"


@pytest.mark.slow
def test_a_total_after_a_mixture_keeps_its_shares(files: Files, tmp_path: Path) -> None:
    left = sizes(made(tmp_path / "a", files, mix="en=1,el=1", max_words="150", byte_premium="babybabellm"), BABYBABELLM)
    assert left["nl"] == 0, "a language without a share is dropped"
    assert 150 * BYTES_PER_WORD - 120 < sum(left.values()) <= 150 * BYTES_PER_WORD + 40
    assert 0.3 < left["el"] / sum(left.values()) < 0.7


@pytest.mark.slow
def test_beam_chooses_the_same_by_language(files: Files, tmp_path: Path) -> None:
    choice = {"mix": "temperature=0.5", "max_words": "el=60,250", "byte_premium": "babybabellm", "group_by": "language"}
    here = build(tmp_path / "here", files, **choice)
    there = build(tmp_path / "there", files, run=partial(engine.run, beam_args=()), **choice)
    assert digests(here) == digests(there)
    assert {"mixture", "words"} <= {*read_manifest(here)["counts"][0]["dropped"]}


def test_a_language_without_a_byte_premium_is_refused_by_name(files: Files, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no value for nl"):
        build(tmp_path / "a", files, mix="temperature=1", group_by="language", byte_premium="en=1,el=2")


@pytest.mark.parametrize(
    "choice",
    [
        {"mix": "temperature=2"},
        {"mix": "temperature=x"},
        {"byte_premium": "zh=0.94"},
        {"group_by": "language"},
        {"mix": "en=1", "byte_premium": "zh"},
    ],
    ids=json.dumps,
)
def test_options_without_a_meaning_are_refused(choice: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ChoiceConfig(**choice)
