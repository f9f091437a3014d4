"""Bombs: what is small on disk and large in memory, or never ends, is refused by name in bounded memory and time."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import struct
import subprocess
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import COMMAND, digests, read_manifest, read_rows
from made import epub

pytestmark = pytest.mark.nightly

HEAD = '<mediawiki xml:lang="en"><siteinfo><dbname>enwiki</dbname></siteinfo>'
GOOD = "The ferry crossed the harbour in the morning. A miller measured all of his lamps."
LAUGHS = "<!DOCTYPE l [<!ENTITY a 'lol'>" + "".join(f"<!ENTITY a{n} '{(f'&a{n - 1};' if n else '&a;') * 10}'>" for n in range(9))
OUTSIDE = "<!DOCTYPE l [<!ENTITY % p SYSTEM 'file:///etc/passwd'> %p; <!ENTITY a8 SYSTEM 'file:///etc/passwd'>]>"
MOST = 4 << 20  # bytes of a page or book
ALLOWED = 450  # MB for all in one run; each alone is below 400, and a run on good input takes 230
MEASURE = """
import resource, runpy, sys
sys.argv = sys.argv[1:]
try: runpy.run_module('bertdata', run_name='__main__')
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss >> (20 if sys.platform == 'darwin' else 10)
    if sys.platform == 'linux':  # where that counts the memory of the process that has started this one
        peak = int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) >> 10
    print('PEAK', peak, used.ru_utime + used.ru_stime, file=sys.stderr)
"""


def wiki(*pages: str, head: str = HEAD) -> bytes:
    return (head + "".join(pages) + "</mediawiki>").encode()


def article(number: int, text: str, title: str = "Tea", more: str = "") -> str:
    return f"<page>{more}<title>{title}</title><ns>0</ns><id>{number}</id><revision><text>{text}</text></revision></page>"


def line(count: int, packer: Callable[[], Any]) -> bytes:
    """Pack a line of so many megabytes."""
    packed, block = packer(), b"x" * (1 << 20)
    return b"".join([*(packed.compress(block) for _ in range(count)), packed.compress(b"\n"), packed.flush()])


def tarred(*members: tuple[str, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def lying_epub() -> bytes:
    """Say that a page of 16 MB has 100 bytes, in both places."""
    data = epub({"a.xhtml": b"<p>" + b"tea " * (4 << 20)})
    real = struct.pack("<I", 3 + (16 << 20))
    assert data.count(real) == 2
    return data.replace(real, struct.pack("<I", 100))


@cache
def zipped(count: int) -> bytes:
    """Files without a byte, with numbers for names."""
    files, listed, size = list[bytes](), list[bytes](), 0
    for name in (b"%06d" % number for number in range(count)):
        files.append(struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0) + name)
        entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, len(name), 0, 0, 0, 0, 0, size)
        listed.append(entry + name)
        size += len(files[-1])
    names, length = b"".join(listed), sum(map(len, listed))
    more = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, length, size)
    place = struct.pack("<4sLQL", b"PK\6\7", 0, size + length, 1)
    last = min(count, 0xFFFF)
    return b"".join(files) + names + more + place + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, last, last, length, size, 0)


def sparse_tar() -> bytes:
    """A member of 8 GB that is all hole, as GNU tar writes it."""
    header = bytearray(tarfile.TarInfo("hole.txt").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:410] = b"%011o\0%011o\0" % (0, 0)
    header[483:495] = b"%011o\0" % (8 << 30 if 8 << 30 < 8**11 else 8**11 - 1)
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


WIDE = {"text": [GOOD], **{f"c{n}": [1] for n in range(15_000)}}


def parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(WIDE), buffer)
    return buffer.getvalue()


def arrow() -> bytes:
    buffer = io.BytesIO()
    table = pa.table(WIDE)
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def in_parquet(values: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": values}), buffer, compression="zstd", write_statistics=False, **options)
    return buffer.getvalue()


def in_arrow(values: Any) -> bytes:
    buffer = io.BytesIO()
    table = pa.table({"text": values})
    with pa.ipc.new_stream(buffer, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def one_value(size: int, rows: int) -> pa.DictionaryArray:
    """Rows that all name one value."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))


def one_list(values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def old_sparse_tar(blocks: int) -> bytes:
    """A chain of headers that tell of holes, as old GNU tar writes it."""
    header = bytearray(tarfile.TarInfo("chain.txt").tobuf(tarfile.GNU_FORMAT))
    header[156:157], header[482:483] = tarfile.GNUTYPE_SPARSE, b"\1"
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    more = b"%011o\0%011o\0" % (512, 512) * 21 + b"\1" + bytes(7)
    return bytes(header) + more * blocks + bytes(1024)


def sparse_map_tar(lines: int) -> bytes:
    """A map of holes at the head of a member's bytes, as GNU tar writes it today."""
    member = tarfile.TarInfo("map.txt")
    member.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "a.txt",
        "GNU.sparse.realsize": "9",
    }
    data = b"%d\n" % lines + b"0\n0\n" * lines
    member.size = len(data)
    return member.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % 512 + 1024)


def marked_zip(count: int) -> bytes:
    """A list of files that ends with a mark of its end, which tells of a short one, in a comment."""
    entry = struct.Struct("<4s4B4HL2L5H2L")
    plain = entry.pack(b"PK\1\2", 20, 3, 20, *[0] * 8, 1, *[0] * 6) + b"a"
    mark = b"PK\5\6" + bytes(8) + struct.pack("<I", 5) + bytes(6)
    last = entry.pack(b"PK\1\2", 20, 3, 20, *[0] * 8, 1, 0, len(mark), *[0] * 4) + b"z" + mark
    size = len(plain) * count + len(last)
    return plain * count + last + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, size, 0, 0)


BOMBS: dict[str, tuple[str, str, Callable[[], bytes]]] = {  # name -> option, reasons of its rejects, bytes
    "laughs-in-a-page.xml": ("wikipedia", "malformed-xml", lambda: wiki(article(2, "&a8;", more=LAUGHS + "]>"))),
    "doctype-in-a-page.xml": ("wikipedia", "malformed-xml", lambda: wiki(article(2, "&a8;", more=OUTSIDE))),
    "lines.xml": ("wikipedia", "too-large", lambda: wiki(article(2, "a\n" * 1_600_000))),
    "entities-of-its-own.xml": ("wikipedia", "malformed-xml", lambda: wiki(article(2, "&nbsp;&file;"))),
    "deep.xml": ("wikipedia", "malformed-xml", lambda: wiki("<page>" + "<a>" * 200_000 + "</page>")),
    "attributes.xml": (
        "wikipedia",
        "malformed-xml",
        lambda: wiki("<page><title " + " ".join(f'a{n}="b"' for n in range(200_000)) + ">x</title></page>"),
    ),
    "long-titles.xml.bz2": ("wikipedia", "", lambda: bz2.compress(wiki(*(article(n, GOOD, "t" * 3_000_000) for n in range(16))))),
    "no-ids.xml.bz2": ("wikipedia", "no-id " * 30_000, lambda: bz2.compress(wiki(*["<page><title>a</title></page>"] * 30_000))),
    "page.xml.gz": (
        "wikipedia",
        "too-large",
        lambda: gzip.compress(wiki("<page><title>a</title><id>3</id>" + "x" * (32 << 20) + "</page>"), 1),
    ),
    "laughs.epub": ("books", "empty", lambda: epub({"a.xhtml": LAUGHS + "]><p>&a8;</p>"})),
    "outside.epub": ("books", "empty", lambda: epub({"a.xhtml": OUTSIDE + "<p>&a8;&p;</p>"})),
    "lying.epub": ("books", "damaged", lying_epub),
    "list.epub": ("books", "too-large", lambda: zipped(100_000)),
    "nested.tar.gz": (
        "books",
        "too-large too-large",
        lambda: gzip.compress(tarred(("a.epub", zipped(100_000)), ("b.txt", bytes(9 << 20)))),
    ),
    "sparse.tar": ("books", "too-large", sparse_tar),
    "many.tar.bz2": ("books", "empty " * 5_000, lambda: bz2.compress(tarred(*((f"{n}.txt", b"") for n in range(5_000))))),
    "line.jsonl.gz": ("text", "too-large", lambda: line(128, lambda: _gzip())),
    "line.jsonl.bz2": ("text", "too-large", lambda: line(12, bz2.BZ2Compressor)),
    "line.jsonl.xz": ("text", "too-large", lambda: line(32, lambda: lzma.LZMACompressor(preset=0))),
    "line.jsonl.zst": ("text", "too-large", lambda: line(128, lambda: _zstd())),
    "members.jsonl.gz": ("text", "", lambda: gzip.compress(b"") * 30_000),
    "members.jsonl.bz2": ("text", "", lambda: bz2.compress(b"") * 20_000),
    "keys.jsonl": ("text", "", lambda: json.dumps({"text": GOOD, **{f"k{n}": n for n in range(200_000)}}).encode()),
    "deep.jsonl": ("text", "too-large malformed-json", lambda: b"[" * 4_000_000 + b"\n" + b'{"a":' * 800_000),
    "number.jsonl": ("text", "malformed-json", lambda: b'{"text": ' + b"9" * 4_000_000 + b"}"),
    "string.parquet": ("text", "too-large", lambda: in_parquet(["x" * (128 << 20)])),
    "plain-string.parquet": ("text", "too-large", lambda: in_parquet(["x" * (256 << 20)], use_dictionary=False)),
    "same.parquet": (
        "text",
        "too-large",
        lambda: in_parquet(one_value(3 << 20, 1000), dictionary_pagesize_limit=64 << 20, row_group_size=1000),
    ),
    "same-prefix.parquet": (
        "text",
        "too-large",
        lambda: in_parquet(one_value(3 << 20, 100).cast(pa.string()), use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY"),
    ),
    "list.parquet": ("text", "too-large", lambda: in_parquet(one_list(pa.array(["a"] * 300_000)))),
    "list-of-same.parquet": (
        "text",
        "too-large",
        lambda: in_parquet(one_list(one_value(1 << 20, 100_000)), dictionary_pagesize_limit=64 << 20),
    ),
    "list-of-nulls.parquet": ("text", "too-large", lambda: in_parquet(one_list(pa.nulls(30_000_000, pa.string())))),
    "string.arrow": ("text", "too-large", lambda: in_arrow(["x" * (256 << 20)])),
    "views.arrow": ("text", "too-large", lambda: in_arrow(one_value(3 << 20, 50).cast(pa.string()).cast(pa.string_view()))),
    "paragraphs.arrow": ("text", "too-large", lambda: in_arrow(one_list(pa.array(["a"] * 300_000)))),
    "values.jsonl": ("text", "too-large", lambda: b"[" + b"{}," * 1_300_000 + b"{}]"),
    "more-values.jsonl": ("text", "too-large", lambda: b'{"text": "tea", "x": [' + b"[]," * 1_300_000 + b"[]]}"),
    "strings.jsonl": ("text", "too-large", lambda: b'{"text": "tea", "x": [' + b'"",' * 1_300_000 + b"1]}"),
    "paragraphs.jsonl": ("text", "too-large", lambda: b'{"text": [' + b'"a",' * 300_000 + b'"a"]}'),
    "sentences.txt": ("text", "too-large", lambda: b"Oh! " * 510_000),
    "chinese.txt": ("text", "too-large", lambda: "是。".encode("gb18030") * 510_000),
    "footer.parquet": ("text", "too-large", lambda: b"PAR1" + bytes(9 << 20) + struct.pack("<I", 9 << 20) + b"PAR1"),
    "two-million-lines.txt": ("text", "too-large", lambda: b"a\n" * 2_000_000),
    "lines-of-a-book.txt": ("books", "too-large", lambda: b"a\n\n" * 1_000_000),
    "tags.epub": ("books", "too-large", lambda: epub({"a.xhtml": b"<div>" * 700_000})),
    "one-tag.epub": ("books", "empty", lambda: epub({"a.xhtml": b"<p " + b"a=b " * 1_000_000 + b">"})),
    "mark.epub": ("books", "too-large", lambda: marked_zip(120_000)),
    "chain.tar.gz": ("books", "damaged", lambda: gzip.compress(old_sparse_tar(100_000), 1)),
    "map.tar.gz": ("books", "damaged", lambda: gzip.compress(sparse_map_tar(2_000_000), 1)),
    "rejects.jsonl.bz2": ("text", "malformed-json " * 50_007 + "too-many-rejects", lambda: bz2.compress(b"x\n" * 1_000_000)),
    "bytes.xml.bz2": ("wikipedia", "too-large decompression-bomb", lambda: bz2.compress(wiki(article(2, "x" * (300 << 20))))),
    "skippable.jsonl.zst": ("text", "", lambda: (b"\x50\x2a\x4d\x18" + bytes(4)) * 250_000),
    "empty.jsonl.zst": ("text", "", lambda: bytes.fromhex("28b52ffd2000010000") * 100_000),
    "columns.parquet": ("text", "", parquet),
    "columns.arrow": ("text", "", arrow),
}


def _gzip() -> Any:
    import zlib

    return zlib.compressobj(9, wbits=31)


def _zstd() -> Any:
    import zstandard

    return zstandard.ZstdCompressor().compressobj()


@pytest.mark.slow
def test_bombs_in_one_run(tmp_path: Path) -> None:
    """All of them between good input: each ends in its rejects, the memory of the process is bounded, nothing lies elsewhere."""
    for name, (kind, _, make) in BOMBS.items():
        (tmp_path / "in" / kind).mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / kind / name).write_bytes(make())
    (tmp_path / "in" / "text" / "good.jsonl").write_text(json.dumps({"text": GOOD}))
    before, holes = digests(tmp_path / "in"), tmp_path / "in" / "text" / "holes.txt"
    with open(holes, "wb") as file:
        file.truncate(256 << 20)
    options = [item for kind in ("wikipedia", "books", "text") for item in (f"--{kind}", tmp_path / "in" / kind)]
    options += ["--max-page-bytes", MOST, "--max-rejects", 1, "--dedup", "none", "--max-repeated", 1, "--workers", 1]
    peak, seconds, said = measured("build-corpus", *options, "--output", tmp_path / "corpus")
    print(f"{len(BOMBS)} bombs: {peak} MB, {seconds} s")
    assert peak < ALLOWED, said
    assert read_manifest(tmp_path / "corpus")["rows"] == len(read_rows(tmp_path / "corpus")) >= 16
    assert "text:good.jsonl:0" in {row["id"] for row in read_rows(tmp_path / "corpus")}
    lists = (tmp_path / "corpus" / "rejects").iterdir()
    lines = [json.loads(text) for path in lists for text in path.read_text("utf-8").splitlines()]
    where = [(line["where"], line["reason"]) for line in lines]
    for name, (_, reasons, _) in BOMBS.items():
        assert [reason for told, reason in where if re.search(rf"(?<![\w-]){re.escape(name)}", told)] == reasons.split(), name
    assert [reason for told, reason in where if "holes.txt" in told] == ["too-large"]
    assert "root:" not in "".join(sentence for row in read_rows(tmp_path / "corpus") for sentence in row["sentences"])
    holes.unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "in"] and digests(tmp_path / "in") == before


def measured(*arguments: object, timeout: float = 280) -> tuple[int, float, str]:
    """Run a command; return its peak in MB, its processor time and what it says."""
    command = [COMMAND[0], "-c", MEASURE, "bertdata", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    said, _, told = done.stderr.rpartition("PEAK")
    assert done.returncode == 0, said
    return int(told.split()[0]), float(told.split()[1]), said


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["a.jsonl.gz", "a.jsonl.zst", "a.jsonl.bz2", "b.xml.gz", "c.txt", "c.jsonl", "c.tar", "d.tar.gz"]
)
def test_five_gigabytes(name: str, tmp_path: Path) -> None:
    """A line, a page, a hole or a member of 5 GB takes no more memory than a small one; a good record stands beside it."""
    kind = "wikipedia" if ".xml" in name else "books" if ".tar" in name else "text"
    count, path = 5 << 10, tmp_path / name
    if name[0] == "c":
        with open(path, "wb") as file:
            file.truncate(count << 20)
    else:
        packed: Any = {"gz": _gzip, "zst": _zstd, "bz2": bz2.BZ2Compressor}[name.rpartition(".")[2]]()
        member = tarfile.TarInfo("a.txt")
        member.size = count << 20
        head = {"a": b"", "b": (HEAD + "<page>").encode(), "d": member.tobuf()}[name[0]]
        with open(path, "wb") as file:
            file.write(packed.compress(head))
            block = b"x" * (1 << 20)
            for _ in range(count):
                file.write(packed.compress(block))
            file.write(packed.flush())
    assert path.stat().st_blocks * 512 < 50 << 20
    (tmp_path / "good.jsonl").write_text(json.dumps({"text": GOOD}))
    options = ["--text", tmp_path / "good.jsonl", f"--{kind}", path, "--max-rejects", 1, "--workers", 1]
    peak, seconds, _ = measured("build-corpus", *options, "--output", tmp_path / "corpus", timeout=560)
    print(f"5 GB in {name} ({os.path.getsize(path)} bytes): {peak} MB, {seconds:.0f} s")
    made = read_manifest(tmp_path / "corpus")
    rejects = sum(sum(stage["rejected"].values()) for stage in made["counts"])
    assert made["rows"] == 1 and (rejects >= 1 or name == "c.tar")  # two blocks of zeros end an archive: this one is empty
    assert peak < ALLOWED
