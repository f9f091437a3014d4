"""Downloads of dumps from servers that cut, lie, change files, ask to wait, or mean no good."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from loopback import Answer, Server, serving
from urllib3 import Retry

from bertdata import download_wikipedia
from bertdata.cli import cli
from bertdata.errors import BertDataError, NoInputError, StorageError, TransferError, UsageError, VerificationError
from bertdata.sources import download
from bertdata.sources.wikimedia import wiki_name

NAME, BODY = "enwiki-20260101-pages-articles-multistream.xml.bz2", b"a dump of the ferry and the harbour " * 4000
SIZE, SHA1 = len(BODY), hashlib.sha1(BODY).hexdigest()
PATH = f"/enwiki/20260101/{NAME}"


def job(name: str = NAME, size: Any = SIZE, sha1: Any = SHA1, status: str = "done") -> dict[str, Any]:
    return {"status": status, "files": {name: {"size": size, "sha1": sha1}}}


def listed(**jobs: Any) -> bytes:
    return json.dumps({"jobs": jobs}).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(Retry, "_sleep_backoff", lambda self: None)
    monkeypatch.setattr(download, "_PAUSE_S", 0.0)
    monkeypatch.setattr(download, "_WAIT_S", 0)
    with serving() as server:
        server.files["/enwiki/"] = b'<a href="20251201/">x</a> <a href="20260101/">x</a> <a href="20260201/">x</a>'
        server.files["/enwiki/20260101/dumpstatus.json"] = listed(articlesmultistreamdump=job())
        server.files[PATH] = BODY
        yield server


def fetch(server: Server, output: Path, **options: Any) -> list[Path]:
    return download_wikipedia("en", output=output, base_url=server.url, **options)


def test_the_newest_complete_dump_is_downloaded_and_checked(server: Server, tmp_path: Path) -> None:
    server.files["/enwiki/20260201/dumpstatus.json"] = listed(articlesmultistreamdump=job(status="in-progress"))
    assert fetch(server, tmp_path, contact="ada@example.org") == [tmp_path / NAME]
    assert (tmp_path / NAME).read_bytes() == BODY
    sums = (tmp_path / "enwiki-20260101-sha1sums.txt").read_text()
    assert sums == f"{hashlib.sha1(BODY).hexdigest()}  {NAME}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([NAME, "enwiki-20260101-sha1sums.txt"])
    assert all("ada@example.org" in headers["user-agent"] for _, headers in server.asked)
    fetch(server, tmp_path)
    assert len(server.ranges(PATH)) == 1, "a file that is there is not fetched again"


def test_single_stream_is_used_where_there_is_no_multistream(server: Server, tmp_path: Path) -> None:
    name = "enwiki-20251201-pages-articles.xml.bz2"
    server.files["/enwiki/20260101/dumpstatus.json"] = listed(articlesmultistreamdump=job(status="failed"))
    server.files["/enwiki/20251201/dumpstatus.json"] = listed(articlesdump=job(name))
    server.files[f"/enwiki/20251201/{name}"] = BODY
    assert fetch(server, tmp_path) == [tmp_path / name]


FLAWS = {
    "cut": [Answer(cut=5000), Answer(cut=7)],
    "busy": [Answer(503), Answer(429, {"Retry-After": "0"}), Answer(500)],
    "a long wait": [Answer(503, {"Retry-After": "86400"})],
    "no range": [Answer(cut=5000), Answer(ignore_range=True)],
    "cut at once": [Answer(cut=0)] * 3,
}


@pytest.mark.parametrize("flaws", FLAWS.values(), ids=FLAWS)
def test_a_flaw_is_mended(server: Server, tmp_path: Path, flaws: list[Answer]) -> None:
    server.script[PATH] = [*flaws]
    fetch(server, tmp_path)
    assert (tmp_path / NAME).read_bytes() == BODY


def test_an_interrupted_download_continues(server: Server, tmp_path: Path) -> None:
    def stop(name: str, at: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(server, tmp_path, progress=stop)
    (tmp_path / f"{NAME}.part").write_bytes(BODY[:70_000])
    fetch(server, tmp_path)
    assert server.ranges(PATH)[-1] == "bytes=70000-" and (tmp_path / NAME).read_bytes() == BODY
    (tmp_path / NAME).unlink()
    (tmp_path / f"{NAME}.part").write_bytes(b"of another version " * 3000)
    with pytest.raises(VerificationError, match="run the same command again"):
        fetch(server, tmp_path)
    fetch(server, tmp_path)
    assert (tmp_path / NAME).read_bytes() == BODY


ERRORS: dict[str, tuple[type[BertDataError], str, list[Answer]]] = {
    "always cut": (TransferError, "run the same command again", [Answer(cut=0)] * 99),
    "always busy": (TransferError, "the server answers 503", [Answer(503)] * 99),
    "gone": (TransferError, "404", [Answer(404)]),
    "forbidden": (TransferError, "set `contact`", [Answer(403)]),
    "other bytes": (VerificationError, "does not match its published size", [Answer(body=BODY[:-1] + b"!")]),
    "too many bytes": (VerificationError, "does not match its published size", [Answer(body=BODY + b"!" * (1 << 20))]),
    "elsewhere": (TransferError, "InvalidSchema|InvalidURL", [Answer(302, {"Location": "file:///etc/passwd"})] * 99),
    "a circle": (TransferError, "TooManyRedirects|RetryError|run the same", [Answer(302, {"Location": PATH})] * 999),
}


@pytest.mark.parametrize(("kind", "message", "answers"), ERRORS.values(), ids=ERRORS)
def test_what_cannot_be_mended_is_an_error(
    server: Server, tmp_path: Path, kind: type[BertDataError], message: str, answers: list[Answer]
) -> None:
    server.script[PATH] = answers
    with pytest.raises(kind, match=message):
        fetch(server, tmp_path)
    assert not (tmp_path / NAME).exists()


LISTS = {
    "no list": (b"<html>", TransferError),
    "no jobs": (b"{}", TransferError),
    "jobs of strings": (b'{"jobs": {"articlesdump": "done"}}', TransferError),
    "deep": (b"[" * 99_999, TransferError),
    "too long": (b" " * (5 << 20), TransferError),
    "no files": (b'{"jobs": {"articlesdump": {"status": "done"}}}', NoInputError),
    "unfinished": (listed(articlesdump=job(status="waiting")), NoInputError),
    **{
        name: (listed(articlesdump=job(name)), TransferError) for name in ("../a", "/etc/a", "enwiki-20260101-/../b", ".a", "a\n")
    },
    **{f"size {size}": (listed(articlesdump=job(size=size)), TransferError) for size in (-1, True, "9", 1 << 60, None)},
    "sha1": (listed(articlesdump=job(sha1="0" * 39)), TransferError),
}


@pytest.mark.parametrize(("text", "kind"), LISTS.values(), ids=LISTS)
def test_a_list_that_cannot_be_right_is_an_error(server: Server, tmp_path: Path, text: bytes, kind: type[BertDataError]) -> None:
    server.files["/enwiki/20260101/dumpstatus.json"] = text
    with pytest.raises(kind):
        fetch(server, tmp_path / "out", date="20260101")
    assert not list(tmp_path.rglob("*.*"))


def test_wrong_options_are_errors(server: Server, tmp_path: Path) -> None:
    for language, options in (("english", {}), ("en", {"date": "2026"}), ("en", {"date": "20200101"}), ("de", {})):
        with pytest.raises((UsageError, NoInputError)):
            download_wikipedia(language, output=tmp_path, base_url=server.url, **options)  # type: ignore[arg-type]
    assert wiki_name("zh-yue") == "zh_yuewiki"
    server.files["/enwiki/20260101/dumpstatus.json"] = listed(articlesmultistreamdump=job(size=1 << 49))
    with pytest.raises(StorageError, match="free some space"):
        fetch(server, tmp_path)


def test_the_command_shows_sizes_and_downloads(server: Server, tmp_path: Path) -> None:
    command = ["download", "wikipedia", "--language", "en", "--base-url", server.url, "--output", str(tmp_path)]
    dry = CliRunner().invoke(cli, [*command, "--dry-run"])
    assert NAME in dry.output and not (tmp_path / NAME).exists()
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0 and "lengths and checksums are right" in done.output
    assert "nothing to do" in CliRunner().invoke(cli, command).output


def test_rendered_pages_are_downloaded_from_the_newest_run_that_has_them(server: Server, tmp_path: Path) -> None:
    runs, name = "/other/enterprise_html/runs/", "enwiki-NS0-20260101-ENTERPRISE-HTML.json.tar.gz"
    server.files[runs] = b'<a href="20251220/">x</a> <a href="20260101/">x</a> <a href="20260120/">x</a>'
    server.files[f"{runs}20260101/{name}"] = BODY
    command = ["download", "wikipedia", "--language", "en", "--html", "--base-url", server.url, "--output", str(tmp_path)]
    assert name in CliRunner().invoke(cli, [*command, "--dry-run"]).output
    server.script[f"{runs}20260101/{name}"] = [Answer(), Answer(cut=5000)]  # the size, and then the file
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0 and f"--wikipedia-html '{tmp_path / name}'" in done.output
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_bytes() == BODY
    with pytest.raises(NoInputError, match="no rendered articles of dewiki"):
        download_wikipedia("de", output=tmp_path, base_url=server.url, html=True)
    server.script[f"{runs}20260101/{name}"] = [Answer(length=-1)]
    with pytest.raises(TransferError, match="does not tell its size"):
        fetch(server, tmp_path, html=True)
