"""No command opens a port or a socket that a stranger can use: another user of this machine, or anybody elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SAMPLE, STEPS, command_line
from listeners import Listener, machine_addresses, need_proc, watch
from loopback import Answer, serving
from processes import Started

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _listed() -> None:
    need_proc()


def watched(*arguments: object, cwd: Path, code: int = 0, **env: str) -> set[Listener]:
    """Run a command; return what it listened on, after a stranger has tried to connect to each."""
    process = Started([*map(str, arguments)], cwd, {**os.environ, **env})
    try:
        seen = watch(process)
    finally:
        process.kill()
    assert process.wait(60) == code, process.communicate()
    return seen


@pytest.mark.parametrize("name", STEPS)
def test_local_workers_are_reached_by_pipes_alone(parts: Path, text: Path, tmp_path: Path, name: str) -> None:
    words = [name, *command_line(name, text, parts), "--workers", 2, "--output", tmp_path / "made"]
    assert watched(*words, cwd=tmp_path) == set()


def test_one_worker_and_the_commands_that_read_open_nothing(text: Path, parts: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    assert watched("build-corpus", "--text", text, "--workers", 1, "--output", corpus, cwd=tmp_path) == set()
    assert watched("verify", corpus, cwd=tmp_path) == set()
    assert watched("inspect", corpus, cwd=tmp_path) == set()


@pytest.mark.slow
def test_download_opens_nothing(tmp_path: Path) -> None:
    """The server of the test is in another process than the command, which takes a second to get its file."""
    name = "/simplewiki/20261101/simplewiki-20261101-pages-articles-multistream.xml.bz2"
    body = next(SAMPLE.glob("*.bz2")).read_bytes()
    files = {name.rpartition("/")[2]: {"size": len(body), "url": name, "sha1": hashlib.sha1(body).hexdigest()}}
    status = {"version": "0.8", "jobs": {"articlesmultistreamdump": {"status": "done", "files": files}}}
    with serving() as server:
        server.files |= {"/simplewiki/": b'<a href="20261101/">20261101/</a>', name: body}
        server.files["/simplewiki/20261101/dumpstatus.json"] = json.dumps(status).encode()
        server.script[name] = [Answer(slow=0.1)]
        words = ("download", "wikipedia", "--language", "simple", "--base-url", server.url, "--output", tmp_path / "dumps")
        assert watched(*words, cwd=tmp_path, NO_PROXY="127.0.0.1") == set()
    assert (tmp_path / "dumps" / name.rpartition("/")[2]).read_bytes() == body


def test_a_stranger_is_found_out(tmp_path: Path) -> None:
    """What the other tests rely on: a port on all addresses, an abstract socket and an open directory are seen and reported."""
    if not machine_addresses():
        pytest.skip("this machine has no address but loopback")
    code = "import socket, sys; a = socket.socket(socket.AF_{}); a.bind({!r}); a.listen(); print(flush=True); sys.stdin.read(1)"
    (tmp_path / "open").mkdir(mode=0o755)
    for family, address in (("INET", ("", 0)), ("INET6", ("::", 0)), ("UNIX", "\0abstract"), ("UNIX", str(tmp_path / "open/s"))):
        words = [sys.executable, "-c", code.format(family, address)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            with pytest.raises((AssertionError, pytest.fail.Exception)):
                watch(process)
            process.kill()
