"""--dry-run and the space check: the output that samples tell is that of the run, within a factor of 1.5."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Build
from made import tar, write_arrow

from bertdata.commands.build_corpus import plan_corpus
from bertdata.commands.estimate import Estimate
from bertdata.config import CorpusConfig

WORDS = ("ferry", "harbour", "miller", "lamp", "quay", "dog", "boat", "river", "bridge", "night", "letter", "winter", "garden")
DOCUMENTS = [
    " ".join(f"The {WORDS[n * 7 % 13]} and the {WORDS[(n + k * 5) % 13]} were seen {n} times." for k in range(1 + n % 60))
    for n in range(2500)
]


def _csv() -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([["text"], *([text] for text in DOCUMENTS)])
    return buffer.getvalue().encode()


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for n, text in enumerate(DOCUMENTS):
            archive.writestr(f"{n}.txt", text)
    return buffer.getvalue()


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": DOCUMENTS}), buffer, row_group_size=500)
    return buffer.getvalue()


def _wiki() -> bytes:
    page = "<page><title>{0}</title><ns>0</ns><id>{0}</id><revision><text>{1}</text></revision></page>"
    head = '<mediawiki xml:lang="en"><siteinfo><dbname>enwiki</dbname></siteinfo>'
    return (head + "\n".join(page.format(n, text) for n, text in enumerate(DOCUMENTS)) + "</mediawiki>").encode()


LINES = "".join(json.dumps({"text": text}) + "\n" for text in DOCUMENTS).encode()
FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a.jsonl": ("text", lambda: LINES),
    "a.jsonl.gz": ("text", lambda: gzip.compress(LINES)),
    "a.jsonl.bz2": ("text", lambda: bz2.compress(LINES)),
    "a.jsonl.xz": ("text", lambda: lzma.compress(LINES)),
    "a.csv": ("text", _csv),
    "a.parquet": ("text", _parquet),
    "a.zip": ("text", _zip),
    "a.tar": ("text", lambda: tar((f"{n}.txt", text.encode()) for n, text in enumerate(DOCUMENTS))),
    "a.xml": ("wikipedia", _wiki),
    "a.xml.bz2": ("wikipedia", lambda: bz2.compress(_wiki())),
    "a.xml.gz": ("wikipedia", lambda: gzip.compress(_wiki())),
}


def estimated(output: Path, kind: str, path: Path, **more: Path) -> Estimate:
    planned = plan_corpus(output=output, inputs={kind: path, **more}, config=CorpusConfig(max_rejects=1.0))
    assert planned.estimate is not None
    return planned.estimate(1)


def check(output: Path, said: Estimate) -> None:
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file() and ".bertdata" not in path.parts)
    assert size / 1.5 < said.output < size * 1.5
    assert said.low(said.output) < said.output < said.high(said.output) and said.work >= size / 2


@pytest.mark.parametrize("name", FILES)
def test_the_estimate_is_near_the_output(tmp_path: Path, build: Build, name: str) -> None:
    kind, data = FILES[name]
    (tmp_path / name).write_bytes(data())
    said = estimated(tmp_path / "out", kind, tmp_path / name)
    check(build("build-corpus", tmp_path / "out", f"--{kind}", tmp_path / name), said)


def test_the_estimate_of_a_mapped_file_and_of_two_kinds(tmp_path: Path, build: Build) -> None:
    arrow = write_arrow(tmp_path / "a.arrow", pa.table({"text": DOCUMENTS}), 200)
    (tmp_path / "a.xml.bz2").write_bytes(bz2.compress(_wiki()))
    said = estimated(tmp_path / "out", "text", arrow, wikipedia=tmp_path / "a.xml.bz2")
    options = ("--text", arrow, "--wikipedia", tmp_path / "a.xml.bz2", "--dedup", "none")
    check(build("build-corpus", tmp_path / "out", *options), said)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["books", "wiki"])
def test_the_estimate_of_real_files(tmp_path: Path, build: Build, shared: Path, kind: str) -> None:
    option = {"wiki": "wikipedia"}.get(kind, kind)
    said = estimated(tmp_path / "out", option, shared / "data" / kind)
    check(build("build-corpus", tmp_path / "out", f"--{option}", shared / "data" / kind, "--max-rejects", "1"), said)
