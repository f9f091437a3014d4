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

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SAMPLE, Build, Run

from bertdata.commands.build_corpus import plan_corpus
from bertdata.commands.export import plan_export
from bertdata.commands.make_pairs import plan_pairs
from bertdata.commands.train_vocab import plan_vocab
from bertdata.config import CorpusConfig, ExportConfig, VocabConfig
from bertdata.errors import StorageError
from bertdata.run.plan import Plan

pytestmark = pytest.mark.slow


def tree(path: Path) -> int:
    """Return the bytes of a dataset."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and ".bertdata" not in file.parts)


def check(plan: Plan, output: Path) -> None:
    """Compare the estimate with the dataset."""
    assert plan.estimate is not None
    assert tree(output) / 2 < plan.estimate.output < tree(output) * 2, output


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
def test_a_file_of_each_kind(tmp_path: Path, build: Build, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name]())
    plan = plan_corpus(output=tmp_path / "out", inputs={"text": tmp_path / name})
    check(plan, build("build-corpus", tmp_path / "out", "--text", tmp_path / name))


@pytest.mark.parametrize(("option", "kind"), [("wikipedia", "wiki"), ("books", "books")])
def test_real_dumps_and_books(tmp_path: Path, build: Build, shared: Path, option: str, kind: str) -> None:
    config = CorpusConfig(max_rejects=1.0)
    plan = plan_corpus(output=tmp_path / "out", inputs={option: shared / "data" / kind}, config=config)
    begun = time.process_time()
    check(plan, build("build-corpus", tmp_path / "out", f"--{option}", shared / "data" / kind, "--max-rejects", "1"))
    seconds = time.process_time() - begun
    assert plan.estimate is not None and seconds / 3 < plan.estimate.cpu_seconds < seconds * 3  # 2 on a quiet machine


def test_commands_that_read_a_corpus(tmp_path: Path, build: Build, sample_corpus: Path, sample_vocab: Path) -> None:
    vocab = plan_vocab(sample_corpus, output=tmp_path / "vocab", config=VocabConfig(size=4000))
    check(vocab, sample_vocab)
    pairs = plan_pairs(sample_corpus, vocab=sample_vocab, output=tmp_path / "pairs")
    check(pairs, build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", sample_vocab))
    text = plan_export(sample_corpus, output=tmp_path / "text", config=ExportConfig(to="jsonl"))
    check(text, build("export", tmp_path / "text", sample_corpus, "--to", "jsonl"))


def test_a_dry_run_prints_one_line_and_writes_nothing(tmp_path: Path, run: Run, text: Path) -> None:
    shown = run("build-corpus", "--text", text, "--output", tmp_path / "out", "--workers", 2, "--dry-run").stdout
    (line,) = [line for line in shown.splitlines() if "estimate" in line]
    assert "about 1 second with 2 workers, 600.0 MB of memory, " in line and "of disk, " in line
    assert "1 file, 691.4 kB, in" in shown and not (tmp_path / "out").exists()
    limited = run("build-corpus", "--text", text, "--output", tmp_path / "out", "--max-documents", 5, "--dry-run").stdout
    assert "at most" in limited


def test_a_run_that_cannot_fit_does_not_begin(tmp_path: Path, build: Build, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=300_000))
    with pytest.raises(StorageError, match=r"not enough space: the run takes about 8\d\d.* kB, and 300.0 kB are free"):
        build("build-corpus", tmp_path / "new" / "out", "--text", text)
    assert not (tmp_path / "new").exists()
    build("build-corpus", tmp_path / "out", "--text", text, "--max-documents", 5)
