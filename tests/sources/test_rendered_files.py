"""Files of rendered pages: Enterprise HTML dumps, their NDJSON files, and pages of the REST API, whole and damaged."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, digests, read_manifest, read_rows

from bertdata.errors import EmptyResultError
from bertdata.records import FileRange, Reject
from bertdata.sources import rendered

HEAD = """<!DOCTYPE html>
<html prefix="mw: http://mediawiki.org/rdf/" about="https://{host}/wiki/Special:Redirect/revision/77"><head>
<meta property="mw:pageId" content="12"/><meta property="mw:pageNamespace" content="{namespace}"/>
<meta property="dc:modified" content="2026-01-02T03:04:05.000Z"/><link rel="dc:isVersionOf" href="//{host}/wiki/Tea"/>
<title>Green tea &amp; milk</title><base href="//{host}/wiki/"/></head><body><p>Tea is hot.</p></body></html>"""


def page(number: int, **changes: Any) -> bytes:
    """A line of an Enterprise HTML dump."""
    record = {
        "name": f"Lake {number}",
        "identifier": number,
        "date_modified": "2026-01-02T03:04:05Z",
        "version": {"identifier": 1000 + number},
        "url": f"https://en.wikipedia.org/wiki/Lake_{number}",
        "namespace": {"identifier": 0},
        "in_language": {"identifier": "en"},
        "is_part_of": {"identifier": "enwiki"},
        "article_body": {"html": f"<p>Lake number {number} is deep. It is <b>cold</b> in the winter of the year {number}.</p>"},
    }
    return json.dumps({**record, **changes}).encode()


def tar(*members: bytes, mode: str = "w:gz") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
        for number, data in enumerate(members):
            info = tarfile.TarInfo(f"enwiki_namespace_0_{number}.ndjson")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


LINES = [page(number) + b"\n" for number in range(40)]
TAR = tar(b"".join(LINES[:20]), b"".join(LINES[20:]))
OTHERS = b"\n".join([
    page(1, namespace={"identifier": 14}), page(2, article_body={"html": " "}), page(3, article_body=None), b"{broken", b"[1]",
    b"null", page(4, identifier="four"), page(5, is_part_of=None), page(6, name="x" * 30_000), page(7),
    page(8, article_body={"html": '<link rel="mw:PageProp/redirect" href="./A"/><p>A</p>'}),
    page(9, article_body={"html": "<ul></ul>"}), page(10, article_body={"html": "<div>" * 5000}),
    page(11, identifier=float("inf")), b'{"reject": {"id": 1, "reason": [], "where": ""}}', page(12, name="half \ud83d"), b"",
    page(13, is_part_of={"identifier": "../x"}), page(14, is_part_of={"identifier": None}), page(-1),
])  # fmt: skip
# name of the file: (contents, its documents, its rejects by reason)
FILES: dict[str, tuple[bytes, int, dict[str, int]]] = {
    "enwiki-NS0-20260101-ENTERPRISE-HTML.json.tar.gz": (TAR, 40, {}),
    "a.tar": (tar(b"".join(LINES), mode="w"), 40, {}),
    "b.ndjson": (b"".join(LINES), 40, {}),
    "marked.ndjson": (b"".join(b"\xef\xbb\xbf" + line for line in LINES), 40, {}),
    "c.ndjson.gz": (gzip.compress(b"".join(LINES)), 40, {}),
    "last line without a newline.ndjson": (b"".join(LINES).rstrip(b"\n"), 40, {}),
    "truncated.tar.gz": (TAR[:-30], 0, {"truncated": 1}),
    "truncated.ndjson.gz": (gzip.compress(b"".join(LINES))[:-20], 30, {"truncated": 1}),
    "flipped.tar.gz": (TAR[:-6] + bytes([TAR[-6] ^ 1]) + TAR[-5:], 40, {"damaged": 1}),
    "others.ndjson": (OTHERS, 1, {"malformed-json": 11, "too-large": 1, "extraction-failed": 1}),
    "en.html": (HEAD.format(host="en.wikipedia.org", namespace=0).encode(), 1, {}),
    "unknown.html": (b"<html><body><p>Tea is hot.</p></body></html>", 0, {"no-id": 1}),
    "address.html": (HEAD.format(host="[en.wikipedia.org", namespace=0).encode(), 0, {"no-id": 1}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file(name: str, build: Build, tmp_path: Path) -> None:
    data, documents, rejects = FILES[name]
    (tmp_path / "first.html").write_bytes(HEAD.format(host="en.wikipedia.org", namespace=0).replace("12", "99").encode())
    (tmp_path / name).write_bytes(data)
    options = ("--max-rejects", 1, "--max-page-bytes", 27_000, "--dedup", "none")
    output = build("build-corpus", tmp_path / "corpus", "--wikipedia-html", tmp_path / name, "--wikipedia-html",
                   tmp_path / "first.html", *options)  # fmt: skip
    (stage,) = read_manifest(output)["counts"]
    assert Counter(stage.get("rejected", {})) == Counter(rejects)
    assert stage["in"] == stage["out"] + sum(stage.get("rejected", {}).values()) + sum(stage.get("dropped", {}).values())
    assert documents <= stage["out"] - 1 <= 40 if rejects else stage["out"] - 1 == documents
    if name == "others.ndjson":
        assert stage["dropped"] == {"namespace": 1, "empty page": 2, "redirect": 1, "no prose": 1}


def test_a_directory_without_a_usable_page_is_an_error(build: Build, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(FILES["unknown.html"][0])
    with pytest.raises(EmptyResultError, match="no-id 1"):
        build("build-corpus", tmp_path / "corpus", "--wikipedia-html", tmp_path / "a.html")


def test_documents_are_those_of_a_dump(build: Build, tmp_path: Path) -> None:
    """Ids, addresses with revisions, sources and languages; sister projects and other languages by their wiki."""
    pages = [
        page(7, name="Green tea", url="https://en.wikipedia.org/wiki/Green_tea"),
        page(8, is_part_of={"identifier": "zh_min_nanwiki"}, in_language={"identifier": "nan"}, name="Tê",
             url="https://zh-min-nan.wikipedia.org/wiki/T%C3%AA"),
    ]  # fmt: skip
    (tmp_path / "a.ndjson").write_bytes(b"\n".join(pages))
    (tmp_path / "b.ndjson").write_bytes(page(9, is_part_of={"identifier": "dewikibooks"}, in_language={"identifier": "de"}))
    (tmp_path / "c.html").write_bytes(HEAD.format(host="fr.wikipedia.org", namespace=0).encode())
    (tmp_path / "d.html").write_bytes(HEAD.format(host="fr.wikipedia.org", namespace=10).encode())
    rows = read_rows(build("build-corpus", tmp_path / "corpus", "--wikipedia-html", tmp_path))
    assert {(row["id"], row["source"], row["language"], row["title"], row["url"]) for row in rows} == {
        ("enwiki:7", "wikipedia", "en", "Green tea", "https://en.wikipedia.org/wiki/Green_tea?oldid=1007"),
        ("zh_min_nanwiki:8", "wikipedia", "nan", "Tê", "https://zh-min-nan.wikipedia.org/wiki/T%C3%AA?oldid=1008"),
        ("dewikibooks:9", "wikibooks", "de", "Lake 9", "https://en.wikipedia.org/wiki/Lake_9?oldid=1009"),
        ("frwiki:12", "wikipedia", "fr", "Green tea & milk", "https://fr.wikipedia.org/wiki/Green_tea_%26_milk?oldid=77"),
    }


def test_the_newest_copy_of_a_page_stays(build: Build, tmp_path: Path) -> None:
    """Enterprise dumps repeat some pages."""
    old, new = page(7, article_body={"html": "<p>An old text.</p>"}, date_modified="2020-01-02T03:04:05Z"), page(7)
    (tmp_path / "a.ndjson").write_bytes(b"\n".join([new, old]))
    (row,) = read_rows(build("build-corpus", tmp_path / "corpus", "--wikipedia-html", tmp_path / "a.ndjson"))
    assert row["sentences"][0] == "Lake number 7 is deep."


def test_a_large_archive_is_unpacked_into_pieces(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces have the lines of the archive, a repeated run keeps finished ones, and a full disk is found before."""
    path = tmp_path / "pages.json.tar.gz"
    path.write_bytes(TAR)
    whole = build("build-corpus", tmp_path / "whole", "--wikipedia-html", path)
    monkeypatch.setattr(rendered, "MAX_TAR_BYTES", 100)
    monkeypatch.setattr(rendered, "PIECE_BYTES", 4000)
    pieces = build("build-corpus", tmp_path / "pieces", "--wikipedia-html", path)
    assert len(read_manifest(pieces)["shards"]) == 3
    assert [row["id"] for row in read_rows(pieces)] == [row["id"] for row in read_rows(whole)]
    assert not [*(tmp_path / "pieces").rglob("*.ndjson")]
    again = build("build-corpus", tmp_path / "again", "--wikipedia-html", path)
    assert digests(again) == digests(pieces)

    rendered.unpack(str(path), tmp_path / "work")
    monkeypatch.setattr(rendered, "each_tar_member", None)
    rendered.unpack(str(path), tmp_path / "work")  # finished: nothing is read
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1 << 20}))
    with pytest.raises(Exception, match="takes about 1 GB to unpack in the output directory, but the disk has 0 GB free"):
        rendered.unpack(str(path), tmp_path / "other")
    assert not [*(tmp_path / "other").iterdir()]


@pytest.mark.parametrize("missing", [0, 400])
def test_pieces_of_an_archive_have_each_line_once(missing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One reject says that the archive is truncated, another that its last page is."""
    path = tmp_path / "pages.json.tar.gz"
    path.write_bytes(TAR[: len(TAR) - missing])
    monkeypatch.setattr(rendered, "MAX_TAR_BYTES", 100)
    for piece_bytes in (10, 500, 4000, 1 << 20):
        monkeypatch.setattr(rendered, "PIECE_BYTES", piece_bytes)
        ranges = rendered.split(str(path), path.stat().st_size, 1 << 20)
        rendered.unpack(str(path), tmp_path / "work")
        found = [
            page
            for start, end in ranges
            for page in rendered.read_pages(FileRange(path.name, str(path), start, end), 1 << 20, tmp_path / "work")
        ]
        rejects = {reject.reason for reject in found if isinstance(reject, Reject)}
        ids = [page[1].id for page in found if not isinstance(page, Reject)]
        assert ids == [f"enwiki:{number}" for number in range(len(ids))]
        assert (rejects, len(ids)) == (set(), 40) if not missing else "truncated" in rejects and len(ids) < 40
