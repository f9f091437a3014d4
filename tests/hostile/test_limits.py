"""Small files that unpack to very many records are given up under a named reason; compressible text is read to its end."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made import XHTML, epub, package, page

from bertdata.config import CorpusConfig, FilterConfig
from bertdata.records import Document, Drop, FileRange, Reject
from bertdata.sources import packed
from bertdata.sources.bzip2 import Damage
from bertdata.sources.packed import blocks
from bertdata.stages.corpus import source_records
from bertdata.stages.corpus.sources import Counts

pytestmark = pytest.mark.long

GOOD = "The ferry crossed the harbour in the morning. A miller measured all of his lamps."
SECONDS_PER_MB = 2.0
HEAD = '<mediawiki xml:lang="en"><siteinfo><dbname>enwiki</dbname></siteinfo>\n'
PAGE = "<page><title>T{0}</title><ns>0</ns><id>{0}</id><revision><text>{1}</text></revision></page>\n"


def zstd(data: bytes) -> bytes:
    return bytes(pytest.importorskip("zstandard").compress(data))


PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def read(path: Path, data: bytes, kind: str = "text") -> Iterator[Document | Drop | Reject]:
    path.write_bytes(data)
    part = FileRange(path.name, str(path), 0, len(data))
    return source_records.read(kind, [part, part], CorpusConfig(filters=FilterConfig(max_repeated=1.0)), Counts(Counter()))


def reasons(records: Iterator[Any]) -> Counter[str]:
    return Counter(getattr(record, "reason", "document") for record in records)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", PACKERS)
def test_a_file_of_broken_lines_is_given_up(suffix: str, tmp_path: Path) -> None:
    data = PACKERS[suffix](b'{"text": "Tea."}\n' + b"x\n" * 200_000)
    counts = reasons(read(tmp_path / f"a.jsonl{suffix}", data))
    listed = source_records.FREE_REJECTS + len(data) // 16 + 1
    assert counts == {"document": 2, "malformed-json": 2 * listed, "too-many-rejects": 2}  # the next file is read, too


@pytest.mark.slow
def test_lines_that_take_long_to_parse_are_given_up(tmp_path: Path) -> None:
    line = b'{"a": [' + b"[]," * 300_000 + b"0]}\n"
    counts = reasons(read(tmp_path / "a.jsonl.gz", gzip.compress(line * 100)))
    assert counts["too-many-rejects"] == 2
    assert counts["no-text"] < 100


@pytest.mark.slow
def test_a_dump_of_pages_without_ids_is_given_up(tmp_path: Path) -> None:
    data = bz2.compress((HEAD + "<page><title>a</title></page>" * 200_000).encode())
    counts = reasons(read(tmp_path / "a.xml.bz2", data, "wikipedia"))
    assert counts["too-many-rejects"] == 2
    assert counts["no-id"] < 200_000


@pytest.mark.slow
def test_a_file_of_tiny_documents_is_given_up(tmp_path: Path) -> None:
    data = gzip.compress(b'{"text": "a"}\n' * 100_000)
    counts = reasons(read(tmp_path / "a.jsonl.gz", data))
    assert counts == {"document": 2 * (source_records.FREE_DOCUMENTS + len(data) // 2 + 1), "decompression-bomb": 2}


@pytest.mark.slow
def test_a_file_that_unpacks_to_much_text_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_records, "_FREE_TEXT", 1 << 20)
    counts = reasons(read(tmp_path / "a.jsonl.gz", gzip.compress(b'{"text": "a"}\n' * 20_000)))
    assert counts["decompression-bomb"] == 2
    assert counts["document"] < 20_000


def test_the_lost_bytes_of_a_bomb_count_towards_max_rejects(tmp_path: Path) -> None:
    data = bz2.compress(b"x\n" * 100_000)
    *_, last = read(tmp_path / "a.jsonl.bz2", data)
    assert isinstance(last, Reject)
    assert (last.id, last.reason, last.lost) == ("text:a.jsonl.bz2", "too-many-rejects", len(data))


@pytest.mark.parametrize("suffix", PACKERS)
def test_unpacked_bytes_are_limited(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 1 << 20)
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(PACKERS[suffix](bytes(16 << 20)))
    *good, last = blocks(str(path))
    assert isinstance(last, Damage)
    assert last.reason == "decompression-bomb"
    assert sum(len(block.data) for block in good if not isinstance(block, Damage)) <= (1 << 20) + 250 * path.stat().st_size
    counts = reasons(read(path, path.read_bytes()))
    assert counts["decompression-bomb"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("suffix", PACKERS)
def test_compressible_text_is_read_to_its_end(suffix: str, tmp_path: Path) -> None:
    """2 MB of equal rows, and one in ten of them broken: a hundredth or a thousandth of it when packed."""
    line, count = json.dumps({"text": f"{GOOD} " * 4}) + "\n", 6_000
    data = PACKERS[suffix]((line * 9 + '{"text": ""}\n').encode() * (count // 9))
    counts = reasons(read(tmp_path / f"a.jsonl{suffix}", data))
    assert counts == {"document": 2 * (count // 9) * 9, "empty": 2 * (count // 9)}


@pytest.mark.slow
def test_compressible_dumps_are_read_to_their_end(tmp_path: Path) -> None:
    data = bz2.compress((HEAD + "".join(PAGE.format(n, f"{GOOD} " * 8) for n in range(1, 2_001)) + "</mediawiki>").encode())
    assert reasons(read(tmp_path / "a.xml.bz2", data, "wikipedia")) == {"document": 4_000}


def repeating_spine(count: int) -> bytes:
    """An EPUB that names one page again and again, under other ids."""
    items = "".join(f'<item id="q{n}" href="text/one.xhtml" media-type="{XHTML}"/>' for n in range(count))
    spine = "".join(f'<itemref idref="q{n}"/>' for n in range(count))
    pages: dict[str, str | bytes] = {"one.xhtml": page(f"<p>{GOOD}</p>" * 5_000)}
    return epub(pages, opf=package(pages, items=items, spine=spine))


SLOW: dict[str, tuple[str, Callable[[], bytes]]] = {  # of about a megabyte, but for the last ones: of some kilobytes
    "skippable.jsonl.zst": ("text", lambda: zstd(b"") + (b"\x50\x2a\x4d\x18" + bytes(4)) * 125_000),
    "empty.jsonl.zst": ("text", lambda: zstd(b"") * 110_000),
    "empty.jsonl.gz": ("text", lambda: gzip.compress(b"") * 50_000),
    "empty.jsonl.xz": ("text", lambda: lzma.compress(b"") * 32_000),
    "empty.jsonl.bz2": ("text", lambda: bz2.compress(b"") * 72_000),
    "rejects.jsonl": ("text", lambda: b"x\n" * 500_000),
    "tabs.jsonl": ("text", lambda: json.dumps({"text": "a" + "\t" * 500_000}).encode()),
    "tabs.txt": ("books", lambda: (GOOD + "\t" * 1_000_000).encode()),
    "lines-of-tabs.txt": ("books", lambda: (GOOD + "\n" + ("\t" * 40 + "\n") * 25_000).encode()),
    "columns-of-tabs.txt": ("books", lambda: (b"The ferry crossed\t\t\t\tthe harbour\t\t\t\tat noon\n\n") * 21_000),
    "words.txt": ("books", lambda: b"".join(b"%05d tea\n\n" % n for n in range(90_000))),
    "short-paragraphs.txt": ("books", lambda: b"".join(b"The tea is ready, %05d\n\n" % n for n in range(40_000))),
    "tabs.xml": ("wikipedia", lambda: (HEAD + PAGE.format(1, GOOD + "\t" * 1_000_000) + "</mediawiki>").encode()),
    "spine.epub": ("books", lambda: repeating_spine(1_000)),
}


@pytest.mark.slow
def test_a_list_of_words_is_not_a_book(tmp_path: Path) -> None:
    words = "\n\n".join(f"tea {n}" for n in range(30_000)).encode()
    assert reasons(read(tmp_path / "a.txt", words, "books")) == {"too-large": 2}
    pages: dict[str, str | bytes] = {"one.xhtml": page("".join(f"<p>{n}</p>" for n in range(25_000)))}
    assert reasons(read(tmp_path / "a.epub", epub(pages), "books")) == {"too-large": 2}


@pytest.mark.slow
def test_a_long_poem_is_a_book(tmp_path: Path) -> None:
    poem = "\n".join(f"  And {n} lamps were lit on the quay,\n" for n in range(30_000)).encode()
    assert reasons(read(tmp_path / "a.txt", poem, "books")) == {"document": 2}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_no_file_is_slow_for_its_size(name: str, tmp_path: Path) -> None:
    kind, make = SLOW[name]
    data = make()
    start = time.process_time()
    list(read(tmp_path / name, data, kind))  # which reads it twice
    assert time.process_time() - start < 2 * SECONDS_PER_MB * max(1.0, len(data) / 1e6)
