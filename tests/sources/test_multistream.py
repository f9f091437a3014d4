"""The index of a multistream dump: found by its name, read line by line, compared with the dump's streams."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest

from bertdata.errors import VerificationError
from bertdata.sources.dumps.multistream import Index, find_index, read_index

STREAMS = [bz2.compress(b"<mediawiki>"), bz2.compress(b"<page>1<page>2"), bz2.compress(b"<page>3"), bz2.compress(b"</mediawiki>")]
FIRST, SECOND = len(STREAMS[0]), len(STREAMS[0]) + len(STREAMS[1])
LINES = f"{FIRST}:10:A: title: with colons\n{FIRST}:12:茶\n{SECOND}:13:\n"


def _write(directory: Path, dump: bytes = b"".join(STREAMS), index: str | bytes = LINES) -> tuple[str, str]:
    (directory / "xwiki-multistream.xml.bz2").write_bytes(dump)
    data = index.encode() if isinstance(index, str) else index
    (directory / "xwiki-multistream-index.txt.bz2").write_bytes(bz2.compress(data))
    found = find_index(str(directory / "xwiki-multistream.xml.bz2"))
    return found, str(directory / "xwiki-multistream.xml.bz2")


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


def test_pages_are_counted_and_streams_looked_at(tmp_path: Path) -> None:
    assert read_index(*_write(tmp_path)) == Index(3, 0, 0, 0)


def test_an_index_of_many_reads(tmp_path: Path) -> None:
    lines = "".join(f"{FIRST if number < 20_000 else SECOND}:{number}:Title {number}\n" for number in range(50_000))
    assert read_index(*_write(tmp_path, index=lines)) == Index(50_000, 0, 0, 0)


def test_a_dump_that_ends_early(tmp_path: Path) -> None:
    assert read_index(*_write(tmp_path, b"".join(STREAMS[:2]))) == Index(3, 1, SECOND, 0)
    assert read_index(*_write(tmp_path, b"".join(STREAMS[:2]) + STREAMS[2][:5])) == Index(3, 1, SECOND, 0)
    assert read_index(*_write(tmp_path, STREAMS[0])) == Index(3, 3, FIRST, 0)


def test_streams_that_are_not_there(tmp_path: Path) -> None:
    assert read_index(*_write(tmp_path, index=f"{FIRST + 1}:10:A\n{SECOND}:11:B\n")) == Index(2, 0, 0, 1)


@pytest.mark.parametrize("index", ["no index\n", "1:2\n", f"{FIRST}:10:A", "x" * 200_000, f"{FIRST}:10:A\n\n", "-1:2:A\n"])
def test_what_is_no_index(tmp_path: Path, index: str) -> None:
    with pytest.raises(VerificationError, match="xwiki-multistream-index.txt.bz2.* move it away"):
        read_index(*_write(tmp_path, index=index))


def test_a_damaged_index(tmp_path: Path) -> None:
    index, dump = _write(tmp_path)
    data = Path(index).read_bytes()
    for broken in (data[:-20], data[:30] + bytes([data[30] ^ 1]) + data[31:]):
        Path(index).write_bytes(broken)
        with pytest.raises(VerificationError, match="is damaged .*-stream.*fetch this index again"):
            read_index(index, dump)
