"""The sample that comes with bertdata is what its sources give, and is what a real dump looks like."""

from __future__ import annotations

import bz2
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from conftest import REPOSITORY, SAMPLE

DUMPS = sorted(SAMPLE.glob("*multistream.xml.bz2"))


def test_the_dumps_are_what_their_sources_give() -> None:
    script = REPOSITORY / "examples" / "sample" / "build.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.name.split("-")[0])
def test_every_entry_of_the_index_is_a_stream_with_that_page(dump: Path) -> None:
    data = dump.read_bytes()
    index = bz2.decompress(dump.with_name(dump.name.replace(".xml.bz2", "-index.txt.bz2")).read_bytes()).decode()
    entries = [line.split(":", 2) for line in index.splitlines()]
    for offset, page, _ in entries:
        pages = bz2.BZ2Decompressor().decompress(data[int(offset) :])
        assert f"<id>{page}</id>".encode() in pages
    root = ElementTree.fromstring(bz2.decompress(data))
    assert len(root.findall("{*}page")) == len(entries)


def test_there_are_at_least_forty_articles_and_three_books() -> None:
    articles = 0
    for dump in DUMPS:
        for page in ElementTree.fromstring(bz2.decompress(dump.read_bytes())).findall("{*}page"):
            articles += page.findtext("{*}ns") == "0" and page.find("{*}redirect") is None
    assert articles >= 50
    assert len(list((SAMPLE / "books").glob("*.txt"))) == 3
