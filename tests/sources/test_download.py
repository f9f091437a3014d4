"""Downloads over a bad line: whatever the server does, the file is right or absent, and a second run goes on."""

from __future__ import annotations

import doctest
import hashlib
import importlib
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import Answer, Server, serving

from bertdata.errors import BertDataError, OutputLockedError, StorageError, TransferError, UsageError, VerificationError
from bertdata.sources.download import client as clients
from bertdata.sources.download import transfer
from bertdata.sources.download.client import Client, Missing, user_agent
from bertdata.sources.download.transfer import PARTS, RemoteFile, fetch_all, missing_bytes
from bertdata.storage.lock import lock

BODY = random.Random(1).randbytes(200_000)
OTHER = random.Random(2).randbytes(200_000)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        found.files["/a.bin"] = BODY
        yield found


def remote(server: Server, name: str = "a.bin", body: bytes = BODY) -> RemoteFile:
    return RemoteFile(name, f"{server.url}/{name}", len(body), f"sha1:{hashlib.sha1(body).hexdigest()}")


def fetch(server: Server, directory: Path, *files: RemoteFile, connections: int = 2) -> list[str]:
    notes: list[str] = []
    fetch_all(files or (remote(server),), directory, Client({}, notes.append), connections=connections)
    return notes


def left(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


BAD_LINES = {  # what the server does, request by request -> the Range of each request
    "cuts": ([Answer(cut=49_152), Answer(cut=32_768)], ["", "bytes=49152-", "bytes=81920-"]),
    "cuts at once": ([Answer(cut=0), Answer(cut=0)], ["", "", ""]),
    "cuts, without a length": ([Answer(cut=49_152, length=-1)], ["", "bytes=49152-"]),
    "ignores Range": ([Answer(cut=49_152), Answer(ignore_range=True)], ["", "bytes=49152-"]),
    "begins elsewhere": ([Answer(cut=49_152), Answer(shift=7)], ["", "bytes=49152-", ""]),
    "sends a wrong byte": ([Answer(body=BODY[:9] + b"?" + BODY[10:])], ["", ""]),
    "sends too much, once": ([Answer(body=BODY + b"!", length=-1)], ["", ""]),
    "claims too much, once": ([Answer(body=BODY, length=len(BODY) + 1)], ["", ""]),
    "claims too little, once": ([Answer(body=BODY, length=len(BODY) - 1)], ["", ""]),
    "packs it, once": ([Answer(headers={"Content-Encoding": "gzip"})], ["", ""]),
    "is busy": ([Answer(429, {"Retry-After": "0"}), Answer(503), Answer(500), Answer(502)], [""] * 5),
    "is slow": ([Answer(slow=0.01)], [""]),
    "changed the file in between": ([Answer(body=OTHER, cut=49_152)], ["", "bytes=49152-", ""]),
    "changed the file, and its Range is of the old one": (
        [Answer(body=OTHER, cut=49_152), Answer(206, {"Content-Range": "bytes 49152-199999/200000"}, BODY[49_152:])],
        ["", "bytes=49152-", ""],
    ),
}


@pytest.mark.parametrize("etags", [True, False], ids=["etag", "last-modified"])
@pytest.mark.parametrize("case", BAD_LINES)
def test_a_file_gets_through(server: Server, tmp_path: Path, case: str, etags: bool) -> None:
    answers, ranges = BAD_LINES[case]
    server.script["/a.bin"], server.etags = list(answers), etags
    fetch(server, tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert server.ranges("/a.bin") == ranges
    assert left(tmp_path) == ["a.bin"]
    assert not (tmp_path / PARTS).exists()


BAD_SERVERS = {  # what the server always does -> the error and what it says
    "a wrong byte": (Answer(body=b"?" + BODY[1:]), VerificationError, "does not match its checksum"),
    "another length": (Answer(body=BODY[:-1]), VerificationError, "199999 bytes, 200000 were published"),
    "too much": (Answer(body=BODY + BODY, length=-1), VerificationError, "more than the 200000 bytes"),
    "cut at the same place": (Answer(cut=49_152, ignore_range=True), TransferError, "ended after 49152|IncompleteRead"),
    "busy": (Answer(503), TransferError, "503 .* 8 times in a row"),
    "come back tomorrow": (Answer(429, {"Retry-After": "86400"}), TransferError, "wait of 86400 seconds"),
    "gone": (Answer(404), Missing, "404"),
    "forbidden": (Answer(403), TransferError, "403 .*`contact`"),
    "teapot": (Answer(418), TransferError, "418"),
    "a circle": (Answer(302, {"Location": "/a.bin"}), TransferError, "in a circle"),
    "a strange place": (Answer(302, {"Location": "gopher://127.0.0.1/"}), TransferError, "redirects to an invalid address"),
}


@pytest.mark.parametrize("case", BAD_SERVERS)
def test_a_bad_server_gives_an_error_and_no_file(server: Server, tmp_path: Path, case: str) -> None:
    answer, kind, said = BAD_SERVERS[case]
    server.script["/a.bin"] = [answer] * 100
    with pytest.raises(kind, match=said):
        fetch(server, tmp_path)
    assert not (tmp_path / "a.bin").exists()


def test_no_server_gives_an_error(tmp_path: Path) -> None:
    with serving() as server:
        gone = remote(server)
    with pytest.raises(TransferError, match="8 times in a row"):
        fetch(server, tmp_path, gone)


def test_what_was_fetched_stays_and_the_next_run_goes_on(server: Server, tmp_path: Path) -> None:
    server.script["/a.bin"] = [Answer(cut=49_152), *[Answer(503)] * 7]
    with pytest.raises(TransferError):
        fetch(server, tmp_path)
    assert missing_bytes([remote(server)], tmp_path) == 150_848
    server.asked.clear()
    fetch(server, tmp_path)
    assert server.ranges("/a.bin") == ["bytes=49152-"]
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_a_mirror_goes_on_with_a_part_and_the_checksum_tells(server: Server, tmp_path: Path) -> None:
    server.script["/a.bin"] = [Answer(cut=49_152), *[Answer(503)] * 7]
    with pytest.raises(TransferError):
        fetch(server, tmp_path)
    with serving() as mirror:
        mirror.files["/a.bin"], mirror.etags = BODY, False
        fetch(mirror, tmp_path)
        assert mirror.ranges("/a.bin") == ["bytes=49152-"]


def test_a_part_of_another_file_is_fetched_again(server: Server, tmp_path: Path) -> None:
    server.script["/a.bin"] = [Answer(cut=49_152), *[Answer(503)] * 7]
    with pytest.raises(TransferError):
        fetch(server, tmp_path)
    server.files["/a.bin"] = OTHER
    server.asked.clear()
    fetch(server, tmp_path, remote(server, body=OTHER))
    assert server.ranges("/a.bin") == ["bytes=49152-", ""]
    assert (tmp_path / "a.bin").read_bytes() == OTHER


def test_the_whole_file_is_flushed(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short file, which a buffer could hold back."""
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_size))
    server.files["/a.bin"] = BODY[:100]
    fetch(server, tmp_path, remote(server, body=BODY[:100]))
    assert 100 in flushed and 0 not in flushed  # beside the record of its version, and directories


def test_a_second_run_checks_and_asks_for_nothing(server: Server, tmp_path: Path) -> None:
    fetch(server, tmp_path)
    server.asked.clear()
    fetch(server, tmp_path)
    assert server.asked == []
    (tmp_path / "a.bin").write_bytes(OTHER)
    fetch(server, tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_parts_of_other_files_stay(server: Server, tmp_path: Path) -> None:
    server.script["/b.bin"] = [Answer(body=OTHER, cut=16_384)]
    with pytest.raises(Missing):
        fetch(server, tmp_path, remote(server, "b.bin", OTHER))
    server.files["/b.bin"] = OTHER
    server.script["/b.bin"] = [Answer(cut=16_384), *[Answer(503)] * 7]
    with pytest.raises(TransferError):
        fetch(server, tmp_path, remote(server, "b.bin", OTHER))
    fetch(server, tmp_path)
    assert (tmp_path / PARTS / "b.bin.part").read_bytes() == OTHER[:16_384]


def test_redirects_are_followed_and_folders_made(server: Server, tmp_path: Path) -> None:
    server.files["/elsewhere"] = OTHER
    server.script["/deep/b.bin"] = [Answer(302, {"Location": "/elsewhere"})]
    fetch(server, tmp_path, remote(server, "deep/b.bin", OTHER))
    assert (tmp_path / "deep" / "b.bin").read_bytes() == OTHER


def test_an_empty_file_and_a_git_blob(server: Server, tmp_path: Path) -> None:
    server.files |= {"/empty": b"", "/blob": b"what is up, doc?"}
    blob = RemoteFile("blob", f"{server.url}/blob", 16, "git:bd9dbf5aae1a3862dd1526723246b20206e5fc37")  # from the book "Pro Git"
    fetch(server, tmp_path, remote(server, "empty", b""), blob)
    assert left(tmp_path) == ["blob", "empty"]


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.slow
def test_no_more_connections_than_allowed(server: Server, tmp_path: Path, most: int) -> None:
    names = [f"{n}.bin" for n in range(8)]
    server.files |= {f"/{name}": BODY for name in names}
    server.script = {f"/{name}": [Answer(slow=0.005)] for name in names}
    fetch(server, tmp_path, *(remote(server, name) for name in names), connections=most)
    assert server.most_at_once == most
    assert len(left(tmp_path)) == 8


@pytest.mark.parametrize("name", ["../a.bin", "/etc/a.bin", ".hidden", "a/../b", "a//b", "a\\b", "a\n", "", "a/.."])
def test_a_name_that_leads_astray_is_refused(server: Server, tmp_path: Path, name: str) -> None:
    with pytest.raises(VerificationError, match="safe name"):
        fetch(server, tmp_path, remote(server)._replace(name=name))
    assert server.asked == []


def test_room_on_the_disk_is_looked_at_first(server: Server, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="free some space"):
        fetch(server, tmp_path, remote(server)._replace(size=1 << 60))
    assert server.asked == []


def test_a_disk_that_fails_is_no_fault_of_the_line(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BertDataError, match="cannot write|cannot lock") as found:
        fetch(server, tmp_path / "file")
    assert found.value.exit_code == 4


def test_two_runs_do_not_write_one_file(server: Server, tmp_path: Path) -> None:
    with lock(tmp_path / PARTS / "lock"), pytest.raises(OutputLockedError, match="being written"):
        fetch(server, tmp_path)


@pytest.mark.slow
def test_a_stopped_run_ends_soon_and_keeps_its_part(server: Server, tmp_path: Path) -> None:
    server.script["/a.bin"] = [Answer(slow=0.1)]
    client = Client({})
    threading.Timer(0.3, client.stopped.set).start()
    started = time.monotonic()
    with pytest.raises(TransferError, match="continues where it stopped"):
        fetch_all([remote(server)], tmp_path, client, connections=1)
    assert time.monotonic() - started < 0.8
    assert 0 < transfer.missing_bytes([remote(server)], tmp_path) < len(BODY)


def test_progress_ends_at_the_size(server: Server, tmp_path: Path) -> None:
    seen: list[int] = []
    fetch_all([remote(server)], tmp_path, Client({}), connections=1, progress=lambda file, at: seen.append(at))
    assert seen == sorted(seen)
    assert seen[-1] == len(BODY)


def test_a_page_is_bounded_and_the_client_says_who_asks(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client({"User-Agent": user_agent("ada@example.org")})
    assert client.read(f"{server.url}/a.bin") == BODY
    assert server.asked[0][1]["user-agent"].startswith("bertdata/")
    assert "ada@example.org" in server.asked[0][1]["user-agent"]
    monkeypatch.setattr(clients, "MAX_LIST_BYTES", 1000)
    with pytest.raises(TransferError, match="more than a list can have"):
        client.read(f"{server.url}/a.bin")
    with pytest.raises(UsageError, match="cannot be fetched"):
        client.read("ftp://127.0.0.1/a")
    with pytest.raises(UsageError, match="cannot be fetched"):
        client.read("127.0.0.1/a")


@pytest.mark.slow
def test_the_wait_is_the_one_asked_for(server: Server, tmp_path: Path) -> None:
    server.script["/a.bin"] = [Answer(429, {"Retry-After": "1"})]
    started = time.monotonic()
    notes = fetch(server, tmp_path)
    assert 1 <= time.monotonic() - started < 3
    assert len(notes) == 1
    assert "429" in notes[0]


@pytest.mark.parametrize("name", ["client", "hub", "wikimedia"])
def test_examples_of_the_documentation(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"bertdata.sources.download.{name}"))
    assert found.attempted
    assert not found.failed
