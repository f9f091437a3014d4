"""Archives of books: streamed, cut at members, no name trusted, and every break told."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import book, books_of, plain_epub, tar

from bertdata.records import Drop, FileRange, Prose, Reject
from bertdata.sources.archives import cut
from bertdata.sources.books import split
from bertdata.sources.tables import Columns

MOST = 1 << 20
Found = Prose | Drop | Reject


def read(path: Path, ranges: list[tuple[int, int]] | None = None, most: int = MOST) -> list[Found]:
    parts = [FileRange(path.name, str(path), *cut) for cut in ranges or [(0, path.stat().st_size)]]
    return list(books_of(parts, max_bytes=most))


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def told(found: list[Found]) -> list[str]:
    return [item.reason if isinstance(item, Reject | Drop) else item.id for item in found]


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst"])
def test_books_are_read_from_every_packing_and_folder(tmp_path: Path, suffix: str) -> None:
    if suffix == ".tar.zst":
        zstandard = pytest.importorskip("zstandard")
    data = tar([("books1/epubtxt/the-tea.epub.txt", book(1)), ("./b/two.txt", book(2)), ("c/three.epub", plain_epub())])
    pack = {
        ".tar": bytes,
        ".tar.gz": gzip.compress,
        ".tar.bz2": bz2.compress,
        ".tar.xz": lzma.compress,
        ".tar.zst": lambda data: zstandard.ZstdCompressor().compress(data),
    }
    path = write(tmp_path / f"books1{suffix}", pack[suffix](data))
    found = read(path)
    assert told(found) == [f"books:{path.name}/{name}" for name in ("books1/epubtxt/the-tea.epub.txt", "b/two", "c/three.epub")]
    assert [item.title for item in found if isinstance(item, Prose)] == ["the-tea", "two", "The Kettle"]
    assert all("kettle began to sing" in item.paragraphs[0] for item in found if isinstance(item, Prose))
    assert split(str(path), path.stat().st_size, 1 << 16, Columns()) == [(0, path.stat().st_size)]


def test_every_member_that_is_no_file_below_the_archive_is_a_reject_by_name(tmp_path: Path) -> None:
    members = [
        ("good/one.txt", book(1)),
        ("../out.txt", book()),
        ("a/../../out.txt", book()),
        ("/etc/passwd.txt", book()),
        ("..\\out.txt", book()),
        special("link.txt", tarfile.SYMTYPE, "/etc/passwd"),
        special("hard.txt", tarfile.LNKTYPE, "good/one.txt"),
        special("pipe.txt", tarfile.FIFOTYPE),
        special("dev.txt", tarfile.CHRTYPE),
        special("disk.txt", tarfile.BLKTYPE),
        special("folder.txt", tarfile.DIRTYPE),
        ("cover.jpg", b"\xff\xd8"),
        ("good/._one.txt", b"\0\5\26\7"),
        ("huge.txt", b"a " * MOST),
        ("empty.txt", b""),
        ("binary.txt", b"\0\1\2"),
        ("broken.epub", plain_epub()[:99]),
        ("caf\udce9.txt", book(3)),
        ("x" * 300 + "/last.txt", book(2)),
    ]
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        for pack, suffix in ((bytes, ".tar"), (gzip.compress, ".tar.gz")):
            path = write(tmp_path / f"a{suffix}", pack(tar(members, form=form)))
            found = read(path)
            assert told(found) == [
                f"books:a{suffix}/good/one",
                *["unsafe-name"] * 4,
                *["link"] * 2,
                *["device"] * 3,
                *["other file in an archive"] * 2,
                "too-large",
                "empty",
                "binary",
                "damaged",
                f"books:a{suffix}/caf\\xe9",
                f"books:a{suffix}/{'x' * 300}/last",
            ]
            rejects = [item for item in found if isinstance(item, Reject)]
            assert rejects[0].id == f"books:a{suffix}/../out.txt" and "leads out of the archive" in rejects[0].where
            assert "'/etc/passwd'" in rejects[4].where
            assert all(item.id.encode() for item in rejects)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.tar", "a.tar.gz"]


def test_every_format_and_length_of_names_is_read(tmp_path: Path) -> None:
    names = [f"{'long/' * (n % 40)}{n}.txt" for n in range(60)]
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT):
        path = write(tmp_path / "a.tar", tar([(name, book(n)) for n, name in enumerate(names)], form=form))
        found = read(path)
        assert told(found) == [f"books:a.tar/{name.removesuffix('.txt')}" for name in names]


def test_a_cut_archive_keeps_what_came_before(tmp_path: Path) -> None:
    data = tar([(f"{n}.txt", book(n)) for n in range(10)])
    step = (len(data) - 1024 * 9) // 10
    for size in (len(data) // 2, step * 5 // 512 * 512, 512 * 6 + 100, 512):
        for pack, suffix in ((bytes, ".tar"), (gzip.compress, ".tar.gz")):
            path = write(tmp_path / f"a{suffix}", pack(data[:size]))
            found = read(path, cut(str(path), path.stat().st_size, 3000))
            assert told(found)[-1] == "truncated", size
            assert all(isinstance(item, Prose) for item in found[:-1])
    packed = gzip.compress(data)
    path = write(tmp_path / "a.tar.gz", packed[: len(packed) * 2 // 3])
    found = read(path)
    assert told(found)[0] == "books:a.tar.gz/0" and told(found)[-1] == "truncated" and len(found) > 3
    assert sum(isinstance(item, Reject) for item in found) == 1


def test_a_broken_header_is_no_end(tmp_path: Path) -> None:
    whole = tar([(f"{n}.txt", book(n)) for n in range(10)])
    data = bytearray(whole)
    data[whole.index(b"6.txt") + 10] ^= 1
    for pack, suffix in ((bytes, ".tar"), (gzip.compress, ".tar.gz")):
        path = write(tmp_path / f"a{suffix}", pack(bytes(data)))
        found = read(path, cut(str(path), path.stat().st_size, 4000))
        assert told(found) == [*(f"books:a{suffix}/{n}" for n in range(6)), "damaged"]
        lost = found[-1]
        assert isinstance(lost, Reject)
        share = lost.lost / path.stat().st_size
        assert 0.3 < share < 0.6


def test_damage_in_the_packing_is_told_once(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(tar([(f"{n}.txt", book(n)) for n in range(10)])))
    data[-8] ^= 1  # the checksum
    assert told(read(write(tmp_path / "a.tar.gz", bytes(data))))[9:] == ["books:a.tar.gz/9", "damaged"]
    found = read(write(tmp_path / "a.tar.gz", gzip.compress(tar([("1.txt", book())])) + b"garbage"))
    assert told(found) == ["books:a.tar.gz/1", "damaged"]
    assert told(read(write(tmp_path / "a.tar.gz", b"no gzip"))) == ["damaged"]
    assert told(read(write(tmp_path / "a.tar", b"no tar at all " * 100))) == ["damaged"]
    assert told(read(write(tmp_path / "a.tar", b""))) == ["empty"]
    assert told(read(write(tmp_path / "a.tar", bytes(10240)))) == []


def test_headers_that_lie_are_damage(tmp_path: Path) -> None:
    huge = tarfile.TarInfo("x")
    huge.type, huge.size = tarfile.XHDTYPE, 1 << 40
    minus = tarfile.TarInfo("x.txt")
    minus.size = -1024
    for header in (huge.tobuf(tarfile.GNU_FORMAT), minus.tobuf(tarfile.GNU_FORMAT)):
        for pack, suffix in ((bytes, ".tar"), (gzip.compress, ".tar.gz")):
            path = write(tmp_path / f"a{suffix}", pack(tar([("1.txt", book())])[:-10240] + header + bytes(20480)))
            assert told(read(path))[-1] == "damaged"
    pax = tarfile.TarInfo("a.txt")
    pax.pax_headers = {"size": "-99999"}
    path = write(tmp_path / "a.tar", pax.tobuf(tarfile.PAX_FORMAT) + bytes(1024))
    assert told(read(path)) == ["damaged"]
    longs = (tarfile.TarInfo("././@LongLink"),) * 3000
    data = b"".join(_long(info) for info in longs)
    assert told(read(write(tmp_path / "a.tar", data + bytes(1024)))) == ["damaged"]


def _long(info: tarfile.TarInfo) -> bytes:
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 5
    return info.tobuf(tarfile.GNU_FORMAT) + b"a.txt".ljust(512, b"\0")


@pytest.mark.slow
def test_a_bomb_is_passed_in_bounded_memory(tmp_path: Path) -> None:
    info = tarfile.TarInfo("bomb.txt")
    info.size = 256 << 20
    with gzip.open(tmp_path / "a.tar.gz", "wb", compresslevel=1) as file:
        file.write(info.tobuf())
        for _ in range(256):
            file.write(bytes(1 << 20))
        file.write(tar([("good.txt", book())]))
    tracemalloc.start()
    assert told(read(tmp_path / "a.tar.gz")) == ["too-large", "books:a.tar.gz/good"]
    assert tracemalloc.get_traced_memory()[1] < 24 << 20
    tracemalloc.stop()


@settings(max_examples=60)
@given(st.data())
def test_any_damage_is_told_or_does_no_harm(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(WHOLE.rstrip(bytes(1))) - 1))] = data.draw(st.integers(0, 255))
    path = write(tmp_path_factory.getbasetemp() / "fuzz.tar", bytes(whole))
    found = read(path, cut(str(path), len(whole), 1 << 16))
    assert len(found) >= 3 or any(isinstance(item, Reject) for item in found)


WHOLE = tar([("1.txt", book(1)), ("2.epub", plain_epub()), ("b/3.epub.txt", book(3))])


@pytest.mark.long
def test_memory_does_not_grow_with_members(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number in range(6000):
            archive.addfile(tarfile.TarInfo(f"{number}.jpg"))
    path = write(tmp_path / "a.tar", buffer.getvalue())
    del buffer, archive
    tracemalloc.start()
    cut(str(path), path.stat().st_size, 1 << 20)
    assert (
        sum(isinstance(item, Drop) for item in books_of([FileRange("a.tar", str(path), 0, path.stat().st_size)], max_bytes=9999))
        == 6000
    )
    assert tracemalloc.get_traced_memory()[1] < 2 << 20
    tracemalloc.stop()
