"""Sentences: a table of paragraphs in thirty languages, text without capitals, nothing lost, and splitters of the user's."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import REPOSITORY, Build, Run, read_manifest, read_rows
from hypothesis import given
from hypothesis import strategies as st

from bertdata.config import read_toml
from bertdata.errors import UsageError
from bertdata.text.sentences import is_lower_cased, split, split_sentences, splitter

SHARED = REPOSITORY.parent / "shared"
PARAGRAPHS = read_toml(Path(__file__).with_name("sentences.toml"))


@pytest.mark.parametrize("language", PARAGRAPHS)
def test_a_paragraph_is_split_where_its_sentences_end(language: str) -> None:
    for sentences in PARAGRAPHS[language]:
        joined = ("" if language[:2] in ("zh", "ja") else " ").join(sentences)
        assert split_sentences(joined, "" if language == "und" else language) == sentences


def test_languages_have_paragraphs() -> None:
    assert len(PARAGRAPHS) >= 40


@pytest.mark.parametrize("paragraph", ["", " ", "\n\t\u3000", " " * 10_000])
def test_white_space_has_no_sentence(paragraph: str) -> None:
    assert split_sentences(paragraph) == split_sentences(paragraph, "zh") == []


@pytest.mark.parametrize(
    ("language", "paragraph", "count"),
    [
        ("pt", "Chegou na segunda-feira.Depois saiu cedo.", 2),
        ("pt", "Saiu às 19h.A porta fechou.", 1),
        ("kn", "ಅವನು ಮನೆಗೆ ಹೋಗಿದ್ದಾನೆ.ಅಲ್ಲಿ ಯಾರೂ ಇರಲಿಲ್ಲ.", 2),
        ("mr", "कथा पु.ल.देशपांडे यांची आहे.", 1),
        ("en", "She left in May.Then he came.", 2),
        ("en", "It runs on ASP.Net and 2.5.Beta today.", 1),
        ("bn", "সে এল৷সে গেল৷", 2),
    ],
)
def test_without_white_space_only_the_ends_of_words_are_ends(language: str, paragraph: str, count: int) -> None:
    assert len(split_sentences(paragraph, language)) == count


def test_a_long_paragraph_is_split_like_its_parts() -> None:
    parts = [f"Dr. Ames has {n} cups of tea (or so). He said, “I like it.” It was {n} p.m. by then." for n in range(300)]
    assert split_sentences(" ".join(parts)) == [sentence for part in parts for sentence in split_sentences(part)]


@pytest.mark.parametrize("space", ["\xa0", "\x85", "\u2028", "\u202f", "\u3000"])
def test_white_space_that_breaks_the_library_breaks_nothing(space: str) -> None:
    assert split_sentences(f"It was plan B{space}.{space}We left.") == [f"It was plan B{space}.", "We left."]


def test_a_failure_of_the_library_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = type("PanicException", (BaseException,), {})

    def panic(language: str, text: str) -> list[str]:
        raise broken

    for segment in (panic, lambda language, text: [text[:3]], lambda language, text: []):
        monkeypatch.setattr(split, "segment", segment)
        assert split_sentences("The tea is ready. He came.") == ["The tea is ready. He came."]


# Text without capitals.
LONG = "the miller came to the weir. "


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("the tea is hot. it is late.", 1, True),
        ("it was in 1988. it closed in 1999. it was sad.", 1, True),
        ("the tea is hot and late", 1, False),  # too short to tell
        ("the tea is hot. It is late.", 1, False),
        (LONG * 100 + "Ames. ", 1, True),  # one capital in 2,000 letters
        (LONG * 100 + "He came to Ames. " * 10, 1, False),
        ("he went home\n" * 20, 20, True),
        ("он пришёл. она ушла.", 1, True),
        ("ის მოვიდა. ის წავიდა.", 1, False),  # a script without capitals
        ("جاء الرجل. ذهب الرجل. ok. yes.", 1, False),
        ("他来了。他走了。ok. yes.", 1, False),
    ],
)
def test_text_without_capitals_is_recognized(text: str, lines: int, expected: bool) -> None:
    assert is_lower_cased(text, lines) is expected


def test_a_small_letter_begins_a_sentence_in_text_without_capitals() -> None:
    assert split_sentences("he met mr. ames . a cup ! is it late?", lower_cased=True) == [
        *("he met mr. ames .", "a cup !", "is it late?")
    ]
    assert split_sentences("he waited... then he left. she came.") == ["he waited... then he left.", "she came."]
    assert len(split_sentences("he met them, i.e. the two, at 5 p.m. then he left. it was late.")) == 3
    assert len(split_sentences(LONG * 400)) == 400


def test_documents_without_capitals_are_split(build: Build, tmp_path: Path) -> None:
    lines = "".join(f"the miller saw boat {number} at the weir. " for number in range(100))
    rows = [
        {"id": "a", "text": lines + "\n\nand then he left. it was late."},
        {"id": "b", "text": "One. two three four. It"},
    ]
    (tmp_path / "text.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    corpus = build("build-corpus", tmp_path / "c", "--text", tmp_path / "text.jsonl", "--language", "en")
    assert [len(row["sentences"]) for row in read_rows(corpus)] == [102, 2]


# Nothing is lost.
LANGUAGES = st.sampled_from(["en", "de", "zh", "ja", "fr", "fi", "th", "xx", ""])
MARKS = (
    " |  |\n|.|!|?|…|...|\"|'|''|``|“|”|(|)|[1]|[|]|A|b|Dr.|im|3.|7|。|！|」|「|と|茶|é|É|\u2028|said|“Go!” Anna said|\x1f|\x85"
)
PIECES = st.sampled_from([*MARKS.split("|"), "«", "»", "The"])


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(), LANGUAGES, st.booleans())
def test_nothing_is_lost_but_white_space(paragraph: str, language: str, lower_cased: bool) -> None:
    found = split_sentences(paragraph, language, lower_cased=lower_cased)
    assert "".join("".join(found).split()) == "".join(paragraph.split())
    assert all(sentence and sentence == sentence.strip() for sentence in found)
    assert split_sentences(paragraph, "de-AT") == split_sentences(paragraph, "de")


LEAST = {  # F1 of boundaries by language; most of the others are headlines without a mark
    "dev_sentences": "en 98.2 de 98.6 zh 99.7 ja 99.7",
    "dev_sentences_more": "ar 92.0 el 95.5 es 98.3 fi 92.7 fr 94.8 he 99.3 hi 99.6 hu 99.5 hy 99.8 id 96.8 it 93.0 ko 95.0 "
    "mr 98.5 nl 95.8 pl 98.3 pt 93.6 ru 97.5 sv 97.7 ta 99.3 tr 92.5 uk 98.6 vi 98.5 th 50.0 cs 99.1 ur 98.8",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAST)
def test_the_scorer_agrees(name: str) -> None:
    scorer = SHARED / "tools" / "score_sentences.py"
    if not scorer.exists():
        pytest.skip("../shared with its treebank sentences is not here")
    gold = SHARED / "extraction" / f"{name}.jsonl.xz"
    command = [sys.executable, str(scorer), "bertdata.text.sentences:split_sentences", "--gold", str(gold)]
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, env=env)
    score = {line.split()[0]: float(line.split()[2]) for line in done.stdout.splitlines()}
    least = dict(zip(LEAST[name].split()[::2], map(float, LEAST[name].split()[1::2]), strict=True))
    assert {language: value for language, value in least.items() if score[f"{language}-ALL"] < value} == {}


# Splitters of the user's.
MODULE = """
def split(paragraph, language):
    return paragraph.replace("; ", ";\\0").split("\\0")

def spaces(paragraph, language):
    return ["", " ", *paragraph.replace(". ", ".\\0 ").split("\\0"), "\\n"]

def changes(paragraph, language):
    return [paragraph.replace("tea", "coffee")]

def loses(paragraph, language):
    return [paragraph[:-1]]

def nothing(paragraph, language):
    return None

def fails(paragraph, language):
    raise ValueError("no model")

word = "a word"
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module of the user's, in the current directory."""
    path = tmp_path / "own_splitter.py"
    path.write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield path
    splitter.cache_clear()
    sys.modules.pop("own_splitter", None)


def test_a_function_of_the_user_is_stripped_and_checked(module: Path) -> None:
    assert splitter("own_splitter:spaces")("The tea is ready. He came. ", "en") == ["The tea is ready.", "He came."]
    messages = {
        "changes": "returns ['The coffee is ready.']",
        "loses": "returns ['The tea is ready']",
        "nothing": "raises TypeError",
        "fails": "raises ValueError: no model",
    }
    for name, message in messages.items():
        with pytest.raises(UsageError) as error:
            splitter(f"own_splitter:{name}")("The tea is ready.", "en")
        assert message in str(error.value) and "'The tea is ready.' (en)" in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nltk", "use sentencex or module:function"),
        ("", "use sentencex"),
        ("zh=sentencex", "use sentencex"),
        ("own_splitter:none", "cannot import it"),
        ("own_splitter:word", "not a function"),
        ("no_such_module:split", "cannot import it"),
    ],
)
def test_an_unknown_splitter_is_refused(module: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        splitter(name)


@pytest.mark.slow
def test_the_command_uses_it_and_the_manifest_names_it(run: Run, build: Build, module: Path, tmp_path: Path) -> None:
    lines = [json.dumps({"id": str(n), "text": f"Tea {n}; cake. Dr. Ames; and more."}) for n in range(3000)]
    (tmp_path / "text.jsonl").write_text("\n".join(lines))
    options = ["build-corpus", "--text", "text.jsonl", "--language", "en", "--task-bytes", 65536]
    options += ["--sentence-splitter", "own_splitter:split"]
    one, two = tmp_path / "one", tmp_path / "two"
    run(*options, "--output", one, "--workers", 1, cwd=tmp_path)
    run(*options, "--output", two, "--workers", 2, cwd=tmp_path)
    assert read_rows(one)[0]["sentences"] == ["Tea 0;", "cake. Dr. Ames;", "and more."]
    assert read_rows(one) == read_rows(two)
    assert read_manifest(one)["versions"]["own_splitter"] == f"sha256:{hashlib.sha256(module.read_bytes()).hexdigest()}"
    broken = [*options[:-1], "own_splitter:changes", "--output", tmp_path / "three"]
    (tmp_path / "text.jsonl").write_text('{"text": "The tea is ready."}\n')
    for workers in (1, 2):
        assert "'The tea is ready.' (en)" in run(*broken, "--workers", workers, "--overwrite", cwd=tmp_path, code=2).stderr
