"""Servers that mean no good: hostile names, lists without an end, redirects to files; nothing is written outside the output."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from loopback import Answer, Server, serving

from bertdata.cli import cli
from bertdata.errors import BertDataError
from bertdata.sources.download import client

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
    monkeypatch.setattr(client, "LARGEST_PAGE", 1 << 20)
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
    monkeypatch.setattr(client, "TRIES", 1)
    with serving() as server:
        server.script[STATUS] = [Answer(302, {"Location": target}) for _ in range(64)]
        error = download(server, tmp_path / "out")
    assert isinstance(error, BertDataError), repr(error)
    assert not list(tmp_path.iterdir())
