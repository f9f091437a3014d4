"""Names and links that lead outside are not followed: by readers of input, by outputs and by downloads."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Build, Run, read_rows
from loopback import Answer, serving

from bertdata.errors import BertDataError, OutputExistsError, StorageError

TEXT = "The ferry crossed the harbour in the morning. A miller measured all of his lamps by hand."
NAMES = ["../evil.txt", "/tmp/evil-of-a-test.txt", "a/../../evil.txt", "..\\evil.txt", "data/\x1b[31m.txt"]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that no reader may open."""
    (tmp_path / "outside").mkdir()
    (path := tmp_path / "outside" / "secret.txt").write_text("Nobody is to read this sentence at all. " + TEXT)
    return path


def test_links_are_followed_to_files_and_not_into_directories(build: Build, secret: Path, tmp_path: Path) -> None:
    books = tmp_path / "books"
    (books / "maze").mkdir(parents=True)
    (books / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt").write_text(TEXT.replace("harbour", "river"))
    (books / "linked.txt").symlink_to(tmp_path / "b.txt")
    (books / "folder").symlink_to(secret.parent)
    (books / "maze" / "loop").symlink_to(books)
    rows = read_rows(build("build-corpus", tmp_path / "corpus", "--books", books, "--dedup", "none"))
    assert sorted(row["id"].rpartition(":")[2] for row in rows) == ["a", "linked"]


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/stdin", "pipe.txt"])
def test_pipes_and_devices_are_refused_and_not_waited_for(build: Build, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    for option in ("--text", "--books", "--wikipedia"):
        with pytest.raises(BertDataError):
            build("build-corpus", tmp_path / "corpus", option, tmp_path / name)


@pytest.mark.parametrize("name", ["data", "rejects", ".bertdata"])
def test_an_output_is_not_written_through_a_link(build: Build, text: Path, secret: Path, tmp_path: Path, name: str) -> None:
    output = build("build-corpus", tmp_path / "corpus", "--text", text)
    if (output / name).is_dir():
        os.rename(output / name, tmp_path / "gone")
    (output / name).symlink_to(secret.parent)
    try:
        build("build-corpus", output, "--text", text, "--language", "en", "--overwrite")
    except (OutputExistsError, StorageError) as error:
        assert name in str(error)
    assert os.listdir(secret.parent) == ["secret.txt"]


@pytest.mark.slow
def test_a_server_cannot_name_files_elsewhere_or_redirect_to_the_disk(run: Run, tmp_path: Path) -> None:
    options = ["download", "wikipedia", "--language", "en", "--date", 20260101, "--output", tmp_path / "out", "--base-url"]
    status = "/enwiki/20260101/dumpstatus.json"
    with serving() as server:
        for name in NAMES:
            files: dict[str, Any] = {
                f"enwiki-20260101-{name}": {"size": 3, "sha1": "0" * 40},
                name: {"size": 3, "sha1": "0" * 40},
            }
            job = {"status": "done", "files": files}
            server.files[status] = json.dumps({"jobs": {"articlesdump": job, "articlesmultistreamdump": job}}).encode()
            done = run(*options, server.url, code=(2, 4, 6))
            assert "Traceback" not in done.stderr and "\x1b" not in done.stderr
        for target in ("file:///etc/passwd", "ftp://localhost/a", "http://["):
            server.script[status] = [Answer(302, {"Location": target})] * 9
            assert "root:" not in run(*options, server.url, code=(2, 4, 6)).stderr
    assert not [*tmp_path.rglob("*evil*")]
