"""Dumps: every whole page once, however the file is cut or damaged, and a named reject for the rest."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import re
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertdata.errors import UsageError
from bertdata.records import FileRange, Page, Reject
from bertdata.sources.dumps import Site, as_of, how_cut, read_pages, read_site, split

LAW = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="xx">\n  <siteinfo>\n'
    "    <sitename>Wikipedia</sitename><dbname>xxwiki</dbname>\n    <base>https://xx.wikipedia.org/wiki/Main_Page</base>\n"
    '    <namespaces><namespace key="-2">Media</namespace><namespace key="0" />'
    '<namespace key="1" case="first-letter">Talk</namespace><namespace key="10">Template</namespace></namespaces>\n'
    "  </siteinfo>\n"
)
TAIL = "</mediawiki>\n"
PACK = {".xml": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


def page(number: int, text: str = "", title: str = "", more: str = "<ns>0</ns>") -> str:
    return (
        f"  <page>\n    <title>{escape(title or f'Page {number}')}</title>\n    {more}\n    <id>{number}</id>\n    <revision>\n"
        f'      <id>9{number}</id>\n      <text xml:space="preserve">{escape(text or f"Text of {number}.")}</text>\n'
        "    </revision>\n  </page>\n"
    )


def write(path: Path, *parts: str | bytes) -> Path:
    """Write parts, each a stream of its own if the file is packed."""
    path.write_bytes(b"".join(PACK[path.suffix](part.encode() if isinstance(part, str) else part) for part in parts))
    return path


def read(path: Path, target: int = 1 << 30, most: int = 1 << 20) -> tuple[list[Page], list[Reject]]:
    """Read a dump in ranges of about `target` bytes."""
    site, ranges = read_site(str(path)), split(str(path), target)
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])] and ranges[-1][1] == path.stat().st_size
    parts = [FileRange(path.name, str(path), *each) for each in ranges]
    found = [record for part in parts for record in read_pages(part, site, most)]
    return [each for each in found if isinstance(each, Page)], [each for each in found if isinstance(each, Reject)]


def ids(records: Sequence[Page | Reject]) -> list[str]:
    return [record.id.removeprefix("xxwiki:") for record in records]


def told(rejects: list[Reject]) -> list[tuple[str, str]]:
    return [(reject.id.removeprefix("xxwiki:"), reject.reason) for reject in rejects]


# --- headers ---


def test_a_header_describes_its_site(tmp_path: Path) -> None:
    site = read_site(str(write(tmp_path / "a.xml", HEAD, page(1), TAIL)))
    assert site == Site("xxwiki", "xx", "https://xx.wikipedia.org/wiki/", {"media": -2, "talk": 1, "template": 10})
    assert site.url("Tea & 茶/a b?", "12") == "https://xx.wikipedia.org/wiki/Tea_%26_%E8%8C%B6/a_b%3F?oldid=12"
    assert site.url("Tea", "1&x=2") == "https://xx.wikipedia.org/wiki/Tea"
    titles = {"Talk:Tea": 1, "talk : Tea": 1, "Template:T": 10, "3:10 to Yuma": 0, "Other:x": 0, ":x": 0}
    assert {title: site.namespace(title) for title in titles} == titles
    assert as_of("enwiki-20220720.xml", "2001-01-01T00:00:00Z") == 1658275200


NAMES = [  # dbname, host, file, and the name of the wiki
    ("zh_classicalwiki", "xx.wikipedia.org", "a.xml", "zh_classicalwiki"),
    ("en\x00\x1b[2J\n\x85wiki", "xx.wikipedia.org", "a.xml", "en2Jwiki"),
    ("../../etc/passwd", "xx.wikipedia.org", "a.xml", "....etcpasswd"),
    ("x" * 65, "xx.wikipedia.org", "dewiki-20200101.xml", "dewiki"),
    ("維基", "xx.wikipedia.org", "維基.xml", "wiki"),
    ("", "de.wikisource.org", "dewikisource-20200101.xml", "dewikisource"),
    ("", "www.mediawiki.org", "mediawikiwiki-20200101.xml", "mediawikiwiki"),
    ("", "[", "dewiki-20200101.xml", "dewiki"),
]


@pytest.mark.parametrize(("dbname", "host", "file", "name"), NAMES)
def test_a_wiki_has_a_plain_name(tmp_path: Path, dbname: str, host: str, file: str, name: str) -> None:
    head = HEAD.replace("xx.wikipedia.org", host)
    head = head.replace("xxwiki", dbname) if dbname else head.replace("<dbname>xxwiki</dbname>", "")
    path = write(tmp_path / file, head, page(1), page(2).replace("<id>2</id>", ""), TAIL)
    assert read_site(str(path)).dbname == name
    pages, rejects = read(path)
    assert [pages[0].id, rejects[0].id] == [f"{name}:1", f"{name}:Page 2"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<html>no dump</html>", "not a MediaWiki export"),
        ("", "not a MediaWiki export"),
        ("x" * (3 << 20) + HEAD, "no <mediawiki> in its first megabyte"),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    for name in ("a.xml", "a.xml.bz2", "a.xml.gz"):
        with pytest.raises(UsageError, match=rf"a\.xml.*{problem}"):
            read_site(str(write(tmp_path / name, content)))


# --- pages ---


def changed(old: str, new: str) -> str:
    return page(2, "MARK").replace(old, new)


TEXT = ' <ref a="b">&amp;</ref> & "q" \n\n茶 😀 <page> </page>  \n'
TITLE, ID = "<title>Page 2</title>", "<id>2</id>"
PAGES: list[tuple[str | bytes, str, tuple[str, str] | None]] = [  # a page, and its text, or the reject
    (page(2, TEXT), TEXT, None),
    (changed("MARK", "&#33590;&#x1F600; &lt;b&gt; <![CDATA[</b> &amp;]]>"), "茶😀 <b> </b> &amp;", None),
    (changed('<text xml:space="preserve">MARK</text>', "<text/>"), "", None),
    (changed('<text xml:space="preserve">MARK</text>', '<text deleted="deleted" />'), "", None),
    (changed("MARK", "<b>unclosed"), "", ("2", "malformed-xml")),
    (changed("MARK", "&nbsp;"), "", ("2", "malformed-xml")),
    (changed("MARK", "a & b"), "", ("2", "malformed-xml")),
    (changed("MARK", "control \x01"), "", ("2", "malformed-xml")),
    (changed("MARK", "x").encode().replace(b">x<", b">\xff<"), "", ("2", "malformed-xml")),
    (changed("</revision>", ""), "", ("2", "malformed-xml")),
    (changed('<text xml:space="preserve">MARK</text>', ""), "", ("2", "no-text")),
    (changed(TITLE, ""), "", ("2", "no-title")),
    (changed(TITLE, "<title>\x7f&#9;\x80</title>"), "", ("2", "no-title")),
    (changed(ID, ""), "", ("Page 2", "no-id")),
    (changed(ID, "<id>two</id>"), "", ("Page 2", "no-id")),
    (changed(ID, f"<id>{'9' * 19}</id>"), "", ("Page 2", "no-id")),
    (changed(ID, "").replace("MARK", "a & b"), "", ("Page 2", "malformed-xml")),
    (changed(TITLE, "").replace(ID, ""), "", ("a.xml", "no-id")),
    (changed("</page>", ""), "", ("2", "unended-page")),
    ("<page><!DOCTYPE p [<!ENTITY a 'b'>]><title>&a;</title><id>2</id></page>", "", ("2", "malformed-xml")),
    *[(changed("MARK", begin), "", ("2", "malformed-xml")) for begin in ("<!--", "<![CDATA[", "<?", "<page ", "<text")],
    (page(2, "x " * (1 << 20)), "", ("2", "too-large")),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "text", "reject"), PAGES)
def test_a_page_is_read_or_costs_itself(tmp_path: Path, raw: str | bytes, text: str, reject: tuple[str, str] | None) -> None:
    for name in ("a.xml", "a.xml.bz2"):
        path = write(tmp_path / name, HEAD, page(1), raw, page(3), TAIL)
        for target in (75, 1 << 30):
            pages, rejects = read(path, target)
            if reject is None:
                assert ids(pages) == ["1", "2", "3"] and pages[1].text == text and rejects == []
            else:
                assert ids(pages) == ["1", "3"]
                assert told(rejects) == [(reject[0].replace("a.xml", name), reject[1])] and name in rejects[0].where


def test_the_fields_of_a_page(tmp_path: Path) -> None:
    revision = "<timestamp>2026-01-01T00:00:00Z</timestamp><contributor><id>7</id></contributor><model>Scribunto</model>"
    pages = [
        page(1, "A", "Module:X", '<ns>828</ns><redirect title="T" />').replace("<text", f"{revision}<text"),
        page(2, title="Talk:T", more="").replace("Talk", "A\tB&#10;C\x9f").replace("A\tB&#10;C\x9f", "Talk"),
        page(3, title="A\tB\x9fC", more="<ns>x</ns>"),
    ]
    assert read(write(tmp_path / "a.xml", HEAD, *pages, TAIL))[0] == [
        Page("xxwiki:1", "Module:X", 828, "Scribunto", True, "A", "2026-01-01T00:00:00Z", "91"),
        Page("xxwiki:2", "Talk:T", 1, "wikitext", False, "Text of 2.", "", "92"),
        Page("xxwiki:3", "A B C", 0, "wikitext", False, "Text of 3.", "", "93"),
    ]


REVISIONS = [  # timestamps of the revisions in a page, and the number of the newest
    (["2020-01-01T00:00:00Z", "2008-01-01T00:00:00Z", "2009-01-01T00:00:00Z"], 0),
    (["2008-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "2009-01-01T00:00:00Z"], 1),
    (["2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"], 1),
    (["", "2008-01-01T00:00:00Z", ""], 1),
    (["", "", ""], 2),
    (["soon", "2008-01-01T00:00:00Z", "9999"], 1),
]


@pytest.mark.parametrize(("times", "newest"), REVISIONS)
def test_the_newest_revision_counts_with_all_its_fields(tmp_path: Path, times: list[str], newest: int) -> None:
    revisions = "".join(
        f"<revision><id>{n}</id>{f'<timestamp>{time}</timestamp>' if time else ''}<model>m{n}</model><text>t{n}</text></revision>"
        for n, time in enumerate(times)
    )
    raw = f"<page><title>T</title><ns>0</ns><id>1</id>{revisions}</page>"
    ((found,), _) = read(write(tmp_path / "a.xml", HEAD, raw, TAIL))
    assert (found.text, found.model, found.revision, found.revised) == (f"t{newest}", f"m{newest}", str(newest), times[newest])


@pytest.mark.parametrize("target", [75, 300, 1 << 30])
def test_pages_without_an_end_and_pages_that_are_too_large(tmp_path: Path, target: int) -> None:
    unended = [page(n).replace("</page>", "") for n in (2, 3, 4)]
    lost = page(2).replace("<page>", "<pige>")
    assert told(read(write(tmp_path / "a.xml", HEAD, page(1), lost, page(3), TAIL))[1]) == [("2", "malformed-xml")]
    pages, rejects = read(write(tmp_path / "a.xml.bz2", HEAD, page(1), *unended), target)
    assert ids(pages) == ["1"] and told(rejects) == [("2", "unended-page"), ("3", "unended-page"), ("4", "truncated-page")]
    long = page(1, "long " * 400)
    for raw in (long, long.replace("</page>", "")):
        path = write(tmp_path / "a.xml.bz2", HEAD, *(raw[at : at + 100] for at in range(0, len(raw), 100)), page(2), TAIL)
        pages, rejects = read(path, target, most=1024)
        assert ids(pages) == ["2"] and told(rejects) == [("1", "too-large")]
    size = len(page(1).strip()) - len("<page></page>")
    assert read(write(tmp_path / "a.xml", HEAD, page(1), TAIL), most=size)[0] and size < len(HEAD), "the header does not count"
    assert not read(tmp_path / "a.xml", most=size - 1)[0]


# --- ranges ---


@st.composite
def cut_dumps(draw: st.DrawFn) -> list[bytes]:
    """A dump as parallel compressors write it: streams that begin anywhere, in tags too."""
    texts = draw(st.lists(st.text("ab<>&/page 茶\n", max_size=60), min_size=1, max_size=8))
    whole = "".join([HEAD, *(page(n + 1, text) for n, text in enumerate(texts)), TAIL]).encode()
    tags = [tag.start() + shift for tag in re.finditer(b"</?page>", whole) for shift in range(8)]
    cuts = sorted(draw(st.sets(st.sampled_from(tags) | st.integers(1, len(whole) - 1), max_size=8)))
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


@LAW
@given(streams=cut_dumps(), target=st.integers(20, 3000), suffix=st.sampled_from(["", ".bz2", ".gz"]))
def test_ranges_of_any_size_give_the_pages_of_one(tmp_path: Path, streams: list[bytes], target: int, suffix: str) -> None:
    path = write(tmp_path / f"a.xml{suffix}", *streams)
    whole = read(path)
    assert ids(whole[0]) == [str(n + 1) for n in range(b"".join(streams).count(b"<page>"))] and whole[1] == []
    assert read(path, target) == whole


def long_dump() -> bytes:
    """A dump whose pages have a few kilobytes, except one that is longer than two blocks of 100 kB."""
    draw = random.Random(5)
    sizes = [240_000 if number == 20 else draw.randrange(100, 20_000) for number in range(60)]
    texts = [" ".join(str(draw.randrange(10**9)) for _ in range(size // 10)) for size in sizes]
    return "".join([HEAD, *(page(number + 1, text) for number, text in enumerate(texts)), TAIL]).encode()


SINGLE = bz2.compress(long_dump(), 1)


@pytest.mark.parametrize("target", [1, 60_000, 1 << 30])
def test_a_single_stream_is_cut_at_blocks(tmp_path: Path, target: int) -> None:
    path = tmp_path / "a.xml.bz2"
    path.write_bytes(SINGLE)
    pages, rejects = read(path, target)
    assert ids(pages) == [str(n + 1) for n in range(60)] and rejects == []
    starts = [start for start, _ in split(str(path), target)]
    assert how_cut(str(path), starts) == ("whole" if target == 1 << 30 else "blocks")
    assert how_cut("a.xml", [0, 9]) == "pages"


# --- damage ---


@pytest.mark.parametrize("suffix", ["", ".bz2", ".gz", ".xz"])
def test_a_dump_cut_anywhere_keeps_the_pages_before(tmp_path: Path, suffix: str) -> None:
    parts = [HEAD, *("".join(map(page, range(n, n + 4))) for n in range(1, 25, 4)), TAIL]
    data = write(tmp_path / f"a.xml{suffix}", *parts).read_bytes()
    least = len(PACK[suffix or ".xml"](HEAD.encode())) + 60
    for size in [*range(least, len(data) - 12, 331), *range(len(data) - 12, len(data) - 1, 3)]:
        (tmp_path / f"a.xml{suffix}").write_bytes(data[:size])
        first = read(tmp_path / f"a.xml{suffix}")
        assert ids(first[0]) == [str(n + 1) for n in range(len(first[0]))] and first[1]
        assert {r.reason for r in first[1]} <= {"truncated-stream", "truncated-dump", "truncated-page"}
        assert read(tmp_path / f"a.xml{suffix}", 900)[0] == first[0]


BROKEN = [
    b"<!--",
    b"<![CDATA[",
    b"<?",
    b"<",
    b"<text",
    b"&",
    b"&#x",
    b"</page",
    b"<page",
    b"\0",
    b"\xff",
    b"<!DOCTYPE",
    b'<a b="',
]


@pytest.mark.parametrize("seed", range(15))
def test_damage_costs_the_pages_that_it_hits(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    raw = [page(number).encode() for number in range(1, 13)]
    hit = chance.randrange(12)
    at = chance.randrange(9, len(raw[hit]) - 1)
    some = chance.choice(BROKEN) if chance.random() < 0.5 else bytes(chance.randrange(256) for _ in range(9))
    raw[hit] = raw[hit][:at] + some + raw[hit][at + chance.randrange(40) : -1] + b"\n"
    pages, rejects = read(write(tmp_path / "a.xml", HEAD, *raw, TAIL))
    assert {str(n + 1) for n in range(12) if n != hit} <= set(ids(pages)) and (rejects or len(pages) == 12)
    # Damage of the packed bytes costs the streams that it hits.
    streams = [
        bz2.compress(part.encode()) for part in (HEAD, *("".join(map(page, range(n, n + 5))) for n in range(1, 60, 5)), TAIL)
    ]
    starts = [sum(map(len, streams[:number])) for number in range(len(streams) + 1)]
    data = bytearray(b"".join(streams))
    at, length = chance.randrange(starts[1], starts[-2]), chance.choice([1, 2, 8, 40, 400])
    hits = [number for number in range(len(streams)) if starts[number] < at + length and at < starts[number + 1]]
    data[at : at + length] = bytes(byte ^ 0x55 for byte in data[at : at + length]) if chance.random() < 0.5 else b""
    (tmp_path / "a.xml.bz2").write_bytes(data)
    whole = read(tmp_path / "a.xml.bz2")
    assert {str(n) for n in range(1, 61) if (n - 1) // 5 + 1 not in hits} <= set(ids(whole[0]))
    assert whole[1] or len(whole[0]) == 60, "a damaged header of a stream costs nothing"
    assert len(set(ids(whole[0]))) == len(whole[0])
    assert read(tmp_path / "a.xml.bz2", 500)[0] == whole[0]


# --- real dumps ---

REAL = {
    "enwiki-20141106-sample-truncated.xml.bz2": (361, ["truncated-dump"]),
    "enwiki-20160501-sample.xml.bz2": (206, []),
    "enwiki-20220720-multistream.xml.bz2": (80, []),
    "jawiki-200608-sample-export03.xml.bz2": (66, ["truncated-dump"]),
    "zhwiki-broken-1.xml": (2, ["no-title"]),
    "zhwiki-broken-2.xml": (3, []),  # a page without <ns>: its title has the namespace
    "zhwiki-broken-3.xml": (2, ["no-text"]),  # its text is in <texts>
    "zhwiki-broken-4.xml": (3, []),  # <text/>: a page that is empty
}


@pytest.mark.parametrize("name", REAL)
def test_real_dumps_give_all_their_pages(name: str, shared: Path) -> None:
    count, reasons = REAL[name]
    whole = read(shared / "data" / "wiki" / name, most=16 << 20)
    assert len(set(ids(whole[0]))) == len(whole[0]) == count and [reject.reason for reject in whole[1]] == reasons
    assert read(shared / "data" / "wiki" / name, 200_000, most=16 << 20) == whole
