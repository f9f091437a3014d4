"""Servers that mean no good: hostile names, lists without an end, redirects to files; nothing is written outside the output."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from loopback import Answer, Server, serving

from bertdata.cli import cli
from bertdata.errors import BertDataError, StorageError, TransferError, VerificationError
from bertdata.sources.download import client
from bertdata.sources.download.client import Client
from bertdata.sources.download.transfer import PARTS, RemoteFile, fetch_all

pytestmark = pytest.mark.long

STATUS = "/enwiki/20260101/dumpstatus.json"
PREFIX = "enwiki-20260101-"


def download(server: Server, output: Path, *more: object) -> BaseException | None:
    """Run the command; return what ended it."""
    options = ["--language", "en", "--date", "20260101", "--base-url", server.url, "--output", str(output)]
    return CliRunner().invoke(cli, ["download", "wikipedia", *options, *map(str, more)]).exception


def listed(name: str, **entry: Any) -> bytes:
    job = {"status": "done", "files": {name: {"size": 3, "sha1": "0" * 40, **entry}}}
    return json.dumps({"jobs": {"articlesmultistreamdump": job}}).encode()


NAMES = [
    "a\ud800",
    "a?b",
    "a#b",
    "a%2fb",
    "b" * 300,
    "../a",
    "/etc/a",
    "a/../../b",
    "..",
    ".hidden",
    "a\\..\\b",
    "a\nb",
    "a\x1b[2J",
    "a\x9b1m",
    "a\u202egnp",
    "a\0b",
    "",
    "a/b",
]


@pytest.mark.parametrize("name", [*NAMES, *(PREFIX + name for name in NAMES if name not in ("", "..", ".hidden"))])
def test_names_that_lead_elsewhere(name: str, tmp_path: Path) -> None:
    with serving() as server:
        server.files[STATUS] = listed(name)
        error = download(server, tmp_path / "out")
    assert isinstance(error, BertDataError) and error.exit_code in (4, 6), repr(error)
    assert not list(tmp_path.iterdir())


SIZES = [-1, 1 << 60, 10**400, True, 1.5, "3", None, [], {}]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size)[:9])
def test_sizes_that_can_not_be(size: Any, tmp_path: Path) -> None:
    with serving() as server:
        server.files[STATUS] = listed(f"{PREFIX}a.xml.bz2", size=size)
        error = download(server, tmp_path / "out")
    assert isinstance(error, BertDataError) and error.exit_code == 4, repr(error)
    assert not list(tmp_path.iterdir())


LISTS = {
    "deep": b"[" * 1_000_000,
    "number": b'{"jobs": ' + b"9" * 1_000_000 + b"}",
    "strings": b'{"jobs": {"articlesdump": "done"}}',
    "list": b"[]",
    "binary": bytes(range(256)) * 99,
    "nothing": b"",
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_are_none(name: str, tmp_path: Path) -> None:
    with serving() as server:
        server.files[STATUS] = LISTS[name]
        error = download(server, tmp_path / "out")
    assert isinstance(error, BertDataError) and error.exit_code == 4, repr(error)


@pytest.mark.parametrize("packed", [False, True])
def test_a_list_without_an_end(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_LIST_BYTES", 1 << 20)
    with serving() as server:
        body = gzip.compress(bytes(64 << 20)) if packed else bytes(4 << 20)
        server.files[STATUS] = b""
        server.script[STATUS] = [
            Answer(body=body, length=None if packed else -1, headers={"Content-Encoding": "gzip"} if packed else {})
        ]
        error = download(server, tmp_path / "out")
    assert isinstance(error, BertDataError) and "more than a list can have" in str(error), repr(error)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://localhost/a", "data:text/plain,a", STATUS, "http://[", "//"])
def test_redirects(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_TRIES", 1)
    with serving() as server:
        server.script[STATUS] = [Answer(302, {"Location": target}) for _ in range(64)]
        error = download(server, tmp_path / "out")
    assert isinstance(error, BertDataError), repr(error)
    assert not list(tmp_path.iterdir())


HEADERS = {  # headers of a file, which comes all the same
    "length in another script": {"Content-Length": "²"},
    "length of 5,000 digits": {"Content-Length": "9" * 5000},
    "range of 5,000 digits": {"Content-Range": f"bytes {'9' * 5000}-{'9' * 5000}/{'9' * 5000}"},
    "range in another script": {"Content-Range": "bytes ²-³/³"},
}


@pytest.mark.parametrize("status", [200, 206])
@pytest.mark.parametrize("case", HEADERS)
def test_numbers_that_are_none(case: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.001)
    headers = HEADERS[case]
    body = b"words"
    with serving() as server:
        server.files["/a.bin"] = body
        server.script["/a.bin"] = [
            Answer(status, {name: value.encode().decode("latin-1") for name, value in headers.items()}, body)
        ]
        remote = RemoteFile("a.bin", f"{server.url}/a.bin", len(body), f"sha1:{hashlib.sha1(body).hexdigest()}")
        fetch_all([remote], tmp_path, Client({}), connections=1)
    assert (tmp_path / "a.bin").read_bytes() == body


@pytest.mark.slow
def test_redirects_to_what_is_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_TRIES", 1)
    for target in (
        "http://[::1",
        "http://\xff\xfe/",
        f"http://{'a' * 70}.org/",
        "http://a:99999/",
        "http://*?/",
        "\xff\xfe",
        "http://",
    ):
        with serving() as server:
            server.script[STATUS] = [Answer(302, {"Location": target})] * 9
            error = download(server, tmp_path / "out")
        assert isinstance(error, BertDataError) and error.exit_code in (2, 4), repr(error)


@pytest.mark.slow
def test_a_list_that_drips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LIST_TIMEOUT_S", 1.0)
    with serving() as server:
        server.files[STATUS] = bytes(1000)
        server.script[STATUS] = [Answer(slow=0.5)] * 99
        begun = time.monotonic()
        error = download(server, tmp_path / "out")
    assert isinstance(error, TransferError) and "did not arrive in 1 seconds" in str(error), repr(error)
    assert time.monotonic() - begun < 4


def test_dates_without_an_end(tmp_path: Path) -> None:
    with serving() as server:
        server.files["/enwiki/"] = "".join(f'<a href="{date}/">' for date in range(20_000_000, 20_020_000)).encode()
        arguments = ["download", "wikipedia", "--language", "en", "--base-url", server.url, "--output", str(tmp_path / "out")]
        error = CliRunner().invoke(cli, arguments).exception
        assert isinstance(error, BertDataError) and error.exit_code == 2 and len(server.asked) < 30, repr(error)


def test_the_sums_are_no_file_of_the_list(tmp_path: Path) -> None:
    with serving() as server:
        server.files[STATUS] = listed(f"{PREFIX}sha1sums.txt")
        error = download(server, tmp_path / "out")
    assert isinstance(error, TransferError) and "as an article file" in str(error)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("host", ["127.0.0.1:9", "no-such-host.invalid"])
def test_no_connection_is_one_line_in_ten_seconds(host: str, tmp_path: Path) -> None:
    begun = time.monotonic()
    for command in (["wikipedia", "--language", "en"], ["hub", "ada/books"]):
        words = ["download", *command, "--dry-run", "--base-url", f"http://{host}", "--output", str(tmp_path / "out")]
        found = CliRunner().invoke(cli, words)
        assert isinstance(found.exception, TransferError), repr(found.exception)
        assert str(found.exception).startswith((f"no connection to {host.partition(':')[0]}", f"http://{host} cannot be"))
        assert not found.output and "\n" not in str(found.exception)
    assert time.monotonic() - begun < 20


PLANTS = {  # what a stranger may put into the place of an unfinished file
    "link": lambda path, victim: path.symlink_to(victim),
    "link to nothing": lambda path, victim: path.symlink_to(victim.with_name("nothing")),
    "second name": lambda path, victim: os.link(victim, path),
    "pipe": lambda path, victim: os.mkfifo(path),
}


@pytest.mark.parametrize("name", ["a.bin.part", "lock"])
@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_planted_is_not_written_through(plant: str, name: str, tmp_path: Path) -> None:
    body, victim, out = b"some words", tmp_path / "victim", tmp_path / "out"
    victim.write_bytes(b"mine")
    (out / PARTS).mkdir(parents=True)
    PLANTS[plant](out / PARTS / name, victim)
    with serving() as server, contextlib.suppress(StorageError):
        server.files["/a.bin"] = body
        remote = RemoteFile("a.bin", f"{server.url}/a.bin", len(body), f"sha1:{hashlib.sha1(body).hexdigest()}")
        fetch_all([remote], out, Client({}), connections=1)
    assert name == "lock" or (out / "a.bin").read_bytes() == body
    assert not (out / "a.bin").is_symlink()
    assert victim.read_bytes() == b"mine" and not victim.with_name("nothing").exists()


@pytest.mark.parametrize("folder", [PARTS, "data", f"{PARTS}/data"])
def test_folders_that_lead_elsewhere(folder: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / folder).parent.mkdir(parents=True)
    (tmp_path / "out" / folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="leads out of"):
        fetch_all([RemoteFile("data/a.bin", "http://127.0.0.1:9/a", 3, "sha1:0")], tmp_path / "out", Client({}), connections=1)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("name", ["a\ud800", "a\u2028b", "b" * 300, "a/" * 2000 + "a"])
def test_names_that_no_disk_takes(name: str, tmp_path: Path) -> None:
    with pytest.raises((VerificationError, StorageError)):
        fetch_all([RemoteFile(name, "http://127.0.0.1:9/a", 3, "sha1:0")], tmp_path / "out", Client({}), connections=1)
