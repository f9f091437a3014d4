"""Archives of texts and books: streamed, cut at members, no name trusted, and each break named."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st
from made import book, books_of, plain_epub, tar, texts_of

from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources.archives import cut, read_archive

MOST = 1 << 20
Found = list[Prose | Drop | Reject]


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data, None if isinstance(name, str) else method)
    return buffer.getvalue()


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def texts(path: Path, data: bytes, documents: str = "file") -> Found:
    part = FileRange(path.name, str(write(path, data)), 0, len(data))
    return list(texts_of([part], documents=documents, max_bytes=MOST))


def read_books(path: Path) -> Found:
    size = path.stat().st_size
    parts = [FileRange(path.name, str(path), *each) for each in cut(str(path), size, 3000)]
    return list(books_of(parts, max_bytes=MOST))


def told(found: Found) -> list[str]:
    return [item.reason if isinstance(item, Reject | Drop) else item.id for item in found]


# --- members ---

MEMBERS = (
    ("notes/a.txt", b"Tea is hot."),
    ("notes/deep/er/b.txt", "Le thé est chaud.".encode("cp1252")),
    ("table.csv", b"id,text\n1,Cake is good.\n"),
    ("lines.jsonl", b'{"text": "Jam is sweet."}\n'),
    ("cover.jpg", b"\xff\xd8"),
    ("__MACOSX/._a.txt", b"\0\5"),
)


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_texts_of_an_archive_are_read_as_files_are(tmp_path: Path, form: str) -> None:
    pack: Callable[..., bytes] = zipped if form == "zip" else lambda *members: tar(members)
    found = texts(tmp_path / f"a.{form}", pack(*MEMBERS))
    names = ["notes/a.txt", "notes/deep/er/b.txt", "table.csv:2", "lines.jsonl:0"]
    assert told(found) == [*(f"text:a.{form}/{name}" for name in names), *["other file in an archive"] * 2]
    read = [item for item in found if isinstance(item, Prose)]
    assert [item.paragraphs for item in read] == [["Tea is hot."], ["Le thé est chaud."], ["Cake is good."], ["Jam is sweet."]]
    assert [item.title for item in read] == ["a", "b", "", ""]
    data = pack(("a.txt", b"One.\n\nTwo.\nThree.\n"))
    assert told(texts(tmp_path / f"a.{form}", data, "blank-lines")) == [f"text:a.{form}/a.txt:0", f"text:a.{form}/a.txt:6"]


PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_each_member_of_a_tar_file_is_a_book_a_drop_or_a_reject(tmp_path: Path, suffix: str, form: int) -> None:
    def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        return info, b""

    members = [
        ("books1/epubtxt/the-tea.epub.txt", book(1)),
        ("./b/two.txt", book(2)),
        ("three.epub", plain_epub()),
        ("../out.txt", book()),
        ("a/../../out.txt", book()),
        ("/etc/passwd.txt", book()),
        ("..\\out.txt", book()),
        special("link.txt", tarfile.SYMTYPE, "/etc/passwd"),
        special("hard.txt", tarfile.LNKTYPE, "good/one.txt"),
        special("pipe.txt", tarfile.FIFOTYPE),
        special("folder.txt", tarfile.DIRTYPE),
        ("cover.jpg", b"\xff\xd8"),
        ("huge.txt", b"a " * MOST),
        ("empty.txt", b""),
        ("binary.txt", b"\0\1\2"),
        ("broken.epub", plain_epub()[:99]),
        ("caf\udce9.txt", book(3)),
        ("x" * 300 + "/last.txt", book(2)),
    ]
    name = "a.tgz" if suffix == ".gz" and form == tarfile.GNU_FORMAT else f"a.tar{suffix}"
    found = read_books(write(tmp_path / name, PACK[suffix](tar(members, form=form))))
    expected = ["books1/epubtxt/the-tea.epub.txt", "b/two", "three.epub", *["unsafe-name"] * 4, *["unsupported-member"] * 3]
    expected += ["other file in an archive", "too-large", "empty", "undecodable", "damaged", "caf\\xe9", f"{'x' * 300}/last"]
    assert [each.removeprefix(f"books:{name}/") for each in told(found)] == expected
    rejects = [item for item in found if isinstance(item, Reject)]
    assert rejects[0].id == f"books:{name}/../out.txt" and "'/etc/passwd'" in rejects[4].where
    assert all(item.id.encode() for item in rejects)
    assert [each.name for each in tmp_path.iterdir()] == [name], "nothing is written"


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("l.txt")
    info.external_attr = 0o120777 << 16
    return info


def encrypted() -> bytes:
    data = bytearray(zipped(("a.txt", b"Tea.")))
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    return bytes(data)


def beyond() -> bytes:
    """A list of members that places the second one beyond the end of the file."""
    data = bytearray(zipped(("0.txt", b"Before."), ("1.txt", b"Tea.")))
    at = data.rindex(b"PK\1\2") + 42
    data[at : at + 4] = b"\xf0\xff\xff\xff"
    return bytes(data)


def backslashed() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("notes\\a.txt")
    info.filename = "notes\\a.txt"
    return info


STORED = zipped(("0.txt", b"Before."), ("1.txt", b"tea " * 99), ("2.txt", b"After."), method=zipfile.ZIP_STORED)
ZIPS = [  # a zip file, and its records
    *[
        (zipped(("0.txt", b"Before."), member, ("z.txt", b"After.")), ["0.txt", reason, "z.txt"])
        for reason, member in [
            ("unsafe-name", ("../a.txt", b"Tea.")),
            ("unsafe-name", ("/etc/a.txt", b"Tea.")),
            ("unsafe-name", ("..\\a.txt", b"Tea.")),
            ("unsupported-member", (link(), b"/etc/passwd")),
            ("too-large", ("a.txt", b"tea " * MOST)),
            ("empty", ("a.txt", b"")),
            ("undecodable", ("a.txt", b"\0\1\2")),
            ("notes/a.txt", (backslashed(), b"Tea.")),
        ]
    ],
    (zipped(("caf\u00e9.txt", b"Tea.")).replace((0x800).to_bytes(2, "little"), b"\0\0"), ["café.txt"]),
    (zipped(("a.txt", b"Tea."), method=zipfile.ZIP_BZIP2), ["unsupported-member"]),
    (encrypted(), ["unsupported-member"]),
    (STORED.replace(b"tea tea", b"tea_tea", 1), ["0.txt", "damaged", "2.txt"]),
    (beyond(), ["0.txt", "damaged"]),
    (STORED[:-30], ["damaged"]),
    (b"no zip file", ["damaged"]),
]


@pytest.mark.parametrize(("data", "expected"), ZIPS)
def test_each_member_of_a_zip_file_is_read_or_costs_itself(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    assert [each.removeprefix("text:a.zip/") for each in told(texts(tmp_path / "a.zip", data))] == expected


def test_parts_of_a_zip_file_give_what_the_whole_file_gives(tmp_path: Path) -> None:
    members = ((f"{n}.txt", f"Tea {n}. ".encode() * n) for n in range(1, 200))
    path = write(tmp_path / "a.zip", zipped(*members, method=zipfile.ZIP_STORED))
    wanted, ranges = ("text", (".txt",), MOST), cut(str(path), path.stat().st_size, 5000)
    whole = list(read_archive(FileRange("a.zip", str(path), 0, path.stat().st_size), *wanted))
    assert len(ranges) > 10 and len(whole) == 199
    assert [member for each in ranges for member in read_archive(FileRange("a.zip", str(path), *each), *wanted)] == whole


# --- damage ---


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_broken_tar_file_keeps_what_came_before(tmp_path: Path, suffix: str) -> None:
    data = tar([(f"{n}.txt", book(n)) for n in range(10)])
    for size in (len(data) // 2, len(data) // 1024 * 512, 512 * 6 + 100, 512):
        found = read_books(write(tmp_path / f"a.tar{suffix}", PACK[suffix](data[:size])))
        assert told(found)[-1] == "damaged" and all(isinstance(item, Prose) for item in found[:-1])
    broken = bytearray(data)
    broken[data.index(b"6.txt") + 10] ^= 1  # a header that is broken is not the end
    found = read_books(path := write(tmp_path / f"a.tar{suffix}", PACK[suffix](bytes(broken))))
    assert told(found) == [*(f"books:a.tar{suffix}/{n}" for n in range(6)), "damaged"]
    assert isinstance(lost := found[-1], Reject) and 0.3 < lost.lost / path.stat().st_size < 0.6


@settings(max_examples=30)
@given(st.data())
def test_any_damage_is_named_or_does_no_harm(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / data.draw(st.sampled_from(["a.tar", "a.zip"]))
    whole = bytearray(TAR if path.suffix == ".tar" else STORED)
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole.rstrip(bytes(1))) - 1))] = data.draw(st.integers(0, 255))
    found = read_books(write(path, bytes(whole))) if path.suffix == ".tar" else texts(path, bytes(whole))
    assert len(found) >= 3 or path.suffix == ".zip" or any(isinstance(item, Reject) for item in found)


TAR = tar([("1.txt", book(1)), ("2.epub", plain_epub()), ("b/3.epub.txt", book(3))])


# --- bombs ---


@pytest.mark.slow
def test_bombs_are_named_in_bounded_memory(tmp_path: Path) -> None:
    lies = zipped(("a.txt", b"tea " * (16 << 20)))  # 64 MB, and says 100 bytes
    lies = lies.replace((64 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    many = zipped(*((f"{n}.txt", b"tea " * (MOST // 4)) for n in range(100)))  # 100 MB in 100 kB
    info = tarfile.TarInfo("bomb.txt")
    info.size = 256 << 20
    with gzip.open(tmp_path / "a.tar.gz", "wb", compresslevel=1) as file:
        file.write(info.tobuf())
        for _ in range(256):
            file.write(bytes(1 << 20))
        file.write(tar([("good.txt", book())]))
    tracemalloc.start()
    assert told(texts(tmp_path / "a.zip", lies)) == ["damaged"]
    found = told(texts(tmp_path / "a.zip", many))
    assert found[-1] == "too-large" and len(found) < 50
    assert told(read_books(tmp_path / "a.tar.gz")) == ["too-large", "books:a.tar.gz/good"]
    assert tracemalloc.get_traced_memory()[1] < 40 * MOST
    tracemalloc.stop()


@pytest.mark.nightly
def test_memory_does_not_grow_with_members(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", tar([(f"{number}.jpg", b"") for number in range(6000)]))
    tracemalloc.start()
    assert sum(isinstance(item, Drop) for item in read_books(path)) == 6000
    assert tracemalloc.get_traced_memory()[1] < 3 << 20
    tracemalloc.stop()
