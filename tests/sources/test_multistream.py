"""The index of a multistream dump: found by its name, and read for the offsets of template pages."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest

from bertdata.sources.multistream import TemplateOffsets, find_index


@pytest.mark.parametrize(
    ("dump", "index"),
    [
        ("xwiki-2026-pages-articles-multistream.xml.bz2", "xwiki-2026-pages-articles-multistream-index.txt.bz2"),
        ("xwiki-2026-pages-articles-multistream.xml.bz2", "xwiki-2026-pages-articles-multistream-index.txt"),
        ("xwiki-2026-multistream1.xml-p1p41242.bz2", "xwiki-2026-multistream-index1.txt-p1p41242.bz2"),
        ("xwiki-2026-pages-articles.xml.bz2", ""),
        ("xwiki-multistream.xml", ""),
    ],
)
def test_an_index_by_its_name(tmp_path: Path, dump: str, index: str) -> None:
    assert find_index(str(tmp_path / dump)) == ""
    if index:
        (tmp_path / index).touch()
        assert find_index(str(tmp_path / dump)) == str(tmp_path / index)


def test_template_pages_are_found_by_name(tmp_path: Path) -> None:
    lines = ["598:10:A: title: with colons", "598:11:Template:Tea  Cup_A", "91022:12:Vorlage:Q&amp;A", "91022:13:Talk:Tea cup a"]
    lines += [f"{100_000 + number}:{number}:Template:{number}" for number in range(20_000)]
    path = tmp_path / "xwiki-multistream-index.txt.bz2"
    path.write_bytes(bz2.compress("\n".join([*lines, ""]).encode()))
    offsets = TemplateOffsets([str(path), str(path)], {"template", "vorlage"})
    assert len(offsets) == 2 * 20_002
    names = ("tea cup a", "q&a", "19999", "missing", "title: with colons")
    assert [offsets.find(name) for name in names] == [(0, 598), (0, 91022), (0, 119_999), None, None]
    path.write_bytes(path.read_bytes()[:30])
    assert len(TemplateOffsets([str(path)], {"template"})) == 0
