"""Formulas from a dump to the manifest: sentences without gaps, counts that add up, the same at any size of tasks."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest
from conftest import Build, Run, read_manifest, read_rows

from bertdata.errors import UsageError

PAGES = [
    "Energy is told by\n:<math>E=mc^2</math>\nwhere c is a speed. The speed <math>c_B</math> is lost. It ends here.",
    "Water is <chem>H2O</chem> and {{math|''x''<sup>2</sup>}} is {{frac|1|2}}. It boils.\n\n<math>\\binom nk</math> is all.",
]
SENTENCES = {
    "text": ["Energy is told by E = mc² where c is a speed.", "It ends here.", "Water is H₂O and x² is 1⁄2.", "It boils."],
    "drop": [
        "Energy is told by",
        "where c is a speed.",
        "The speed is lost.",
        "It ends here.",
        "Water is and x2 is 1⁄2.",
        "It boils.",
        "is all.",
    ],
}
COUNTS = {
    "text": {
        "found": {"formula": 6},
        "written": {"formula": 4},
        "dropped": {"formula": 2},
        "left_out": {},
        "dropped_sentences": 2,
    },
    "drop": {"found": {"formula": 4}, "written": {}, "dropped": {"formula": 4}, "left_out": {}, "dropped_sentences": 0},
}


def dump(path: Path) -> Path:
    pages = (
        f"<page><title>P {id}</title><ns>0</ns><id>{id}</id><revision><text>{escape(text)}</text></revision></page>"
        for id, text in enumerate(PAGES, 1)
    )
    head = '<mediawiki xml:lang="en"><siteinfo><dbname>enwiki</dbname></siteinfo>'
    path.write_text(f"{head}{''.join(pages)}</mediawiki>", encoding="utf-8")
    return path


@pytest.mark.parametrize("math", SENTENCES)
def test_a_corpus_holds_and_counts_formulas(math: str, build: Build, tmp_path: Path) -> None:
    corpus = build("build-corpus", tmp_path / "c", "--wikipedia", dump(tmp_path / "in.xml"), "--math", math)
    sentences = [sentence for row in read_rows(corpus) for sentence in row["sentences"]]
    assert sentences == SENTENCES[math]
    assert read_manifest(corpus)["formulas"] == COUNTS[math]


def test_a_splitter_that_fails_ends_the_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def split(paragraph, language):\n    return paragraph.split('.')\n")
    options = ("--sentence-splitter", "mine:split", "--output", tmp_path / "c")
    done = run(
        "build-corpus", "--wikipedia", dump(tmp_path / "in.xml"), *options, code=UsageError.exit_code, PYTHONPATH=str(tmp_path)
    )
    assert "mine:split" in done.stderr
