"""Who splits sentences can be chosen: by name, by language, or a function of one's own, which is held to its contract."""

from __future__ import annotations

import doctest
import hashlib
import importlib
import json
import sys
from pathlib import Path

import pytest
from conftest import Build, Run, read_manifest, read_rows
from hypothesis import given
from hypothesis import strategies as st

from bertdata.errors import UsageError
from bertdata.text.sentences import packages, split_sentences, splitter

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

def numbers(paragraph, language):
    return [1]

def fails(paragraph, language):
    raise ValueError("no model")

word = "a word"
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of the user's, in the current directory."""
    path = tmp_path / "own_splitter.py"
    path.write_text(MODULE)
    (tmp_path / "broken_splitter.py").write_text("1 +")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield path
    splitter.cache_clear()
    for name in ("own_splitter", "broken_splitter"):
        sys.modules.pop(name, None)


REGEX = [
    ["He came.", '"Sit down."', "J. Lowe sat at 2.5 m from her.", "What?!", "Well… she left."],
    ["Él vino.", "¿Quién es?", "«¡Vete!»", "Se fue."],
    ["جاء الرجل.", "هل أنت بخير؟", "نعم."],
    ["वह आया।", "वह गया॥", "እሱ መጣ።", "သူလာသည်။", "وہ شہر گیا۔"],
]


@pytest.mark.parametrize("expected", REGEX)
def test_regex_splits_by_one_rule(expected: list[str]) -> None:
    assert splitter("regex")(" ".join(expected), "en") == expected
    assert splitter("regex")("茶好了。“请坐！喝茶。”他说。", "zh") == ["茶好了。", "“请坐！", "喝茶。”", "他说。"]


PARAGRAPHS = st.text() | st.lists(
    st.sampled_from(["He came.", " ", ". ", "\n", "\x00", "é", "茶。", "”", "😀", "\u0301", "?", "\u2028", "\ufeff", "A", "\x85"])
).map("".join)


@pytest.mark.long
@pytest.mark.parametrize("name", ["sentencex", "regex"])
@given(paragraph=PARAGRAPHS)
def test_nothing_is_lost_but_white_space(name: str, paragraph: str) -> None:
    found = splitter(name)(paragraph, "en")
    assert "".join("".join(found).split()) == "".join(paragraph.split())
    assert all(sentence and sentence == sentence.strip() for sentence in found)


def test_a_language_can_have_one_of_its_own(module: Path) -> None:
    chosen = splitter("regex,zh=sentencex,pt-BR=own_splitter:split")
    text = "Um; dois. Três é o no. 5 aqui"
    assert chosen(text, "pt-br") == chosen(text, "pt_BR") == ["Um;", "dois. Três é o no. 5 aqui"]
    assert chosen(text, "pt") == splitter("regex")(text, "")
    assert chosen("他说：“好。”他走了。", "zh-TW") == split_sentences("他说：“好。”他走了。", "zh-TW")
    assert splitter("zh=regex")("Dr. Ames sat.", "en") == ["Dr. Ames sat."]
    assert splitter("sentencex") is split_sentences


def test_a_function_of_ones_own_is_stripped_and_checked(module: Path) -> None:
    assert splitter("own_splitter:spaces")("The tea is ready. He came. ", "en") == ["The tea is ready.", "He came."]
    said = {
        "changes": "returns 'coffeeisready.' instead of 'teaisready.'",
        "loses": "returns '' instead of '.'",
        "nothing": "raises TypeError",
        "numbers": "raises TypeError",
        "fails": "raises ValueError: no model",
    }
    for name, what in said.items():
        with pytest.raises(UsageError) as error:
            splitter(f"own_splitter:{name}")("The tea is ready.", "en")
        assert what in str(error.value)
        assert "'The tea is ready.' (en)" in str(error.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nltk", "use sentencex, regex or module:function"),
        ("", "use sentencex"),
        ("regex,", "twice|use sentencex"),
        ("regex,sentencex", "twice"),
        ("zh=regex,zh=regex", "zh twice"),
        ("own_splitter:", "use sentencex"),
        ("own_splitter:none", "cannot import it"),
        ("own_splitter:word", "not a function"),
        ("no_such_module:split", "cannot import it"),
        ("broken_splitter:split", "cannot import it"),
    ],
)
def test_a_name_that_is_none_is_refused(module: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        splitter(name)


def test_packages_are_those_outside_bertdata(module: Path) -> None:
    assert packages("regex,en=own_splitter:split,zh=sentencex,ja=regex") == ("own_splitter", "sentencex")


def test_the_command_uses_it_and_the_manifest_names_it(run: Run, build: Build, module: Path, tmp_path: Path) -> None:
    lines = [json.dumps({"id": str(n), "text": f"Tea {n}; cake. Dr. Ames; and more."}) for n in range(3000)]
    (tmp_path / "text.jsonl").write_text("\n".join(lines))
    options = ["build-corpus", "--text", "text.jsonl", "--language", "en", "--task-bytes", 65536]
    options += ["--sentence-splitter", "regex,en=own_splitter:split"]
    one, two = tmp_path / "one", tmp_path / "two"
    run(*options, "--output", one, "--workers", 1, cwd=tmp_path)
    run(*options, "--output", two, "--workers", 2, cwd=tmp_path)
    assert read_rows(one)[0]["sentences"] == ["Tea 0;", "cake. Dr. Ames;", "and more."]
    assert read_rows(one) == read_rows(two)
    found = read_manifest(one)
    assert found == read_manifest(two)
    assert found["config"]["sentence_splitter"] == "regex,en=own_splitter:split"
    assert found["versions"]["own_splitter"] == f"sha256:{hashlib.sha256(module.read_bytes()).hexdigest()}"
    module.write_text(MODULE + "# changed\n")
    assert "other" in run(*options, "--output", one, cwd=tmp_path, code=5).stderr
    broken = [*options[:-1], "own_splitter:changes", "--output", tmp_path / "three"]
    (tmp_path / "text.jsonl").write_text('{"text": "The tea is ready."}\n')
    for workers in (1, 2):
        assert "'The tea is ready.' (en)" in run(*broken, "--workers", workers, "--overwrite", cwd=tmp_path, code=2).stderr
    assert "use sentencex" in run(*options[:-1], "nltk", "--output", tmp_path / "four", cwd=tmp_path, code=2).stderr


@pytest.mark.parametrize("name", ["abbreviations", "plain", "quotation", "split", "splitters", "starters", "thai"])
def test_examples_of_the_documentation(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"bertdata.text.sentences.{name}"))
    assert found.attempted
    assert not found.failed
