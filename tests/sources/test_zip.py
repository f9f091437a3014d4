"""Zip files of texts and books: nested paths, names that lead out, bombs, damage, and ids that do not depend on the run."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from made import book, books_of, plain_epub, tar, texts_of

from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources.archives import Wanted, cut, read_archive

MOST = 1 << 20


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data, None if isinstance(name, str) else method)
    return buffer.getvalue()


def texts(path: Path, data: bytes, documents: str = "file", most: int = MOST) -> list[Prose | Drop | Reject]:
    path.write_bytes(data)
    return list(texts_of([FileRange(path.name, str(path), 0, len(data))], documents=documents, max_bytes=most))


def told(found: list[Prose | Drop | Reject]) -> list[str]:
    return [item.reason if isinstance(item, Reject | Drop) else item.id for item in found]


MEMBERS = (
    ("notes/a.txt", b"Tea is hot."),
    ("notes/deep/er/b.txt", "Le thé est chaud.".encode("cp1252")),
    ("table.csv", b"id,text\n1,Cake is good.\n"),
    ("lines.jsonl", b'{"text": "Jam is sweet."}\n'),
    ("cover.jpg", b"\xff\xd8"),
    ("__MACOSX/._a.txt", b"\0\5"),
)


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_texts_of_an_archive(tmp_path: Path, form: str) -> None:
    found = texts(tmp_path / f"a.{form}", zipped(*MEMBERS) if form == "zip" else tar(MEMBERS))
    names = ["notes/a.txt", "notes/deep/er/b.txt", "table.csv:2", "lines.jsonl:0"]
    assert told(found) == [*(f"text:a.{form}/{name}" for name in names), *["other file in an archive"] * 2]
    read = [item for item in found if isinstance(item, Prose)]
    assert [item.paragraphs for item in read] == [["Tea is hot."], ["Le thé est chaud."], ["Cake is good."], ["Jam is sweet."]]
    assert [item.title for item in read] == ["a", "b", "", ""]


def test_members_are_read_as_files_are(tmp_path: Path) -> None:
    data = zipped(("a.txt", b"One.\n\nTwo.\nThree.\n"))
    assert told(texts(tmp_path / "a.zip", data, "blank-lines")) == ["text:a.zip/a.txt:0", "text:a.zip/a.txt:6"]
    assert told(texts(tmp_path / "a.zip", data, "lines")) == ["text:a.zip/a.txt:0"]


def test_books_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(("b/one.txt", book(1)), ("two.epub", plain_epub()), ("three.pdf", b"%PDF")))
    found = list(books_of([FileRange(path.name, str(path), 0, path.stat().st_size)], max_bytes=MOST))
    assert [item.id for item in found if isinstance(item, Prose)] == ["books:a.zip/b/one", "books:a.zip/two.epub"]
    assert sum(isinstance(item, Drop) for item in found) == 1


def test_parts_give_what_the_whole_file_gives(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(*((f"{n}.txt", f"Tea {n}. ".encode() * n) for n in range(1, 200)), method=zipfile.ZIP_STORED))
    size = path.stat().st_size
    whole = list(read_archive(FileRange("a.zip", str(path), 0, size), Wanted("text", (".txt",), MOST)))
    ranges = cut(str(path), size, 5000)
    assert len(ranges) > 10 and len(whole) == 199
    parts = [FileRange("a.zip", str(path), *each) for each in ranges]
    assert [member for part in parts for member in read_archive(part, Wanted("text", (".txt",), MOST))] == whole


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("l.txt")
    info.external_attr = 0o120777 << 16
    return info


BAD = {
    "parent": ("unsafe-name", ("../a.txt", b"Tea.")),
    "absolute": ("unsafe-name", ("/etc/a.txt", b"Tea.")),
    "backslashes": ("unsafe-name", ("..\\a.txt", b"Tea.")),
    "link": ("link", (link(), b"/etc/passwd")),
    "large": ("too-large", ("a.txt", b"tea " * MOST)),
    "empty": ("empty", ("a.txt", b"")),
    "binary": ("binary", ("a.txt", b"\0\1\2")),
}


@pytest.mark.parametrize(("reason", "member"), BAD.values(), ids=BAD)
def test_a_bad_member_costs_itself(tmp_path: Path, reason: str, member: tuple[str | zipfile.ZipInfo, bytes]) -> None:
    found = texts(tmp_path / "a.zip", zipped(("0.txt", b"Before."), member, ("z.txt", b"After.")))
    assert told(found) == ["text:a.zip/0.txt", reason, "text:a.zip/z.txt"]


def test_names_of_other_programs(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("notes\\a.txt")
    info.filename = "notes\\a.txt"
    unflagged = zipped(("caf\u00e9.txt", b"Tea."))
    unflagged = unflagged.replace((0x800).to_bytes(2, "little"), b"\0\0")
    assert told(texts(tmp_path / "a.zip", zipped((info, b"Tea.")))) == ["text:a.zip/notes/a.txt"]
    assert told(texts(tmp_path / "a.zip", unflagged)) == ["text:a.zip/café.txt"]


def test_methods_and_passwords(tmp_path: Path) -> None:
    data = zipped(("a.txt", b"Tea."), method=zipfile.ZIP_BZIP2)
    assert told(texts(tmp_path / "a.zip", data)) == ["unsupported-compression"]
    data = bytearray(zipped(("a.txt", b"Tea.")))
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    assert told(texts(tmp_path / "a.zip", bytes(data))) == ["encrypted"]


def test_damage(tmp_path: Path) -> None:
    good = zipped(("0.txt", b"Before."), ("1.txt", b"tea " * 99), ("2.txt", b"After."), method=zipfile.ZIP_STORED)
    flipped = good.replace(b"tea tea", b"tea_tea", 1)
    assert told(texts(tmp_path / "a.zip", flipped)) == ["text:a.zip/0.txt", "damaged", "text:a.zip/2.txt"]
    assert told(texts(tmp_path / "a.zip", good[:-30])) == ["damaged"]
    assert told(texts(tmp_path / "a.zip", b"no zip file")) == ["damaged"]
    for at in range(good.index(b"PK\1\2"), len(good)):
        broken = bytearray(good)
        broken[at] ^= 0x55
        assert len(texts(tmp_path / "a.zip", bytes(broken))) <= 3


@pytest.mark.slow
def test_bombs(tmp_path: Path) -> None:
    lies = zipped(("a.txt", b"tea " * (16 << 20)))  # 64 MB, and says 100 bytes
    lies = lies.replace((64 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    many = zipped(*((f"{n}.txt", b"tea " * (MOST // 4)) for n in range(100)))  # 100 MB in 100 kB
    tracemalloc.start()
    assert told(texts(tmp_path / "a.zip", lies)) == ["damaged"]
    found = told(texts(tmp_path / "a.zip", many))
    assert found[-1] == "too-large" and len(found) < 50
    assert tracemalloc.get_traced_memory()[1] < 40 * MOST
    tracemalloc.stop()


def test_members_that_share_their_bytes(tmp_path: Path) -> None:
    data = bytearray(zipped(("a.txt", b"tea " * 9999), ("b.txt", b"tea " * 9999)))
    second = data.index(b"PK\1\2", data.index(b"PK\1\2") + 4)
    data[second + 42 : second + 46] = bytes(4)  # where the second one begins: at the first
    data[second + 46 : second + 51] = b"a.txt"
    assert told(texts(tmp_path / "a.zip", bytes(data))) == ["damaged", "text:a.zip/a.txt"]
