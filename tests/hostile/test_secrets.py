"""Secrets: no URL may contain one, those from the environment are used, and none reaches a file or a message."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import json
import re
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from conftest import SAMPLE, Build, Run, digests, read_rows
from loopback import listening

from bertdata import credentials
from bertdata.errors import BertDataError, UsageError
from bertdata.storage import files
from bertdata.storage.stores import check_url

pytestmark = pytest.mark.long

conf = pytest.importorskip("fsspec.config").conf
pytest.importorskip("upath")
pytest.importorskip("aiohttp")

USER, PASSWORD, SIGNATURE = "ada", "Canary/7+word", "canary5e1f00d5"
LOGIN = f"{USER}:{quote(PASSWORD, safe='')}"
QUERY = f"X-Amz-Date=20261101T000000Z&X-Amz-Signature={SIGNATURE}&wanted"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
TOLD = [PASSWORD, quote(PASSWORD), quote(PASSWORD, safe=""), SIGNATURE, BASIC]


class Closed:
    """A server that sends files and listings only to clients with the login or the signature."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.status: dict[str, int] = {}  # what is answered instead, by the end of a path
        self.url = ""
        self.asked: list[str] = []

    def at(self, path: str, *, login: str = LOGIN) -> str:
        """Return the URL of a path with the login."""
        return self.url.replace("://", f"://{login}@") + path

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        path, _, query = path.partition("?")
        self.asked.append(path)
        if status := next((status for end, status in self.status.items() if path.endswith(end)), 0):
            return status, {"Location": f"{self.url}/elsewhere?{QUERY}"} if status == 302 else {}, b"no\n"
        if headers.get("authorization") != f"Basic {BASIC}" and SIGNATURE not in query:
            return 401, {}, b"who are you?\n"
        if any(name.startswith(f"{path}/") for name in self.files):
            return 301, {"Location": f"{path}/"}, b""
        if path.endswith("/"):
            names = sorted({name[len(path) :].split("/")[0] for name in self.files if name.startswith(path)})
            return 200, {"Content-Type": "text/html"}, "".join(f'<a href="{name}">{name}</a>' for name in names).encode()
        if path not in self.files:
            return 404, {}, b"no\n"
        whole = self.files[path]
        if not (span := re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))):
            return 200, {"Accept-Ranges": "bytes"}, whole
        part = whole[int(span[1]) : int(span[2] or len(whole)) + 1]
        return 206, {"Content-Range": f"bytes {span[1]}-{int(span[1]) + len(part) - 1}/{len(whole)}"}, part


@pytest.fixture
def closed() -> Iterator[Closed]:
    found = Closed()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, told, body = found.answer(self.path, headers)
            self.send_response(status)
            for name, value in {**told, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    for path in (*SAMPLE.glob("*.bz2"), *(SAMPLE / "books").iterdir()):
        found.files[f"/in/{path.name}"] = path.read_bytes()
    words = [" ".join(f"On day {n} the ferry {k} was late at pier {n * k}." for k in range(9)) for n in range(300)]
    lines = [{"title": f"Day {n}", "url": f"https://{LOGIN}@host/{n}?{QUERY}", "text": text} for n, text in enumerate(words)]
    found.files["/in/text.jsonl"] = "".join(json.dumps(line) + "\n" for line in lines).encode()
    with listening(Handler) as found.url:
        yield found


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def netrc(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A netrc file with the server's login, which the environment names."""
    path = tmp_path_factory.mktemp("home") / "netrc"
    path.write_text(f'machine 127.0.0.1 login {USER} password "{PASSWORD}"\n')
    path.chmod(0o600)
    monkeypatch.setenv("NETRC", str(path))
    return path


def leaks(root: Path, *said: str) -> list[str]:
    """Name the files below a directory, and the lines that were printed, in which a secret stands."""
    found = []
    for path in root.rglob("*"):
        here = path.read_bytes() if path.is_file() else b""
        found += [f"{path.relative_to(root)}: {word}" for word in TOLD if word.encode() in here or word in path.name]
    return found + [line for text in said for line in text.splitlines() if any(word in line for word in TOLD)]


def plain_copy(closed: Closed, root: Path) -> Path:
    for path, body in closed.files.items():
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (root / path[1:]).write_bytes(body)
    return root / "in"


REFUSED: dict[str, tuple[str, Callable[[Closed], str], str]] = {  # option, URL, and what the message advises
    "login": ("--text", lambda s: s.at("/in/text.jsonl"), "netrc"),
    "signature": ("--text", lambda s: f"{s.url}/in/text.jsonl?{QUERY}", "Download the file first"),
    "login and signature": ("--text", lambda s: f"{s.at('/in/text.jsonl')}?{QUERY}", "netrc"),
    "folder": ("--books", lambda s: s.at("/in/"), "netrc"),
    "glob": ("--books", lambda s: s.at("/in/*.txt"), "netrc"),
    "dump": ("--wikipedia", lambda s: f"{s.url}/in/sampleenwiki.xml.bz2?token=x", "Download the file first"),
    "keys of S3": ("--text", lambda s: f"s3://{LOGIN}@bucket/a.jsonl", "AWS_ACCESS_KEY_ID"),
    "keys of FTP": ("--text", lambda s: f"ftp://{LOGIN}@127.0.0.1/a.jsonl", "fsspec"),
    "signature of Azure": ("--text", lambda s: f"abfs://c@account/a.jsonl?sv=1&sig={SIGNATURE}", "Download the file first"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_url_with_a_secret_is_refused_before_any_request(build: Build, closed: Closed, tmp_path: Path, case: str) -> None:
    option, url, advice = REFUSED[case]
    with pytest.raises(UsageError, match=advice) as caught:
        build("build-corpus", tmp_path / "out", option, url(closed))
    assert caught.value.exit_code == 2
    assert not closed.asked and not [*tmp_path.iterdir()]
    assert not leaks(tmp_path, "".join(traceback.format_exception(caught.value)))


def test_every_path_refuses_a_secret(closed: Closed, tmp_path: Path) -> None:
    for path in (f"s3://{LOGIN}@bucket/corpus", f"memory://{LOGIN}@bucket/corpus", f"{closed.url}/corpus?{QUERY}"):
        with pytest.raises(UsageError, match="accepts no") as caught:
            files.to_path(path)
        assert not leaks(tmp_path, str(caught.value))


@pytest.mark.parametrize("name", ["abfs://container@account/a", "sftp://ada@host/a", "https://host/a?.txt", "hf://a/b@main/c"])
def test_a_url_without_a_secret_is_accepted(name: str) -> None:
    check_url(name)


SOURCES = {  # option, path on the server, and the same files of a copy on the disk
    "text": ("--text", "/in/text.jsonl", "text.jsonl"),
    "folder": ("--books", "/in/", ""),
    "glob": ("--books", "/in/*.txt", "*.txt"),
    "dump": ("--wikipedia", "/in/sampleenwiki-20261101-pages-articles-multistream.xml.bz2", "*en*.xml.bz2"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_login_in_netrc_gives_the_bytes_of_a_local_run(
    build: Build, closed: Closed, netrc: Path, tmp_path: Path, source: str
) -> None:
    option, path, local = SOURCES[source]
    out, copy = tmp_path / "out", plain_copy(closed, tmp_path / "copy")
    build("build-corpus", out, option, closed.url + path, "--task-bytes", 65536)
    assert not leaks(out)
    build("build-corpus", tmp_path / "local", option, f"{copy}/{local}", "--task-bytes", 65536)
    assert digests(out) == digests(tmp_path / "local")


def test_the_state_of_a_failed_run_and_its_logs_have_no_secret(run: Run, closed: Closed, netrc: Path, tmp_path: Path) -> None:
    """The run fails in the middle, so its state stays, and is then resumed; its two workers use netrc as well."""
    out, texts = tmp_path / "out", closed.files["/in/text.jsonl"]
    options = ["--text", f"{closed.url}/in/text.jsonl", "--task-bytes", 65536, "--workers", 2, "--output", out, "--verbose"]
    closed.files["/in/text.jsonl"] = texts[:100_000] + b"\x00" * (len(texts) - 100_000)
    failed = run("build-corpus", *options, "--max-rejects", 0, code=3)
    assert not leaks(out, failed.stdout, failed.stderr)
    state = [
        path for path in (out / ".bertdata").rglob("*") if path.is_file() and not {"work", "data", "rejects"} & {*path.parts}
    ]
    assert len([path for path in state if "tasks" in path.parts]) > 1
    assert {path.name: oct(path.stat().st_mode)[-3:] for path in state} == {path.name: "600" for path in state}
    done = run("build-corpus", *options, "--max-rejects", 1)
    assert not leaks(out, done.stdout, done.stderr)
    assert len(read_rows(out)) > 100


FAILURES = {  # the server's answer -> the command's exit code
    "refused": ({".jsonl": 401}, 4),
    "forbidden": ({".jsonl": 403}, 4),
    "gone": ({".jsonl": 404}, 2),
    "broken": ({".jsonl": 500}, 4),
    "elsewhere": ({".jsonl": 302, "elsewhere": 403}, 4),  # a redirect to a signed address
}


@pytest.mark.parametrize("case", FAILURES)
def test_errors_and_their_causes_have_no_secret(build: Build, closed: Closed, netrc: Path, tmp_path: Path, case: str) -> None:
    closed.status, code = FAILURES[case]
    with pytest.raises(BertDataError) as caught:
        build("build-corpus", tmp_path / "out", "--text", f"{closed.url}/in/text.jsonl")
    assert caught.value.exit_code == code
    assert not leaks(tmp_path, "".join(traceback.format_exception(caught.value)))


WRONG = [  # commands that cannot be right, with a secret somewhere in them
    ["build-corpus", "--text", "URL", "--output", "{tmp}/x", "URL"],
    ["build-corpus", "--text", "URL", "--text", "URL", "--text", "URL2", "--output", "{tmp}/x"],
    ["build-corpus", "--text", "{tmp}", "--output", "URL"],
    ["build-corpus", "--text", "URL", "--output", "{tmp}/x", "--", "--runner=DataflowRunner", "--temp_location=URL"],
    ["build-corpus", "--exclude", "URL", "--text", "URL", "--output", "{tmp}/x"],
    ["build-corpus", "--templates", "URL", "--text", "URL", "--output", "{tmp}/x"],
    ["run", "URL"],
    ["train-vocab", "URL", "--output", "{tmp}/x"],
    ["make-pairs", "URL", "--vocab", "URL", "--output", "URL"],
    ["train", "URL", "--output", "URL"],
    ["inspect", "URL"],
    ["verify", "URL", "URL2"],
    ["download", "wikipedia", "URL", "--language", "en", "--output", "{tmp}/x"],
    ["download", "wikipedia", "--language", "en", "--base-url", "URL", "--output", "{tmp}/x"],
    ["download", "wikipedia", "--language", "en", "--base-url", "LOGIN", "--output", "{tmp}/x"],
    ["download", "wikipedia", "--language", "URL", "--output", "URL"],
    ["build-corpus", "--text", "s3://SECRET@bucket/a.jsonl", "--output", "{tmp}/x"],
    ["build-corpus", "--text", "gs://SECRET@bucket/a.jsonl", "--output", "{tmp}/x"],
    ["build-corpus", "--text", "ftp://SECRET@127.0.0.1:9/a.jsonl", "--output", "{tmp}/x"],
    ["build-corpus", "--text", "nosuch://SECRET@127.0.0.1:9/a.jsonl?QUERY", "--output", "{tmp}/x"],
    ["--no-such-option=URL"],
    ["URL"],
]


@pytest.mark.parametrize("words", WRONG, ids=lambda words: " ".join(words)[:60])
def test_no_command_line_is_repeated_with_its_secret(closed: Closed, run: Run, tmp_path: Path, words: list[str]) -> None:
    url = f"{closed.at('/nothing.jsonl')}?{QUERY}"
    (tmp_path / "run.toml").write_text(f'[build-corpus]\ntext = ["{url}"]\nlanguage = "{url}"\n')
    known = {"URL2": f"{url}2", "URL": url, "LOGIN": closed.at(""), "SECRET": f"{USER}:{PASSWORD}", "QUERY": QUERY}
    given = [re.sub("URL2|URL|LOGIN|SECRET|QUERY", lambda m: known[m.group()], w).replace("{tmp}", str(tmp_path)) for w in words]
    environment = {
        "AWS_ENDPOINT_URL": closed.url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "HF_TOKEN": SIGNATURE,
        "HF_HOME": str(tmp_path),
    }
    done = run(*given, code=(2, 4), **environment)
    (tmp_path / "run.toml").unlink()
    assert "internal error" not in done.stderr
    assert not leaks(tmp_path, done.stdout, done.stderr)


def test_a_mirror_that_asks_for_a_login(closed: Closed, netrc: Path, run: Run, tmp_path: Path) -> None:
    name, folder, body = "zhwiki-20261101-pages-articles-multistream.xml.bz2", "/zhwiki/20261101", b"words" * 9000
    entry = {"size": len(body), "sha1": hashlib.sha1(body).hexdigest()}
    jobs = {"articlesmultistreamdump": {"status": "done", "files": {name: entry}}}
    closed.files |= {f"{folder}/dumpstatus.json": json.dumps({"jobs": jobs}).encode(), f"{folder}/{name}": body[:-1] + b"!"}
    options = ["download", "wikipedia", "--language", "zh", "--date", 20261101, "--output", tmp_path / "out", "--base-url"]
    failed = run(*options, closed.url, code=6)
    closed.files[f"{folder}/{name}"] = body
    assert not leaks(tmp_path, failed.stdout, failed.stderr)
    done = run(*options, closed.url)
    assert (tmp_path / "out" / name).read_bytes() == body
    netrc.write_text(f"machine 127.0.0.1 login {USER} password {SIGNATURE}\n")
    refused = run(*options, closed.url, code=4)
    assert not leaks(tmp_path, done.stdout, done.stderr, refused.stdout, refused.stderr)
    assert "401" in refused.stderr


@pytest.mark.parametrize("has_login", [False, True])
def test_a_token_that_no_header_can_hold_and_an_endpoint_with_a_login(
    closed: Closed, run: Run, tmp_path: Path, has_login: bool
) -> None:
    endpoint = closed.at("") if has_login else closed.url
    environment = {"HF_ENDPOINT": endpoint, "HF_TOKEN": f"hf_{SIGNATURE}\t\x01é", "HF_HOME": str(tmp_path)}
    done = run("download", "hub", "ada/books", "--output", tmp_path / "out", code=2, **environment)
    assert not leaks(tmp_path, done.stdout, done.stderr)


def test_the_configuration_of_fsspec_holds_the_keys_of_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    monkeypatch.setitem(conf, "s3", {"key": USER, "secret": PASSWORD})
    path: Any = files.to_path("s3://bucket/corpus")
    assert (path.fs.key, path.fs.secret) == (USER, PASSWORD)
    assert PASSWORD not in f"{path} {path!r} {path / 'data'!r}"


HIDDEN = {  # a text -> what is left of it
    "https://ada:word@host/a": "https://***@host/a",
    "'https://token@host'": "'https://***@host'",
    "s3://KEY:a/b+c@bucket/a@b": "s3://***@bucket/a@b",
    "sftp://ada@host/a, sftp://ada:word@host/a": "sftp://ada@host/a, sftp://***@host/a",
    "abfs://container@account/a": "abfs://container@account/a",
    "hf://datasets/a/b@main/c": "hf://datasets/a/b@main/c",
    "http://host:8080/a@b http://[::1]:9/a@b": "http://host:8080/a@b http://[::1]:9/a@b",
    "url: /a?b=1&X-Goog-Credential=x%2Fy&c=2 (": "url: /a?b=1&X-Goog-Credential=***&c=2 (",
    "a?sig=1&amp;signature=2": "a?sig=***&amp;signature=***",
    "?id=7&title=Tea": "?id=7&title=Tea",
}


@pytest.mark.parametrize("text", HIDDEN)
def test_what_is_masked_in_a_text(text: str) -> None:
    assert credentials.hide(text) == HIDDEN[text]


@pytest.mark.parametrize("part", ["://a:", "http://", "?a=", "&token", "a" * 9, "://a@", "://" + "a" * 300, "&x-amz-", "&a-b-"])
@pytest.mark.slow
def test_masking_takes_time_in_proportion(part: str) -> None:
    def seconds(size: int) -> float:
        begun = time.process_time()
        credentials.hide(part * (size // len(part)))
        return time.process_time() - begun

    small, large = min(seconds(20_000) for _ in range(3)), min(seconds(160_000) for _ in range(3))
    assert large < 0.05 + 24 * small
