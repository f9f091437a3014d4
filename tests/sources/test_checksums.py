"""Files of sums beside a dump: found by the names that publishers use, and what they say is checked."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bertdata.errors import VerificationError
from bertdata.records import FileRange
from bertdata.sources.checksums import check, published

TEXT = b"what was published"
MD5, SHA1 = hashlib.md5(TEXT).hexdigest(), hashlib.sha1(TEXT).hexdigest()


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "xwiki-20260101-pages.xml.bz2"
    path.write_bytes(TEXT)
    return path


@pytest.mark.parametrize("name", ["xwiki-20260101-md5sums.txt", "md5sums.txt", "md5sums", "MD5SUMS", "xwiki_md5sums", "md5sum"])
@pytest.mark.parametrize("line", ["{}  {}\n", "{} *{}", "{}  ./{}\r\n", "{}\t{}\n", "\ufeff{}  {}\n"])
def test_sums_by_any_name(dump: Path, name: str, line: str) -> None:
    other = f"{'0' * 32}  other-{dump.name}\n"
    (dump.parent / name).write_text(line.format(MD5.upper(), dump.name) + "\n" + other)
    assert published(str(dump)) == f"md5:{MD5}"
    check([FileRange(dump.name, str(dump), 0, len(TEXT))], f"md5:{MD5}")


def test_the_strongest_counts(dump: Path) -> None:
    (dump.parent / "md5sums.txt").write_text(f"{'0' * 32}  {dump.name}\n")
    (dump.parent / "sha1sums.txt").write_text(f"{SHA1}  {dump.name}\n")
    assert published(str(dump)) == f"sha1:{SHA1}"
    (dump.parent / "sha1sums.txt").write_text(f"{SHA1}  another.xml.bz2\n")
    assert published(str(dump)) == f"md5:{'0' * 32}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("md5sums.html", f"{MD5}  xwiki-20260101-pages.xml.bz2\n"),
        ("notes.txt", f"{MD5}  xwiki-20260101-pages.xml.bz2\n"),
        ("md5sums.txt", ""),
        ("md5sums.txt", "no sums\n\x00\xff"),
        ("md5sums.txt", "xwiki-20260101-pages.xml.bz2\n"),
        ("md5sums.txt", f"{MD5}  pages.xml.bz2\n"),
    ],
)
def test_what_says_nothing_of_the_dump(dump: Path, name: str, text: str) -> None:
    (dump.parent / name).write_text(text)
    assert published(str(dump)) == ""


def test_another_sum_is_an_error_that_names_the_file_and_what_to_do(dump: Path) -> None:
    with pytest.raises(VerificationError, match=rf"does not match its checksum file: its md5 is {MD5}.*fetch it again"):
        check([FileRange(dump.name, str(dump), 0, len(TEXT))], f"md5:{'0' * 32}")


def test_the_digests_of_parts(dump: Path) -> None:
    """Those that a file had when it was cut; one that has grown is another file."""
    parts = [
        FileRange(dump.name, str(dump), 0, 5),
        FileRange(dump.name, str(dump), 5, 5),
        FileRange(dump.name, str(dump), 5, len(TEXT)),
    ]
    wanted = [hashlib.sha256(part).hexdigest() for part in (TEXT[:5], b"", TEXT[5:])]
    assert check(parts, f"md5:{MD5}") == check(parts, f"sha1:{SHA1}") == wanted
    dump.write_bytes(TEXT + b"!")
    with pytest.raises(VerificationError, match="does not match its checksum"):
        check(parts, f"md5:{MD5}")
