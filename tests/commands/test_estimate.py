"""--dry-run estimates disk and time within a factor of two, and a run that cannot fit on the disk does not begin."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import shutil
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SAMPLE, Build, Run

import bertdata
from bertdata.errors import StorageError
from bertdata.run.plan import Plan
from bertdata.run.progress import Reporter

pytestmark = pytest.mark.slow


def tree(path: Path) -> int:
    """Return the bytes of a dataset."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and ".bertdata" not in file.parts)


class Planned(Reporter):
    """Keeps the plan of a run."""

    def plan(self, plan: Plan, workers: int | None, overwrite: bool) -> None:
        self.made = plan


def check(function: Callable[..., Any], *arguments: object, output: Path, **options: object) -> float:
    """Run a command and compare the estimate with the dataset. Return the estimated CPU seconds."""
    reporter = Planned()
    function(*arguments, output=output, workers=1, progress=reporter, **options)
    estimate = reporter.made.estimate
    assert estimate is not None and tree(output) / 2 < estimate.output < tree(output) * 2, output
    return estimate.cpu_seconds


TEXTS = [" ".join(path.read_text(encoding="utf-8").split()) for path in sorted((SAMPLE / "books").glob("*.txt"))]
LINES = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, text in enumerate(TEXTS):
            archive.writestr(f"{number}.txt", text)
    return buffer.getvalue()


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": TEXTS}), buffer)
    return buffer.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "a.jsonl": lambda: LINES,
    "a.jsonl.gz": lambda: gzip.compress(LINES),
    "a.jsonl.bz2": lambda: bz2.compress(LINES),
    "a.jsonl.xz": lambda: lzma.compress(LINES),
    "a.zip": _zip,
    "a.parquet": _parquet,
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_each_kind(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name]())
    check(bertdata.build_corpus, text=tmp_path / name, output=tmp_path / "out")


@pytest.mark.nightly
@pytest.mark.parametrize(("option", "kind"), [("wikipedia", "wiki"), ("books", "books")])
def test_real_dumps_and_books(tmp_path: Path, shared: Path, option: str, kind: str) -> None:
    begun, paths = time.process_time(), {option: shared / "data" / kind}
    estimated = check(bertdata.build_corpus, **paths, output=tmp_path / "out", max_rejects=1.0)
    seconds = time.process_time() - begun
    assert seconds / 3 < estimated < seconds * 3  # 2 on a quiet machine


@pytest.mark.filterwarnings("ignore")  # of few tokens
def test_commands_that_read_a_corpus(tmp_path: Path, sample_corpus: Path) -> None:
    check(bertdata.train_vocab, sample_corpus, output=tmp_path / "vocab", size=4000)
    check(bertdata.make_pairs, sample_corpus, vocab=tmp_path / "vocab", output=tmp_path / "pairs")
    check(bertdata.export, sample_corpus, output=tmp_path / "text", to="jsonl")


def test_a_dry_run_prints_one_line_and_writes_nothing(tmp_path: Path, run: Run, text: Path) -> None:
    shown = run("build-corpus", "--text", text, "--output", tmp_path / "out", "--workers", 2, "--dry-run").stdout
    (line,) = [line for line in shown.splitlines() if "estimate" in line]
    assert "about 1 second with 2 workers, 600.0 MB of memory, " in line and "of disk, " in line
    assert "1 file, 691.4 kB, in" in shown and not (tmp_path / "out").exists()
    limited = run("build-corpus", "--text", text, "--output", tmp_path / "out", "--max-documents", 5, "--dry-run").stdout
    assert "at most" in limited


def test_a_run_that_cannot_fit_does_not_begin(tmp_path: Path, build: Build, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=1 << 40, free=300_000))
    with pytest.raises(StorageError, match=r"not enough space. The run takes about 8\d\d.* kB, and 300.0 kB are free"):
        build("build-corpus", tmp_path / "new" / "out", "--text", text)
    assert not (tmp_path / "new").exists()
    build("build-corpus", tmp_path / "out", "--text", text, "--max-documents", 5)
