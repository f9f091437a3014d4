"""A disk that fails while the input is read ends the run, which can be resumed: nothing is taken for malformed."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Build, read_manifest

from bertdata.errors import StorageError
from bertdata.storage import files

STORY = "\n\n".join(f"The keeper lit lamp {n} and wrote the hour into his book." for n in range(400))
LINES = "".join(json.dumps({"text": f"Story {n}. {STORY}"}) + "\n" for n in range(8)).encode()


def parquet() -> bytes:
    held = io.BytesIO()
    table = pa.table({"text": [f"Story {n}. {STORY}" for n in range(8)]})
    pq.write_table(table, held, row_group_size=2, compression="none", use_dictionary=False)
    return held.getvalue()


FORMS = {
    "books/a.txt": STORY.encode(),
    "text/a.jsonl": LINES,
    "text/a.jsonl.gz": gzip.compress(LINES, 0),
    "text/a.parquet": parquet(),
}


class Failing(io.FileIO):
    """A file on a disk that cannot read the second half of it."""

    def readinto(self, buffer: Any) -> int:
        if self.tell() + len(buffer) > os.fstat(self.fileno()).st_size // 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().readinto(buffer)


def refused(path: Path) -> Any:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("instead", "says"), [(Failing, "Input/output error. .*same command"), (refused, "Permission denied")])
def test_a_failing_read_ends_the_run_and_is_no_reject(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, instead: Any, says: str
) -> None:
    kind, name = form.split("/")
    path = tmp_path / name
    path.write_bytes(FORMS[form])
    arguments = ["build-corpus", tmp_path / "out", f"--{kind}", path, "--max-rejects", 1]

    def fake(name: Any, *mode: str, **options: Any) -> Any:
        return instead(name) if name == path else open(name, *mode, **options)

    with monkeypatch.context() as patch:
        patch.setattr(files, "open", fake, raising=False)
        with pytest.raises(StorageError, match=rf"^cannot read .*{re.escape(name)}.*{says}"):
            build(*arguments)
    assert read_manifest(build(*arguments))["rejects"] == []
