"""--dry-run and the space check: the output that samples tell is that of the run, within a factor of 1.5."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bertdata.commands.estimate import Estimate, Measured, clock_of, estimate
from bertdata.commands.plan import Plan
from conftest import Build
from made import tar, write_arrow

from bertdata import build_corpus, train_vocab
from bertdata.commands import estimate as estimating
from bertdata.commands.build_corpus import plan_corpus
from bertdata.commands.export import plan_export
from bertdata.commands.make_pairs import plan_pairs
from bertdata.commands.train_vocab import plan_vocab
from bertdata.config import CorpusConfig, ExportConfig, VocabConfig
from bertdata.dataset import shards
from bertdata.stages.corpus import commit
from bertdata.stages.selection import rewrite

pytestmark = pytest.mark.long

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


def _wiki(name: str = "enwiki", pages: range = range(len(DOCUMENTS))) -> bytes:
    page = "<page><title>{0}</title><ns>0</ns><id>{0}</id><revision><text>{1}</text></revision></page>"
    head = f'<mediawiki xml:lang="en"><siteinfo><dbname>{name}</dbname></siteinfo>'
    return (head + "\n".join(page.format(n, DOCUMENTS[n]) for n in pages) + "</mediawiki>").encode()


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


def tree(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


@pytest.fixture
def peak(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return a function that gives the bytes on disk just before a commit moves the rewritten shards over the old ones."""
    sizes: list[int] = []

    def replace_rewritten(root: Path, files: Sequence[Any]) -> list[Any]:
        sizes.append(tree(root))
        return rewrite.replace_rewritten(root, files)

    monkeypatch.setattr(commit, "replace_rewritten", replace_rewritten)
    return lambda: sizes[0]


def check(output: Path, said: Estimate, peak: int) -> None:
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file() and ".bertdata" not in path.parts)
    assert size / 1.5 < said.output < size * 1.5
    assert said.low(said.output) < said.output < said.high(said.output)
    assert peak / 1.5 < said.output + said.work < peak * 1.5
    assert peak < said.high(said.output) + said.most_work


@pytest.mark.parametrize("name", FILES)
def test_the_estimate_is_near_the_output(tmp_path: Path, build: Build, peak: Callable[[], int], name: str) -> None:
    kind, data = FILES[name]
    (tmp_path / name).write_bytes(data())
    said = estimated(tmp_path / "out", kind, tmp_path / name)
    check(build("build-corpus", tmp_path / "out", f"--{kind}", tmp_path / name), said, peak())


def test_the_estimate_of_a_mapped_file_and_of_two_kinds(tmp_path: Path, build: Build, peak: Callable[[], int]) -> None:
    arrow = write_arrow(tmp_path / "a.arrow", pa.table({"text": DOCUMENTS[:1250]}), 200)
    (tmp_path / "a.xml.bz2").write_bytes(bz2.compress(_wiki(pages=range(1250, 2500))))
    said = estimated(tmp_path / "out", "text", arrow, wikipedia=tmp_path / "a.xml.bz2")
    options = ("--text", arrow, "--wikipedia", tmp_path / "a.xml.bz2")
    check(build("build-corpus", tmp_path / "out", *options), said, peak())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["books", "wiki"])
def test_the_estimate_of_real_files(tmp_path: Path, build: Build, shared: Path, peak: Callable[[], int], kind: str) -> None:
    """The dumps are of nine languages. Two wikis have dumps of several years, whose pages the estimate counts each time."""
    option = {"wiki": "wikipedia"}.get(kind, kind)
    said = estimated(tmp_path / "out", option, shared / "data" / kind)
    output = build("build-corpus", tmp_path / "out", f"--{option}", shared / "data" / kind, "--max-rejects", "1")
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file() and ".bertdata" not in path.parts)
    assert size / 1.25 < said.output < size * (2 if kind == "wiki" else 1.25)
    assert peak() < said.high(said.output) + said.most_work


def of_time(measured: Measured, tasks: int, workers: int, monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(estimating, "cores", lambda: 4)
    return estimate(lambda root: measured, round(measured.bytes), tasks, workers=workers).seconds


def test_time_is_that_of_the_longest_task_and_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Measured(100, [[30.0]], output=0)
    assert of_time(one, 1, 1, monkeypatch) == pytest.approx(30, rel=0.1)
    assert of_time(one, 1, 4, monkeypatch) == pytest.approx(30, rel=0.1), "a file that cannot be cut keeps one worker busy"
    even = Measured(100, [[10.0] * 4], output=0)
    assert of_time(even, 4, 4, monkeypatch) == pytest.approx(10, rel=0.2)
    assert of_time(even, 4, 8, monkeypatch) >= of_time(even, 4, 4, monkeypatch), "more workers than cores are not faster"
    assert of_time(even._replace(finish=50.0), 4, 4, monkeypatch) == pytest.approx(60, rel=0.1)
    assert of_time(even._replace(warm_up=3.0), 4, 4, monkeypatch) == pytest.approx(13, rel=0.2)


def test_a_busy_machine_does_not_change_the_estimated_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A sample that waits four times as long as it works, as where others use the CPU, is timed by its own CPU seconds."""
    (tmp_path / "a.jsonl").write_bytes(LINES)
    quiet = estimated(tmp_path / "out", "text", tmp_path / "a.jsonl").seconds
    write = shards.write

    def busy(*arguments: Any) -> Any:
        start = time.process_time()
        entry = write(*arguments)
        time.sleep(4 * (time.process_time() - start))
        return entry

    monkeypatch.setattr(shards, "write", busy)
    assert quiet / 1.5 < estimated(tmp_path / "out", "text", tmp_path / "a.jsonl").seconds < quiet * 1.5
    assert clock_of(["a", tmp_path]) is time.process_time
    assert clock_of(["memory://a"]) is time.monotonic, "of a store the waiting is a part of the work"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("estimate")
    (root / "a.jsonl").write_bytes(LINES)
    build_corpus(text=root / "a.jsonl", output=root / "corpus", workers=1)
    train_vocab(root / "corpus", output=root / "vocab", config=VocabConfig(size=300), workers=1)
    return root


PLANS: dict[str, tuple[Callable[[Path, Path], Plan], tuple[str, ...]]] = {
    "train-vocab": (lambda root, out: plan_vocab(root / "corpus", output=out, config=VocabConfig(size=300)), ("--size", "300")),
    "make-pairs": (lambda root, out: plan_pairs(root / "corpus", vocab=root / "vocab", output=out), ("--vocab", "vocab")),
    "export": (lambda root, out: plan_export(root / "corpus", output=out, config=ExportConfig(to="jsonl")), ("--to", "jsonl")),
}


@pytest.mark.parametrize("command", PLANS)
def test_the_estimate_of_a_command_that_reads_shards(corpus: Path, tmp_path: Path, build: Build, command: str) -> None:
    plan, options = PLANS[command]
    planned = plan(corpus, tmp_path / "out")
    assert planned.estimate is not None
    said = planned.estimate(1)
    options = tuple(str(corpus / option) if option == "vocab" else option for option in options)
    output = build(command, tmp_path / "out", corpus / "corpus", *options)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file() and ".bertdata" not in path.parts)
    assert size / 1.5 < said.output < size * 1.5
