"""benchmarks/languages.py: what it says of an identifier that is right, one that is wrong, and one that is not installed."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import REPOSITORY

ROWS = [
    {"language": "en", "sentences": ["The ferry was late again, and nobody knew when it would come.", "We waited."]},
    {"language": "nb", "sentences": ["Fergen var sen igjen, og ingen i havnen visste når den skulle komme."]},
    {"file": "a row without a language"},
]
PEER = """  # knows English by its article, and takes the rest for Nynorsk, half sure
MODEL_FILE = "none"
class LanguageIdentifier:
    labels = ["en", "nn", "zxx"]
    @classmethod
    def from_model_file(cls, path, norm_probs): return cls()
    def set_languages(self, languages): assert languages == {"en"}
    def classify(self, text): return ("en", 0.99) if "The" in text else ("nn", 0.5)
def classify(text): return LanguageIdentifier().classify(text)
"""


@pytest.fixture
def languages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["languages.py", "--texts", str(path), "--short", "10"])
    return importlib.import_module("languages")


def test_doctests(languages: ModuleType) -> None:
    assert doctest.testmod(languages).failed == 0


def test_identifiers_side_by_side(
    languages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "py3langid").mkdir()
    (tmp_path / "py3langid" / "langid.py").write_text(PEER)
    (tmp_path / "py3langid" / "__init__.py").write_text("from .langid import classify")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(REPOSITORY)]))
    for name in ("py3langid", "py3langid.langid"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert languages.main() == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("2 languages, 10 texts")
    tables = {line.split(",")[0]: told[at + 1 : at + 4] for at, line in enumerate(told) if "MB/s" in line}
    cells = {form: [line[24:].split() for line in lines] for form, lines in tables.items()}
    assert [row[:2] for row in cells["rows"][1:]] == [["1.0000", "100.00"]] * 2, "Nynorsk and Bokmål count as one"
    # of three sentences "We waited." is taken for Nynorsk: F1 of en 2/3, of no 2/3; one of three is sure, and it is right
    assert cells["sentences"][1][:5] == ["0.6667", "66.67", "33.33", "33.33", "0.000"]
    starts = [line for line in told[told.index(next(line for line in told if "peak MB" in line)) + 1 :] if line]
    assert [line.split()[0] for line in starts] == ["bertdata", "py3langid"]
    assert all(float(line.split()[-1]) > 5 for line in starts)


def test_an_identifier_that_is_not_installed_is_left_out(
    languages: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("py3langid", "py3langid.langid"):
        monkeypatch.setitem(sys.modules, name, None)
    assert languages.main() == 0
    told = capsys.readouterr()
    assert "py3langid is left out" in told.err and "py3langid" not in told.out and "bertdata" in told.out


def test_without_texts_it_says_what_to_give(languages: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["languages.py", "--texts"])
    with pytest.raises(SystemExit, match="--texts"):
        languages.main()
