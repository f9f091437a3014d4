"""A licence is not lost on the way of a text: out of a corpus as a table, through other hands, and into a corpus again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import read_manifest, read_rows

import bertdata
from bertdata.config import ChoiceConfig, CorpusConfig, FilterConfig
from bertdata.config.input_kinds import WIKI_LICENCE
from bertdata.sources.licences import count, named

LOOSE = CorpusConfig(filters=FilterConfig(min_letters=0), choice=ChoiceConfig(dedup="none"))
OWNER = "as its owner states"


def write(path: Path, *licences: str | None, column: str = "licence", more: int = 0) -> Path:
    rows = [
        {"text": f"The kettle number {n} sings.", "other": "x" * more, **({column: name} if name else {})}
        for n, name in enumerate(licences)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def built(path: Path, output: Path, **more: Any) -> tuple[list[str], str]:
    """Build a corpus of text; return the licences of its inputs, and its data card."""
    corpus = bertdata.build_corpus(**{"text": path, "config": LOOSE, "workers": 1, **more}, output=output)
    card = (corpus.path / "README.md").read_text(encoding="utf-8")
    return [entry["licence"] for entry in read_manifest(corpus.path)["inputs"]], card


def test_text_of_a_wiki_stays_its_contributors(sample_corpus: Path, tmp_path: Path) -> None:
    """As in the tutorial on the Chinese Wikipedia: export, change the text, build again; twice."""
    source = sample_corpus
    for turn in range(2):
        text = bertdata.export(source, to="jsonl", output=tmp_path / f"text-{turn}", workers=1).path
        licences, card = built(text / "data", tmp_path / f"corpus-{turn}")
        assert licences and all(WIKI_LICENCE in licence for licence in licences if licence != "as each book states")
        assert any(licence.startswith(WIKI_LICENCE) or "one of: " in licence for licence in licences)
        assert "is by the contributors of their pages" in card and "whose history names its authors" in card
        assert "may also have been changed before" in card and OWNER not in card
        source = tmp_path / f"corpus-{turn}"
    own = (sample_corpus / "README.md").read_text(encoding="utf-8")
    assert "is by the contributors of their pages" in own and "may also have been changed before" not in own


def test_a_corpus_says_no_more_than_its_rows(tmp_path: Path) -> None:
    licences, card = built(write(tmp_path / "a.jsonl", None, None), tmp_path / "none")
    assert licences == [OWNER] and "contributors" not in card
    licences, card = built(write(tmp_path / "b.jsonl", "CC0", None, "CC0"), tmp_path / "some")
    assert licences == [f"one of: CC0; {OWNER}"] and "contributors" not in card
    licences, _ = built(write(tmp_path / "c.jsonl", "CC BY 4.0", column="license"), tmp_path / "american")
    assert licences == ["CC BY 4.0"]


def test_a_file_in_parts_and_a_table_of_books(tmp_path: Path) -> None:
    """However the file is cut, with the same manifest entry."""
    path = write(tmp_path / "a.jsonl", *["CC0"] * 40, *[None] * 40, *["MIT"] * 40, more=2000)
    small = CorpusConfig(filters=FilterConfig(min_letters=0), choice=ChoiceConfig(dedup="none"), task_bytes=1 << 16)
    licences, _ = built(path, tmp_path / "parts", config=small)
    assert read_manifest(tmp_path / "parts")["inputs"][0]["pieces"] > 2
    assert licences == [f"one of: CC0; MIT; {OWNER}"] == built(path, tmp_path / "whole")[0]
    per_document = Counter(row["licence"] for row in read_rows(tmp_path / "whole"))
    assert per_document == {"CC0": 40, OWNER: 40, "MIT": 40}
    pq.write_table(pa.table({"text": ["The kettle sings."], "licence": ["CC0"]}), tmp_path / "a.parquet")
    books = bertdata.build_corpus(books=tmp_path / "a.parquet", config=LOOSE, output=tmp_path / "books", workers=1)
    assert [entry["licence"] for entry in read_manifest(books.path)["inputs"]] == ["CC0"]
    assert [row["licence"] for row in read_rows(books.path)] == ["CC0"]


def test_a_column_may_hold_anything() -> None:
    """What is named is bounded, and the rest is said to be there."""
    told: dict[str, Counter[str]] = {}
    for number in range(200):
        count(told, "a", f"{number:05d}" + "x" * 10_000)
    assert len(told["a"]) <= 21 and told["a"].total() == 200
    assert len(name := named(told["a"], OWNER)) < 5000
    assert name.endswith("; others, listed in its documents") and OWNER not in name
    count(told, "b", "CC0; see\nNOTICE\x00")
    assert named(told["b"], OWNER) == "CC0, see NOTICE"
