"""Dumps of Wikipedia's sister projects: their namespaces and transcluded pages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from conftest import read_manifest, read_rows
from template_dump import page

from bertdata import build_corpus, verify
from bertdata.config import CorpusConfig
from bertdata.errors import UsageError
from bertdata.records import Article, Drop, FileRange, Prose
from bertdata.sources.dumps import read_site
from bertdata.stages.corpus.wikipedia import extract, read_articles

NAMESPACES = {0: "", 1: "Talk", 10: "Template", 102: "Cookbook", 104: "Page", 110: "Wikijunior"}
PROSE = "The ferry leaves at eight and comes back in the evening."


def write_dump(folder: Path, project: str, pages: list[tuple[str, str, int]]) -> Path:
    names = "".join(f'<namespace key="{number}">{name}</namespace>' for number, name in NAMESPACES.items())
    head = (
        f'<mediawiki xml:lang="en"><siteinfo><dbname>en{project}</dbname><base>https://en.{project}.org/wiki/Main_Page</base>'
        f"<namespaces>{names}</namespaces></siteinfo>\n"
    )
    path = folder / f"en{project}-20260101-pages-articles.xml"
    path.write_text(head + "".join(page(n, *each) for n, each in enumerate(pages, 1)) + "</mediawiki>", encoding="utf-8")
    return path


def read(path: Path, **options: object) -> dict[str, list[str] | str]:
    """Return the paragraphs of each document by title, and the reason of each dropped page by number."""
    config = CorpusConfig(**options)  # type: ignore[arg-type]
    found: dict[str, list[str] | str] = {}
    for number, record in enumerate(read_articles(FileRange(path.name, str(path), 0, path.stat().st_size), config), 1):
        if isinstance(record, Drop):
            found[str(number)] = record.reason
        elif isinstance(record, Article):
            prose = extract(record, config, Counter())
            assert isinstance(prose, Prose)
            found[prose.title] = prose.paragraphs
    return found


def test_wikibooks_has_documents_in_three_namespaces(tmp_path: Path) -> None:
    pages = [("Sailing", PROSE, 0), ("Cookbook:Soup", PROSE, 102), ("Wikijunior:Cats", PROSE, 110), ("Talk:Sailing", PROSE, 1)]
    path = write_dump(tmp_path, "wikibooks", pages)
    assert read(path) == {"Sailing": [PROSE], "Cookbook:Soup": [PROSE], "Wikijunior:Cats": [PROSE], "4": "namespace"}
    assert read(path, namespaces=("talk", "102")) == {
        "1": "namespace",
        "Cookbook:Soup": [PROSE],
        "3": "namespace",
        "Talk:Sailing": [PROSE],
    }
    with pytest.raises(UsageError, match="did you mean 'cookbook'"):
        build_corpus(wikipedia=path, output=tmp_path / "corpus", namespaces=("Cookbok",))


def test_another_wiki_has_documents_in_the_main_namespace(tmp_path: Path) -> None:
    path = write_dump(tmp_path, "wikivoyage", [("Harbour", PROSE, 0), ("Cookbook:Soup", PROSE, 102)])
    assert read(path) == {"Harbour": [PROSE], "2": "namespace"}
    assert read_site(str(path)).project == "wikivoyage"


def test_transcluded_pages_of_wikisource_are_dropped(tmp_path: Path) -> None:
    body = 'A note.\n\n<pages index="Tea.djvu" from=5 to=9 fromsection="a" />'
    verses = "<poem>\nThe ferry came,\nand left again.\n</poem>"
    path = write_dump(tmp_path, "wikisource", [("Tea", body, 0), ("Song", verses, 0), ("Page:Tea.djvu/5", PROSE, 104)])
    assert read(path) == {"1": "transcluded text", "Song": ["The ferry came,", "and left again."], "3": "namespace"}


@pytest.mark.parametrize(
    ("text", "is_dropped"),
    [
        ("{{Page:Tea.djvu/5}}", True),
        ("A note.\n{{:page:The Tea Book, Vol. 2.pdf/12}}{{Page:Tea.djvu/6}}", True),
        ("{{#lst:Page:Tea.djvu/5|chapter}}", True),
        (f"{PROSE} {{{{File:Tea.djvu}}}} {{{{Tea: a book.pdf}}}} {{{{scan|Page:Tea.djvu/5}}}}", False),
        (f'{PROSE} <!-- <pages index="Tea.djvu" from=5 to=9 /> {{{{Page:Tea.djvu/5}}}} -->', False),
        (f"{PROSE} <nowiki><pages index=x /></nowiki> shows pages.", False),
        (f'{PROSE} <nowiki>a</nowiki> <pages index="Tea.djvu" />', True),
    ],
)
def test_only_transcluded_pages_are_dropped(tmp_path: Path, text: str, is_dropped: bool) -> None:
    dropped = read(write_dump(tmp_path, "wikisource", [("Tea", text, 0)])).get("1") == "transcluded text"
    assert dropped == is_dropped


def test_source_names_the_project(tmp_path: Path) -> None:
    for project in ("wikipedia", "wikivoyage"):
        write_dump(tmp_path, project, [(f"Harbour {n}", f"{PROSE} {project} {n}.", 0) for n in range(5)])
    corpus = build_corpus(wikipedia=tmp_path, output=tmp_path / "corpus", workers=1, max_words="wikivoyage=40")
    assert [stage.stage for stage in corpus.counts][:2] == ["wikipedia pages", "wikivoyage pages"]
    sources = read_manifest(tmp_path / "corpus")["sources"]
    assert {name: entry["documents"] for name, entry in sources.items()} == {"wikipedia": 5, "wikivoyage": 4}
    assert Counter(row["source"] for row in read_rows(tmp_path / "corpus")) == {"wikipedia": 5, "wikivoyage": 4}
    verify(tmp_path / "corpus")
