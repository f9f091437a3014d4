"""Of a page that comes in several dumps the newest copy stays, whatever the order of files and the size of tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Build, digests, read_manifest, read_rows

import bertdata
from bertdata.dataset.manifest import read
from bertdata.dataset.manifest_types import CorpusManifest
from bertdata.reports.select import explain

HEAD = '<mediawiki xml:lang="en"><siteinfo><dbname>enwiki</dbname></siteinfo>'


def dump(path: Path, *pages: tuple[int, str, str]) -> Path:
    """Write a dump of pages: id, time of the revision, a word of its text."""
    made = (
        f"<page><title>P {id}</title><ns>0</ns><id>{id}</id><revision><timestamp>{time}</timestamp><text>The {word} crossed the "
        f"harbour in the morning, number {id}. A miller measured all of his {word}s.</text></revision></page>"
        for id, time, word in pages
    )
    path.write_text(f"{HEAD}{''.join(made)}</mediawiki>", encoding="utf-8")
    return path


OLD, NEW = "2021-05-01T00:00:00Z", "2023-05-01T00:00:00Z"


@pytest.mark.parametrize(
    "old, new, kept",
    [
        ("enwiki-20220101.xml", "enwiki-20240101.xml", "2024-01-01"),
        ("z-20220101.xml", "a-20240101.xml", "2024-01-01"),  # whatever their order
        ("old.xml", "zzz.xml", "2023-05-01"),  # by the revision, where the names tell nothing
        ("zzz.xml", "old.xml", "2023-05-01"),
        ("b.xml", "enwiki-20240101.xml", "2024-01-01"),
    ],
)
def test_the_newest_copy_is_kept_and_named(old: str, new: str, kept: str, build: Build, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    dump(tmp_path / "in" / old, (1, OLD, "ferry"), (2, OLD, "tide"), (3, OLD, "lamp"))
    dump(tmp_path / "in" / new, (1, NEW, "boat"), (3, NEW, "lantern"), (4, NEW, "bridge"))
    made = []
    for number, order in enumerate(((old, new), (new, old))):
        files = [option for name in order for option in ("--wikipedia", tmp_path / "in" / name)]
        made.append(build("build-corpus", tmp_path / f"c{number}", *files, "--max-repeated", 1))
    assert digests(made[0]) == digests(made[1])
    words = {row["id"]: row["sentences"][0].split()[1] for row in read_rows(made[0])}
    assert words == {"enwiki:1": "boat", "enwiki:2": "tide", "enwiki:3": "lantern", "enwiki:4": "bridge"}
    assert read_manifest(made[0])["counts"][0]["dropped"] == {"repeated id": 2}
    (lines,) = [path.read_text("utf-8").splitlines() for path in (made[0] / "dropped").iterdir()]
    assert json.loads(lines[0]) == {
        "id": "enwiki:1",
        "reason": "repeated id",
        "detail": f"of enwiki:1, whose newer copy of {kept} is kept",
    }
    told = list(explain(made[0], read(made[0], CorpusManifest), "enwiki:1"))
    assert len(told) == 2 and "is document " in told[0] and f"newer copy of {kept} is kept" in told[1]


def test_of_equally_new_copies_the_first_is_kept(build: Build, tmp_path: Path) -> None:
    for name, word in (("a-20240101.xml", "boat"), ("b-20240101.xml", "ferry")):
        dump(tmp_path / name, (1, OLD, word))
    corpus = build("build-corpus", tmp_path / "corpus", "--wikipedia", tmp_path, "--max-repeated", 1)
    assert [row["sentences"][0].split()[1] for row in read_rows(corpus)] == ["boat"]
    (lines,) = [path.read_text("utf-8").splitlines() for path in (corpus / "dropped").iterdir()]
    assert [json.loads(line)["detail"] for line in lines] == ["of enwiki:1"]


def test_a_page_that_only_the_older_dump_has_stays_whole(build: Build, tmp_path: Path) -> None:
    """Also one that the newer dump has made a redirect: what is left of it is the older copy."""
    dump(tmp_path / "enwiki-20220101.xml", (1, OLD, "ferry"))
    new = dump(tmp_path / "enwiki-20240101.xml", (2, NEW, "boat"), (1, NEW, "boat"))
    text = new.read_text("utf-8")
    new.write_text(
        text[: text.rindex("<text>")] + "<text>#REDIRECT [[P 2]]</text></revision></page></mediawiki>", encoding="utf-8"
    )
    corpus = build("build-corpus", tmp_path / "corpus", "--wikipedia", tmp_path, "--max-repeated", 1)
    assert [row["id"] for row in read_rows(corpus)] == ["enwiki:1", "enwiki:2"]


@pytest.mark.parametrize("order", [("a-20220101.xml", "b-20240101.xml"), ("b-20220101.xml", "a-20240101.xml")])
def test_a_trace_shows_the_copy_that_was_kept(order: tuple[str, str], build: Build, tmp_path: Path) -> None:
    """And names its dump; page 1 is in both dumps, 2 in the older one, and the title of 3 moved to page 4."""
    old, new = order
    (tmp_path / "in").mkdir()
    dump(tmp_path / "in" / old, (1, OLD, "ferry"), (2, OLD, "tide"), (3, OLD, "lamp"))
    path = dump(tmp_path / "in" / new, (1, NEW, "boat"), (4, NEW, "bridge"))
    path.write_text(path.read_text("utf-8").replace("<title>P 4<", "<title>P 3<"), encoding="utf-8")
    corpus = build("build-corpus", tmp_path / "corpus", "--wikipedia", tmp_path / "in", "--max-repeated", 1)
    for id, dump_name, word in (("1", new, "boat"), ("2", old, "tide"), ("3", old, "lamp"), ("4", new, "bridge")):
        traced = bertdata.trace(corpus, f"enwiki:{id}", wikipedia=tmp_path / "in")
        assert (traced.dump, traced.paragraphs[0][0].split()[1]) == (dump_name, word)
        assert f"The {word} crossed" in traced.wikitext
        assert traced.fate[-1] == f"The wikitext is from {dump_name}"
