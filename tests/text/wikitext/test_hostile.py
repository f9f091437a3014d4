"""Damaged and random wikitext raises nothing, and its paragraphs are clean."""

import random
from pathlib import Path

import pytest
from conftest import SAMPLE
from footing import Extractor
from hypothesis import given, settings
from hypothesis import strategies as st

from bertdata.records import FileRange, Page
from bertdata.sources.dumps import read_pages, read_site
from bertdata.text.wikitext import is_redirect, load_templates

WORDS = """
    {{ }} {{{ }}} [[ ]] [ ] {| |} |- | ! -{ }- '' ''' <ref> </ref> <ref/> <ref <!-- --> <math>
    </math> <nowiki> </nowiki> <poem> </poem> <div> </div> <p> </p> <ul> </ul> <table> </table> <br>
    <blockquote> == : ; * # ---- __TOC__ &nbsp; &#1; & < > = a b1 zh-cn: zh-tw: ; => {{cn}} [[File:
    [[a|b]] [http://x formatnum: A| H| {{!}} {{=}} {{nowrap| {{convert|5|mi|km}} {{lang|la| {{#if: {{#ifeq: {{#switch:
    {{#expr: {{lc: {{formatnum: | 1 + ( ) {{quote|text=
"""
PIECES = WORDS.split()
OPTIONS = (
    {"language": "en"},
    {"language": "en", "templates": load_templates("en")},
    {"language": "zh", "variant": "zh-tw", "templates": load_templates("zh")},
)
CASES = 3000  # damaged pages
PAGES = st.lists(st.one_of(st.sampled_from([*PIECES, " ", "\n"]), st.text(max_size=3)), max_size=60).map("".join)


def check(text: str) -> None:
    """Extract with each combination of options."""
    for options in OPTIONS:
        for paragraph in Extractor(**options)(text, "T").paragraphs:
            assert paragraph == paragraph.strip() and "\n" not in paragraph
            assert not any(char < " " for char in paragraph if char != "\t")
    is_redirect(text)


@settings(max_examples=80, deadline=None)
@given(PAGES)
@pytest.mark.slow
def test_random_markup_raises_nothing(text: str) -> None:
    check(text)


@pytest.fixture(scope="module")
def pages() -> list[str]:
    """The wikitext of the sample's pages."""
    dumps = [path for path in sorted(Path(SAMPLE).glob("*.bz2")) if "index" not in path.name]
    parts = [FileRange(path.name, str(path), 0, path.stat().st_size) for path in dumps]
    records = [record for part in parts for record in read_pages(part, read_site(part.path), 1 << 20)]
    return [record.text for record in records if isinstance(record, Page) and record.text]


def damage(page: str, pages: list[str], draw: random.Random) -> str:
    """Delete, double, move, cut or insert pieces of a page, 1 to 16 times."""
    for _ in range(draw.choice([1, 2, 4, 16])):
        at, length = draw.randrange(len(page) + 1), int(draw.paretovariate(0.7))
        other = draw.choice(pages)
        start = draw.randrange(len(other))
        page = draw.choice(
            [
                page[:at] + page[at + length :],
                page[:at] + page[at : at + min(length, 5000)] + page[at:],
                page[:at] + other[start : start + draw.randrange(2000)] + page[at:],
                page[:at] + draw.choice(PIECES) + page[at:],
                page[:at] + chr(draw.randrange(32, 0x3000)) + page[at + 1 :],
                page[:at] if at > 100 else page,
            ]
        )
    return page


@pytest.mark.long
def test_damaged_pages_raise_nothing(pages: list[str]) -> None:
    for number in range(CASES):
        draw = random.Random(number)
        check(damage(draw.choice(pages), pages, draw))
