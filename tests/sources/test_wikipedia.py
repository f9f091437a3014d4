"""Dumps: every whole page once, however the file is cut or damaged, and a named reject for the rest."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertdata.errors import UsageError
from bertdata.records import FileRange, Page, Reject
from bertdata.sources.bzip2 import Block
from bertdata.sources.dumps import Site, how_cut, read_pages, read_site, split
from bertdata.sources.packed import blocks

LAW = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMESPACES = (
    '<namespaces><namespace key="-2">Media</namespace><namespace key="0" />'
    '<namespace key="1" case="first-letter">Talk</namespace><namespace key="10">Template</namespace></namespaces>'
)


def _head(version: str = "0.11", dbname: str = "xxwiki", language: str = "xx") -> str:
    name = f"<dbname>{dbname}</dbname>" if dbname else ""
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}" xml:lang="{language}">\n'
        f"  <siteinfo>\n    <sitename>Wikipedia</sitename>{name}\n    <base>https://xx.wikipedia.org/wiki/Main_Page</base>\n"
        f"    {NAMESPACES}\n  </siteinfo>\n"
    )


def _page(number: int, text: str = "", title: str = "", more: str = "<ns>0</ns>", revision: str = "") -> str:
    return (
        f"  <page>\n    <title>{escape(title or f'Page {number}')}</title>\n    {more}\n    <id>{number}</id>\n    <revision>\n"
        f'      <id>9{number}</id>{revision}\n      <text xml:space="preserve">{escape(text or f"Text of {number}.")}</text>\n'
        "    </revision>\n  </page>\n"
    )


TAIL = "</mediawiki>\n"


def _write(path: Path, *parts: str | bytes, compress: Any = None) -> Path:
    """Write parts, each a stream of its own where the name says so."""
    packers = {".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}
    compress = compress or packers.get(path.suffix, bytes)
    path.write_bytes(b"".join(compress(part.encode() if isinstance(part, str) else part) for part in parts))
    return path


def _tasks(path: Path, target: int = 1 << 30, most: int = 1 << 20) -> list[list[Page | Reject]]:
    """Read a dump as tasks of about `target` bytes: what each of them gives."""
    site, ranges = read_site(str(path)), split(str(path), target)
    size = path.stat().st_size
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])] and ranges[-1][1] == size
    return [list(read_pages(FileRange(path.name, str(path), start, end), site, most)) for start, end in ranges]


def _read(path: Path, target: int = 1 << 30, most: int = 1 << 20) -> tuple[list[Page], list[Reject]]:
    found = [item for task in _tasks(path, target, most) for item in task]
    return [i for i in found if isinstance(i, Page)], [i for i in found if isinstance(i, Reject)]


def _ids(pages: Sequence[Page | Reject]) -> list[str]:
    return [page.id for page in pages]


# --- headers ---


def test_a_header_in_full(tmp_path: Path) -> None:
    site = read_site(str(_write(tmp_path / "a.xml", _head(), _page(1), TAIL)))
    assert site == Site("xxwiki", "xx", "https://xx.wikipedia.org/wiki/", {"media": -2, "talk": 1, "template": 10})
    assert site.url("Tea & 茶/a b?", "") == "https://xx.wikipedia.org/wiki/Tea_%26_%E8%8C%B6/a_b%3F"
    assert site.url("Tea", "12") == "https://xx.wikipedia.org/wiki/Tea?oldid=12"
    assert site.url("Tea", "1&x=2") == site.url("Tea", "-1") == "https://xx.wikipedia.org/wiki/Tea"
    assert [
        site.namespace(t) for t in ("Talk:Tea", "talk : Tea", "TALK:x", "Template:T", "3:10 to Yuma", "Tea", "Other:x", ":x")
    ] == [1, 1, 1, 10, 0, 0, 0, 0]


def test_export_0_3_has_no_ns_redirect_or_dbname(tmp_path: Path) -> None:
    pages = [
        _page(1, more=""),
        _page(2, title="Talk:Tea", more=""),
        _page(3, "#REDIRECT [[Tea]]", more=""),
        _page(4, title="2001: A", more=""),
    ]
    path = _write(tmp_path / "a.xml.bz2", _head("0.3", ""), *pages, TAIL)
    assert read_site(str(path)).dbname == "xxwiki"  # from the address of the main page
    read, rejects = _read(path)
    assert [(p.id, p.namespace, p.model, p.redirect) for p in read] == [
        ("xxwiki:1", 0, "wikitext", False),
        ("xxwiki:2", 1, "wikitext", False),
        ("xxwiki:3", 0, "wikitext", False),
        ("xxwiki:4", 0, "wikitext", False),
    ]
    assert rejects == []


def test_export_0_11_in_full(tmp_path: Path) -> None:
    revision = (
        "\n<parentid>8</parentid><timestamp>2026-01-01T00:00:00Z</timestamp><contributor><username>Page &amp; id</username>"
        "<id>7</id></contributor><model>{}</model><format>text/x-wiki</format>"
    )
    path = _write(
        tmp_path / "a.xml",
        _head(),
        _page(1, "A", "Tea", revision=revision.format("wikitext")),
        _page(2, "B", "Module:X", "<ns>828</ns>", revision.format("Scribunto")),
        _page(3, "#REDIRECT [[Tea]]", "Teas", '<ns>0</ns><redirect title="Tea" />', revision.format("wikitext")),
        TAIL,
    )
    when = "2026-01-01T00:00:00Z"
    assert _read(path) == (
        [
            Page("xxwiki:1", "Tea", 0, "wikitext", False, "A", when, "91"),
            Page("xxwiki:2", "Module:X", 828, "Scribunto", False, "B", when, "92"),
            Page("xxwiki:3", "Teas", 0, "wikitext", True, "#REDIRECT [[Tea]]", when, "93"),
        ],
        [],
    )


def test_a_header_without_names_takes_the_files(tmp_path: Path) -> None:
    path = _write(tmp_path / "dewiki-20200101.xml", '<mediawiki version="0.3">\n', _page(1), TAIL)
    assert read_site(str(path)) == Site("dewiki", "", "", {})
    assert _ids(_read(path)[0]) == ["dewiki:1"]


@pytest.mark.parametrize(
    ("dbname", "name"),
    [
        ("zh_classicalwiki", "zh_classicalwiki"),
        ("be-x.old_wiki", "be-x.old_wiki"),
        (" en wiki\t", "enwiki"),
        ("en\x00\x1b[2J\n\x85wiki", "en2Jwiki"),
        ("../../etc/passwd", "....etcpasswd"),
        ("a&lt;b&gt;:&amp;wiki", "abwiki"),
        ("x" * 64, "x" * 64),
        ("x" * 65, "dewiki"),
        ("/", "dewiki"),
        ("../..", "dewiki"),
        ("\x01 \x02", "dewiki"),
        ("維基", "dewiki"),
    ],
)
def test_an_odd_dbname_makes_no_odd_ids(tmp_path: Path, dbname: str, name: str) -> None:
    path = _write(tmp_path / "dewiki-20200101.xml", _head(dbname=dbname), _page(1), _page(2).replace("<id>2</id>", ""), TAIL)
    assert read_site(str(path)).dbname == name
    pages, rejects = _read(path)
    assert _ids(pages) == [f"{name}:1"] and _ids(rejects) == [f"{name}:Page 2"]


@pytest.mark.parametrize("file", ["維基.xml", "-.xml", f"{'x' * 65}.xml", " .xml"])
def test_odd_names_of_wiki_and_file_leave_a_plain_one(tmp_path: Path, file: str) -> None:
    assert read_site(str(_write(tmp_path / file, _head(dbname="/"), TAIL))).dbname == "wiki"


@pytest.mark.parametrize("base", ["http://[", "http://[x]/wiki/A", "no address", "http://"])
def test_a_base_that_is_no_address_names_nothing(tmp_path: Path, base: str) -> None:
    head = _head(dbname="").replace("https://xx.wikipedia.org/wiki/Main_Page", base)
    assert read_site(str(_write(tmp_path / "dewiki-20200101.xml", head, TAIL))).dbname == "dewiki"


@pytest.mark.parametrize(
    ("host", "file", "name"),
    [
        ("de.wikisource.org", "x.xml", "dewikisource"),
        ("de.wikipedia.org", "x.xml", "dewiki"),
        ("www.mediawiki.org", "mediawikiwiki-20200101.xml", "mediawikiwiki"),
        ("wikisource.org", "sourceswiki-20200101.xml", "sourceswiki"),
    ],
)
def test_an_old_header_without_a_dbname_names_its_project(tmp_path: Path, host: str, file: str, name: str) -> None:
    head = _head(dbname="").replace("xx.wikipedia.org", host)
    assert read_site(str(_write(tmp_path / file, head, TAIL))).dbname == name


@given(dbname=st.text(st.characters(exclude_characters="<", exclude_categories=["Cs"]), max_size=80))
@LAW
def test_ids_of_pages_have_plain_letters_whatever_the_header_says(tmp_path: Path, dbname: str) -> None:
    path = _write(tmp_path / "dewiki.xml", _head(dbname=dbname), _page(1), TAIL)
    assert re.fullmatch("[A-Za-z0-9_.-]{1,64}:1", _read(path)[0][0].id)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('<!DOCTYPE mediawiki [<!ENTITY a "b">]>' + _head() + TAIL, "document type or entities"),
        ('<?xml version="1.0"?>\n<!DOCTYPE html>\n' + _head(), "document type"),
        ("<html>no dump</html>", "not a MediaWiki export"),
        ("", "not a MediaWiki export"),
        ("x" * (3 << 20) + _head(), "no <mediawiki> in its first megabyte"),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    for name in ("a.xml", "a.xml.bz2", "a.xml.gz"):
        path = _write(tmp_path / name, content)
        with pytest.raises(UsageError, match=rf"a\.xml.*{problem}"):
            read_site(str(path))


# --- pages ---


def test_text_as_it_was_written(tmp_path: Path) -> None:
    text = '  <ref name="a">&amp;</ref> & "q" \n\n茶 😀 &lt;page&gt; <page> </page>  \n'
    (page,), rejects = _read(_write(tmp_path / "a.xml", _head(), _page(1, text, 'Tea: "A" & <B>'), TAIL))
    assert page.text == text and page.title == 'Tea: "A" & <B>' and rejects == []


def test_character_references_and_cdata(tmp_path: Path) -> None:
    raw = _page(1, "MARK").replace("MARK", "&#33590;&#x1F600; &lt;b&gt; <![CDATA[</b> &amp;]]>")
    (page,), _ = _read(_write(tmp_path / "a.xml", _head(), raw, TAIL))
    assert page.text == "茶😀 <b> </b> &amp;"


def test_the_last_revision_counts(tmp_path: Path) -> None:
    page = _page(1, "old").replace("</revision>", "</revision>\n<revision><id>92</id><text>new</text></revision>")
    assert [p.text for p in _read(_write(tmp_path / "a.xml", _head(), page, TAIL))[0]] == ["new"]


BROKEN = {
    "malformed-xml": [
        _page(2, "MARK").replace("MARK", "<b>unclosed"),
        _page(2, "MARK").replace("MARK", "&nbsp;"),
        _page(2, "MARK").replace("MARK", "a & b"),
        _page(2, "MARK").replace("MARK", "control \x01"),
        _page(2, "MARK").encode().replace(b"MARK", b"bad \xff utf-8"),
        _page(2, "MARK").encode().replace(b"MARK", "half \ud83d".encode("utf-8", "surrogatepass")),
        _page(2, "MARK").encode().replace(b"MARK", b"\x00"),
        _page(2).replace("</revision>", ""),
    ],
    "no-text": [re.sub("<text.*</text>", "", _page(2))],
}


@pytest.mark.parametrize(("reason", "page"), [(reason, page) for reason, pages in BROKEN.items() for page in pages])
@pytest.mark.parametrize("name", ["a.xml", "a.xml.bz2"])
def test_a_broken_page_costs_itself_and_is_named(tmp_path: Path, reason: str, page: str | bytes, name: str) -> None:
    pages, rejects = _read(_write(tmp_path / name, _head(), _page(1), page, _page(3), TAIL))
    assert _ids(pages) == ["xxwiki:1", "xxwiki:3"]
    assert [(r.id, r.reason) for r in rejects] == [("xxwiki:2", reason)] and name in rejects[0].where


@pytest.mark.parametrize(
    ("page", "reject"),
    [
        (re.sub("<title>.*</title>", "", _page(2)), ("xxwiki:2", "no-title")),
        (re.sub("<title>.*</title>", "<title> </title>", _page(2)), ("xxwiki:2", "no-title")),
        (_page(2).replace("<id>2</id>", ""), ("xxwiki:Page 2", "no-id")),
        (_page(2).replace("<id>2</id>", "<id/>"), ("xxwiki:Page 2", "no-id")),
        (_page(2).replace("<id>2</id>", "<id>two</id>"), ("xxwiki:Page 2", "no-id")),
        (_page(2).replace("<id>2</id>", f"<id>{'9' * 19}</id>"), ("xxwiki:Page 2", "no-id")),
        (re.sub("<title>.*</title>", "", _page(2)).replace("<id>2</id>", ""), ("a.xml", "no-id")),
    ],
)
def test_a_page_without_title_or_id(tmp_path: Path, page: str, reject: tuple[str, str]) -> None:
    pages, rejects = _read(_write(tmp_path / "a.xml", _head(), _page(1), page, _page(3), TAIL))
    assert _ids(pages) == ["xxwiki:1", "xxwiki:3"]
    assert [(r.id, r.reason) for r in rejects] == [reject]


def test_a_malformed_page_without_an_id_is_named_by_its_title(tmp_path: Path) -> None:
    """The id of its revision is no id of a page: another page may have it."""
    page = _page(2, "MARK").replace("<id>2</id>", "").replace("MARK", "a & b")
    _, (reject,) = _read(_write(tmp_path / "a.xml", _head(), page, TAIL))
    assert (reject.id, reject.reason) == ("xxwiki:Page 2", "malformed-xml")


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("A\tB\nC", "A B C"),
        ("A&#9;B&#10;C&#13;D", "A B C D"),
        ("A\x7fB\x80C\x9f", "A B C"),
        ("&#133;A&#x9b;&#x9b;B\n", "A  B"),
        ("A\u00a0B\u200d茶 😀", "A\u00a0B\u200d茶 😀"),  # letters that are no control characters stay
    ],
)
def test_control_characters_of_a_title_become_spaces(tmp_path: Path, raw: str, title: str) -> None:
    page = _page(1, "a\tb\x7f\x9fc").replace("<title>Page 1</title>", f"<title>{raw}</title>")
    (read,), rejects = _read(_write(tmp_path / "a.xml", _head(), page, TAIL))
    assert read.title == title and rejects == []
    assert read.text == "a\tb\x7f\x9fc"  # what a text means is for its parser to say


@pytest.mark.parametrize(("text", "reason"), [("fine", "no-id"), ("a & b", "malformed-xml")])
def test_control_characters_of_a_title_come_into_no_reject(tmp_path: Path, text: str, reason: str) -> None:
    page = _page(2, "MARK", "A\n\x7f\x9bB").replace("<id>2</id>", "").replace("MARK", text)
    _, (reject,) = _read(_write(tmp_path / "a.xml", _head(), page, TAIL))
    assert (reject.id, reject.reason) == ("xxwiki:A   B", reason)


def test_a_title_of_control_characters_is_none(tmp_path: Path) -> None:
    page = _page(2).replace("<title>Page 2</title>", "<title>\x7f&#9;\x80</title>")
    assert [(r.id, r.reason) for r in _read(_write(tmp_path / "a.xml", _head(), page, TAIL))[1]] == [("xxwiki:2", "no-title")]


@pytest.mark.parametrize("text", ["<text/>", '<text xml:space="preserve" />', "<text></text>", '<text deleted="deleted" />'])
def test_an_empty_text_is_a_page(tmp_path: Path, text: str) -> None:
    page = re.sub("<text.*</text>", text, _page(2))
    pages, rejects = _read(_write(tmp_path / "a.xml", _head(), _page(1), page, _page(3), TAIL))
    assert [(p.id, p.text) for p in pages][1] == ("xxwiki:2", "") and len(pages) == 3 and rejects == []


@pytest.mark.parametrize(
    ("more", "title", "namespace"), [("", "Talk:T", 1), ("<ns>x</ns>", "Talk:T", 1), ("<ns/>", "T", 0), ("<ns>-1</ns>", "T", -1)]
)
def test_a_missing_namespace_comes_from_the_title(tmp_path: Path, more: str, title: str, namespace: int) -> None:
    (page,), _ = _read(_write(tmp_path / "a.xml", _head(), _page(1, title=title, more=more), TAIL))
    assert page.namespace == namespace


@pytest.mark.parametrize("target", [1, 1 << 30])
@pytest.mark.parametrize("name", ["a.xml", "a.xml.bz2"])
def test_an_unended_page_costs_itself(tmp_path: Path, name: str, target: int) -> None:
    """Though it be the last of its task: the page after it is read by the next task, and by that one only."""
    path = _write(tmp_path / name, _head(), _page(1), _page(2).replace("</page>", ""), _page(3), TAIL)
    pages, rejects = _read(path, target)
    assert _ids(pages) == ["xxwiki:1", "xxwiki:3"]
    assert [(r.id, r.reason) for r in rejects] == [("xxwiki:2", "unended-page")]


def test_a_page_inside_declares_nothing(tmp_path: Path) -> None:
    bad = "<page><!DOCTYPE page [<!ENTITY a 'b'>]><title>&a;</title><id>2</id><revision><text>x</text></revision></page>"
    pages, rejects = _read(_write(tmp_path / "a.xml", _head(), _page(1), bad, _page(3), TAIL))
    assert _ids(pages) == ["xxwiki:1", "xxwiki:3"] and [r.id for r in rejects] == ["xxwiki:2"]


@pytest.mark.parametrize("target", [1, 1 << 30])
@pytest.mark.parametrize("name", ["a.xml", "a.xml.bz2"])
def test_unended_pages_are_each_named_also_at_the_end_of_a_file(tmp_path: Path, name: str, target: int) -> None:
    unended = [_page(i).replace("</page>", "") for i in (2, 3, 4)]
    pages, rejects = _read(_write(tmp_path / name, _head(), _page(1), *unended), target)
    assert _ids(pages) == ["xxwiki:1"]
    assert [(r.id, r.reason) for r in rejects] == [
        ("xxwiki:2", "unended-page"),
        ("xxwiki:3", "unended-page"),
        ("xxwiki:4", "truncated-page"),
    ]


def test_a_page_that_lost_its_beginning_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.xml", _head(), _page(1), _page(2).replace("<page>", "<pige>"), _page(3), TAIL)
    pages, rejects = _read(path)
    assert _ids(pages) == ["xxwiki:1", "xxwiki:3"] and [(r.id, r.reason) for r in rejects] == [("xxwiki:2", "malformed-xml")]


# --- sizes ---


@pytest.mark.parametrize("step", [1, 20, 500, 1 << 20])
def test_the_limit_is_on_the_page_alone_however_it_comes(tmp_path: Path, step: int) -> None:
    """From behind ``<page>`` to the end of ``</page>``: neither the header before it counts, nor where blocks end."""
    size = len(_page(1).strip()) - len("<page>")
    whole = (_head() + _page(1) + _page(2) + TAIL).encode()
    path = _write(tmp_path / "a.xml.bz2", *(whole[i : i + step] for i in range(0, len(whole), step)))
    assert _ids(_read(path, most=size)[0]) == ["xxwiki:1", "xxwiki:2"] and size < len(_head())
    pages, rejects = _read(path, most=size - 1)
    assert pages == [] and [(r.id, r.reason) for r in rejects] == [("xxwiki:1", "too-large"), ("xxwiki:2", "too-large")]


@pytest.mark.parametrize("target", [1, 300, 1 << 30])
def test_a_too_large_page_without_its_end_costs_itself(tmp_path: Path, target: int) -> None:
    long = _page(1, "long " * 400).replace("</page>", "")
    path = _write(tmp_path / "a.xml.bz2", _head(), *(long[i : i + 100] for i in range(0, len(long), 100)), _page(2), TAIL)
    pages, rejects = _read(path, target, most=1024)
    assert _ids(pages) == ["xxwiki:2"] and [(r.id, r.reason) for r in rejects] == [("xxwiki:1", "too-large")]


@pytest.mark.parametrize("name", ["a.xml", "a.xml.bz2", "a.xml.gz"])
@pytest.mark.parametrize("size", [5_000, 50_000, 3_000_000])
@pytest.mark.slow
def test_a_page_over_the_limit_is_rejected_by_its_id(tmp_path: Path, name: str, size: int) -> None:
    path = _write(tmp_path / name, _head() + _page(1) + _page(2, "x " * (size // 2)) + _page(3) + TAIL)
    pages, rejects = _read(path, most=4_000)
    assert _ids(pages) == ["xxwiki:1", "xxwiki:3"]
    assert [(r.id, r.reason) for r in rejects] == [("xxwiki:2", "too-large")] and "--max-page-bytes" in rejects[0].where


@pytest.mark.slow
def test_a_page_of_fifty_megabytes_is_rejected_by_its_id(tmp_path: Path) -> None:
    dump = _head() + _page(1) + _page(2, "word " * 10_000_000) + _page(3) + TAIL
    path = _write(tmp_path / "a.xml.gz", dump, compress=partial(gzip.compress, compresslevel=1))
    pages, rejects = _read(path, most=16 << 20)
    assert _ids(pages) == ["xxwiki:1", "xxwiki:3"]
    assert [(r.id, r.reason) for r in rejects] == [("xxwiki:2", "too-large")]


def test_a_dump_cut_in_a_too_large_page_is_named_too(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.xml.bz2", _head(), _page(1), _page(2, "long " * 400)[:1500])
    pages, rejects = _read(path, most=1024)
    assert _ids(pages) == ["xxwiki:1"]
    assert [(r.id, r.reason) for r in rejects] == [("xxwiki:2", "too-large"), ("a.xml.bz2", "truncated-dump")]


MEASURE = """
import resource, sys
from bertdata.records import FileRange
from bertdata.sources.dumps import read_pages, read_site, split
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
path = sys.argv[1]
site = read_site(path)
found = [item for start, end in split(path, 1 << 20) for item in read_pages(FileRange('a', path, start, end), site, 1 << 20)]
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, [(i.id, getattr(i, 'reason', '')) for i in found])
"""


@pytest.mark.slow
def test_a_bomb_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """A page of 64 MB of one letter, in a few hundred bytes of bzip2."""
    head, _, tail = _page(2, "MARK").partition("MARK")
    packer = bz2.BZ2Compressor()
    bomb = b"".join(
        [
            packer.compress(head.encode()),
            *(packer.compress(b"a" * (1 << 20)) for _ in range(64)),
            packer.compress(tail.encode()),
            packer.flush(),
        ]
    )
    path = tmp_path / "a.xml.bz2"
    path.write_bytes(
        bz2.compress(_head().encode()) + bz2.compress(_page(1).encode()) + bomb + bz2.compress((_page(3) + TAIL).encode())
    )
    assert path.stat().st_size < 2000
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    megabytes, _, found = done.stdout.strip().partition(" ")
    assert found == "[('xxwiki:1', ''), ('xxwiki:2', 'too-large'), ('xxwiki:3', '')]"
    assert int(megabytes) < 40


# --- cuts into tasks ---


def _pages(draw: st.DrawFn, count: int) -> list[str]:
    texts = draw(st.lists(st.text("ab<>&/page 茶\n", max_size=60), min_size=count, max_size=count))
    return [_page(i + 1, text) for i, text in enumerate(texts)]


@st.composite
def whole_dumps(draw: st.DrawFn) -> list[str]:
    """A dump as the Foundation writes it: the header, then some whole pages a stream, then the end."""
    pages = _pages(draw, draw(st.integers(0, 12)))
    cuts = sorted(draw(st.sets(st.integers(1, 12), max_size=5)))
    streams = ["".join(pages[a:b]) for a, b in zip([0, *cuts], [*cuts, 99], strict=True)]
    return [_head(), *(s for s in streams if s), TAIL]


@st.composite
def cut_dumps(draw: st.DrawFn) -> list[bytes]:
    """A dump as parallel compressors write it: streams that begin anywhere, in tags too."""
    whole = "".join([_head(), *_pages(draw, draw(st.integers(1, 8))), TAIL]).encode()
    tags = [m.start() + d for m in re.finditer(b"</?page>", whole) for d in range(8)]
    cuts = sorted(draw(st.sets(st.sampled_from(tags) | st.integers(1, len(whole) - 1), max_size=8)))
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


@LAW
@given(streams=whole_dumps(), target=st.integers(1, 3000), name=st.sampled_from(["a.xml", "a.xml.bz2", "a.xml.gz"]))
@pytest.mark.slow
def test_tasks_of_any_size_give_the_pages_of_one(tmp_path: Path, streams: list[str], target: int, name: str) -> None:
    path = _write(tmp_path / name, *streams)
    expected = [f"xxwiki:{i + 1}" for i in range("".join(streams).count("<page>"))]
    whole = _read(path)
    assert _ids(whole[0]) == expected and whole[1] == []
    assert _read(path, target) == whole
    raw = path.read_bytes()
    begins = {"a.xml": b"<page>", "a.xml.bz2": b"1AY&SY"}.get(name, b"")
    assert all(raw.startswith(begins, start) for start, _ in split(str(path), target)[1:])
    assert len(split(str(path), 1)) == 1 + len(streams) or name != "a.xml.bz2"  # byte 0, and the mark of each stream


@settings(LAW, max_examples=150)
@given(streams=cut_dumps(), target=st.integers(1, 600))
@pytest.mark.slow
def test_streams_that_cut_through_pages_and_tags(tmp_path: Path, streams: list[bytes], target: int) -> None:
    path = _write(tmp_path / "a.xml.bz2", *streams)
    whole = _read(path)
    assert _ids(whole[0]) == [f"xxwiki:{i + 1}" for i in range(b"".join(streams).count(b"<page>"))] and whole[1] == []
    assert _read(path, target) == whole


@pytest.mark.parametrize("tag", ["<page>", "</page>", "<sitename>", "</siteinfo>", "</mediawiki>", "<title>", "<id>"])
def test_a_stream_that_cuts_a_tag(tmp_path: Path, tag: str) -> None:
    """Two streams of one task each, cut at every byte of the tag's first and second occurrence."""
    whole = "".join([_head(), _page(1), _page(2), _page(3), TAIL])
    for found in list(re.finditer(tag, whole))[:2]:
        for at in range(found.start(), found.end() + 1):
            path = _write(tmp_path / "a.xml.bz2", whole[:at], whole[at:])
            pages, rejects = _read(path, 1)
            assert (_ids(pages), rejects) == (["xxwiki:1", "xxwiki:2", "xxwiki:3"], []), (
                whole[at - 5 : at] + "|" + whole[at : at + 5]
            )


def _long_dump(pages: int = 60) -> bytes:
    """A dump whose pages are of a few kilobytes, but for one that is longer than two blocks of 100 kB."""
    draw = random.Random(5)
    sizes = [120_000 if number == 20 else draw.randrange(100, 20_000) for number in range(pages)]
    texts = [" ".join(str(draw.randrange(10**9)) for _ in range(size // 10)) for size in sizes]
    texts[20] += " " + texts[20][::-1]
    return "".join([_head(), *(_page(number + 1, text) for number, text in enumerate(texts)), TAIL]).encode()


LONG = _long_dump()
SINGLE = bz2.compress(LONG, 1)


def _single(tmp_path: Path, data: bytes = SINGLE) -> Path:
    (tmp_path / "a.xml.bz2").write_bytes(data)
    return tmp_path / "a.xml.bz2"


@pytest.mark.parametrize("target", [1, 60_000, 100_000, 1 << 30])
def test_a_single_stream_is_cut_at_blocks_and_gives_each_page_once(tmp_path: Path, target: int) -> None:
    path = _single(tmp_path)
    tasks = _tasks(path, target)
    pages, rejects = _read(path, target)
    assert _ids(pages) == [f"xxwiki:{i + 1}" for i in range(60)] and rejects == []
    assert pages == _read(_write(tmp_path / "b.xml", LONG))[0]
    starts = [start for start, _ in split(str(path), target)]
    assert how_cut(str(path), starts) == ("blocks" if len(tasks) > 1 else "whole")
    assert (len(tasks) > 7) == (target == 1) and (len(tasks) == 1) == (target == 1 << 30)


def test_how_dumps_are_cut(tmp_path: Path) -> None:
    for name, how in {"a.xml.bz2": "blocks", "a.xml": "pages", "a.xml.gz": "whole", "a.xml.xz": "whole"}.items():
        path = _write(tmp_path / name, _head(), *map(_page, range(1, 50)), TAIL)
        assert how_cut(str(path), [start for start, _ in split(str(path), 1)]) == how


SPANS = {int(page[1]): page.span() for page in re.finditer(rb"<page>.*?<id>(\d+)</id>.*?</page>", LONG, re.DOTALL)}


@pytest.mark.slow
@pytest.mark.parametrize("target", [1, 1 << 30])
@pytest.mark.parametrize("number", [1, 3, 4, 6])
def test_a_damaged_block_of_a_single_stream_costs_its_pages(tmp_path: Path, number: int, target: int) -> None:
    """Those that it holds or breaks, and nothing else, at any size of tasks; and its bytes are counted once."""
    texts: dict[int, int] = {}
    for block in blocks(str(_single(tmp_path))):
        assert isinstance(block, Block)
        texts[block.at] = texts.get(block.at, 0) + len(block.data)
    start, end = [*texts, len(SINGLE)][number : number + 2]
    before = sum(size for at, size in texts.items() if at < start)
    data = bytearray(SINGLE)
    data[(start + end) // 2] ^= 0x04
    pages, rejects = _read(_single(tmp_path, bytes(data)), target)
    kept = [page for page, (begin, stop) in SPANS.items() if stop <= before or begin >= before + texts[start]]
    assert _ids(pages) == [f"xxwiki:{page}" for page in kept] and 40 < len(kept) < 60
    assert {(r.reason, r.where) for r in rejects} == {("damaged-stream", f"bytes {start}-{end} of a.xml.bz2")}
    assert sum(reject.lost for reject in rejects) == end - start and len(rejects) <= 2


@pytest.mark.parametrize("target", [1, 1 << 30])
def test_a_single_stream_cut_short(tmp_path: Path, target: int) -> None:
    for size in (len(SINGLE) // 3, len(SINGLE) // 2, len(SINGLE) - 40):
        pages, rejects = _read(_single(tmp_path, SINGLE[:size]), target)
        assert 0 < len(pages) < 60 and _ids(pages) == [f"xxwiki:{i + 1}" for i in range(len(pages))]
        assert {r.reason for r in rejects} == {"truncated-stream"} and 1 <= len(rejects) <= 2
        begin = re.match(rf"bytes (\d+)-{size} of a\.xml\.bz2", rejects[0].where)
        assert begin and {r.where for r in rejects} == {begin[0]} and sum(r.lost for r in rejects) == size - int(begin[1])


def test_a_page_over_many_tasks_belongs_to_the_first(tmp_path: Path) -> None:
    streams = [_head(), *(_page(1, "long " * 100)[i : i + 50] for i in range(0, 700, 50)), _page(2), TAIL]
    tasks = _tasks(_write(tmp_path / "a.xml.bz2", *streams), 1)
    assert [_ids(task) for task in tasks if task] == [["xxwiki:1"], ["xxwiki:2"]]


def test_a_too_large_page_over_many_tasks_is_rejected_once(tmp_path: Path) -> None:
    long = _page(1, "long " * 400)
    streams = [_head(), *(long[i : i + 100] for i in range(0, len(long), 100)), _page(2), TAIL]
    path = _write(tmp_path / "a.xml.bz2", *streams)
    for target in (1, 300, 1 << 30):
        pages, rejects = _read(path, target, most=1024)
        assert _ids(pages) == ["xxwiki:2"]
        assert [(r.id, r.reason) for r in rejects] == [("xxwiki:1", "too-large")]


# --- damage ---


def _streams(count: int = 6, each: int = 4) -> list[bytes]:
    pages = [_page(i + 1, f"Words of page {i + 1}: " + " ".join(str(i * k) for k in range(60))) for i in range(count * each)]
    return [part.encode() for part in (_head(), *("".join(pages[i : i + each]) for i in range(0, len(pages), each)), TAIL)]


@pytest.mark.slow
@pytest.mark.parametrize("target", [1, 900, 1 << 30])
@pytest.mark.parametrize("index", [1, 3, 6])
def test_a_flipped_byte_costs_its_stream_and_the_reject_names_the_bytes(tmp_path: Path, index: int, target: int) -> None:
    packed = list(map(bz2.compress, _streams()))
    starts = [sum(map(len, packed[:i])) for i in range(len(packed) + 1)]
    other = [f"xxwiki:{i + 1}" for i in range(24) if i // 4 != index - 1]
    for at in range(starts[index], starts[index + 1], 37):
        data = bytearray(b"".join(packed))
        data[at] ^= 0x10
        (tmp_path / "a.xml.bz2").write_bytes(data)
        pages, rejects = _read(tmp_path / "a.xml.bz2", target)
        assert [p for p in _ids(pages) if p in other] == other and len(set(_ids(pages))) == len(pages)
        if len(pages) == 24 and not rejects:
            continue  # a bit of a bzip2 stream may mean nothing
        lost = f"{starts[index] + 4}-{starts[index + 1] + 4}"  # from the mark of a block to that of the next
        assert f"bytes {lost} of a.xml.bz2" in {r.where for r in rejects}
        assert len(rejects) == 1 and rejects[0].reason in ("damaged-stream", "truncated-stream")


def test_a_damaged_stream_in_pages_cut_anywhere_costs_what_it_holds(tmp_path: Path) -> None:
    """The tail of a page whose beginning is lost is no page of its own: rejects must not depend on the size of tasks."""
    whole = b"".join(_streams())
    parts = [whole[i : i + 700] for i in range(0, len(whole), 700)]
    packed = list(map(bz2.compress, parts))
    packed[4] = packed[4][:40] + bytes([packed[4][40] ^ 0xFF]) + packed[4][41:]
    (tmp_path / "a.xml.bz2").write_bytes(b"".join(packed))
    touched = {f"xxwiki:{m}" for m in re.findall("<id>([0-8]?[0-9])</id>", whole[4 * 700 - 500 : 5 * 700 + 500].decode())}
    first = _read(tmp_path / "a.xml.bz2")
    expected = {f"xxwiki:{i + 1}" for i in range(24)}
    assert expected - set(_ids(first[0])) <= touched and len(set(_ids(first[0]))) == len(first[0])
    assert {r.reason for r in first[1]} == {"damaged-stream"}
    for target in (1, 500, 1500):
        assert _read(tmp_path / "a.xml.bz2", target)[0] == first[0]


@pytest.mark.parametrize("target", [1, 1000, 1 << 30])
def test_damage_is_named_by_the_page_that_it_breaks_and_by_no_other(tmp_path: Path, target: int) -> None:
    """A task that begins within a page knows no id of it: those that it sees are of revisions and of contributors."""
    whole = (_head() + _page(1) + _page(2, "word " * 60) + _page(3) + TAIL).encode()
    at = whole.index(b"<id>92")
    packed = list(map(bz2.compress, (whole[:at], whole[at : at + 150], whole[at + 150 : at + 200], whole[at + 200 :])))
    packed[2] = packed[2][:40] + bytes([packed[2][40] ^ 0xFF]) + packed[2][41:]
    (tmp_path / "a.xml.bz2").write_bytes(b"".join(packed))
    pages, rejects = _read(tmp_path / "a.xml.bz2", target)
    assert _ids(pages) == ["xxwiki:1", "xxwiki:3"]
    assert set(_ids(rejects)) <= {"xxwiki:2", "a.xml.bz2"} and rejects[0].id == "xxwiki:2"


@pytest.mark.parametrize("target", [1, 1000, 1 << 30])
def test_a_dump_cut_in_a_stream(tmp_path: Path, target: int) -> None:
    packed = list(map(bz2.compress, _streams()))
    start = sum(map(len, packed[:4]))
    for size in (start + 5, start + 50, start + len(packed[4]) - 11):
        (tmp_path / "a.xml.bz2").write_bytes(b"".join(packed)[:size])
        pages, rejects = _read(tmp_path / "a.xml.bz2", target)
        assert _ids(pages)[:12] == [f"xxwiki:{i + 1}" for i in range(12)] and len(pages) <= 16
        begin = start + 4 * (size == start + 50)  # the header of a stream, or the mark of its cut block
        if size > start + 50:  # its block is complete, so that only its end is lost
            assert [r.reason for r in rejects] == ["truncated-stream"] and len(pages) in (12, 16)
        else:
            assert [(r.reason, r.where) for r in rejects] == [("truncated-stream", f"bytes {begin}-{size} of a.xml.bz2")]


@pytest.mark.parametrize("target", [1, 1000, 1 << 30])
@pytest.mark.parametrize("name", ["a.xml.bz2", "a.xml"])
def test_a_dump_cut_between_pages(tmp_path: Path, target: int, name: str) -> None:
    pages, rejects = _read(_write(tmp_path / name, *_streams()[:4]), target)
    assert _ids(pages) == [f"xxwiki:{i + 1}" for i in range(12)]
    assert [(r.id, r.reason) for r in rejects] == [(name, "truncated-dump")] and "no </mediawiki>" in rejects[0].where


@pytest.mark.parametrize("target", [1, 1000, 1 << 30])
@pytest.mark.parametrize("name", ["a.xml.bz2", "a.xml", "a.xml.gz"])
@pytest.mark.parametrize("cut", [1, 7, 8, 9, 100, 300])
def test_a_dump_cut_in_a_page(tmp_path: Path, target: int, name: str, cut: int) -> None:
    """Cut before the end of the last page of the third stream, at whole streams: one reject, by the page's id."""
    streams = _streams()[:4]
    streams[3] = streams[3].rstrip()[:-cut]
    pages, rejects = _read(_write(tmp_path / name, *streams), target)
    assert _ids(pages) == [f"xxwiki:{i + 1}" for i in range(11)]
    assert len(rejects) == 1 and rejects[0].reason == "truncated-page"
    assert rejects[0].id == "xxwiki:12" and rejects[0].where.startswith("end of ")


def test_a_damaged_gzip_names_what_is_lost(tmp_path: Path) -> None:
    data = gzip.compress(b"".join(_streams(60)))
    (tmp_path / "a.xml.gz").write_bytes(data[: len(data) // 2])
    pages, rejects = _read(tmp_path / "a.xml.gz")
    assert 0 < len(pages) < 240 and _ids(pages) == [f"xxwiki:{i + 1}" for i in range(len(pages))]
    assert [r.reason for r in rejects] == ["truncated-stream"]


@LAW
@given(
    streams=cut_dumps(),
    flips=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), min_size=1, max_size=3),
    target=st.integers(1, 600),
)
@pytest.mark.slow
def test_no_damage_stops_the_reader_or_repeats_a_page(tmp_path: Path, streams: list[bytes], flips: Any, target: int) -> None:
    data = bytearray(b"".join([bz2.compress(_head().encode()), *map(bz2.compress, streams)]))
    first = len(bz2.compress(_head().encode()))
    for at, change in {first + at % (len(data) - first): change for at, change in flips}.items():
        data[at] ^= change
    (tmp_path / "a.xml.bz2").write_bytes(data)
    pages, rejects = _read(tmp_path / "a.xml.bz2", target)
    assert max(Counter(_ids(pages)).values(), default=0) <= 1
    assert rejects or _ids(pages) == [f"xxwiki:{i + 1}" for i in range(b"".join(streams).count(b"<page>"))]


# --- real dumps ---

WIKI = Path(__file__).parents[3] / "shared" / "data" / "wiki"
real = pytest.mark.skipif(not WIKI.is_dir(), reason="the real dumps of ../shared/data/wiki are not here")
COUNTS = {
    "enwiki-20141106-sample-truncated.xml.bz2": 361,
    "enwiki-20160501-sample.xml.bz2": 206,
    "enwiki-20220720-multistream.xml.bz2": 80,
    "jawiki-200608-sample-export03.xml.bz2": 66,
}


@real
@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.slow
def test_real_dumps_give_all_their_pages(name: str) -> None:
    pages, rejects = _read(WIKI / name, most=16 << 20)
    assert len(pages) == len(set(_ids(pages))) == COUNTS[name]
    if name.startswith(("enwiki-2014", "jawiki")):  # both stop after a whole page
        assert [(r.id, r.reason, r.where) for r in rejects] == [
            (name, "truncated-dump", f"end of {name}: no </mediawiki>; pages may be missing")
        ]
    else:
        assert rejects == []


@real
def test_a_real_multistream_dump_in_tasks() -> None:
    path = WIKI / "enwiki-20220720-multistream.xml.bz2"
    whole = _read(path, most=16 << 20)
    assert len(_tasks(path, 50_000, most=16 << 20)) > 3
    for target in (1, 50_000, 200_000):
        assert _read(path, target, most=16 << 20) == whole


BROKEN_DUMPS = {
    "zhwiki-broken-1.xml": [("zhwiki:13", "no-title")],
    "zhwiki-broken-2.xml": [],  # a page without <ns>: its title tells the namespace, and it is read
    "zhwiki-broken-3.xml": [("zhwiki:13", "no-text")],  # its text stands in <texts>
    "zhwiki-broken-4.xml": [],  # <text/>: a page that is empty
}


@real
@pytest.mark.parametrize("name", BROKEN_DUMPS)
@pytest.mark.parametrize("target", [1, 5_000, 1 << 30])
def test_broken_dumps_end_in_counted_rejects(name: str, target: int) -> None:
    pages, rejects = _read(WIKI / name, target, most=16 << 20)
    assert [(r.id, r.reason) for r in rejects] == BROKEN_DUMPS[name]
    assert len(pages) + len(rejects) == 3
    assert [page.text == "" for page in pages] == [name == "zhwiki-broken-4.xml" and page.id == "zhwiki:13" for page in pages]


@real
def test_a_plain_dump_in_tasks() -> None:
    path = WIKI / "zhwiki-sample.xml"
    whole = _read(path, most=16 << 20)
    assert len(whole[0]) == path.read_bytes().count(b"<page>") > 0 and whole[1] == []
    for target in (1, 20_000):
        assert _read(path, target, most=16 << 20) == whole
