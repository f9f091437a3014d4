"""Bombs: input that is small on disk and large in memory, or never ends, is rejected by name in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import subprocess
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import COMMAND, read_manifest
from made import epub

pytestmark = pytest.mark.slow
HEAD = '<mediawiki xml:lang="en"><siteinfo><dbname>enwiki</dbname></siteinfo><page><title>a</title><id>3</id>'
GOOD = "The ferry crossed the harbour in the morning. A miller measured all of his lamps."
LAUGHS = "<!DOCTYPE l [<!ENTITY a 'lol'>" + "".join(f"<!ENTITY a{n} '{(f'&a{n - 1};' if n else '&a;') * 10}'>" for n in range(9))
ALLOWED_MB = 450  # a run on good input takes 230
MEASURE = """
import runpy, sys
sys.argv = sys.argv[1:]
try: runpy.run_module('bertdata', run_name='__main__')
finally: print('PEAK', int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) >> 10, file=sys.stderr)
"""


def packed(count: int, packer: Any, head: bytes = b"") -> bytes:
    """Pack so many megabytes of one line."""
    block = b"x" * (1 << 20)
    return b"".join([packer.compress(head), *(packer.compress(block) for _ in range(count)), packer.flush()])


def gzipped() -> Any:
    return zlib.compressobj(9, wbits=31)


def parquet(values: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": values}), buffer, compression="zstd", write_statistics=False)
    return buffer.getvalue()


def hole(size: int) -> bytes:
    """The head of a member of an archive whose bytes are missing."""
    member = tarfile.TarInfo("a.txt")
    member.size = size
    return member.tobuf()


BOMBS: dict[str, tuple[str, Callable[[], bytes], bool]] = {  # name: option, contents, whether each push tries it
    "line.jsonl.gz": ("text", lambda: packed(512, gzipped()), False),
    "list.parquet": ("text", lambda: parquet([["a"] * 3_000_000]), True),
    "line.txt": ("text", lambda: b"x" * (512 << 20), False),
    "page.xml.bz2": ("wikipedia", lambda: packed(300, bz2.BZ2Compressor(), HEAD.encode()), False),
    "laughs.epub": ("books", lambda: epub({"a.xhtml": LAUGHS + "]><p>&a8;</p>"}), False),
    "string.parquet": ("text", lambda: parquet(["x" * (256 << 20)]), False),
    "deep.jsonl": ("text", lambda: b"[" * 4_000_000, False),
    "values.jsonl": ("text", lambda: b'{"text": "tea", "x": [' + b"[]," * 1_300_000 + b"[]]}", False),
    "member.tar.gz": ("books", lambda: packed(5 << 10, gzipped(), hole(5 << 30)), False),
    "five-gigabytes.jsonl.gz": ("text", lambda: packed(5 << 10, gzipped()), False),
    "members.jsonl.gz": ("text", lambda: gzip.compress(b"") * 30_000 + b"{", False),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if BOMBS[n][2] else pytest.mark.nightly) for n in BOMBS])
def test_a_bomb_is_rejected_in_bounded_memory(tmp_path: Path, name: str) -> None:
    kind, make, _ = BOMBS[name]
    (tmp_path / name).write_bytes(make())
    (tmp_path / "good.jsonl").write_text(json.dumps({"text": GOOD}))
    options = ["--text", tmp_path / "good.jsonl", f"--{kind}", tmp_path / name, "--max-rejects", 1, "--workers", 1]
    command = [COMMAND[0], "-c", MEASURE, "bertdata", "build-corpus", *options, "--output", tmp_path / "corpus"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=560, check=False)
    printed, _, peak = done.stderr.rpartition("PEAK")
    assert done.returncode == 0, printed
    manifest = read_manifest(tmp_path / "corpus")
    gone = [sum(stage["rejected"].values()) + sum(stage["dropped"].values()) for stage in manifest["counts"]]
    assert manifest["rows"] == 1 and sum(gone) >= 1
    assert int(peak) < ALLOWED_MB
