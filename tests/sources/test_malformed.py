"""A hundred malformed inputs, read together with good ones: each ends in a counted reject or a clear error."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import Build, read_manifest, read_rows
from made import SENTENCES, book, books_of, epub, package, page, plain_epub, table, tar, texts_of, write_arrow, write_parquet

from bertdata.errors import BertDataError, EmptyResultError, NoInputError, UsageError
from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources import books, text
from bertdata.sources.tables import Columns

pytestmark = pytest.mark.long

MOST = 100_000  # bytes of a document
GOOD = json.dumps({"text": SENTENCES[0]}).encode()


def arrow(data: pa.Table, rows: int = 5, **options: Any) -> bytes:
    return write_arrow(Path(TEMPORARY), data, rows, **options).read_bytes()


def parquet(data: pa.Table, **options: Any) -> bytes:
    return write_parquet(Path(TEMPORARY), data, 5, **options).read_bytes()


def flipped(data: bytes, at: int, to: int = 0xFF) -> bytes:
    at %= len(data)
    return data[:at] + bytes([data[at] ^ to]) + data[at + 1 :]


def header(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, target: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, target
    return info.tobuf(tarfile.GNU_FORMAT)


def zipped(packing: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plain_epub())) as old, zipfile.ZipFile(buffer, "w", packing) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return buffer.getvalue()


TEMPORARY = "/dev/null"
OFFSETS, OUTSIDE = b"\0\0\0\0\x0c\0\0\0\x11\0\0\0", b"\0\0\0\0\xff\xff\xff\x7f\x11\0\0\0"
END = bytes(1024)
ONE = page(f"<p>{SENTENCES[0]}</p>")
BOMB = gzip.compress(b"tea " * (1 << 20))
BOOKS: dict[str, tuple[str, Callable[[], bytes]]] = {  # name -> the reason of its reject, and its bytes
    # plain files
    "zero.txt": ("empty", lambda: b""),
    "blank.txt": ("empty", lambda: b" \r\n\t\n \x0c\n"),
    "heading.txt": ("no prose", lambda: b"CHAPTER I\n"),
    "png.txt": ("undecodable", lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
    "elf.txt": ("undecodable", lambda: b"\x7fELF\2\1\1" + bytes(99)),
    "zip.txt": ("undecodable", plain_epub),
    "control.txt": ("undecodable", lambda: b"\x01\x02\x03\x04\x05" * 100),
    "utf-16-without-mark.txt": ("undecodable", lambda: SENTENCES[0].encode("utf-16-le")),
    "utf-16-odd.txt": ("undecodable", lambda: SENTENCES[0].encode("utf-16") + b"\xd8"),
    "utf-32-cut.txt": ("undecodable", lambda: SENTENCES[0].encode("utf-32")[:-2]),
    "random.txt": ("undecodable", lambda: bytes(range(256)) * 40),
    "large.txt": ("too-large", lambda: b"A word and a word. " * 9000),
    "one-long-line.txt": ("too-large", lambda: b"x" * (MOST + 1)),
    # EPUB
    "zero.epub": ("empty", lambda: b""),
    "text.epub": ("damaged", lambda: book()),
    "cut-head.epub": ("damaged", lambda: plain_epub()[100:]),
    "cut-tail.epub": ("damaged", lambda: plain_epub()[:-30]),
    "half.epub": ("damaged", lambda: plain_epub()[: len(plain_epub()) // 2]),
    "no-container.epub": ("damaged", lambda: plain_epub().replace(b"META-INF/container.xml", b"META-INF/contained.xml")),
    "no-package.epub": ("damaged", lambda: plain_epub().replace(b"OEBPS/content.opf", b"OEBPS/context.opf")),
    "no-spine.epub": ("damaged", lambda: epub({"a.xhtml": ONE}, opf="<package><manifest/></package>")),
    "no-page.epub": ("damaged", lambda: epub({"a.xhtml": ONE}, opf=package(["b.xhtml"]))),
    "outside.epub": ("damaged", lambda: epub({"a.xhtml": ONE}, opf=package(["../../../../etc/passwd"]))),
    "absolute.epub": ("damaged", lambda: epub({"a.xhtml": ONE}, opf=package(["/etc/passwd"]))),
    "file-url.epub": ("damaged", lambda: epub({"a.xhtml": ONE}, opf=package(["file:///etc/passwd"]))),
    "binary-page.epub": ("damaged", lambda: epub({"a.xhtml": b"\0\1\2\3" * 99})),
    "wrong-crc.epub": ("damaged", lambda: zipped(zipfile.ZIP_STORED).replace(b"kettle began", b"kettle bigan")),
    "bzip2.epub": ("damaged", lambda: zipped(zipfile.ZIP_BZIP2)),
    "lzma.epub": ("damaged", lambda: zipped(zipfile.ZIP_LZMA)),
    "bomb.epub": ("too-large", lambda: epub({"a.xhtml": b"<p>" + b"tea " * (1 << 20)})),
    "many-pages.epub": ("too-large", lambda: epub({f"{n}.xhtml": page("<p>" + "tea " * 4000 + "</p>") for n in range(9)})),
    "package-bomb.epub": ("too-large", lambda: epub({"a.xhtml": ONE}, opf="<package>" + "<item/>" * 99999)),
    "entity-bomb.epub": (
        "no prose",
        lambda: epub({"a.xhtml": "<!DOCTYPE a [<!ENTITY b 'c'>]><p>&b;&b;</p>".replace("&b;", "***")}),
    ),
    "drm.epub": (
        "encrypted",
        lambda: epub({"a.xhtml": ONE}, more={"META-INF/encryption.xml": "<CipherReference URI='OEBPS/text/a.xhtml'/>"}),
    ),
    "only-cover.epub": ("no prose", lambda: epub({"a.xhtml": page("<p>Tea</p>", body_type="cover")})),
    "no-prose.epub": ("no prose", lambda: epub({"a.xhtml": page("<h1>Tea</h1><table><tr><td>1</td></tr></table>")})),
    # tar
    "zero.tar": ("empty", lambda: b""),
    "text.tar": ("damaged", lambda: book() * 9),
    "short.tar": ("damaged", lambda: b"tea"),
    "cut-header.tar": ("damaged", lambda: tar([("1.txt", book()), ("2.txt", book())])[:1100]),
    "second-wrong-sum.tar": (
        "damaged",
        lambda: header("1.jpg") + flipped(header("2.txt", size=9), 5) + b"Some tea.".ljust(512) + END,
    ),
    "huge-member.tar": ("too-large damaged", lambda: header("1.txt", size=1 << 33) + END),
    "negative.tar": ("damaged", lambda: header("1.txt", size=-512) + END),
    "huge-header.tar": ("damaged", lambda: header("x", tarfile.XHDTYPE, 1 << 40) + END),
    "long-name-only.tar": ("damaged", lambda: header("x", tarfile.GNUTYPE_LONGNAME, 5) + b"a.txt".ljust(512, b"\0") + END),
    "long-names.tar": (
        "damaged",
        lambda: (header("././@LongLink", tarfile.GNUTYPE_LONGNAME, 5) + b"a.txt".ljust(512, b"\0")) * 3000 + END,
    ),
    "only-extension.tar": ("damaged", lambda: header("x", tarfile.XHDTYPE, 9) + b"6 a=b\n".ljust(512, b"\0") + END),
    "no-gzip.tar.gz": ("damaged", lambda: b"no gzip at all"),
    "cut.tar.gz": ("truncated", lambda: gzip.compress(tar([("1.txt", book())]))[:-20]),
    "wrong-crc.tar.gz": ("damaged", lambda: flipped(gzip.compress(tar([("1.txt", book())])), -8)),
    "garbage.tar.gz": ("damaged", lambda: gzip.compress(tar([("1.txt", book())])) + b"garbage"),
    "not-tar.tar.gz": ("damaged", lambda: gzip.compress(book() * 9)),
    "cut.tar.bz2": ("truncated", lambda: bz2.compress(tar([("1.txt", book())]))[:-20]),
    "flipped.tar.bz2": ("damaged", lambda: flipped(bz2.compress(tar([("1.txt", book())])), 40)),
    "cut.tar.xz": ("truncated", lambda: lzma.compress(tar([("1.txt", book())]))[:-40]),
    "flipped.tar.xz": ("damaged", lambda: flipped(lzma.compress(tar([("1.txt", book())])), 60)),
}
ROWS: dict[str, tuple[str, Callable[[], bytes]]] = {
    **{
        f"row-{number:02}.jsonl": (reason, lambda line=line: line + b"\n" + GOOD + b"\n")  # type: ignore[misc]
        for number, (reason, line) in enumerate(
            [
                ("malformed-json", b'{"text": "a"'),
                ("malformed-json", b'{"text": "a"}}'),
                ("malformed-json", b"{'text': 'a'}"),
                ("malformed-json", b'{"text": "a",}'),
                ("malformed-json", b'{"text": "a\tb"}'),
                ("malformed-json", b'{"text": "\\x"}'),
                ("malformed-json", b'[{"text": "a"}]'),
                ("malformed-json", b"null"),
                ("malformed-json", b"tea"),
                ("malformed-json", b"[" * 9999),
                ("malformed-json", b'{"a":' * 9999),
                ("malformed-json", b'{"text": ' + b"9" * 9999 + b"}"),
                ("malformed-json", b"\0\0\0"),
                ("malformed-json", '{"text": "a"}'.encode("utf-16-be").replace(b"\n", b"")),
                ("no-text", b'{"title": "a"}'),
                ("empty", b'{"text": null}'),
                ("no-text", b'{"text": NaN}'),
                ("no-text", b'{"text": {"a": 1}}'),
                ("no-text", b'{"text": ["a", null]}'),
                ("empty", b'{"text": ""}'),
                ("empty", b'{"text": " \\n\\u2028"}'),
                ("bad-utf-8", b'{"text": "caf\xe9"}'),
                ("bad-utf-8", b'{"text": "\\ud800"}'),
                ("bad-utf-8", b'{"text": "a", "title": "\\udfff"}'),
                ("too-large", b'{"text": "' + b"x" * MOST + b'"}'),
            ]
        )
    },
    "zero.jsonl": ("empty", lambda: b""),
    "cut-row.jsonl": ("malformed-json", lambda: GOOD + b"\n" + GOOD[:-9]),
    "no-gzip.jsonl.gz": ("damaged", lambda: GOOD),
    "cut.jsonl.gz": ("truncated", lambda: gzip.compress(GOOD)[:-12]),
    "garbage.jsonl.gz": ("damaged", lambda: gzip.compress(GOOD) + b"garbage"),
    "bomb.jsonl.gz": ("too-large", lambda: gzip.compress(GOOD + b"\n") + BOMB),
    "flipped.jsonl.bz2": ("damaged", lambda: flipped(bz2.compress(GOOD), 40)),
    "cut.jsonl.xz": ("truncated", lambda: lzma.compress(GOOD)[:-40]),
    "no-zstd.jsonl.zst": ("damaged", lambda: GOOD),
    "zero.parquet": ("empty", lambda: b""),
    "text.parquet": ("damaged", lambda: GOOD),
    "cut-head.parquet": ("damaged damaged damaged damaged", lambda: parquet(table())[50:]),
    "cut-tail.parquet": ("damaged", lambda: parquet(table())[:-1]),
    "half.parquet": ("damaged", lambda: parquet(table())[:700]),
    "footer.parquet": ("damaged", lambda: flipped(parquet(table()), -6)),
    "flipped.parquet": ("damaged", lambda: flipped(parquet(table(), write_page_checksum=True, use_dictionary=False), 100)),
    "no-row.parquet": ("empty", lambda: parquet(pa.table({"text": pa.array([], pa.string())}))),
    "null.parquet": ("empty", lambda: parquet(pa.table({"text": [None, "Tea."]}))),
    "latin.parquet": ("bad-utf-8", lambda: parquet(pa.table({"text": pa.array([b"caf\xe9", b"Tea."]).view(pa.string())}))),
    "no-row.csv": ("empty", lambda: b"id,text\n"),
    "no-member.zip": ("empty", lambda: b"PK\5\6" + bytes(18)),
    "utf-16.jsonl": ("bad-utf-8 malformed-json", lambda: GOOD.decode().encode("utf-16") + b"\n" + GOOD[:9]),
    "zero.arrow": ("empty", lambda: b""),
    "text.arrow": ("truncated", lambda: GOOD),
    "no-end.arrow": ("truncated", lambda: arrow(table(), end=False)),
    "cut-batch.arrow": ("truncated", lambda: arrow(table())[:-700]),
    "cut-file.arrow": ("truncated", lambda: arrow(table(), stream=False)[:-1]),
    "flipped-length.arrow": ("truncated", lambda: flipped(arrow(table()), 5)),
    "after-end.arrow": ("truncated", lambda: arrow(table()) + b"more"),
    "latin.arrow": ("bad-utf-8", lambda: arrow(pa.table({"text": pa.array([b"caf\xe9", b"Tea."]).view(pa.string())}))),
    "offsets.arrow": ("damaged", lambda: arrow(pa.table({"text": ["Tea and tea.", "Cake."]})).replace(OFFSETS, OUTSIDE)),
}
PLAIN = ["zero.txt", "blank.txt", "png.txt", "utf-16-odd.txt", "large.txt"]  # which --text reads as well


def records(kind: str, name: str, data: bytes, folder: Path) -> list[Prose | Drop | Reject]:
    """Read a file in the ranges in which a run reads it."""
    path = folder / name
    path.write_bytes(data)
    if kind == "books":
        ranges = books.split(str(path), len(data), 1 << 20, Columns())
    else:
        ranges = text.split(str(path), len(data), 1 << 20, text.Reading())
    parts = [FileRange(name, str(path), *each) for each in ranges or [(0, 0)]]
    return books_of(parts, MOST) if kind == "books" else texts_of(parts, MOST)


CASES = [("books", name) for name in BOOKS] + [("text", name) for name in [*ROWS, *PLAIN]]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_malformed_file_costs_itself(kind: str, name: str, tmp_path: Path) -> None:
    global TEMPORARY
    TEMPORARY = str(tmp_path / "temporary")
    reasons, make = {**BOOKS, **ROWS}[name]
    found = records(kind, name, make(), tmp_path)
    gone = [record for record in found if not isinstance(record, Prose) and record.reason != "other file in an archive"]
    assert [record.reason for record in gone] == reasons.split(" ") if reasons != "no prose" else gone[0].reason == reasons
    assert all(isinstance(record, Drop) == (record.reason in ("empty", "no prose")) for record in gone)
    assert all(name in record.where for record in gone if isinstance(record, Reject))
    if name.startswith("row-"):  # and the next row is read
        assert [record.paragraphs for record in found if isinstance(record, Prose)] == [SENTENCES[:1]]


def test_malformed_files_do_not_end_a_run(build: Build, tmp_path: Path) -> None:
    global TEMPORARY
    TEMPORARY = str(tmp_path / "temporary")
    for kind, name in CASES[::4]:
        (tmp_path / kind).mkdir(exist_ok=True)
        (tmp_path / kind / name).write_bytes({**BOOKS, **ROWS}[name][1]())
    (tmp_path / "books" / "good.txt").write_bytes(book())
    options = ("--max-page-bytes", MOST, "--max-rejects", 1, "--dedup", "none", "--max-repeated", 1)
    corpus = build("build-corpus", tmp_path / "corpus", "--books", tmp_path / "books", "--text", tmp_path / "text", *options)
    lines = [json.loads(line) for path in (corpus / "rejects").iterdir() for line in path.read_text("utf-8").splitlines()]
    counted = sum(sum(stage["rejected"].values()) for stage in read_manifest(corpus)["counts"])
    assert counted == len(lines) >= 20
    assert str(tmp_path) not in json.dumps(lines)
    assert "books:good" in {row["id"] for row in read_rows(corpus)}


@pytest.mark.parametrize(
    ("option", "name", "data", "error", "says"),
    [
        ("--books", "none.txt", None, NoInputError, "no regular file found"),
        ("--books", "a.mobi", b"tea", UsageError, "no supported format"),
        ("--books", "a.epub.zip", b"tea", EmptyResultError, "damaged 1"),
        ("--text", "a.json", b"[]", UsageError, "no supported format"),
        ("--text", "a.parquet", lambda: parquet(pa.table({"body": ["a"]})), UsageError, "no column 'text'.*'body'"),
        ("--text", "a.arrow", lambda: arrow(pa.table({"text": [1]})), UsageError, "no column 'text' for the text"),
        ("--books", "a.arrow", lambda: arrow(pa.table({"number": [1]})), UsageError, "no column 'text'"),
        ("--text", "a.txt", GOOD, EmptyResultError, "json-lines 1"),
        ("--text", "a.jsonl", b"tea\ntea\n", EmptyResultError, "none of 2 records became a document .malformed-json 2"),
        ("--books", "a.tar.gz", b"tea", EmptyResultError, "damaged 1"),
    ],
)
def test_what_can_not_be_read_at_all_is_a_clear_error(
    option: str, name: str, data: Any, error: type[BertDataError], says: str, build: Build, tmp_path: Path
) -> None:
    global TEMPORARY
    TEMPORARY = str(tmp_path / "temporary")
    if data is not None:
        (tmp_path / name).write_bytes(data() if callable(data) else data)
    with pytest.raises(error, match=says):
        build("build-corpus", tmp_path / "corpus", option, tmp_path / name)
