"""The benchmark of extractors measures what it says, and the fuzzer finds what is wrong."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import REPOSITORY, SAMPLE

PAGES = [
    {
        "source": "own",
        "title": "Lamp",
        "language": "en",
        "wikitext": "The '''lamp''' burns {{convert|5|mi|km}} away.\n\n* oil\n\nA second keeper reads [[books]] at night.",
        "paragraphs": ["The lamp burns away.", "A second keeper reads books at night."],
    },
    {"source": "other", "title": "X", "language": "en", "wikitext": "x", "paragraphs": []},
]
SCORER = """
import re
RESIDUE = [("''", re.compile("''")), ("{{", re.compile("{{"))]
def tidy(text): return " ".join(text.split())
def words(text): return re.findall(r"\\w+", text.lower())
"""


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    return importlib.import_module(name)


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps(page) + "\n" for page in PAGES), encoding="utf-8")
    return path


def test_extractors_side_by_side(
    pages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    extraction = load("extraction", monkeypatch)
    scorer = tmp_path / "scorer.py"
    scorer.write_text(SCORER, encoding="utf-8")

    def absent() -> None:
        raise ImportError("No module named 'peer'")

    def raising(page: object) -> list[str]:
        raise ValueError(page)

    rows = {
        "bertdata, templates off": extraction.EXTRACTORS["bertdata, templates off"],
        "bertdata, templates on": extraction.EXTRACTORS["bertdata, templates on"],
        "raw": lambda: lambda page: [page["wikitext"]],
        "raising": lambda: raising,
        "a peer": absent,
    }
    monkeypatch.setattr(extraction, "EXTRACTORS", rows)
    arguments = ["--pages", str(pages), "--sources", "own", "--rounds", "2", "--scorer", str(scorer)]
    monkeypatch.setattr(sys, "argv", ["extraction.py", *arguments])
    assert extraction.main() == 0
    told = capsys.readouterr()
    assert "a peer is left out: No module named 'peer'" in told.err and "[peers]" in told.err
    assert told.out.startswith("1 pages, 0.00 MB of wikitext, 2 rounds")
    found = {line[:26].strip(): line[26:].split() for line in told.out.splitlines()[2:]}
    # 11 words expected, all found; the only paragraph of five words or more is found
    assert found["bertdata, templates off"][3:] == ["1.0000", "1.0000", "0.00", "0"]
    # "5 miles (8.0 km)" are five words more: 2 * 11 / (11 + 16), and a second paragraph of five words or more
    assert found["bertdata, templates on"][3:] == ["0.8148", "0.6667", "0.00", "0"]
    # two '' and one {{ in 16 words; no line is a paragraph of the truth
    assert found["raw"][5:] == [f"{1e4 * 3 / 16:.2f}", "0"] and found["raw"][4] == "0.0000"
    assert found["raising"][3:] == ["0.0000", "0.0000", "0.00", "1"]


def test_without_pages_it_says_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: Path) -> None:
    extraction = load("extraction", monkeypatch)
    monkeypatch.setattr(sys, "argv", ["extraction.py", "--pages", str(tmp_path / "none.jsonl")])
    with pytest.raises(SystemExit, match="--pages"):
        extraction.main()
    monkeypatch.setattr(sys, "argv", ["extraction.py", "--pages", str(pages), "--sources", "nowhere"])
    with pytest.raises(SystemExit, match="--sources"):
        extraction.main()


def test_steps_from_dump_to_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = load("dump_steps", monkeypatch)
    dump = next(path for path in sorted(SAMPLE.glob("*.bz2")) if "index" not in path.name)
    table = steps.profile(dump, tmp_path, 1).splitlines()
    assert re.search(r"[1-9]\d* documents", table[0])
    rows = {line[:18].strip(): line[18:].split() for line in table[2:]}
    assert list(rows) == [*dict.fromkeys(step for step, _, _ in steps.STEPS), steps.REST, "all"]
    shares = [float(row[1].rstrip("%")) for row in rows.values()]
    assert abs(sum(shares[:-1]) - 100) < 1 and shares[-1] == 100
    assert all(float(rows[step][2]) < 1e6 for step, _, _ in steps.STEPS), "a step that took no time is not watched"
    assert list((tmp_path / "data").glob("*.arrow"))


@pytest.mark.slow
def test_fuzzer_finds_and_shrinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fuzz = load("fuzz", monkeypatch)
    extract = fuzz.extract_paragraphs

    def broken(text: str, **options: object) -> list[str]:
        if "{{" in text and options["templates"]:
            raise KeyError("{{")
        return [" x"] if "]]" in text else extract(text, **options)

    monkeypatch.setattr(fuzz, "extract_paragraphs", broken)
    found: dict[str, str] = {}
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "0.02", "--pages", str(tmp_path / "none"), "--save", str(tmp_path / "found")])
    assert fuzz.main() == 1
    told = capsys.readouterr().out
    for line in told.splitlines()[:-1]:
        fault, _, place = line.partition(": ")
        found[fault] = Path(place.rpartition(" in ")[2]).read_text(encoding="utf-8")
    assert found == {"raised KeyError": "{{", "a space at the edge of a paragraph": "]]"}
    assert "raised KeyError" in told.splitlines()[-1]


def test_fuzzer_repeats_a_case(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pages: Path) -> None:
    fuzz = load("fuzz", monkeypatch)
    read = fuzz._read(pages)
    texts = [fuzz._case(number, 1, read) for number in range(200)]
    assert texts == [fuzz._case(number, 1, read) for number in range(200)] != [fuzz._case(n, 2, read) for n in range(200)]
    assert max(len(text) for text, _ in texts) > fuzz.TIMED
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "0", "--case", "3", "--pages", str(pages)])
    assert fuzz.main() == 0
    assert "1 cases" in capsys.readouterr().out


@pytest.mark.slow
def test_fuzzer_breaks_off_what_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz = load("fuzz", monkeypatch)

    def slow(text: str, **options: object) -> list[str]:
        while True:
            text = text[1:] + text[:1]

    monkeypatch.setattr(fuzz, "extract_paragraphs", slow)
    monkeypatch.setattr(fuzz, "PATIENCE", 3)
    fuzz.signal.signal(fuzz.signal.SIGPROF, fuzz._break_off)
    assert fuzz._judge("x", {**fuzz.OPTIONS[0], "language": "en"})[0] == "too slow"
