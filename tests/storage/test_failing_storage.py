"""A disk or a store that fails while books and text are read ends the run, which can be resumed: nothing is taken for broken."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Build, read_manifest

from bertdata.config import CorpusConfig
from bertdata.errors import StorageError
from bertdata.stages.corpus.extract import Extract
from bertdata.stages.corpus.plan_tasks import plan
from bertdata.storage import files

STORY = "\n\n".join(f"The keeper lit lamp {n} and wrote the hour into his book." for n in range(400))
LINES = "".join(json.dumps({"text": f"Story {n}. {STORY}"}) + "\n" for n in range(8)).encode()


def epub() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("META-INF/container.xml", '<container><rootfile full-path="book.opf"/></container>')
        package = '<manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        archive.writestr("book.opf", f'<package>{package}<spine><itemref idref="a"/></spine></package>')
        archive.writestr("a.xhtml", "".join(f"<p>{line}</p>" for line in STORY.split("\n\n")))
    return held.getvalue()


def tar(mode: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:  # type: ignore[call-overload]
        for number in range(4):
            data = f"Story {number}. {STORY}".encode()
            about = tarfile.TarInfo(f"{number}.txt")
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return held.getvalue()


def parquet() -> bytes:
    held = io.BytesIO()
    table = pa.table({"text": [f"Story {n}. {STORY}" for n in range(8)]})
    pq.write_table(table, held, row_group_size=2, compression="none", use_dictionary=False)
    return held.getvalue()


FORMS = {
    "books/a.txt": STORY.encode(),
    "books/a.epub": epub(),
    "books/a.tar": tar("w"),
    "books/a.tar.gz": tar("w:gz"),
    "books/books_large_p1.txt": STORY.replace("\n\n", "\n").encode(),
    "text/a.txt": STORY.encode(),
    "text/a.jsonl": LINES,
    "text/a.jsonl.gz": gzip.compress(LINES),
    "text/a.parquet": parquet(),
}


class Failing(io.FileIO):
    """A file on a disk that can't read the second half of it."""

    def readinto(self, buffer: Any) -> int:
        if self.tell() + len(buffer) > os.fstat(self.fileno()).st_size // 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().readinto(buffer)


def refused(path: Path) -> Any:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@pytest.fixture(params=FORMS)
def given(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """The option that reads a file, and the file."""
    kind, name = request.param.split("/")
    path = tmp_path / "in" / name
    path.parent.mkdir()
    path.write_bytes(FORMS[request.param])
    return f"--{kind}", path


@pytest.mark.parametrize(
    ("instead", "says"), [(Failing, "Input/output error: .*same command"), (refused, "Permission denied: check")]
)
def test_a_file_that_the_disk_does_not_give_ends_the_run_and_is_no_reject(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, Path], instead: Any, says: str
) -> None:
    option, path = given
    arguments = (option, path, "--max-rejects", 1)

    def fake(name: Any, *mode: str, **options: Any) -> Any:
        return instead(name) if name == path else open(name, *mode, **options)

    with monkeypatch.context() as patch:
        patch.setattr(files, "open", fake, raising=False)
        with pytest.raises(StorageError, match=rf"^cannot read .*{re.escape(path.name)}.*{says}"):
            build("build-corpus", tmp_path / "out", *arguments)
    assert read_manifest(build("build-corpus", tmp_path / "out", *arguments))["rejects"] == []


def test_a_file_that_is_gone_ends_the_run(tmp_path: Path, given: tuple[str, Path]) -> None:
    option, path = given
    config = CorpusConfig(max_rejects=1)
    planned = plan(config, {option.strip("-"): [(path.name, str(path))]})
    path.unlink()
    with pytest.raises(StorageError, match=rf"^cannot read .*{re.escape(path.name)}.*No such file or directory: check the name"):
        Extract(tmp_path / "out", config, planned.shard_count)(planned.tasks[0])
