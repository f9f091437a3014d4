"""Damage in a dump costs the pages that it hits and no others; what is lost is counted in pages where that can be told."""

from __future__ import annotations

import bz2
import random
import re
from pathlib import Path

import pytest

from bertdata.records import FileRange, Page, Reject
from bertdata.sources.dumps import read_pages, read_site

HEAD = '<mediawiki xml:lang="en">\n  <siteinfo>\n    <dbname>enwiki</dbname>\n  </siteinfo>\n'
TAIL = "</mediawiki>\n"
TEXT = "Body {0} &lt;!-- hidden --&gt; &quot;q&quot; &amp;nbsp; text.\n\nMore of {0}."
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


def page(number: int) -> str:
    head = f"    <title>T{number}</title>\n    <ns>0</ns>\n    <id>{number}</id>\n"
    text = f"    <revision>\n      <id>{number + 1000}</id>\n      <text>{TEXT.format(number)}</text>\n    </revision>\n"
    return f"  <page>\n{head}{text}  </page>\n"


def read(path: Path, data: bytes) -> tuple[set[str], list[Reject]]:
    path.write_bytes(data)
    records = list(read_pages(FileRange(path.name, str(path), 0, len(data)), read_site(str(path)), 1 << 20))
    return {record.id for record in records if isinstance(record, Page)}, [r for r in records if isinstance(r, Reject)]


def damaged(text: bytes, chance: random.Random) -> bytes:
    """Damage a page behind its first tag: insert what begins something that has no end, cut bytes out, or overwrite some."""
    at = chance.randrange(9, len(text) - 1)
    if chance.random() < 0.5:
        broken = chance.choice(BROKEN) + chance.choice(BROKEN) * chance.randrange(2)
        return text[:at] + broken + text[at + chance.randrange(8) : -1] + b"\n"
    some = bytes(chance.randrange(256) for _ in range(chance.randrange(9)))
    return text[:at] + some + text[at + chance.randrange(1, 40) : -1] + b"\n"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_pages_after_a_damaged_page_are_found(seed: int, tmp_path: Path) -> None:
    chance, count = random.Random(seed), 12
    pages = [page(number).encode() for number in range(1, count + 1)]
    hit = chance.randrange(count)
    pages[hit] = damaged(pages[hit], chance)
    found, rejects = read(tmp_path / "a.xml", HEAD.encode() + b"".join(pages) + TAIL.encode())
    intact = {f"enwiki:{number}" for number in range(1, count + 1) if number != hit + 1}
    assert intact <= found
    assert rejects or len(found) == count  # a page whose text alone has changed may be whole


@pytest.mark.parametrize("begin", ["<!--", "<![CDATA[", "<?", "<page ", "<text"])
@pytest.mark.parametrize("name", ["a.xml", "a.xml.bz2"])
def test_a_tag_without_an_end_costs_its_page(begin: str, name: str, tmp_path: Path) -> None:
    data = (HEAD + page(1) + page(2).replace("Body", begin) + "".join(map(page, range(3, 57))) + TAIL).encode()
    found, rejects = read(tmp_path / name, bz2.compress(data) if name.endswith("bz2") else data)
    assert found == {f"enwiki:{number}" for number in range(1, 57) if number != 2}
    assert [reject.id for reject in rejects] == ["enwiki:2"]


@pytest.mark.parametrize("between", ["", "garbage", "<", "\n   \0  "])
def test_pages_joined_by_damage_are_each_counted(between: str, tmp_path: Path) -> None:
    """Where the end of a page and the beginning of the next are lost, two pages are, and neither has the other's title."""
    joined = "".join(map(page, (2, 3, 4))).replace("  </page>\n  <page>\n", between)
    found, rejects = read(tmp_path / "a.xml", (HEAD + page(1) + joined + page(5) + TAIL).encode())
    assert found == {"enwiki:1", "enwiki:5"}
    assert [(reject.id, reject.reason) for reject in rejects] == [(f"enwiki:{n}", "malformed-xml") for n in (2, 3, 4)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_damage_in_a_stream_costs_its_stream(seed: int, tmp_path: Path) -> None:
    chance, per, count = random.Random(seed), 5, 60
    parts = [HEAD, *("".join(map(page, range(first, first + per))) for first in range(1, count, per)), TAIL]
    streams = [bz2.compress(part.encode()) for part in parts]
    starts = [sum(map(len, streams[:number])) for number in range(len(streams) + 1)]
    data = bytearray(b"".join(streams))
    at, length = chance.randrange(starts[1], starts[-2]), chance.choice([1, 2, 8, 40, 400])
    hit = [number for number in range(len(streams)) if starts[number] < at + length and at < starts[number + 1]]
    data[at : at + length] = bytes(chance.randrange(256) for _ in range(length)) if chance.random() < 0.5 else b""
    found, rejects = read(tmp_path / "a.xml.bz2", bytes(data))
    assert {f"enwiki:{number}" for number in range(1, count + 1) if (number - 1) // per + 1 not in hit} <= found
    assert rejects


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_damage_in_a_real_dump(seed: int, shared: Path, tmp_path: Path) -> None:
    chance = random.Random(seed)
    dumps = sorted((shared / "data" / "wiki").glob("*-first-pages.xml.bz2"))
    with bz2.open(chance.choice(dumps)) as file:
        text = file.read(3 << 20)
    head, *pages = re.split(rb"(?m)^(?=  <page>)", text)[:-1]
    before, _ = read(tmp_path / "a.xml", head + b"".join(pages))
    hit = chance.randrange(len(pages))
    name = re.search(rb"<id>(\d+)</id>", pages[hit])
    pages[hit] = damaged(pages[hit], chance)
    after, _ = read(tmp_path / "a.xml", head + b"".join(pages))
    assert name is not None
    assert {id.rpartition(":")[2] for id in before - after} <= {name[1].decode()}
