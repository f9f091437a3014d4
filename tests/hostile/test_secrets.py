"""Secrets: no URL may contain one, those of the environment are used, and none reaches a file or a message."""

from __future__ import annotations

import base64
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import Build, Run, digests
from loopback import Quiet, listening

from bertdata import credentials
from bertdata.errors import BertDataError, UsageError
from bertdata.storage.files import check_url

pytest.importorskip("upath")
pytest.importorskip("aiohttp")

USER, PASSWORD, SIGNATURE = "ada", "Canary/7+word", "canary5e1f00d5"
LOGIN = f"{USER}:{quote(PASSWORD, safe='')}"
QUERY = f"X-Amz-Date=20261101T000000Z&X-Amz-Signature={SIGNATURE}&wanted"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
SECRETS = [PASSWORD, quote(PASSWORD), quote(PASSWORD, safe=""), SIGNATURE, BASIC]


def leaks(root: Path, *printed: str) -> list[str]:
    """Name the files below a directory, and the lines that were printed, that have a secret."""
    contents = [(str(path), path.read_bytes() if path.is_file() else b"") for path in root.rglob("*")]
    found = [name for name, data in contents for word in SECRETS if word.encode() in data or word in name]
    return found + [line for text in printed for line in text.splitlines() if any(word in line for word in SECRETS)]


@pytest.fixture
def closed(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A server that sends a file only to clients with the login, which is in a netrc file: its URL, and the next answer."""
    answers, body = {"url": "", "status": ""}, text.read_bytes()

    class Handler(Quiet):
        def do_GET(self) -> None:
            if answers["status"]:
                self.reply(int(answers["status"]), {"Location": f"{answers['url']}/x?{QUERY}"}, b"no")
            elif self.headers.get("authorization") != f"Basic {BASIC}":
                self.reply(401, {}, b"who are you?")
            else:
                span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
                first, end = (int(span[1]), min(int(span[2] or len(body)) + 1, len(body))) if span else (0, len(body))
                headers = {"Content-Range": f"bytes {first}-{end - 1}/{len(body)}"} if span else {"Accept-Ranges": "bytes"}
                self.reply(206 if span else 200, headers, b"" if self.command == "HEAD" else body[first:end])

        def do_HEAD(self) -> None:
            headers = {"Content-Length": str(len(body)), "Accept-Ranges": "bytes"}
            is_known = self.headers.get("authorization") == f"Basic {BASIC}" and not answers["status"]
            self.reply(200 if is_known else int(answers["status"] or 401), headers if is_known else {}, b"")

    path = tmp_path_factory.mktemp("home") / "netrc"
    path.write_text(f'machine 127.0.0.1 login {USER} password "{PASSWORD}"\n')
    path.chmod(0o600)
    monkeypatch.setenv("NETRC", str(path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with listening(Handler) as answers["url"]:
        yield answers


URLS = {
    "login": f"https://{LOGIN}@127.0.0.1:9/in/text.jsonl",
    "signature": f"https://127.0.0.1:9/in/text.jsonl?{QUERY}",
    "glob": f"https://{LOGIN}@127.0.0.1:9/in/*.txt",
    "keys of S3": f"s3://{LOGIN}@bucket/a.jsonl",
    "signature of Azure": f"abfs://c@account/a.jsonl?sv=1&sig={SIGNATURE}",
}


@pytest.mark.parametrize("case", URLS)
def test_a_url_with_a_secret_is_refused_before_any_request(build: Build, tmp_path: Path, case: str) -> None:
    for option in ("--text", "--books", "--wikipedia"):
        with pytest.raises(UsageError, match="accepts no") as caught:
            build("build-corpus", tmp_path / "out", option, URLS[case])
        assert not leaks(tmp_path, "".join(traceback.format_exception(caught.value)))
    assert not [*tmp_path.iterdir()]
    for name in ("abfs://container@account/a", "sftp://ada@host/a", "https://host/a?.txt", "hf://a/b@main/c"):
        check_url(name)


@pytest.mark.slow
def test_a_login_in_netrc_gives_the_bytes_of_a_local_run_and_no_error_names_it(
    build: Build, closed: dict[str, str], text: Path, tmp_path: Path
) -> None:
    url = f"{closed['url']}/{text.name}"
    out = build("build-corpus", tmp_path / "out", "--text", url)
    assert not leaks(tmp_path)
    assert digests(out) == digests(build("build-corpus", tmp_path / "local", "--text", text))
    for status in ("401", "403", "404", "500", "302"):
        closed["status"] = status
        with pytest.raises(BertDataError) as caught:
            build("build-corpus", tmp_path / "no", "--text", url)
        assert not leaks(tmp_path, "".join(traceback.format_exception(caught.value)))


@pytest.mark.slow
def test_no_command_line_is_repeated_with_its_secret(run: Run, tmp_path: Path) -> None:
    url = f"https://{LOGIN}@127.0.0.1:9/nothing.jsonl?{QUERY}"
    for words in (
        ["build-corpus", "--text", url, "--output", "x", url],
        ["build-corpus", "--text", tmp_path, "--output", url],
        ["build-corpus", "--text", url, "--output", "x", "--", "--runner=DataflowRunner", f"--temp_location={url}"],
        ["build-corpus", "--text", f"nosuch://{LOGIN}@127.0.0.1:9/a.jsonl?{QUERY}", "--output", "x"],
        ["run", url],
        ["make-pairs", url, "--vocab", url, "--output", url],
        ["inspect", url],
        ["download", "wikipedia", "--language", "en", "--base-url", url, "--output", "x"],
        [f"--no-such-option={url}"],
    ):
        done = run(*words, code=(2, 4), cwd=tmp_path, HF_TOKEN=SIGNATURE, HF_HOME=str(tmp_path))
        assert "internal error" not in done.stderr and not leaks(tmp_path, done.stdout, done.stderr)


HIDDEN = {  # a text -> what is left of it
    "'https://token@host'": "'https://***@host'",
    "s3://KEY:a/b+c@bucket/a@b": "s3://***@bucket/a@b",
    "sftp://ada@host/a, sftp://ada:word@host/a": "sftp://ada@host/a, sftp://***@host/a",
    "abfs://container@account/a": "abfs://container@account/a",
    "http://host:8080/a@b http://[::1]:9/a@b": "http://host:8080/a@b http://[::1]:9/a@b",
    "url: /a?b=1&X-Goog-Credential=x%2Fy&c=2 (": "url: /a?b=1&X-Goog-Credential=***&c=2 (",
    "?id=7&title=Tea": "?id=7&title=Tea",
}


def test_secrets_in_a_text_are_masked() -> None:
    assert {text: credentials.hide(text) for text in HIDDEN} == HIDDEN
