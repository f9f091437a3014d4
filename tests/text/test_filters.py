"""Filters: what each measures, that mild bounds spare real text in every script, and that every drop is counted and explained."""

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

from bertdata.cli import build_corpus, cli
from bertdata.config import CorpusConfig, FilterConfig
from bertdata.errors import UsageError
from bertdata.records import Document, Drop
from bertdata.text.filters import FILTERS, check, is_boilerplate
from bertdata.text.filters.bounds import Measures

OFF = FilterConfig(min_letters=0, max_digits=1, max_repeated=1, max_boilerplate=1)


def document(*paragraphs: list[str]) -> Document:
    starts = [sum(map(len, paragraphs[:number])) for number in range(len(paragraphs))]
    return Document("text:a", "text", "en", "", "", [s for paragraph in paragraphs for s in paragraph], starts)


def detail(drop: Drop | None) -> tuple[str, str]:
    assert drop is not None
    assert drop.id == "text:a"
    return drop.reason, drop.detail


def test_measures_by_hand() -> None:
    measures = Measures(document(["Tea, 1859!", "Tea, 1859!"], ["Now."]))
    assert measures.characters == 24
    assert measures.letters == 9 / 22  # Tea Tea Now of all that is no space
    assert measures.digits == 8 / 22
    assert measures.repeated == 10 / 24
    assert measures.boilerplate == 0


def test_a_limit_given_as_an_integer_equals_the_same_float() -> None:
    for digits in (0, 0.0):
        found = check(document(["Tea since 1859."]), FilterConfig(max_digits=digits))
        assert detail(found) == ("many digits", "digits 0.31 > 0.00")
    assert check(document(["Tea since 1859."]), FilterConfig(max_digits=1)) is None


def test_empty_sentences_of_a_map_repeat_nothing() -> None:
    assert Measures(document(["", ""])).repeated == 0


def test_letters_and_digits_are_of_any_script() -> None:
    hindi = Measures(document(["हिन्दी १२"]))
    assert (hindi.letters, hindi.digits) == (6 / 8, 2 / 8)  # vowel signs belong to their letters
    assert Measures(document(["茶好了。"])).letters == 3 / 4
    assert Measures(document(["\U0001d400\U0001f600"])).letters == 1 / 2  # a bold A of mathematics, a smiling face


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        (FilterConfig(min_characters=25), ("too short", "characters 24 < 25")),
        (FilterConfig(max_characters=23), ("too long", "characters 24 > 23")),
        (FilterConfig(min_letters=0.6), ("few letters", "letters 0.41 < 0.60")),
        (FilterConfig(min_letters=0, max_digits=0.3), ("many digits", "digits 0.36 > 0.30")),
        (FilterConfig(min_letters=0, max_digits=1, max_repeated=0.4), ("repeated sentences", "repeated 0.42 > 0.40")),
    ],
)
def test_each_bound_gives_its_reason_and_figure(bounds: FilterConfig, found: tuple[str, str]) -> None:
    text = document(["Tea, 1859!", "Tea, 1859!"], ["Now."])
    assert detail(check(text, bounds)) == found
    assert check(text, OFF) is None


def test_bounds_are_kept_when_they_are_met() -> None:
    text = document(["Tea, 1859!", "Tea, 1859!"], ["Now."])
    assert check(text, FilterConfig(min_characters=24, max_characters=24, min_letters=9 / 22, max_digits=8 / 22)) is None


def test_boilerplate_is_a_share_of_a_document() -> None:
    notice = ["We use cookies to give you the best of our site."]
    assert Measures(document(["We use cookies.", "Read our cookie policy."])).boilerplate == 1
    story = ["The heron stood in the lower harbour until the ferry had crossed, and it was late."]
    assert detail(check(document(notice), FilterConfig())) == ("boilerplate", "boilerplate 1.00 > 0.50")
    assert check(document(notice, story), FilterConfig()) is None
    assert check(document(notice, story), FilterConfig(max_boilerplate=0.2)) is not None


def test_lines_of_a_site() -> None:
    for line in [
        "We use cookies to improve our site.",
        "Accept all cookies",
        "Diese Seite verwendet Cookies.",
        "Nous utilisons des cookies.",
        "Utilizamos cookies propias y de terceros.",
        "Questo sito utilizza i cookie.",
        "Wij gebruiken cookies.",
        "All rights reserved.",
        "© 2024 Harbour Press",
        "Copyright 2019 The Ferry Company",
        "Alle Rechte vorbehalten",
        "Todos los derechos reservados.",
        "版权所有",
        "無断転載を禁じます",
        "Все права защищены",
        "جميع الحقوق محفوظة",
        "Please enable JavaScript to view the comments.",
        "Your browser does not support video.",
        "请启用JavaScript",
        "Home | About us | Contact",
        "Impressum · Datenschutz · AGB",
        "Terms of use - Privacy policy",
        "首页 | 关于我们 | 联系我们",
        "Read more",
        "Click here to subscribe",
        "Weiterlesen",
        "続きを読む",
        "阅读更多",
        "404 Not Found",
        "Lorem ipsum dolor sit amet, consectetur.",
    ]:
        assert is_boilerplate(line)


@pytest.mark.parametrize(
    "line",
    [
        "She baked cookies.",
        "Copyright law was changed in 1976 so that the author of a work, or the heirs of that author, keep"
        " the rights for fifty years after death, and it was changed again later.", "Home is where the heart is.", "Contact",
        "He read more than a book a day.", "The right to roam is old.", "JavaScript is a language that was made in ten days.",
        "A browser of old books came in.", "权利和义务", "Help came from the harbour.", "Terms were agreed.", "",
    ],
)  # fmt: skip
def test_lines_of_text(line: str) -> None:
    assert not is_boilerplate(line)


def test_defaults_spare_every_script() -> None:
    for language in TEXTS:
        assert check(document([TEXTS[language]]), FilterConfig()) is None
        assert check(document([TEXTS[language][:12]]), FilterConfig()) is None, "a stub is kept"


@given(st.lists(st.lists(st.text(min_size=1), min_size=1, max_size=4), min_size=1, max_size=4))
@pytest.mark.long
def test_measures_agree_with_counting_one_by_one(paragraphs: list[list[str]]) -> None:
    text = document(*paragraphs)
    measures = Measures(text)
    characters = "".join(text.sentences)
    assert measures.characters == len(characters)
    kinds = [unicodedata.category(c)[0] for c in characters if ord(c) < 0x323B0]
    shown = sum(kind in "LMNPS" for kind in kinds)
    assert measures.letters * max(1, shown) == pytest.approx(sum(kind in "LM" for kind in kinds))
    assert measures.digits * max(1, shown) == pytest.approx(kinds.count("N"))
    seen: set[str] = set()
    again = 0
    for sentence in text.sentences:
        again += len(sentence) if sentence in seen else 0
        seen.add(sentence)
    assert measures.repeated * len(characters) == pytest.approx(again)
    assert measures.boilerplate >= 0


@pytest.mark.parametrize(
    "bounds",
    [
        {"min_letters": 1.5}, {"max_digits": -0.1}, {"min_characters": -1}, {"min_characters": 9, "max_characters": 8},
        {"languages": ("en", "")},
    ],
)  # fmt: skip
def test_bounds_that_cannot_be_are_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="^`[a-z_]+`"):
        FilterConfig(**bounds)


def test_every_bound_is_in_the_identity_and_has_an_option() -> None:
    identity = CorpusConfig().identity()["filters"]
    assert {each.field for each in FILTERS} | {"languages"} == set(identity)
    help_text = CliRunner().invoke(cli, ["build-corpus", "--help-all"]).output
    assert all(f"--{name.replace('_', '-')}" in help_text for name in identity)
    assert CorpusConfig(filters=FilterConfig(min_letters=0.6)).sha256() != CorpusConfig().sha256()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JSONL file of 40 good texts in four languages, and one of each that a filter drops."""
    path = tmp_path_factory.mktemp("mixed") / "mixed.jsonl"
    bad = {
        "digits": "In 1859 1860 1861 the harbour paid",
        "marks": "*** --- *** tea ***",
        "repeated": "The tide came in. " * 9,
        "site": "All rights reserved.\n\nHome | Contact",
    }
    with path.open("w", encoding="utf-8") as file:
        for number in range(40):
            language = ("en", "de", "ja", "zh")[number % 4]
            row = {"id": f"{language}{number}", "text": f"{TEXTS[language]} {number}"}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        for name, text in bad.items():
            file.write(json.dumps({"id": name, "text": text, "language": "en"}) + "\n")
    return path


def test_drops_are_counted_listed_and_the_same_with_any_number_of_workers(
    build: Build, mixed: Path, tmp_path: Path, run: Any
) -> None:
    options = ("--text", mixed, "--id-column", "id", "--languages", "en,zh")
    corpus = build("build-corpus", tmp_path / "one", *options)
    run("build-corpus", *options, "--output", tmp_path / "two", "--workers", 2)
    assert digests(corpus) == digests(tmp_path / "two")
    manifest = read_manifest(corpus)
    (stage,) = manifest["counts"]
    assert (stage["in"], stage["out"]) == (44, 20)
    assert stage["dropped"] == {"boilerplate": 1, "few letters": 1, "language": 20, "many digits": 1, "repeated sentences": 1}
    assert {row["language"] for row in read_rows(corpus)} == {"en", "zh"}
    lines = [line for path in sorted((corpus / "dropped").iterdir()) for line in path.read_bytes().splitlines()]
    listed = [json.loads(line) for line in lines]
    assert sum(file["rows"] for file in manifest["drops"]) == len(listed) == 24
    assert {"id": "text:mixed.jsonl:de1", "reason": "language", "detail": "language de, not en or zh"} in listed


def test_explain(build: Build, mixed: Path, tmp_path: Path) -> None:
    corpus = build("build-corpus", tmp_path / "corpus", "--text", mixed, "--id-column", "id", "--languages", "en")

    def explained(id: str, known: bool = True) -> str:
        done = CliRunner().invoke(cli, ["inspect", str(corpus), "--explain", f"text:mixed.jsonl:{id}"])
        assert isinstance(done.exception, NoneType if known else UsageError), done.output
        return done.output

    assert "is in data/train-00000-of-00001.arrow, row 1;" in explained("en4")
    assert "--row 1" in explained("en4")
    assert "was dropped: few letters (letters 0.20 < 0.50)" in explained("marks")
    assert "was dropped: language (language ja, not en)" in explained("ja2")
    assert "and not in its lists of drops and rejects" in explained("en5", known=False)
    assert "ids here look like text:mixed.jsonl:en0" in explained("en5", known=False)


def test_explain_of_what_is_no_corpus(sample_vocab: Path) -> None:
    done = CliRunner().invoke(cli, ["inspect", str(sample_vocab), "--explain", "enwiki:12"])
    assert isinstance(done.exception, UsageError)
    assert "pass the corpus" in str(done.exception)


def test_explain_names_what_is_only_counted(sample_corpus: Path) -> None:
    done = CliRunner().invoke(cli, ["inspect", str(sample_corpus), "--explain", "enwiki:999999"])
    assert "counted, and not listed: " in done.output
    assert "redirect" in done.output


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("abc é茶1.!\n "), min_size=1, max_size=60), min_size=1, max_size=12),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 40),
)
def test_what_goes_in_comes_out_or_is_dropped(texts: list[str], letters: float, repeated: float, shortest: int) -> None:
    bounds = FilterConfig(min_letters=letters, max_repeated=repeated, min_characters=shortest)
    for text in texts:
        measures = Measures(document([text]))
        drop = check(document([text]), bounds)
        broken = [each.reason for each in FILTERS if each.violation(measures, bounds)]
        assert (drop.reason if drop else "") == (broken[0] if broken else "")
        if len(text) < shortest:
            assert drop is not None


def test_files_of_toml_may_list_languages(mixed: Path, tmp_path: Path, build: Build) -> None:
    (tmp_path / "run.toml").write_text('[build-corpus]\nlanguages = ["ja"]\nmin-characters = 10\n', encoding="utf-8")
    corpus = build("build-corpus", tmp_path / "corpus", "--text", mixed, "--config", tmp_path / "run.toml")
    assert {row["language"] for row in read_rows(corpus)} == {"ja"}
    assert read_manifest(corpus)["config"]["filters"]["min_characters"] == 10


def test_help_lists_each_option_once_under_a_title() -> None:
    names = {param.name for param in build_corpus.command.params}
    listed = [name for names in build_corpus._SECTIONS.values() for name in names]
    assert len(listed) == len(set(listed))
    assert set(listed) <= names
    common = {"resume", "overwrite", "dry_run", "no_wait", "workers", "config", "verbose", "beam_args"}
    common |= {"quiet", "log_json", "check_space", "help_all"}
    assert names - set(listed) == common, "a new option needs a section"
